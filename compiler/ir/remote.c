/* remote.c — remote buffers, and the variables that stand for their entries (semantics.md R327–R340).
 *
 * A buffer is no tensor: only ops that name it read or write it.  What must hold however a program is
 * built is kept here: entries fit in memory, a variable fits its entry, and an entry has one variable. */
#include "compiler/ir/ir.h"

#include "compiler/ir/inside.h"
#include "compiler/ops/op.h"

#include <inttypes.h>

/* --- buffers ---------------------------------------------------------------------------------------------- */

static int too_large(Build *b, Spec s, int64_t entries)
{
	int64_t bytes, n = shape_nelems(s.shape);
	if (n >= 0 && !__builtin_mul_overflow(n, entries, &bytes) && bytes <= INT64_MAX / 64) return 0;
	diag(b->ir->ds, E0640, b->at, "%" PRId64 " entries of %s are more than can be addressed", entries, spec_str(b->ir->mem, s.dtype, s.shape));
	return 1;
}

static int entries_fit(Build *b, Spec s, int64_t entries)
{
	if (entries >= 1) return !too_large(b, s, entries);
	Diag *d = diag(b->ir->ds, E0640, b->at, "a remote buffer of %" PRId64 " entries", entries);
	diag_label(b->ir->ds, d, "it needs at least one");
	diag_chain(b->ir->ds, d, b->chain);
	return 0;
}

RemoteBuffer *ir_buffer(Build *b, Spec spec, int64_t entries)
{
	if (!ir_writable(b, "a remote buffer") || !entries_fit(b, spec, entries)) return NULL;
	RemoteBuffer *r = NEW(b->ir->mem, RemoteBuffer);
	*r = (RemoteBuffer){ .id = b->ir->buffers.n, .spec = spec, .entries = entries, .ir = b->ir, .at = b->at };
	vec_push(b->ir->mem, &b->ir->buffers, r);
	return r;
}

/* --- who uses which entry ------------------------------------------------------------------------------------ */

static int beyond(Build *b, const RemoteBuffer *r, int64_t entries, int64_t used, Span at)
{
	if (used < entries) return 0;
	Diag *d = diag(b->ir->ds, E0640, b->at, "remote buffer %d cannot shrink to %" PRId64 " entries", r->id + 1, entries);
	diag_note(b->ir->ds, d, at, "entry %" PRId64 " is used here", used);
	return 1;
}

/* A use settles shape and dtype, and that there are more entries than it needs. */
static int stays(Build *b, const RemoteBuffer *r, Spec spec, int64_t entries, int64_t used, Span at)
{
	if (spec.dtype == r->spec.dtype && shape_eq(spec.shape, r->spec.shape)) return !beyond(b, r, entries, used, at);
	Diag *d = diag(b->ir->ds, E0640, b->at, "remote buffer %d cannot change to entries of %s", r->id + 1, spec_str(b->ir->mem, spec.dtype, spec.shape));
	diag_note(b->ir->ds, d, at, "it is used here, with entries of %s", spec_str(b->ir->mem, r->spec.dtype, r->spec.shape));
	return 0;
}

static int op_stays(Build *b, const RemoteBuffer *r, Spec spec, int64_t entries, const Op *op)
{
	for (int i = 0; i < op_transfers(op); i++) {
		int64_t offset = -1;                     /* not known until it runs */
		Transfer t = op_transfer(op, i);
		if (t.buffer != r || !t.offset) continue;
		constant_offset(t.offset, &offset);
		if (!stays(b, r, spec, entries, offset, op->at)) return 0;
	}
	return 1;
}

int ir_set_buffer(Build *b, RemoteBuffer *r, Spec spec, int64_t entries)
{
	Ir *ir = b->ir;
	if (!ir_writable(b, "a remote buffer") || !entries_fit(b, spec, entries)) return 0;
	for (int g = 0; g < ir->graphs.n; g++)
		for (int i = 0; i < ir->graphs.at[g]->ops.n; i++)
			if (!op_stays(b, r, spec, entries, ir->graphs.at[g]->ops.at[i])) return 0;
	for (int i = 0; i < ir->main->tensors.n; i++) {
		const Tensor *t = ir->main->tensors.at[i];
		if (t->remote == r && !stays(b, r, spec, entries, t->entry, t->at)) return 0;
	}
	r->spec = spec;
	r->entries = entries;
	return 1;
}

/* --- remote variables ------------------------------------------------------------------------------------------- */

static int fits_buffer(Build *b, const Tensor *t, const RemoteBuffer *r)
{
	Arena *a = b->ir->mem;
	if (t->spec.dtype == r->spec.dtype && shape_eq(t->spec.shape, r->spec.shape)) return 1;
	Diag *d = diag(b->ir->ds, E0641, b->at, "remote variable `%s` does not match buffer %d", t->name, r->id + 1);
	diag_label(b->ir->ds, d, "%s for an entry of %s", spec_str(a, t->spec.dtype, t->spec.shape), spec_str(a, r->spec.dtype, r->spec.shape));
	diag_note(b->ir->ds, d, r->at, "the buffer is made here");
	diag_chain(b->ir->ds, d, b->chain);
	return 0;
}

static int in_range(Build *b, const RemoteBuffer *r, int64_t entry)
{
	if (entry >= 0 && entry < r->entries) return 1;
	Diag *d = diag(b->ir->ds, E0642, b->at, "buffer %d has no entry %" PRId64, r->id + 1, entry);
	diag_label(b->ir->ds, d, "its entries are 0 to %" PRId64, r->entries - 1);
	diag_note(b->ir->ds, d, r->at, "the buffer is made here");
	return 0;
}

static int is_free(Build *b, const Tensor *t, const RemoteBuffer *r, int64_t entry)
{
	for (int i = 0; i < b->ir->main->tensors.n; i++) {
		const Tensor *other = b->ir->main->tensors.at[i];
		if (other == t || other->remote != r || other->entry != entry) continue;
		Diag *d = diag(b->ir->ds, E0644, b->at, "entry %" PRId64 " of buffer %d has a remote variable", entry, r->id + 1);
		diag_note(b->ir->ds, d, other->at, "it is `%s`, made here", other->name);
		return 0;
	}
	return 1;
}

static int is_handle(Build *b, const Tensor *t)
{
	if (t->kind == T_VARIABLE && !t->uses.n) return 1;
	Diag *d = diag(b->ir->ds, E0643, b->at, "`%s` cannot be a remote variable", t->name);
	diag_label(b->ir->ds, d, t->kind == T_VARIABLE ? "ops use it" : "it is no variable");
	diag_note(b->ir->ds, d, t->uses.n ? t->uses.at[0].op->at : t->at, t->uses.n ? "it is used here" : "it is made here");
	return 0;
}

int ir_set_remote(Build *b, Tensor *t, RemoteBuffer *r, int64_t entry)
{
	if (!ir_writable(b, "a remote variable") || !is_handle(b, t) || !fits_buffer(b, t, r) || !in_range(b, r, entry) || !is_free(b, t, r, entry)) return 0;
	t->remote = r;
	t->entry = entry;
	return 1;
}
