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

/* neighbours of one kind are one; a last one that is folded leaves dim[3] 1 */
int fold_space(Shape s, unsigned axes, int64_t dim[4])
{
	int at = 4, last = 0;

	for (int i = 0; i < 4; i++) dim[i] = 1;
	for (int i = s.rank - 1; i >= 0; i--) {
		int fold = axes >> i & 1;
		if (s.dim[i] == 1) continue;
		if (at == 4) at = fold ? 2 : 3;
		else if (fold != last) at--;
		if (at < 0) return 0;
		dim[at] *= s.dim[i];
		last = fold;
	}
	return at <= 2;
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

static const char *const fold_name[] = { [PXLRT_SUM] = "sum", [PXLRT_MEAN] = "mean", [PXLRT_MAX] = "max", [PXLRT_MIN] = "min", [PXLRT_PROD] = "prod",
	[PXLRT_L1] = "l1", [PXLRT_L2] = "l2", [PXLRT_SUMSQ] = "sumsquare", [PXLRT_LOGSUM] = "logsum" };

void pattern_print(const Pattern *p, Buf *out)
{
	for (int i = 0; i < p->nodes.n; i++) {
		if (i) buf_puts(out, "; ");
		print_node(&p->nodes.at[i], i, out);
	}
	for (int i = 0; i < p->outs.n; i++) {
		const FuseOut *o = &p->outs.at[i];
		buf_printf(out, o->fold ? "; out%d = %s(n%d)" : "; out%d = %sn%d", i, o->fold ? fold_name[o->fold - 1] : "", o->node);
		if (o->into >= 0) buf_printf(out, " into %d", o->into);
	}
	for (int i = 0, any = 0; i < p->shape.rank; i++)
		if (p->folded >> i & 1) buf_printf(out, "%s%d", any++ ? ", " : " over ", i);
}
