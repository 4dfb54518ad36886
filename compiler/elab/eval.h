/* eval.h — the evaluator's state, and what its files offer each other.
 *
 * Functions that evaluate return V_ERROR after a diagnostic (value.h says why).  `e->stop` is set when a
 * limit was hit: everything then unwinds without another word. */
#ifndef COMPILER_ELAB_EVAL_H
#define COMPILER_ELAB_EVAL_H

#include "compiler/elab/elab.h"
#include "compiler/elab/value.h"

typedef struct File File;

/* Names bind in the innermost Env of a fn, build, program, module body or file; blocks open none. */
struct Env {
	Env *up;
	Map vars;                            /* interned name → Value * */
	Instance *inst;                      /* a module's own scope: names are its fields */
	File *file;                          /* set on every Env: whose text runs */
};

typedef struct Import { Value v; const File *from; } Import;
struct File {
	uint32_t src;
	const char *name;
	Ast *ast;
	Env env;
	Map imports;                         /* interned name → Import * */
	int loading, failed;
};

struct Elab {
	ElabOptions o;
	Arena *mem;
	Intern *names;
	Diags *ds;
	Map builtins;                        /* interned name → Value * */
	Map files;                           /* interned path or library name → File * */
	Map formulas;                        /* const OpDef * → Ast * of its expression (numbers.c) */
	File *main;
	VEC(const Ast *) programs, tasks;
	Build b;                             /* where ops go; b.ir is NULL while no program is being built */
	Span at;                             /* of the call being made: place of messages and of new ops */
	Instance *self;                      /* whose build is running */
	Instance *owner;                     /* whose create_graph made the current graph */
	Value ret;                           /* of the statement `return` */
	int64_t steps;
	size_t used_at_start;                /* arena bytes when this run began: see limits.c */
	int depth, calls, loops;
	int stop;
	int exchanges;                       /* merge_exchange and io_tile_exchange blocks that are open */
	Map draws;                           /* interned name → how many initial values were drawn for it, + 1 */
	uint32_t arrays;                     /* random host arrays made so far: their stream names */
	int built;                           /* programs so far: their numbers */
	int bad_sets;                        /* the last program was not built because of what its parameters were set to */
	int replicas_given;                  /* the command line says how many: the model cannot */
	int loading_task;                    /* evaluating a task's fields: files may be named */
};

/* --- arguments -------------------------------------------------------------------------------------------- */
typedef struct Arg { const char *name; Value v; Span at; } Arg;
typedef struct Args { VEC(Arg) pos; VEC(Arg) named; Span at; } Args;

/* a parameter, of a function of the model or of ours; `optional` ones are V_UNSET when left out */
typedef struct ParamInfo { const char *name; Star star; int optional; } ParamInfo;
typedef struct Params { const char *what; ParamInfo *at; int n; Span decl; } Params;      /* what: "`Linear`" */

/* What a built-in gets: `self` for methods, one value per parameter of its signature. */
typedef struct Call { Value self; Value *arg; Args *args; Span at; } Call;
/* Signature: names apart by spaces, `x?` may be left out, `*xs` takes the rest as a tuple, `**kw` as a dict.
 * A row of a method table whose sig is NULL is a property. */
struct Builtin { const char *name, *sig; Value (*fn)(Elab *e, Call *c); };

