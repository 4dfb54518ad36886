/* emit.c — what op emitters are written with: names, pointers, literals, descriptors, places.
 *
 * A name from the model becomes a C identifier letter by letter; anything else from it (titles,
 * file names, comments) is escaped.  So the text of a model can never become C. */
#include "compiler/codegen/module.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

Arena *emit_mem(Emit *e) { return e->mem; }

void emit_fail(Emit *e, const Op *op, const char *fmt, ...)
{
	if (e->broken) return;
	va_list ap;
	va_start(ap, fmt);
	const char *why = arena_vprintf(e->mem, fmt, ap);
	va_end(ap);
	e->broken = op ? arena_printf(e->mem, "op %d: %s", op->id, why) : why;
}

/* --- names ------------------------------------------------------------------------------------------------ */
/* C's own words, macros that compilers predefine without an underscore, and what emitted functions call their own */
static const char *const reserved[] = {
	"asm", "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float",
	"for", "goto", "i386", "if", "inline", "int", "linux", "long", "main", "near", "far", "memcpy", "memmove", "memset", "register",
	"restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef", "typeof", "union", "unix",
	"unsigned", "void", "volatile", "while",
	"rt", "ln", "fr", "st", "p", "i", "n", "lo", "hi", "u", "r", "row", "rows", "from", "to", "room", "blocks",
};

static int is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static int is_digit(char c) { return c >= '0' && c <= '9'; }

/* names of file scope that we make: a tensor's must not hide them */
static int is_ours(const char *s)
{
	static const char *const prefix[] = { "desc_", "fuse_", "pxl", "PXL" };
	for (size_t i = 0; i < sizeof prefix / sizeof *prefix; i++)
		if (!strncmp(s, prefix[i], strlen(prefix[i]))) return 1;
	for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
		if (!strcmp(s, reserved[i])) return 1;
	return 0;
}

const char *safe_name(Arena *a, const char *want)
{
	enum { LONGEST = 48 };
	char s[LONGEST + 4];
	size_t n = 0;
	if (!is_letter(want[0])) s[n++] = 't';
	for (const char *c = want; *c && n < LONGEST; c++) s[n++] = is_letter(*c) || is_digit(*c) ? *c : '_';
	s[n] = 0;
	if (is_ours(s)) memcpy(s + n++, "_", 2);
	return arena_str(a, s, n);
}

/* taken: name → how many were asked for by that name, so that a thousand equal wishes stay cheap */
const char *emit_name(Emit *e, const char *want)
{
	const char *base = intern_str(e->ir->names, safe_name(e->mem, want)), *s = base;
	intptr_t n = (intptr_t)map_get(&e->taken, base);
	while (map_has(&e->taken, s) || map_has(&e->functions, s))
		s = intern_str(e->ir->names, arena_printf(e->mem, "%s_%d", base, (int)++n + 1));
	map_set(e->mem, &e->taken, base, (void *)(n ? n : 1));
	if (s != base) map_set(e->mem, &e->taken, s, (void *)(intptr_t)1);
	return s;
}

/* --- text that came from the model --------------------------------------------------------------------------- */
const char *emit_cstr(Emit *e, const char *s)
{
	Buf b = buf_new(e->mem);
	buf_putc(&b, '"');
	for (const unsigned char *c = (const unsigned char *)s; *c; c++) {
		if (*c < 32 || *c > 126 || *c == '"' || *c == '\\' || *c == '?') buf_printf(&b, "\\%03o", (unsigned)*c);
		else buf_putc(&b, (char)*c);
	}
	buf_putc(&b, '"');
	return b.s;
}

static char comment_char(char c)
{
	return c < 32 || c > 126 || c == '*' || c == '\\' || c == '?' ? '_' : c;
}

void emit_comment(Buf *b, const char *indent, const char *text)
{
	enum { WIDTH = 100 };
	int col = 0;
	buf_printf(b, "%s/* ", indent);
	for (const char *c = text; *c; c++, col++) {
		if (*c == ' ' && col > WIDTH && !is_digit(c[1])) {             /* shapes stay whole */
			buf_printf(b, "\n%s   ", indent);
			col = 0;
		}
		buf_putc(b, comment_char(*c));
	}
	buf_puts(b, " */\n");
}

static const Source *source_of(const Emit *e, Span at) { return source_get(e->ir->ds->srcs, at.src); }

