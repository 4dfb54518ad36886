/* op.h — the op table.  One block per op says everything about it; all else is derived:
 * keyword checks, defaults, printing, CSE keys, documentation, gradient tests, fuzzers, emission.
 *
 *   OPDEF(softmax, .type = "Softmax", .family = "norm",
 *         .params = PARAMS({ "t", P_TENSOR }, { "axis", P_INT, REQUIRED }),
 *         .traits = PURE, .infer = infer_softmax, .grad = grad_softmax, .emit = emit_softmax,
 *         .doc = "…", .formula = "…", .sample = { -2, 2 });
 *
 * A block without its line in ops.def does not compile; a line without its block does not link. */
#ifndef COMPILER_OPS_OP_H
#define COMPILER_OPS_OP_H

#include "compiler/ir/ir.h"

typedef enum OpCode {
#define OP(n) OP_##n,
#include "compiler/ops/ops.def"
#undef OP
	OP_COUNT
} OpCode;

typedef enum ParamKind {
	P_END,
	P_TENSOR,                /* an operand; a host value becomes a constant of the other operand's dtype */
	P_OPT_TENSOR,            /* an operand that may be left out */
	P_TENSORS,               /* a list of operands, or the rest of the positional ones; last operand of the op */
	P_SCALAR,                /* a number (attribute) or a one-element tensor (operand): one slot in each; a tensor wins */
	P_COUNT,                 /* the same for an int, or a tensor of one */
	P_INT, P_FLOAT, P_BOOL, P_STR, P_DTYPE,
	P_INTS,                  /* an int or a list of ints in .ints; .i = 1 says it was one int, entries may be NO_INT for none */
	P_SHAPE,
	P_FLOATS,                /* a number or a list of numbers, in .floats */
	P_ARRAY,                 /* host data */
	P_STREAM, P_BUFFER, P_GRAPH,
	P_GROUP,                 /* which replicas belong together: .i, a number in ir->groupings */
	P_PATTERN,               /* a fused group's Pattern (compiler/passes/fuse.h) */
	P_HINT                   /* accepted for PopXL's sake, no effect on values */
} ParamKind;
static inline int param_is_scalar(ParamKind k) { return k == P_SCALAR || k == P_COUNT; }

enum { REQUIRED = 0, OPTIONAL = 1 };             /* OPTIONAL: default follows (0, none, …) */
/* a name with an underscore in front: not of the language, transforms give it */
typedef struct Param { const char *name; ParamKind kind; int optional; AttrVal init; } Param;
#define NO_INT INT64_MIN
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"     /* rows leave out what does not apply */
#define PARAMS(...) (const Param[]){ __VA_ARGS__, { 0, P_END, 0, { 0 } } }
#define INT_DEFAULT(x)   { .set = 1, .i = (x) }
#define FLOAT_DEFAULT(x) { .set = 1, .f = (x) }
#define STR_DEFAULT(x)   { .set = 1, .s = (x) }

enum {                                            /* traits: what passes ask before they name an op */
	PURE      = 1 << 0,      /* result depends on operands and attributes alone; no effect besides */
	ELTWISE   = 1 << 1,      /* defined by .expr over broadcast operands */
	COMMUTES  = 1 << 2,
	EFFECT    = 1 << 3,      /* must run although nothing uses its results; never duplicated */
	STRIDED   = 1 << 4,      /* emitter accepts operands with any strides; others get contiguous data */
	NO_GRAD   = 1 << 5,      /* the path ends here silently */
	GRAD_ERROR = 1 << 6,     /* a gradient that must pass is an error */
	CALLS     = 1 << 7,      /* call, repeat, conditional */
	INTERNAL  = 1 << 8,      /* made by passes or transforms, not callable from .pxl */
	RANDOM    = 1 << 9,
	ACROSS    = 1 << 11,     /* operands may be on different IPUs and tile sets */
	MOVES     = 1 << 12,     /* takes operands of any element type, float8 too: it moves values, or its shape rule says which types it takes */
	ONLY_INPLACE = 1 << 10   /* the name already is the modifying op (accumulate_, copy_var_update_): op->inplace is always 1 */
};
/* Images whose channels lie in blocks (blocks.h): which operands and results an op without .expr takes so */
typedef enum Blocking {
	NO_BLOCKS,
	BLOCKS_ALIKE,            /* all operands and the result, or none: .takes_blocks says whether */
	BLOCKS_EACH,             /* each that .takes_blocks allows */
	BLOCKS_FOLDED            /* operand 0; a fold of axes (infer_reduce) that leaves space or channels */
} Blocking;
typedef enum Inplace { NO_INPLACE, MODIFIES, VIEWS } Inplace;    /* what the variant `name_` does to operand 0 */

