/* ir.h — the program as data: Ir, Graph, Op, Tensor.
 *
 * An Ir owns a main graph and subgraphs; a Graph is a list of ops over tensors; an Op has operands,
 * results, attributes and, for calls, the graphs it calls.  Order between ops comes from data edges,
 * from `after` constraints, and from modification seen through an output — nothing else.
 *
 * The IR allows rewriting after use: ops keep their id when moved, tensor pointers stay valid, graphs
 * gain inputs and outputs after calls exist and the call sites follow (ir_add_output).
 * Everything lives in ir->mem.  Walk arrays by index; never depend on addresses.
 *
 * A repeat calls the user's graph itself, without PopXL's wrapper around it; the wrapper's number is taken
 * all the same, so that ids agree, and its id is kept for listings.
 *
 * Ids and names follow semantics.md R44–R55: one op counter from 100, one subgraph counter from 0,
 * one clash counter from 0, all per Ir. */
#ifndef COMPILER_IR_IR_H
#define COMPILER_IR_IR_H

#include "lang/base/diag.h"
#include "lang/base/intern.h"
#include "lang/base/map.h"
#include "runtime/runtime.h"

typedef struct Ir Ir;
typedef struct Graph Graph;
typedef struct Op Op;
typedef struct Tensor Tensor;
typedef struct OpDef OpDef;                  /* compiler/ops/op.h */
typedef struct Pattern Pattern;

/* --- shapes, specs, host data ------------------------------------------------------------------ */
typedef struct Shape { int rank; int64_t dim[MAX_RANK]; } Shape;

int     shape_eq(Shape a, Shape b);
int64_t shape_nelems(Shape s);                       /* -1 if the product overflows */
int     shape_legal(Shape s);                        /* may a tensor have it: the rule is in shape.c */
int     shape_broadcast(Shape a, Shape b, Shape *out);         /* 0: they do not */
const char *shape_str(Arena *a, Shape s);            /* "[2, 4]": as .pxl writes it */
const char *shape_tuple(Arena *a, Shape s);          /* "(2, 4)", "(32,)", "()": as PopXL prints it */
const char *spec_str(Arena *a, DType t, Shape s);    /* "f32[2, 4]" */

typedef struct Spec { DType dtype; Shape shape; Shape meta; int has_meta; } Spec;

/* A compile-time array: bytes, or a recipe that becomes bytes only when somebody looks (host_bytes). */
typedef struct HostArray {
	DType dtype;
	Shape shape;
	RtInit init;                 /* INIT_DATA: init.data holds the bytes */
} HostArray;
HostArray  *host_new(Arena *a, DType t, Shape s);                      /* zeros, writable through host_bytes */
void       *host_bytes(Arena *a, HostArray *h, uint64_t seed);         /* materialises a recipe */
size_t      host_size(const HostArray *h);
HostArray  *host_scalar(Arena *a, DType t, double x);

/* where something was made: place, and the chain of module or function calls that led there; block: no call, but an
 * op_debug_context */
typedef struct Frame { const char *what; Span at; const struct Frame *up; int block; } Frame;   /* what: "Linear.build" */

/* --- tensors ---------------------------------------------------------------------------------------- */
typedef enum TensorKind { T_TENSOR, T_VARIABLE, T_CONSTANT } TensorKind;
typedef enum TileSet { TILES_UNDEFINED, TILES_COMPUTE, TILES_IO } TileSet;
typedef enum RetrievalMode { ONE_PER_GROUP, ALL_REPLICAS } RetrievalMode;
enum { IPU_UNKNOWN = -1 };

typedef struct Use { Op *op; int index; } Use;

