/* debug.c — where ops and tensors come from, as one JSON object (semantics.md R211): `pxlc emit debug`.
 *
 * A record says what made it, the place in the model, the function that stood there, and which values went in and out.
 * The frames of calls and of `op_debug_context` blocks are numbered in the order in which records mention them, and name their
 * parents.  Places and frames within the standard library are passed over, up to the model's own. */
#include "compiler/ir/ir.h"

#include "compiler/ops/op.h"

#include <string.h>

typedef struct Debug { const Ir *ir; Map number; VEC(const Frame *) frames; Buf *out; } Debug;

static const Source *source_of(const Debug *d, Span at) { return source_get(d->ir->ds->srcs, at.src); }

static int is_ours(const Debug *d, Span at)
{
	const Source *s = source_of(d, at);
	return s && s->embedded;
}

/* the user's place that `at` in the innermost frame comes down to; *f becomes the frame that it stands in */
static Span users_place(const Debug *d, Span at, const Frame **f)
{
	for (; *f && is_ours(d, at); *f = (*f)->up) at = (*f)->at;
	return at;
}

static int number_of(Debug *d, const Frame *f)
{
	intptr_t n = (intptr_t)map_get(&d->number, f);
	if (n) return (int)n - 1;
	vec_push(d->ir->mem, &d->frames, f);
	map_set(d->ir->mem, &d->number, f, (void *)(intptr_t)d->frames.n);
	return d->frames.n - 1;
}

static void put_str(Debug *d, const char *key, const char *s)
{
	buf_printf(d->out, "\"%s\": ", key);
	buf_json(d->out, s, strlen(s));
}

/* file, line, column and parent of something made at `at` */
static void put_place(Debug *d, Span at, const Frame *f)
{
	int line = 0, col = 0;
	at = users_place(d, at, &f);
	const Source *s = source_of(d, at);
	if (s) source_locate(s, at.lo, &line, &col);
	buf_puts(d->out, ", ");
	put_str(d, "file", s ? s->name : "");
	buf_printf(d->out, ", \"line\": %d, \"column\": %d, ", line, col);
	const Frame *fn = f;
	while (fn && fn->block) fn = fn->up;
	put_str(d, "function", fn ? fn->what : "");
	if (f) buf_printf(d->out, ", \"parent\": %d", number_of(d, f));
	else buf_puts(d->out, ", \"parent\": null");
}

static void put_names(Debug *d, const char *key, Tensor *const *at, int n)
{
	int any = 0;
	buf_printf(d->out, ", \"%s\": [", key);
	for (int i = 0; i < n; i++) {
		if (!at[i]) continue;
		if (any++) buf_puts(d->out, ", ");
		buf_json(d->out, at[i]->name, strlen(at[i]->name));
	}
	buf_putc(d->out, ']');
}

static void put_op(Debug *d, const Op *op)
{
	buf_printf(d->out, "  {\"id\": %d, ", op->id);
	put_str(d, "type", op_type_name(op));
	buf_puts(d->out, ", ");
	put_str(d, "name", op_named(op));
	buf_puts(d->out, ", \"layer\": \"pxl\", ");
	put_str(d, "graph", op->graph->id);
	put_place(d, op->at, op->chain);
	put_names(d, "inputs", op->in.at, op->in.n);
	put_names(d, "outputs", op->out.at, op->out.n);
	buf_putc(d->out, '}');
}

static void put_tensor(Debug *d, const Tensor *t)
{
	buf_puts(d->out, "  {");
	put_str(d, "name", t->name);
	buf_puts(d->out, ", ");
	put_str(d, "graph", t->graph->id);
	put_place(d, t->at, t->chain);
	buf_putc(d->out, '}');
}

static void put_frame(Debug *d, int i)
{
	const Frame *f = d->frames.at[i];
	buf_printf(d->out, "  {\"id\": %d, ", i);
	put_str(d, "what", f->what);
	put_place(d, f->at, f->up);
	buf_putc(d->out, '}');
}

void ir_debug(const Ir *ir, Buf *out)
{
	Debug d = { .ir = ir, .out = out };
	int any = 0;
	buf_puts(out, "{\"ops\": [");
	for (int g = 0; g < ir->graphs.n; g++)
		for (int i = 0; i < ir->graphs.at[g]->ops.n; i++) {
			buf_puts(out, any++ ? ",\n" : "\n");
			put_op(&d, ir->graphs.at[g]->ops.at[i]);
		}
	buf_puts(out, "],\n\"tensors\": [");
	any = 0;
	for (int g = 0; g < ir->graphs.n; g++)
		for (int i = 0; i < ir->graphs.at[g]->tensors.n; i++) {
			buf_puts(out, any++ ? ",\n" : "\n");
			put_tensor(&d, ir->graphs.at[g]->tensors.at[i]);
		}
	buf_puts(out, "],\n\"contexts\": [");
	for (int i = 0; i < d.frames.n; i++) {                        /* grows as parents are named */
		buf_puts(out, i ? ",\n" : "\n");
		put_frame(&d, i);
	}
	buf_puts(out, "]}\n");
}