typedef struct Infer Infer;
typedef struct Grad Grad;
typedef struct Emit Emit;

struct OpDef {
	OpCode id;
	const char *name;                    /* in .pxl; without the variant's underscore */
	const char *type, *type_inplace;     /* in print_schedule: "Add", "AddLhsInplace" */
	const char *family;                  /* heading of the manual */
	const char *alias;                   /* another accepted spelling, or NULL */
	const char *informed;                /* the name under which it gives a record of the site instead of its results, or NULL */
	const Param *params;
	int nout;                            /* results; 0 means 1, -1 none, -2 set by the shape rule */
	int hidden;                          /* the last so many results are for gradients: the language does not hand them out */
	unsigned traits;
	Inplace inplace;
	unsigned stops;                      /* bit i: operand i never receives a gradient, though others may (the condition of where) */
	unsigned writes;                     /* bit i: operand i is written besides, whatever the variant (adam_updater's time_step) */
	const char *out_name;                /* default result name (R52): "%s" is the first operand's name; "%t" the result's dtype; NULL: "<name>_out" */
	int (*infer)(Infer *in);             /* 1: results are set; 0 after diagnostics */
	/* where the results would lie in operand 0's storage (out: one per result); 0: not expressible by strides.
	 * Given for VIEWS, and for plain ops that a pass may turn into views (squeeze, split, …) */
	int (*view)(const Op *op, const Layout *in, Layout *out);
	void (*grad)(Grad *gr, Op *op);      /* adds to the gradients of op->in (compiler/ops/grad.h) */
	void (*emit)(Emit *e, const Op *op); /* writes C (compiler/codegen/emit.h); ELTWISE ops have .expr, and this for float8 */
	/* STRIDED ops that can't take every layout: does this one take operand i lying so; NULL: any layout */
	int (*takes)(const Op *op, int i, const Layout *l);
	Blocking blocking;
	int (*takes_blocks)(const Op *op, int which);        /* bits as in blocks.h */
	/* What the lowered copy has in the op's place, for ops without an emitter of their own: build it, set one
	 * tensor per result and return 1; 0: nothing to do, the op stays.  Results may be lowered again. */
	int (*lower)(Build *b, Op *op, Tensor **out);
	/* Can it fail while the program runs?  Such an op is never removed, although nothing may read its results, so that errors do not
	 * depend on -O.  NULL: never, except that integer division and powers in .expr can. */
	int (*fails)(const Op *op);
	/* Builds the op that fails where this one would and computes no result; it replaces this one where nothing reads the results.
	 * NULL: there is none, the op itself stays. */
	void (*check)(Build *b, const Op *op);
	/* makes operand 0 where the model does not give it: the tensor that PopXL's loads fill (R51); in: the operands so far */
	Tensor *(*buffer)(Build *b, Tensor *const *in, const AttrVal *attrs, const char *name);
	/* how .pxl orders the parameters, by name, where PopXL's order is not that of the operands; NULL: as listed */
	const char *order;
	/* ops that write or give back other operands than the first: is operand i written; operand that result `out` is an alias of, or -1 */
	int (*modifies)(const Op *op, int i);
	int (*shares)(const Op *op, int out);
	int (*ipu)(const Op *op, int out);   /* where a result is, for ops that give results elsewhere than they run */
	const char *expr;                    /* (OP_kernel: its attribute) in the language of `kernel`, over operand and attribute names */
	double flops;                        /* per result element, for costs */
	const char *doc, *formula;           /* doc: what, rules, errors — one paragraph each, in our words */
	struct { double lo, hi; } sample;    /* where tests draw operands */
};
#define OPDEF(n, ...) const OpDef op_##n = { .id = OP_##n, .name = #n, __VA_ARGS__ }