struct Tensor {
	int index;                   /* creation order in the Ir: passes key side tables by it */
	TensorKind kind;
	Graph *graph;
	const char *name;            /* unique in the graph, with name scopes, without the graph's part */
	Spec spec;
	Op *def;                     /* producer, or NULL: variable, constant, graph input */
	int def_index;
	int input_index;             /* position among the graph's inputs, or -1 */
	int by_ref;                  /* of a graph input */
	int poison;                  /* made by a failed op: consumers stay silent */
	VEC(Use) uses;               /* in the order ops were made */
	HostArray *data;             /* constants, and initial values of variables */
	const struct Stream *host;   /* may be computed where that stream's next entry goes (compiler/passes/store.c) */
	int grouping;                /* variables: index into ir->groupings, 0 = all replicas */
	RetrievalMode retrieval;
	int state;                   /* variables: of the training, not of the model; may start anew where weights lack it */
	struct RemoteBuffer *remote; /* variables: the entry of a remote buffer that it stands for; NULL: on the device */
	int64_t entry;
	Span at;
	const Frame *chain;
	/* scratch of compiler/ir: */
	int mark, seen;              /* position in g->tensors; visited in epoch */
	int written, written_at;     /* graph_modifies_input's answer, and the ir->stamp it holds for */
	struct Layout *lies;         /* layout_of's answer, and the ir->moved it holds for */
	int lies_at;
};

/* --- ops ---------------------------------------------------------------------------------------------- */
typedef enum ExecContext { EXEC_NORMAL, EXEC_WEIGHTS_FROM_HOST, EXEC_WEIGHTS_TO_HOST, EXEC_ACCUMULATE_OUTER, EXEC_COUNT } ExecContext;

/* value of an attribute; which member is meant follows from the parameter's kind in the op table */
typedef struct AttrVal {
	int set;                     /* 0: left at none */
	int64_t i;                   /* INT BOOL, DTYPE (as DType) */
	double f;                    /* FLOAT, and SCALAR given as a number */
	const char *s;               /* STR */
	struct { const int64_t *at; int n; } ints;      /* INTS SHAPE */
	struct { const double *at; int n; } floats;     /* FLOATS */
	void *p;                     /* STREAM BUFFER ARRAY (HostArray *) PATTERN GRAPH */
} AttrVal;

struct Op {
	int id;                      /* from 100, one counter per Ir */
	int code;                    /* OP_…: compiler/ops/op.h */
	int inplace;                 /* the variant with a trailing underscore */
	Graph *graph;
	VEC(Tensor *) in;            /* in the order of the op table's operands; NULL: optional and absent */
	VEC(Tensor *) out;
	AttrVal *attr;               /* one per parameter of the op, by parameter index */
	Graph *callee[2];            /* call, repeat: [0]; conditional: then, else */
	VEC(char) modified;          /* call, repeat: how operand i is passed (Passing); empty: all by value */
	const char *loop;            /* repeat: id of PopXL's wrapper graph (R45), for listings; else NULL */
	VEC(Op *) after;             /* ordering constraints: these run first */
	const char *scope;           /* name scope it was made in, or "" */
	const char *instead;         /* made by lowering or autodiff: what messages call it, after the op of the model; NULL: it is one itself */
	int ipu;
	TileSet tiles;
	ExecContext exec;
	Span at;
	const Frame *chain;
	int mark;                    /* scratch of compiler/ir: position in graph->ops */
};

/* BY_VALUE operands keep their value (the callee gets a copy if it writes); the others are passed by
 * reference.  BY_REF: input marked by-ref, or marked by ir_mark_modified(.., infer): counts as written
 * where the callee writes.  BY_REF_WHOLE: counts as written in any case. */
typedef enum Passing { BY_VALUE, BY_REF, BY_REF_WHOLE } Passing;

/* Walks over calls recurse, and so does the emitted code: a limit keeps both from running out of stack. */
enum { MOST_CALL_LEVELS = 200 };

/* --- graphs -------------------------------------------------------------------------------------------- */
typedef void (*OpHook)(void *user, Op *op);
typedef struct Hook { int handle; OpHook fn; void *user; } Hook;

