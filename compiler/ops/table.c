/* table.c — the op table as a whole: lookup, lists, and the manual pages that follow from it. */
#include "compiler/ops/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OP(n) extern const OpDef op_##n;
#include "compiler/ops/ops.def"
#undef OP

const OpDef *const op_table[OP_COUNT] = {
#define OP(n) [OP_##n] = &op_##n,
#include "compiler/ops/ops.def"
#undef OP
};

/* --- parameters ------------------------------------------------------------------------------------- */

/* PopXL says `dim` in some ops and `axis` in others, and so on; either is understood everywhere */
static const char *other_spelling(const char *name)
{
	static const char *const pair[][2] = { { "dim", "axis" }, { "keepdim", "keepdims" }, { "dtype", "data_type" }, { "name", "output_name" } };
	for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
		for (int j = 0; j < 2; j++)
			if (!strcmp(name, pair[i][j])) return pair[i][!j];
	return 0;
}

static int find_param(const OpDef *d, const char *name)
{
	for (int i = 0; d->params[i].kind != P_END; i++)
		if (!strcmp(d->params[i].name, name)) return i;
	return -1;
}

int op_param(const OpDef *d, const char *name)
{
	int i = find_param(d, name);
	const char *other = i < 0 ? other_spelling(name) : 0;
	return other ? find_param(d, other) : i;
}

static int takes_operand(ParamKind k)
{
	return k == P_TENSOR || k == P_OPT_TENSOR || k == P_TENSORS || param_is_scalar(k);
}

int op_param_at(const OpDef *d, int position)
{
	int n = 0, i = 0;
	while (d->params[n].kind != P_END) n++;
	if (position >= n) return -1;
	if (!d->order) return d->params[position].name[0] == '_' ? -1 : position;
	for (const char *w = d->order; *w; w += strcspn(w, " "), w += *w == ' ', i++)
		for (int k = 0; i == position && k < n; k++)
			if (strlen(d->params[k].name) == strcspn(w, " ") && !strncmp(d->params[k].name, w, strcspn(w, " "))) return k;
	return -1;
}

int op_operand(const OpDef *d, int param)
{
	int n = 0;
	if (param < 0 || !takes_operand(d->params[param].kind)) return -1;
	for (int i = 0; i < param; i++) n += takes_operand(d->params[i].kind);
	return n;
}

const AttrVal *op_attr(const Op *op, const char *name)
{
	static const AttrVal unset;
	int i = find_param(op_def(op), name);
	return i < 0 || !op->attr ? &unset : &op->attr[i];
}

/* what the model or the host named */
static const char *own_name(const Op *op)
{
	return op->code == OP_kernel || op->code == OP_host_op ? op_attr(op, "name")->s : NULL;
}

const char *op_type_name(const Op *op)
{
	const OpDef *d = op_def(op);
	const char *own = own_name(op);
	if (own) return own;
	return op->inplace && d->type_inplace ? d->type_inplace : d->type ? d->type : d->name;
}

/* --- names ------------------------------------------------------------------------------------------ */

static int plain_name(const OpDef *d)     /* may the name stand without underscore */
{
	return !(d->traits & ONLY_INPLACE);
}

static const OpDef *find_exact(const char *s, size_t n)
{
	for (int i = 0; i < OP_COUNT; i++)
		if (strlen(op_table[i]->name) == n && !memcmp(op_table[i]->name, s, n)) return op_table[i];
	return 0;
}

static const OpDef *find_alias(const char *s)
{
	for (int i = 0; i < OP_COUNT; i++)
		if (op_table[i]->alias && !strcmp(op_table[i]->alias, s)) return op_table[i];
	return 0;
}

/* PopXL's groups of ops, and which family of the table is meant */
static const struct { const char *name, *family; } op_groups[] = { { "var_updates", "update" }, { "collectives", "collective" } };

const char *op_group_family(const char *group)
{
	for (int i = 0; i < 2; i++)
		if (!strcmp(group, op_groups[i].name)) return op_groups[i].family;
	return NULL;
}

const OpDef *op_find(const char *name, int *inplace)
{
	const char *dot = strchr(name, '.');
	for (int i = 0; dot && i < 2; i++) {
		size_t len = strlen(op_groups[i].name);
		if ((size_t)(dot - name) != len || memcmp(name, op_groups[i].name, len)) continue;
		const OpDef *d = op_find(dot + 1, inplace);
		return d && !strcmp(d->family, op_groups[i].family) ? d : 0;
	}
	size_t n = strlen(name);
	const OpDef *d = find_alias(name);
	*inplace = d && !plain_name(d);
	if (d) return d->traits & INTERNAL ? 0 : d;
	d = find_exact(name, n);
	if (d && plain_name(d)) return d->traits & INTERNAL ? 0 : d;
	if (n < 2 || name[n - 1] != '_') return 0;
	d = find_exact(name, n - 1);
	*inplace = 1;
	return d && d->inplace != NO_INPLACE && !(d->traits & INTERNAL) ? d : 0;
}

static int by_name(const void *a, const void *b) { return strcmp(((const OpName *)a)->name, ((const OpName *)b)->name); }

/* in-place names need text of their own: one static table, filled by the preprocessor */
static const char *const with_underscore[OP_COUNT] = {
#define OP(n) [OP_##n] = #n "_",
#include "compiler/ops/ops.def"
#undef OP
};