extern const OpDef *const op_table[OP_COUNT];
/* by .pxl name, alias, or with the variant's underscore, `var_updates.` and `collectives.` accepted before ops of these families */
int fails_always(const Op *op);                             /* OpDef.fails of an op that can fail whatever its attributes */
const OpDef *op_find(const char *name, int *inplace);
const char *op_group_family(const char *group);             /* "collectives" → "collective"; NULL: no such group */
int   op_param(const OpDef *d, const char *name);           /* index, or -1 */
int   op_operand(const OpDef *d, int param);                /* index into op->in of a tensor parameter, or -1 */
static inline const OpDef *op_def(const Op *op) { return op_table[op->code]; }
/* the group of elementwise ops it stands for, wholly or in part; NULL: none */
static inline Pattern *op_pattern(const Op *op)
{
	const Param *q = op_table[op->code]->params;
	return q && q->kind == P_PATTERN ? op->attr[0].p : NULL;
}
static inline int op_is(const Op *op, unsigned trait) { return (op_table[op->code]->traits & trait) != 0; }
/* what it is called in listings: its type, or the name that the model gave it */
const char *op_type_name(const Op *op);
const char *op_spelled(const OpDef *d, int inplace);      /* in the language: "add_", "adam_var_update" */
const char *op_named(const Op *op);                       /* the op's name in the language, a kernel's or host op's own */
const char *op_said(const Op *op);                        /* as messages call it: so, or after the op of the model that it serves */
const AttrVal *op_attr(const Op *op, const char *name);     /* never NULL: a wrong name is our bug and gives an unset one */

int   op_param_at(const OpDef *d, int position);            /* index of the parameter that .pxl takes there; -1 past the last */

/* What an op moves between the device and the rest of the world; a merged exchange moves several things (transfer.c). */
typedef enum TransferKind { MOVE_HOST_LOAD, MOVE_HOST_STORE, MOVE_REMOTE_LOAD, MOVE_REMOTE_STORE, MOVE_CODE_LOAD, MOVE_KINDS } TransferKind;
typedef struct Transfer {
	TransferKind kind;
	Stream *stream;              /* of host transfers */
	RemoteBuffer *buffer;        /* of remote ones */
	Tensor *t;                   /* what is stored, or loaded over (NULL: a result of its own) */
	Tensor *offset, *out;
	int code;                    /* of code loads: the graph's index, or in the lowered copy the number of its segment */
	int writes;                  /* t is overwritten, and out an alias of it */
	int in_at, out_at;           /* first operand and result */
	Span at;
} Transfer;
int      op_transfers(const Op *op);                        /* how many */
Transfer op_transfer(const Op *op, int i);
int      op_hands_out(const Op *op, int out);               /* result `out` lies in a stream's entry */
AttrVal  transfer_parts(Arena *a, Op *const *ops, int n);   /* the attribute of the exchange that ops become */
void     exchange_set_code(Op *op, int part, int segment);
int      constant_offset(const Tensor *t, int64_t *x);      /* known now; 0: it is not */
const char *remote_name(Arena *a, const RemoteBuffer *b, const Tensor *offset);     /* default name of a load: "buffer_1_0" */