typedef enum ResultForm { RESULT_PLAIN, RESULT_TUPLE, RESULT_LIST } ResultForm;      /* plain: nothing, a tensor, a tuple of several */
struct Graph {
	Ir *ir;
	int index;                   /* position in ir->graphs; main is 0 */
	const char *id;              /* "Linear_subgraph(0)"; "" for main */
	const char *name;            /* what the id was made from: "Linear"; what the language calls the name is the id (R44) */
	VEC(Tensor *) inputs;
	VEC(Tensor *) outputs;
	int written_outputs;         /* of those, how many the user wrote; the rest autodiff added */
	ResultForm form;             /* what a call gives of those, as the function that built the graph did */
	VEC(Tensor *) tensors;       /* every tensor of the graph, in creation order */
	VEC(Op *) ops;               /* in creation order */
	VEC(Op *) calls;             /* ops anywhere in the Ir that call this graph */
	VEC(Hook) hooks;
	int next_hook;
	Map names;                   /* interned name → itself: names taken */
	VEC(Op *) seq[EXEC_COUNT];   /* in_sequence's list L (R199) */
	Map args;                    /* named inputs (addons' named graphs): Tensor * → dotted name, for listings */
	int not_differentiable;      /* R230: from a module with a hand-written gradient */
	Span at;
	const Frame *chain;
	int depth;                   /* levels of calls below it; at most MOST_CALL_LEVELS */
	int seen;                    /* scratch of compiler/ir: visited in epoch */
};

typedef struct Stream {
	int index;                   /* in ir->streams */
	const char *name;            /* unique in the Ir */
	const char *asked;           /* as the model has it; NULL: nothing was said. The host's name for it, see stream_host_names */
	int is_input;
	Spec spec;
	Ir *ir;
	Span at;
} Stream;

/* `entries` slots of one spec per replica; id is its place in ir->buffers, and one less than what the language shows */
typedef struct RemoteBuffer { int id; Spec spec; int64_t entries; Ir *ir; Span at; } RemoteBuffer;
/* groups of replicas that hold one value together; assignment: replica → group, empty where stride and size say it */
typedef struct Grouping { int stride, size, count; VEC(int) assignment; int is_const; } Grouping;

struct Ir {
	Arena *mem;
	Intern *names;
	Diags *ds;
	int number;                  /* of the programs built in one go, from 0 (R2) */
	Graph *main;
	VEC(Graph *) graphs;         /* main first, then in creation order */
	int ntensor;                 /* indices handed out */
	int next_op, next_graph, next_clash;
	int replicas, local_replicas, transfers;
	uint64_t seed;
	VEC(Stream *) streams;
	VEC(RemoteBuffer *) buffers;
	VEC(Grouping *) groupings;
	const struct HostOp *hosts;  /* what `host_op` may name (compiler/ops/host_op.h) */
	int frozen;                  /* owned by a session: nothing may be added (R7) */
	Map ids;                     /* interned graph id → Graph */
	VEC(Graph *) sequenced;      /* graphs whose seq lists are not empty */
	int merged;                  /* there are exchanges: transfers made now may have to come after them */
	int bf16_products;           /* f32 products round their operands to bf16: said of what is about to become code */
	int placed;                  /* some op is off IPU 0 or on io tiles: places are worth comparing */
	int epoch, stamp;            /* walks so far; changes so far */
	int moved;                   /* changes so far to where existing tensors lie: other operands, views made or unmade */
};

/* --- building -------------------------------------------------------------------------------------------- */
typedef enum SeqMode { SEQ_NONE, SEQ_TRUE, SEQ_FALSE, SEQ_PASS } SeqMode;

/* Where new things go, and what surrounds them.  Elaboration keeps one and changes it as blocks open
 * and close; transforms make their own. */
typedef struct Build {
	Ir *ir;
	Graph *g;
	Span at;
	const Frame *chain;
	const char *scope;           /* "a/b", or "" */
	int ipu;
	TileSet tiles;
	ExecContext exec;
	SeqMode seq;
} Build;

/* leaving the outermost in_sequence block: later blocks are not ordered after this one (R201) */
void   ir_end_sequence(Ir *ir);
/* called after each op made in g (R212); handles count from 1; removing an unknown one gives 0 */
int    ir_add_hook(Graph *g, OpHook fn, void *user);
int    ir_remove_hook(Graph *g, int handle);

Ir    *ir_new(Arena *mem, Intern *names, Diags *ds, int replicas);
Graph *ir_graph(Ir *ir, const char *name);                              /* "<name>_subgraph(<n>)" */
Graph *ir_graph_with_id(Ir *ir, const char *id);                        /* derived graphs: R45; made unique */
Build  ir_build(Graph *g);                                              /* defaults, at the graph */
const char *ir_name(Graph *g, const char *want);                        /* R48: want, or want__t<n> */
const char *ir_scoped(const Build *b, const char *name);                /* with the name scope in front */