const char *op_spelled(const OpDef *d, int inplace)
{
	if (!inplace) return d->name;
	return d->traits & ONLY_INPLACE && d->alias ? d->alias : with_underscore[d->id];
}

const char *op_named(const Op *op)
{
	const char *own = own_name(op);
	return own ? own : op_spelled(op_def(op), op->inplace);
}

const char *op_said(const Op *op) { return op->instead ? op->instead : op_named(op); }

int op_names(OpName *out, int max)
{
	int n = 0;
	for (int i = 0; i < OP_COUNT; i++) {
		const OpDef *d = op_table[i];
		if (d->traits & INTERNAL) continue;
		if (plain_name(d) && n++ < max) out[n - 1] = (OpName){ d->name, d, 0 };
		if (d->inplace != NO_INPLACE && n++ < max) out[n - 1] = (OpName){ op_spelled(d, 1), d, 1 };
		if (d->informed && n++ < max) out[n - 1] = (OpName){ d->informed, d, 0 };
	}
	qsort(out, (size_t)(n < max ? n : max), sizeof *out, by_name);
	return n;
}

/* --- manual ----------------------------------------------------------------------------------------- */

static const char *kind_name(const Param *p)
{
	static const char *const name[] = {
		[P_TENSOR] = "", [P_OPT_TENSOR] = "", [P_TENSORS] = "", [P_SCALAR] = "float | tensor", [P_COUNT] = "int | tensor",
		[P_INT] = "int", [P_FLOAT] = "float", [P_BOOL] = "bool", [P_STR] = "string", [P_DTYPE] = "dtype",
		[P_INTS] = "int | list", [P_SHAPE] = "shape", [P_FLOATS] = "float | list", [P_ARRAY] = "array", [P_STREAM] = "stream",
		[P_BUFFER] = "buffer", [P_GRAPH] = "graph", [P_GROUP] = "replicas", [P_PATTERN] = "pattern", [P_HINT] = "hint",
	};
	return name[p->kind];
}

static void put_default(const Param *p, Buf *out)
{
	const AttrVal *v = &p->init;
	if (!p->optional || p->kind == P_TENSORS) return;
	buf_puts(out, " = ");
	if (!v->set) buf_puts(out, "none");
	else if (p->kind == P_FLOAT || p->kind == P_SCALAR) buf_float(out, v->f);
	else if (p->kind == P_GROUP) buf_puts(out, "all");
	else if (p->kind == P_STR) buf_json(out, v->s, strlen(v->s));
	else if (p->kind == P_BOOL) buf_puts(out, v->i ? "true" : "false");
	else if (p->kind == P_DTYPE) buf_puts(out, dtype_info[v->i].name);
	else buf_printf(out, "%lld", (long long)v->i);
}

void op_name_signature(const OpName *o, Buf *out)
{
	const OpDef *d = o->def;
	int inplace = o->inplace;
	buf_printf(out, "%s(", o->name);
	for (int i = 0, k; (k = op_param_at(d, i)) >= 0; i++) {
		const Param *p = &d->params[k];
		if (d->buffer && d->inplace == MODIFIES && op_operand(d, k) == 0 && !inplace) continue;     /* the plain form makes its own */
		if (p->name[0] == '_') continue;         /* transforms alone give it */
		buf_printf(out, "%s%s%s", i ? ", " : "", p->kind == P_TENSORS ? "*" : "", p->name);
		if (kind_name(p)[0]) buf_printf(out, ": %s", kind_name(p));
		put_default(p, out);
	}
	buf_putc(out, ')');
}

void op_signature(const OpDef *d, int inplace, Buf *out)
{
	op_name_signature(&(OpName){ inplace ? op_spelled(d, 1) : d->name, d, inplace }, out);
}

static const char *grad_text(const OpDef *d)
{
	if (d->grad || d->traits & CALLS) return "yes";
	return d->traits & GRAD_ERROR ? "an error if one must pass" : "none: the path ends here";
}

static const char *inplace_text(const OpDef *d)
{
	if (d->inplace == VIEWS && d->params[0].kind == P_TENSORS) return "shares the storage of its operands and writes nothing";
	return d->inplace == VIEWS ? "shares the storage of its first operand and writes nothing" : "writes and is an alias of its first operand; a graph with it has no gradient";
}

void op_page(const OpDef *d, Buf *out)
{
	if (plain_name(d)) {
		buf_puts(out, "    ");
		op_signature(d, 0, out);
		buf_putc(out, '\n');
	}
	if (d->inplace != NO_INPLACE) {
		buf_puts(out, "    ");
		op_signature(d, 1, out);
		buf_putc(out, '\n');
	}
	if (d->informed) {
		buf_puts(out, "    ");
		op_name_signature(&(OpName){ d->informed, d, 0 }, out);
		buf_puts(out, "        gives a record of the site instead of the results\n");
	}
	buf_printf(out, "\n%s\n", d->doc);
	if (d->formula) buf_printf(out, "\nformula:  %s\n", d->formula);
	buf_printf(out, "gradient: %s\n", grad_text(d));
	if (d->inplace != NO_INPLACE) buf_printf(out, "%s: %s\n", op_spelled(d, 1), inplace_text(d));
	if (d->alias && plain_name(d)) buf_printf(out, "also:     %s\n", d->alias);
	buf_printf(out, "prints as %s", d->type);
	if (d->inplace != NO_INPLACE && d->type_inplace) buf_printf(out, ", in place %s", d->type_inplace);
	buf_putc(out, '\n');
}