/* The set of names a model may use for ops, one row each: name and in-place variants counted apart. */
typedef struct OpName { const char *name; const OpDef *def; int inplace; } OpName;
int op_names(OpName *out, int max);                         /* alphabetical; returns how many there are */
void op_signature(const OpDef *d, int inplace, Buf *out);   /* "softmax(t, axis: int)" */
void op_name_signature(const OpName *o, Buf *out);          /* the same under that name */
void op_page(const OpDef *d, Buf *out);                     /* one op's page, for `pxlc ops NAME` and docs/ops.md */

/* --- shape rules ------------------------------------------------------------------------------------ */
struct Infer {
	Build *b;
	Op *op;                              /* operands and attributes are in place, results not yet */
	const OpDef *def;
	Spec out[8];
	int nout;                            /* preset from the table */
	Spec *many;                          /* when a rule makes more than 8 results: arena array of nout */
	int made_before;                     /* read from text: users that came later may say where an operand is, so places are not compared */
};
/* What ir_op calls: checks common to all ops (poison, graph, placement, constants, float8), then the rule,
 * then sizes of the results.  1: in->out and in->nout are set; 0: after diagnostics, or silently for poison. */
int infer_run(Infer *in);
/* a diagnostic at the op, with a note per operand saying its shape and where it came from, and the chain of calls */
Diag *infer_error(Infer *in, DiagCode code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static inline Spec infer_in(const Infer *in, int i) { return in->op->in.at[i]->spec; }
static inline Tensor *infer_tensor(const Infer *in, int i) { return i < in->op->in.n ? in->op->in.at[i] : 0; }
int infer_pattern(Infer *in);            /* of what passes make: they say what the results are */
int infer_same(Infer *in);               /* result like operand 0 */
int infer_nothing(Infer *in);            /* .nout is -1 */
int infer_broadcast(Infer *in);          /* equal dtypes, broadcast shapes; in-place: operand 0's shape */
int infer_compare(Infer *in);            /* the same with bool result */
int infer_need_float(Infer *in, int i);  /* 1, or 0 after a diagnostic naming op, operand and dtype */
int infer_need_number(Infer *in, int i); /* float or int */
int infer_need_int(Infer *in, int i);
int infer_need_bits(Infer *in, int i);   /* integer or bool */
int infer_need_indices(Infer *in, int i);    /* of a gather: i32, u32 or i64 */
int infer_need_float8(Infer *in, int i);
int infer_log2_scale(Infer *in, int i);  /* int32 of rank 0 (R98) */
int infer_axis(Infer *in, int64_t axis, int rank, int *out);            /* negative axes; 0 after a diagnostic */
int infer_axes(Infer *in, const AttrVal *axes, int rank, unsigned *mask);   /* unset: all; duplicates are errors */

int infer_nonempty(Infer *in, unsigned axes);        /* 0 after a diagnostic if one of these axes of operand 0 has length 0 */
int infer_reduce(Infer *in);             /* operand 0 with its `axis` folded, by `keepdims`; axes are resolved */
unsigned op_axes(const Op *op);          /* of such an op, as bits */
int      reduce_kind(const Op *op);      /* PXLRT_SUM …, or -1: no reduction */

/* for rules that compute attributes: the resolved value replaces what the user wrote, so that printing,
 * CSE and emission all see one form */
void infer_set_ints(Infer *in, const char *name, const int64_t *v, int n);
void infer_set_int(Infer *in, const char *name, int64_t v);
int infer_dims(Infer *in, const char *name, Shape *out);     /* the shape that attribute `name` gives */
int infer_scalar(Infer *in, const char *name);       /* a P_SCALAR given as a tensor must have one element */
int infer_word(Infer *in, const char *name, const char *const *words);  /* index of a P_STR's value; -1 after a diagnostic */
int infer_seed(Infer *in, int i);                    /* uint32 of shape [2] */
int infer_equal_shapes(Infer *in, int i, int j);
int infer_fits(Infer *in, const char *name);         /* operand 0's integer type holds the number, cut off towards 0 */
/* "in `Linear.build`, called from …" as a note; nothing for an empty chain */
void diag_chain(Diags *ds, Diag *d, const Frame *chain);

#endif