Tensor *ir_input(Build *b, Spec spec, const char *name, int by_ref);
Tensor *ir_constant(Build *b, HostArray *data, const char *name);       /* name NULL: "t" */
Tensor *ir_variable(Build *b, HostArray *data, const char *name);       /* main graph only: NULL after a diagnostic */
void    ir_output(Build *b, Tensor *t);
Stream *ir_stream(Build *b, int is_input, Spec spec, const char *name); /* name NULL: h2d_stream / d2h_stream */
RemoteBuffer *ir_buffer(Build *b, Spec spec, int64_t entries);              /* NULL after a diagnostic */
/* other entries for r; 0 after a diagnostic: something uses an entry beyond, or the shape or dtype of one */
int     ir_set_buffer(Build *b, RemoteBuffer *r, Spec spec, int64_t entries);
/* makes variable t stand for an entry (R336, R340); t must not be used by ops. 0 after a diagnostic */
int     ir_set_remote(Build *b, Tensor *t, RemoteBuffer *r, int64_t entry);

/* Add an op: operands as in the op table (NULL where absent), attrs one per parameter (copied; NULL:
 * defaults).  Runs the shape rule, makes the results (name NULL: the op's default name), applies the
 * context and the hooks.  After a failed rule the results are poison; never NULL. */
Op     *ir_op(Build *b, int code, Tensor *const *in, int nin, const AttrVal *attrs, const char *name);
Op     *ir_op_inplace(Build *b, int code, Tensor *const *in, int nin, const AttrVal *attrs, const char *name);
/* call, repeat, conditional: operands follow the callee's inputs; outputs are made for written and added outputs */
Op     *ir_call(Build *b, int code, Graph *then, Graph *other, Tensor *const *in, int nin, const AttrVal *attrs);
/* What operand i and result i of a call, repeat or conditional look like.  A repeat may read an operand by rows, one a turn
 * (op_rows: 1 from the first on, -1 from the last; 0: the whole, every turn), and gives what autodiff added to its graph's
 * outputs as rows, one a turn. */
Spec    op_operand_spec(const Op *op, int i);
Spec    op_result_spec(const Op *op, int i);
int     op_rows(const Op *op, int i);
Spec    spec_rows(Spec one, int64_t n);                                 /* n of them behind each other: one axis more, where there is room */
/* set_parent_input_modified (R162): operand i of a call or repeat is passed by reference; 0 after a diagnostic */
int     ir_mark_modified(Build *b, Op *call, int i, int infer);

/* Groups of replicas: the index in ir->groupings of one made so, old or new; -1 with the reason. */
int     grouping_const(Ir *ir, int64_t stride, int64_t size, const char **why);
int     grouping_from(Ir *ir, const int *group, int n, const char **why);       /* replica → group */
int     grouping_at(const Grouping *g, int replica);                            /* its group */
int     grouping_same(const Ir *ir, const Grouping *a, const Grouping *b);
Shape   variable_host_shape(const Tensor *t);                                  /* of t->data: groups in front, where there are several */
void    ir_set_replicas(Ir *ir, int replicas);                                  /* while no other grouping was made */

/* --- rewriting ----------------------------------------------------------------------------------------- */
/* and a result at every call site; site_name as R52.  Graphs that share a conditional with g get zeros for it */
void    ir_add_output(Graph *g, Tensor *t, const char *site_name);
void    ir_set_input(Op *op, int i, Tensor *t);                         /* keeps uses right */
void    ir_replace_uses(Tensor *old, Tensor *with);                     /* everywhere in old's graph, outputs too; not in with's producer */
void    ir_remove_op(Op *op);                                           /* results must be unused */
void    ir_remove_ops(Graph *g, const char *dead);                      /* all ops with dead[position in g->ops]: one sweep, any order */
void    ir_remove_output(Graph *g, int i);                              /* and the result at every call site, unused there */
/* op, made beside old, gives old's results (its own must be unused), and what ran after old runs after it; old is gone */
void    ir_take_place(Op *op, Op *old);
void    ir_run_after(Op *later, Op *first);                              /* a constraint, unless it is there or they are one */
void    ir_sort_ops(Graph *g);                                          /* by data edges and constraints, else as they stand */
/* one op in the place of several of a graph, none of which waits for another: operands and results are theirs in order,
 * tensors keep their names; ops stay sorted by dependence, hooks are called */