void emit_at(Emit *e, Buf *b, Span at)
{
	const Source *s = source_of(e, at);
	if (!s) return;
	int line, col;
	source_locate(s, at.lo, &line, &col);
	if (e->line.src == at.src && (int)e->line.lo == line) return;
	e->line = (Span){ at.src, (uint32_t)line, 0 };
	buf_printf(b, "#line %d %s\n", line, emit_cstr(e, s->name));
}

int emit_site(Emit *e, const Op *op) { return site_at(e, op->at, op_said(op)); }

int site_at(Emit *e, Span at, const char *op)
{
	const Source *s = source_of(e, at);
	RtSite site = { .op = op };
	if (s) {
		site.file = s->name;
		source_locate(s, at.lo, &site.line, &site.col);
	}
	const char *key = intern_str(e->ir->names, arena_printf(e->mem, "%s:%d:%d:%s", s ? s->name : "", site.line, site.col, site.op));
	intptr_t n = (intptr_t)map_get(&e->site_of, key);
	if (n) return (int)n - 1;
	vec_push(e->mem, &e->sites, site);
	map_set(e->mem, &e->site_of, key, (void *)(intptr_t)e->sites.n);
	return e->sites.n - 1;
}

/* --- literals -------------------------------------------------------------------------------------------------- */
const char *emit_ctype(DType t) { return dtype_info[t].ctype; }

int emit_bf16(Emit *e, DType t) { return e->ir->bf16_products && (t == DT_F32 || t == DT_BF16); }

const char *emit_float(Emit *e, double x)
{
	if (isnan(x)) return "(0.0 / 0.0)";
	if (isinf(x)) return x > 0 ? "(1.0 / 0.0)" : "(-1.0 / 0.0)";
	Buf b = buf_new(e->mem);
	buf_float(&b, x);
	return signbit(x) ? arena_printf(e->mem, "(%s)", b.s) : b.s;
}

const char *emit_longs(Emit *e, const int64_t *v, int n)
{
	Buf b = buf_new(e->mem);
	buf_puts(&b, "{ ");
	for (int i = 0; i < n; i++) buf_printf(&b, "%s%" PRId64, i ? ", " : "", v[i]);
	buf_puts(&b, n ? " }" : "0 }");
	return b.s;
}

const char *emit_doubles(Emit *e, const double *v, int n)
{
	Buf b = buf_new(e->mem);
	buf_puts(&b, "{ ");
	for (int i = 0; i < n; i++) buf_printf(&b, "%s%s", i ? ", " : "", emit_float(e, v[i]));
	buf_puts(&b, n ? " }" : "0 }");
	return b.s;
}

const char *emit_static(Emit *e, const char *type, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	const char *value = arena_vprintf(e->mem, fmt, ap);
	va_end(ap);
	const char *key = intern_str(e->ir->names, arena_printf(e->mem, "%s %s", type, value));
	const char *name = map_get(&e->statics, key);
	if (name) return name;
	name = arena_printf(e->mem, "desc_%d", ++e->nstatic);
	if (e->extra.n > 1 && e->extra.s[e->extra.n - 2] == '}') buf_putc(&e->extra, '\n');     /* behind a fused function */
	buf_printf(&e->extra, "static const %s %s = %s;\n", type, name, value);
	map_set(e->mem, &e->statics, key, (void *)(uintptr_t)name);
	return name;
}

const char *emit_axis(Emit *e, const Tensor *t, int axis)
{
	Shape s = t->spec.shape;
	int64_t outer = 1, inner = 1;
	if (axis < 0) axis += s.rank;
	for (int i = 0; i < axis; i++) outer *= s.dim[i];
	for (int i = axis + 1; i < s.rank; i++) inner *= s.dim[i];
	return emit_static(e, "struct pxlrt_axis", "{ %d, %" PRId64 ", %" PRId64 ", %" PRId64 " }", (int)t->spec.dtype,
	                   outer, s.rank ? s.dim[axis] : 1, inner);
}

/* --- pointers ---------------------------------------------------------------------------------------------------
 * A tensor's pointer is a local variable with the tensor's name, declared where it is first wanted.
 * Roots get their address from the plan, views from their root. */
Layout emit_layout(Emit *e, const Tensor *t)
{
	(void)e;
	return layout_of((Tensor *)(uintptr_t)t);
}

static Tensor *root_of(const Tensor *t) { return storage_root((Tensor *)(uintptr_t)t); }

int tensor_is_const(Emit *e, const Tensor *t)
{
	const Tensor *root = root_of(t);
	Space s = e->plan->place[root->index].space;
	if (s == SPACE_CONSTS || s == SPACE_STREAM) return 1;
	return s == SPACE_PARAM && root->input_index >= 0 && !graph_modifies_input(e->g, root->input_index);
}

