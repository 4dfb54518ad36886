/* fuse_pattern.c — questions about patterns, and their text. */
#include "compiler/passes/fuse.h"

#include <inttypes.h>

int pattern_writes(const Pattern *p, int operand)
{
	for (int i = 0; i < p->outs.n; i++)
		if (p->outs.at[i].into == operand) return 1;
	return 0;
}

int pattern_alias(const Pattern *p, int out)
{
	return out < p->outs.n ? p->outs.at[out].into : -1;
}

static void print_node(const FuseNode *n, int i, Buf *out)
{
	static const char *const cls[PXLRT_NCLASS] = { [PXLRT_F32] = "f32", [PXLRT_F64] = "f64", [PXLRT_I64] = "i64", [PXLRT_U64] = "u64" };

	buf_printf(out, "n%d = ", i);
	switch (n->kind) {
	case FUSE_LOAD: buf_printf(out, "load.%s(%d)", dtype_info[n->dtype].name, n->operand); break;
	case FUSE_CVT: buf_printf(out, "cvt.%s(n%d)", dtype_info[n->dtype].name, n->arg[0]); break;
	case FUSE_CONST:
		if (n->cls == PXLRT_I64) buf_printf(out, "%" PRId64, n->i);
		else if (n->cls == PXLRT_U64) buf_printf(out, "%" PRIu64, (uint64_t)n->i);
		else buf_float(out, n->f);
		break;
	case FUSE_PRIM:
		buf_printf(out, "%s.%s(", fuse_prim[n->prim].name, n->norm ? dtype_info[n->dtype].name : cls[n->cls]);
		for (int k = 0; k < fuse_prim[n->prim].arity; k++) buf_printf(out, "%sn%d", k ? ", " : "", n->arg[k]);
		buf_putc(out, ')');
		break;
	}
}

void pattern_print(const Pattern *p, Buf *out)
{
	for (int i = 0; i < p->nodes.n; i++) {
		if (i) buf_puts(out, "; ");
		print_node(&p->nodes.at[i], i, out);
	}
	for (int i = 0; i < p->outs.n; i++) {
		buf_printf(out, "; out%d = n%d", i, p->outs.at[i].node);
		if (p->outs.at[i].into >= 0) buf_printf(out, " into %d", p->outs.at[i].into);
	}
}