Op     *ir_join_ops(Build *b, int code, Op *const *ops, int n, const AttrVal *attrs);
Tensor *ir_new_result(Op *op, Spec spec, const char *name);             /* one more result of an op */
/* deep copy with the same ids, names and indices, without hooks, not frozen; bytes of host arrays and interned
 * names are shared, so the original must live as long.  map: receives Tensor * → its copy; may be NULL */
Ir     *ir_clone(const Ir *ir, Arena *mem, Map *tensor_map);

/* --- questions ------------------------------------------------------------------------------------------ */
const char *tensor_id(Arena *a, const Tensor *t);                       /* "<graph id>/<name>" */
const char *tensor_repr(Arena *a, const Tensor *t);                     /* R42: "Variable[bob popxl.dtypes.int32 (1,)]" */
const char *graph_repr(Arena *a, const Graph *g);
const char *graph_title(const Graph *g);                                /* in messages: its id, or "the main graph" */
Tensor *graph_find(const Graph *g, const char *id);                     /* by full id */
int     graph_calls(const Graph *g, const Graph *callee);               /* directly or through others */
int     tensor_ipu(const Tensor *t);                                    /* R117; IPU_UNKNOWN */
TileSet tensor_tiles(const Tensor *t);
int     graph_modifies_input(const Graph *g, int i);                    /* some op writes that input's storage */

/* Storage: what a view shows.  Tensors with the same root share memory (semantics.md 2.10). */
typedef struct Layout { Tensor *root; int64_t offset; int64_t stride[MAX_RANK]; } Layout;     /* in elements */
Layout  layout_of(Tensor *t);                                           /* through every viewing or modifying producer */
int     layout_contiguous(const Layout *l, Shape s);
Tensor *storage_root(Tensor *t);
int     op_modifies(const Op *op, int i);                               /* writes the storage of operand i */
/* of a fused group (compiler/passes/fuse.h): operand whose memory result `out` is, or -1; is operand i stored over */
int     pattern_alias(const Pattern *p, int out);
int     pattern_writes(const Pattern *p, int i);
int     op_output_aliases(const Op *op, int out);                       /* operand whose storage result `out` shares; -1 */

/* --- whole-program pieces, one file each ------------------------------------------------------------------ */
int  ir_verify(const Ir *ir, Buf *why);                                 /* 1: fine; else why says which node is how wrong */
int  ir_check_ambiguity(Ir *ir);                                        /* R143: 0 after diagnostics */
/* Order of execution: data edges, constraints, order of modifications through outputs, execution contexts;
 * among ready ops least live bytes, then creation order.  NULL after a diagnostic (a cycle). n = g->ops.n */
Op **schedule(Graph *g, Arena *mem);
void ir_print(const Ir *ir, Buf *out);                                  /* textual IR; ir_parse gives the same Ir back */
Ir  *ir_parse(Arena *mem, Intern *names, Diags *ds, uint32_t src);
void print_schedule(Graph *g, const Map *arg_names, Buf *out);          /* R56–R64; arg_names: Tensor * → dotted name, may be NULL */
/* when code has to be in memory, by graph index: spans of steps of the main graph's schedule, both ends included */
typedef enum CodeState { CODE_NEVER, CODE_ALWAYS, CODE_UNORDERED, CODE_LOADED } CodeState;      /* UNORDERED: always, see code.c */
typedef struct CodeSpan { int first, last; } CodeSpan;
typedef struct CodeReport { CodeState state; VEC(CodeSpan) live; VEC(int) loads; } CodeReport;
CodeReport *ir_code(Ir *ir, Arena *mem);
void code_print(Ir *ir, Buf *out);                                      /* `pxlc emit code` */
void ir_debug(const Ir *ir, Buf *out);                                   /* `pxlc emit debug` */
/* one digraph; of the ops only those from `first` to `last` in the schedule, last < 0: to the end */
void ir_dot(const Graph *g, int first, int last, Buf *out);

#endif