const char *base_ptr(Emit *e, const Tensor *root)
{
	const Place *p = &e->plan->place[root->index];
	switch (p->space) {
	case SPACE_FRAME:
		e->uses_fr = 1;
		return arena_printf(e->mem, "(fr + %zu)", p->offset);
	case SPACE_HOST:
		e->uses_fr = 1;
		return arena_printf(e->mem, "rt->host_room(ln, %d, fr + %zu)", p->param, p->offset);
	case SPACE_FIXED: return arena_printf(e->mem, "ln->fixed[%d]", p->param);
	case SPACE_VARS: return arena_printf(e->mem, "(ln->vars + %zu)", p->offset);
	case SPACE_CONSTS: return arena_printf(e->mem, "(ln->consts + %zu)", p->offset);
	case SPACE_NONE: case SPACE_REMOTE: case SPACE_PARAM: case SPACE_STREAM: break;
	}
	emit_fail(e, root->def, "tensor `%s` has no place", root->name);
	return "0";
}

static const char *declare(Emit *e, const Tensor *t)
{
	Layout l = emit_layout(e, t);
	const char *type = emit_ctype(t->spec.dtype), *name, *from;
	const char *cv = tensor_is_const(e, t) ? "const " : "";
	if (l.root == t && e->plan->place[t->index].space == SPACE_STREAM) {
		name = emit_name(e, t->name);
		buf_printf(&e->decl, "\tconst %s *%s;\n", type, name);
		return name;
	}
	from = l.root == t ? base_ptr(e, t) : emit_ptr(e, l.root);
	name = emit_name(e, t->name);
	if (l.root == t) buf_printf(&e->decl, "\t%s%s *%s = (%s%s *)%s;\n", cv, type, name, cv, type, from);
	else if (l.offset) buf_printf(&e->decl, "\t%s%s *%s = %s + %" PRId64 ";\n", cv, type, name, from, l.offset);
	else buf_printf(&e->decl, "\t%s%s *%s = %s;\n", cv, type, name, from);
	return name;
}

const char *emit_ptr(Emit *e, const Tensor *t)
{
	if (!t) return "0";
	if (!e->name[t->index]) {
		const char *name = declare(e, t);
		e->name[t->index] = name;
		vec_push(e->mem, &e->named, t->index);
	}
	return e->name[t->index];
}

const char *emit_in(Emit *e, const Op *op, int i) { return i < op->in.n ? emit_ptr(e, op->in.at[i]) : "0"; }
const char *emit_out(Emit *e, const Op *op, int i) { return emit_ptr(e, op->out.at[i]); }

/* --- lines -------------------------------------------------------------------------------------------------------- */
void emit_line(Emit *e, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	buf_putc(&e->op, '\t');
	buf_vprintf(&e->op, fmt, ap);
	buf_putc(&e->op, '\n');
	va_end(ap);
}

void emit_rt(Emit *e, const Op *op, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	buf_printf(&e->op, "\trt->at(ln, %d);\n\tif ((st = rt->", emit_site(e, op));
	buf_vprintf(&e->op, fmt, ap);
	buf_puts(&e->op, ")) return st;\n");
	va_end(ap);
	e->uses_st = 1;
}

static void put_spec(Buf *b, const Tensor *t)
{
	Shape s = t->spec.shape;
	buf_printf(b, "%s[", dtype_info[t->spec.dtype].name);
	for (int i = 0; i < s.rank; i++) buf_printf(b, "%s%" PRId64, i ? ", " : "", s.dim[i]);
	buf_putc(b, ']');
}

static void put_tensors(Buf *b, Tensor *const *at, int n)
{
	buf_putc(b, '(');
	for (int i = 0, some = 0; i < n; i++) {
		if (!at[i]) continue;
		buf_printf(b, "%s%s ", some++ ? ", " : "", at[i]->name);
		put_spec(b, at[i]);
	}
	buf_putc(b, ')');
}

const char *op_comment(Emit *e, const Op *op)
{
	Buf b = buf_new(e->mem);
	buf_printf(&b, "%s.%d", op_type_name(op), op->id);
	for (int i = 0; i < 2; i++)
		if (op->callee[i]) buf_printf(&b, "%s%s", i ? ", " : "(", op->callee[i]->id);
	buf_puts(&b, op->callee[0] ? ") " : " ");
	put_tensors(&b, op->in.at, op->in.n);
	buf_puts(&b, " -> ");
	put_tensors(&b, op->out.at, op->out.n);
	return b.s;
}