/* --- fail.c: diagnostics with the chain of calls; all return V_ERROR ------------------------------------------ */
Value fail(Elab *e, DiagCode code, Span at, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
Diag *fail_diag(Elab *e, DiagCode code, Span at, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
const char *dtype_help(Elab *e, const char *name);       /* for the name of an element type that is none here; NULL for other names */
/* "unknown NOUN `name`", with the nearest of the candidates; the other lists them all */
Value fail_unknown(Elab *e, DiagCode code, Span at, const char *noun, const char *name, const char *const *known, int n);
Value fail_unknown_of(Elab *e, DiagCode code, Span at, const char *noun, const char *name, const char *const *known, int n);
const char *v_describe(Elab *e, Value v);              /* "an int", "a tensor f32[2, 3]" */
const char *v_text(Elab *e, Value v);                  /* as inside containers, abridged: for messages */

/* --- limits.c -------------------------------------------------------------------------------------------------- */
int  step(Elab *e, Span at);                            /* 0: the run must end */
int  enter(Elab *e, Span at);                           /* one level deeper; 0: too deep. Pairs with leave() */
void leave(Elab *e);
int  may_take(Elab *e, uint64_t bytes, Span at);        /* 0 after a diagnostic: more memory than a model may use */
void limits_reset(Elab *e);

/* --- scope.c: names ---------------------------------------------------------------------------------------------- */
Env  *env_new(Elab *e, Env *up);
void  env_set(Elab *e, Env *env, const char *name, Value v);
Value env_get(Elab *e, Env *env, const char *name, Span at);
Value env_group_op(Elab *e, Env *env, const char *group, const char *name, Span at);     /* var_updates.NAME, collectives.NAME; unset: no such group here */
int   env_has(Elab *e, Env *env, const char *name);
const char *library_help(Elab *e, const char *name);    /* use.c: for a name that the library has, or one of its modules; NULL for others */
void  env_poison(Elab *e, Env *env, const Ast *a);      /* names that skipped statements would have bound become V_ERROR */

/* --- eval_expr.c, operators.c, index.c, eval_stmt.c ---------------------------------------------------------------- */
typedef enum Flow { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE, FLOW_RETURN, FLOW_STOP } Flow;
Value eval(Elab *e, Env *env, const Ast *a);
int   eval_bool(Elab *e, Value v, Span at, const char *where);     /* 1, 0; -1 after a diagnostic */
Value eval_binary(Elab *e, AstOp op, Value a, Value b, Span at);
Value eval_unary(Elab *e, AstOp op, Value a, Span at);
Value eval_index(Elab *e, Value obj, Value *subs, int n, Span at);
void  set_index(Elab *e, Value obj, Value key, Value v, Span at);
Value make_slice(Elab *e, Value lo, Value hi, Value step_by);      /* a tuple labelled "slice" */
int   is_slice(Value v);
Flow  exec_block(Elab *e, Env *env, const Ast *block);
Flow  exec(Elab *e, Env *env, const Ast *stmt);
void  assign(Elab *e, Env *env, const Ast *target, Value v);
void  assign_names(Elab *e, Env *env, const AstList *names, Value item);      /* of `for`: one takes the item whole, several unpack it */
/* every item of v in order, as a new list; 0 after a diagnostic */
int   items_of(Elab *e, Value v, Span at, List *out);
/* the same for loops: with two names or more, a dict or tree gives (key, value) pairs */
int   loop_items(Elab *e, Value v, int names, Span at, List *out);

/* --- field.c: v.name; methods and properties of each kind ------------------------------------------------------------ */
Value get_field(Elab *e, Value obj, const char *name, Span at);
void  set_field(Elab *e, Value obj, const char *name, Value v, Span at);
const Builtin *methods_of(VKind kind);
extern const Builtin str_methods[], list_methods[], dict_methods[], array_methods[], dtype_methods[], spec_methods[],
	tensor_methods[], graph_methods[], stream_methods[], tree_methods[], factory_methods[], named_methods[],
	bound_methods[], call_methods[], grad_methods[], expected_methods[], cache_methods[], instance_methods[], op_methods[], ir_methods[], grouping_methods[], buffer_methods[];
extern const Builtin core_builtins[], cache_builtins[], tree_builtins[], host_builtins[], float8_builtins[], seed_builtins[], array_builtins[], graph_builtins[], call_builtins[], module_builtins[], stream_builtins[],
	context_builtins[], grad_builtins[], task_builtins[], ir_builtins[], variable_builtins[], remote_builtins[], host_op_builtins[];

/* --- call.c ------------------------------------------------------------------------------------------------------------- */
Value call_value(Elab *e, Value fn, Args *args);
Value call_fn(Elab *e, Fn *fn, Args *args);
Value call_bound(Elab *e, Fn *fn, Value *argv, Span at);            /* parameters already bound, as bind_fn() gives them */
Value call_builtin(Elab *e, const Builtin *f, Value self, Args *args);
int   bind_args(Elab *e, const Params *p, Args *args, Value *out);  /* one value per parameter; 0 after diagnostics */
Value *bind_fn(Elab *e, const Fn *fn, Args *args);                  /* with defaults and types; NULL after diagnostics */
int   param_by_ref(const Ast *param);
void  args_add(Elab *e, Args *args, const char *name, Value v, Span at);
Value call1(Elab *e, Value fn, Value x, Span at);                   /* fn(x) */

/* --- host_op.c --- */
void  declare_native(Elab *e, Env *env, const Ast *a);              /* the names of a C file's ops */

/* --- kernel.c ------------------------------------------------------------------------------------------------------------ */
void  declare_kernel(Elab *e, Env *env, const Ast *a);
Value run_kernel(Elab *e, const Fn *fn, Env *args);                 /* parameters are bound in args; e->b.chain is the kernel's frame */

/* --- convert.c: what a built-in asks of its arguments; 0 after a diagnostic naming it ------------------------------------ */
int want_int(Elab *e, Value v, Span at, const char *what, int64_t *out);
int want_float(Elab *e, Value v, Span at, const char *what, double *out);
int want_bool(Elab *e, Value v, Span at, const char *what, int *out);
int want_str(Elab *e, Value v, Span at, const char *what, const char **out);
int want_dtype(Elab *e, Value v, Span at, const char *what, DType *out);
int want_shape(Elab *e, Value v, Span at, const char *what, Shape *out);       /* an int or a list; each >= 0, size checked */
int want_ints(Elab *e, Value v, Span at, const char *what, int64_t **out, int *n);
int want_tensor(Elab *e, Value v, Span at, const char *what, Tensor **out);    /* of the current graph */
int want_tensors(Elab *e, Value v, Span at, const char *what, Tensor ***out, int *n);
int want_spec(Elab *e, Value v, Span at, const char *what, Spec *out);         /* a spec, or a tensor's */
int want_kind(Elab *e, Value v, VKind kind, Span at, const char *what);
Tree *want_tree(Elab *e, Value v, Span at, const char *what);                  /* tree.c: a tree, or one made of a dict of names; NULL after a diagnostic */

/* --- array.c, array_shape.c, host.c: host arrays ------------------------------------------------------------------------------------------ */
/* Numbers, nested lists and arrays as an array; dtype -1: as the data says, narrowed to 32 bits when `narrow`. NULL after a diagnostic */
HostArray *array_of(Elab *e, Value v, int dtype, int narrow, Span at);
HostArray *array_cast(Elab *e, HostArray *a, DType t);
HostArray *array_new(Elab *e, DType t, Shape s, Span at);            /* zeros; NULL after a diagnostic */
HostArray *float8_encode(Elab *e, HostArray *from, DType t, int scale, int nan);     /* x 2^scale; NULL after a diagnostic */
void *array_bytes(Elab *e, HostArray *a, Span at);                   /* a recipe becomes data here; NULL after a diagnostic */
Value array_transpose(Elab *e, HostArray *a, Value perm, Span at);   /* unset: all axes the other way round */
Value array_split(Elab *e, HostArray *a, Value parts, Value axis, Span at);
Value array_binary(Elab *e, AstOp op, Value a, Value b, Span at);
Value array_unary(Elab *e, AstOp op, HostArray *a, Span at);
Value array_index(Elab *e, HostArray *a, Value *subs, int n, Span at);
void  array_show(Elab *e, HostArray *a, Buf *out);
int   shape_fits(Elab *e, DType t, Shape s, Span at);               /* 0 after a diagnostic: it is beyond any memory */

Value spec_dict(Elab *e, const Spec *s);

/* --- ops_call.c, tensor.c ---------------------------------------------------------------------------------------------------- */
Value call_op(Elab *e, const OpDef *def, int inplace, Args *args);
int   op_arguments(Elab *e, const OpDef *def, Args *a);             /* ops_args.c: streams and specs written out; 0 after a diagnostic */
Value op_by_name(Elab *e, const char *op, Span at, int n, ...);     /* n Values as positional operands */
void  help_by_element(Elab *e, Diag *d, const char *op, const char *operands);      /* max → "element by element it is `maximum(…)`" */
Value tensor_binary(Elab *e, AstOp op, Value a, Value b, Span at);
Value tensor_unary(Elab *e, AstOp op, Value a, Span at);
Value tensor_index(Elab *e, Tensor *t, Value *subs, int n, Span at);
Tensor *constant_of(Elab *e, Value v, int dtype, const char *name, Span at);   /* NULL after a diagnostic */
int   building(Elab *e, Span at, const char *what);                 /* 1: a program is being built; else a diagnostic */
int   in_graph(Elab *e, const Tensor *t, Span at, const char *what);  /* 1: it belongs to the current graph */
Value op_results(Elab *e, Op *op, int n);                           /* none, one tensor, or a tuple; V_ERROR when poison */

/* --- numbers.c: elementwise ops of numbers alone --------------------------------------------------------------------------------- */
int   op_takes_numbers(const OpDef *def);
Value op_of_numbers(Elab *e, const OpDef *def, const Value *val, Span at);      /* val: per parameter, V_UNSET if not given */

/* --- graph.c, invoke.c: subgraphs and calls ------------------------------------------------------------------------------------ */
typedef struct Entered { Build b; Instance *self, *owner; } Entered;
Entered graph_enter(Elab *e, Graph *g);
void    graph_leave(Elab *e, const Entered *was);
Graph  *graph_from(Elab *e, Value fn, Args *args);                  /* create_graph's core; NULL after diagnostics */
Value   v_graph(Elab *e, Graph *g);
/* One operand per input of g: by position (lists are flattened one level), by the bound map, by `dict`, which wins
 * over the bound map.  `check`: every input must be given.  NULL after diagnostics */
Tensor **graph_operands(Elab *e, Graph *g, const Map *bound, const List *pos, Value dict, int check, Span at);
Op     *invoke(Elab *e, Graph *g, Tensor **in, Span at);            /* the `call` op; NULL after diagnostics */
Value   v_call(Elab *e, Op *op);
Value   call_outputs(Elab *e, Op *op);                              /* what a call's expression gives */
Graph  *want_graph(Elab *e, Value v, Span at, const char *what);    /* graph, or a named graph's; NULL after a diagnostic */

/* --- build_grad.c: gradients that a module writes itself ------------------------------------------------------------------------- */
void    hand_new(Elab *e, Instance *in);                            /* the module has a build_grad */
int     hand_may_inline(Elab *e, const Instance *in, Span at);      /* A96: 0 after a diagnostic */
Value   aux_get(Elab *e, Handmade *h, Value key, Span at);
void    aux_set(Elab *e, Handmade *h, Value key, Value v, Span at);
void    var_grad_set(Elab *e, Handmade *h, Value key, Value v, Span at);
Map    *hand_take(Elab *e, Instance *in, Map *put_back);            /* aux of the graph just built; `put_back` becomes aux again */
GradInfo *hand_gradient(Elab *e, Named *n, const AutodiffOptions *o, Span at);      /* runs build_grad; NULL after a diagnostic */

/* --- module.c, factory.c, tree.c, grad.c ------------------------------------------------------------------------------------------ */
Value   instantiate(Elab *e, Class *cls, Args *args);
void    instance_assign(Elab *e, Instance *in, const char *name, Value v, Span at);
Value   instance_call(Elab *e, Instance *in, Args *args);           /* inlined */
Value   run_build(Elab *e, Instance *in, Value *argv, Span at);
Fn     *build_of(Elab *e, Instance *in);
Value   create_graph(Elab *e, Value fn, Args *args);                /* (factories, named graph) */
Value   outlined(Elab *e, Value fn, Args *args);                    /* the same, whatever the module's own cache holds */
Value   cached_graph(Elab *e, Cache *k, Value fn, Args *args);      /* named.c */
Value   records_of(Elab *e, const Map *m);                          /* grad.c: graph → record of its gradient, as a dict */
Value   add_param(Elab *e, Instance *in, const char *name, Factory *f, int overwrite, Span at);
Factory *factory_new(Elab *e, const char *name, Spec spec, Value source, int by_ref, int has_spec, Span at);
HostArray *factory_sample(Elab *e, Factory *f, const char *name, Span at);    /* the next initial value; NULL after a diagnostic */
Value   make_variable(Elab *e, const Value *arg, Span at);            /* as `variable` does, of its arguments; V_UNSET: not given */
void    set_buffer_field(Elab *e, RemoteBuffer *b, const char *name, Value v, Span at);           /* remote.c */
Value   tensor_location(Elab *e, const Tensor *t);
Tensor *factory_variable(Elab *e, Factory *f, const char *name, Span at);
Tensor *factory_input(Elab *e, Factory *f, const char *name);
Tensor *factory_remote(Elab *e, Factory *f, RemoteBuffer *b, int64_t entry, const char *name, Span at);
Tree   *tree_new(Elab *e, TreeKind kind);
int     tree_insert(Elab *e, Tree *t, Value key, Value v, int overwrite, Span at);     /* 0 after a diagnostic */
int     tree_insert_name(Elab *e, Tree *t, const char *name, Value v, int overwrite, Span at);
Value   tree_get(Elab *e, Tree *t, Value key, Span at);
Value  *tree_child(const Tree *t, const char *name);
Tree   *tree_copy(Elab *e, const Tree *t);
void    tree_clear_leaves(Tree *t);
void    tree_merge(Elab *e, Tree *into, const Tree *from);          /* leaves of `from` win */
typedef struct Leaf { const char *name; Value v; } Leaf;            /* dotted name */
typedef struct Leaves { VEC(Leaf) at; } Leaves;
Leaves  tree_leaves(Elab *e, const Tree *t);                        /* depth first, in order of insertion */
void    leaves_sort(Leaves *l);                                     /* by dotted name, byte order */
Value   tree_dict(Elab *e, const Tree *t);
Value   v_tree(Tree *t);
Value   map_to_dict(Elab *e, const Map *m);                         /* Tensor → Tensor maps as dicts */
void    check_tasks(Elab *e);                                       /* all but their data: that waits for a run */
int     program_param(Elab *e, const Ast *program, const char *name, Span at);   /* it has this parameter; 0 after a diagnostic */
Context *context_of(Elab *e, Value v, Span at);
/* contexts that are open: what surrounded them, and where each began, for those that change what was made inside */
typedef struct Opened { const Context *c; Build before; int first_op; Span at; } Opened;
typedef struct Contexts { Build was; int errors; VEC(Opened) open; } Contexts;
Contexts contexts_begin(Elab *e);
int     context_open(Elab *e, Contexts *cs, const Context *c, Span at);     /* 0 after a diagnostic */
void    contexts_end(Elab *e, const Contexts *cs);

/* --- ir.c: the program being built ---------------------------------------------------------------------------------------------- */
enum { MOST_TRANSFERS = 1 << 24 };
Value   v_ir(Ir *ir);
void    ir_set_field(Elab *e, Ir *ir, const char *name, Value v, Span at);
void    grouping_show(const GroupingOf *g, Buf *out);

#endif
