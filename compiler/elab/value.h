/* value.h — what exists at compile time.
 *
 * A Value is two words: a kind and a payload.  Numbers and dtypes are held directly, everything else
 * is a pointer into the compile's arena, so lists, dicts, trees and modules are references.
 *
 * V_ERROR is the value of what went wrong: its diagnostic is out, and whatever uses it stays silent and
 * gives V_ERROR again.  That one rule lets a run report several mistakes without a cascade. */
#ifndef COMPILER_ELAB_VALUE_H
#define COMPILER_ELAB_VALUE_H

#include "compiler/ir/ir.h"
#include "compiler/ops/op.h"
#include "compiler/transforms/autodiff.h"
#include "compiler/transforms/transforms.h"
#include "lang/lang.h"

/* KIND(ID, what messages call it, with article) */
#define VALUE_KINDS(KIND) \
	KIND(ERROR, "an error") KIND(UNSET, "nothing") KIND(NONE, "none") KIND(BOOL, "a bool") KIND(INT, "an int") \
	KIND(FLOAT, "a float") KIND(STR, "a string") KIND(LIST, "a list") KIND(TUPLE, "a tuple") KIND(DICT, "a dict") \
	KIND(RANGE, "a range") KIND(FN, "a function") KIND(BUILTIN, "a function") KIND(METHOD, "a method") \
	KIND(OPFN, "an op") KIND(CLASS, "a module") KIND(INSTANCE, "a module instance") KIND(ARRAY, "an array") \
	KIND(INIT, "an initialiser") KIND(DTYPE, "a dtype") KIND(SPEC, "a spec") KIND(TENSOR, "a tensor") \
	KIND(GRAPH, "a graph") KIND(STREAM, "a stream") KIND(BUFFER, "a remote buffer") KIND(TREE, "a tree") \
	KIND(FACTORY, "a variable factory") KIND(NAMED, "a named graph") KIND(BOUND, "a bound graph") \
	KIND(CALL, "a call record") KIND(GRAD, "a gradient record") KIND(EXPECTED, "an expected connection") \
	KIND(CACHE, "a graph cache") KIND(AUX, "the aux record of a module") KIND(VAR_GRAD, "the gradients of a module's variables") KIND(CONTEXT, "a context") KIND(DATA, "a data set") KIND(OP, "an op record") \
	KIND(IR, "a program's IR") KIND(GROUPING, "groups of replicas")

typedef enum VKind {
#define KIND(id, text) V_##id,
	VALUE_KINDS(KIND)
#undef KIND
	V_COUNT
} VKind;
extern const char *const vkind_name[V_COUNT];

typedef struct Str { const char *s; int len; } Str;
typedef struct List List;
typedef struct Dict Dict;
typedef struct Range { int64_t start, stop, step; } Range;
typedef struct Fn Fn;
typedef struct Builtin Builtin;
typedef struct Class Class;
typedef struct Instance Instance;
typedef struct Tree Tree;
typedef struct Factory Factory;
typedef struct Named Named;
typedef struct Bound Bound;
typedef struct Method Method;
typedef struct Cache Cache;
typedef struct Handmade Handmade;
typedef struct Context Context;
typedef struct Env Env;
typedef struct Elab Elab;

typedef struct OpFn { const OpDef *def; int inplace; } OpFn;
typedef struct DataSet { int kind; const char *split; int shuffle; } DataSet;       /* kind: DataKind of elab.h */
typedef struct CallRecord { Op *op; } CallRecord;
typedef struct GroupingOf { Ir *ir; int index; } GroupingOf;

typedef struct Value {
	VKind kind;
	union {
		int b;
		int64_t i;
		double f;
		DType dtype;
		void *p;                     /* any of the pointers below, for identity */
		Str *str;
		List *list;                  /* LIST, TUPLE */
		Dict *dict;
		Range *range;
		Fn *fn;
		const Builtin *builtin;
		Method *method;
		OpFn *opfn;
		Class *cls;
		Instance *inst;
		HostArray *array;
		RtInit *init;
		Spec *spec;
		Tensor *tensor;
		Graph *graph;
		Stream *stream;
		RemoteBuffer *buffer;
		Tree *tree;
		Factory *factory;
		Named *named;
		Bound *bound;
		Op *op;                      /* CALL, OP */
		GradInfo *grad;
		Expected *expected;
		Cache *cache;
		Handmade *hand;              /* AUX, VAR_GRAD */
		Context *context;
		DataSet *data;
		Ir *ir;
		GroupingOf *grouping;
	} u;
} Value;

struct List {
	Value *at;
	int n, cap;
	int busy;                            /* loops now walking it: it must not change */
	const char *label;                   /* "dict_keys": a snapshot that prints with its name; NULL */
};

/* keys are canonical pointers (dict_key), so that 1 and 1.0 are one key and equal strings too */
typedef struct DictEntry { Value key, val; } DictEntry;
struct Dict { Map map; int busy; };

struct Fn {
	const char *name;                    /* NULL: a value without a name */
	const AstList *params;
	Ast *body;
	int is_expr;
	Env *env;                            /* where it was made */
	Instance *self;                      /* functions of a module's body, and its build */
	const struct Within *within;         /* contexts that its body runs in: in_sequence()(f) */
	int kernel;                          /* declared so: a call is one elementwise op (kernel.c) */
};

struct Method { Value self; const Builtin *fn; OpFn op; };       /* fn NULL: an op written as a method */

struct Class { const char *name; const Ast *ast; Env *env; };

/* A module at work.  Its two trees name what build makes: recipes of variables, and the inputs they feed.
 * The trees of a submodule are nodes of its parent's (A55), so inlined variables appear as field.name. */
struct Instance {
	Class *cls;
	Map fields;                          /* interned name → Value * */
	Env *env;                            /* in which members and build run */
	Tree *facts, *args;
	Instance *parent;
	const char *field;                   /* name under parent, dotted for members of lists */
	Graph *core;                         /* the graph made by the latest create_graph: fields refer to it */
	Map grads;                           /* Graph * → GradInfo *, registered while it or a submodule was built */
	Cache *cache;                        /* of its own, when its field `cache` is true */
	Handmade *hand;                      /* of a module with `build_grad`, else NULL */
	int building;
	int tainted;                         /* some use of it failed: fields that it lacks may be that use's fault */
};

enum { TREE_DEPTH = 200 };
typedef enum TreeKind { TREE_ANY, TREE_TENSORS, TREE_FACTORIES } TreeKind;
struct Tree {
	TreeKind kind;
	Map map;                             /* interned segment → Value * (leaf, or a V_TREE) */
	int busy;
	int level;                           /* at least one more than every tree it hangs in: no tree is deeper than TREE_DEPTH */
	int linked;                          /* belongs to a submodule: outlives clearing */
};

struct Factory {
	const char *name;
	Spec spec;
	int by_ref, state;
	Value source;                        /* INIT, ARRAY, number, FN (called afresh), RANGE (successive values) */
	Value kept;                          /* the sample drawn when the factory was made, for the first instance */
	uint32_t draws;
};

/* a graph and names for some of its inputs (A71); gradient graphs carry their info */
struct Named {
	Graph *graph;
	Tree *args;
	GradInfo *info;
	Map *called;                         /* Graph * → GradInfo *: registered while it was built (A63), or NULL */
	Value origin;                        /* what built it */
	Map *aux;                            /* interned key → Value *: kept for a hand-written gradient, or NULL */
	int differentiated;
};
struct Bound { Named *named; Map map; };                         /* graph tensor → parent Tensor * */

typedef struct CacheEntry { const char *key; Graph *graph; Value result; } CacheEntry;
struct Cache { VEC(CacheEntry) at; };

typedef enum ContextKind { CTX_SEQUENCE, CTX_IPU, CTX_IO_TILES, CTX_SCOPE, CTX_DEBUG, CTX_GRAPH, CTX_MERGE, CTX_IO_EXCHANGE } ContextKind;
struct Context { ContextKind kind; int64_t n; SeqMode seq; const char *name; Graph *graph; };
/* innermost first */
typedef struct Within { const Context *c; const struct Within *outer; } Within;

/* --- making values ------------------------------------------------------------------------------------------ */
static inline Value v_of(VKind k, void *p) { return (Value){ .kind = k, .u.p = p }; }
static inline Value v_error(void)        { return (Value){ .kind = V_ERROR }; }
static inline Value v_unset(void)        { return (Value){ .kind = V_UNSET }; }
static inline Value v_none(void)         { return (Value){ .kind = V_NONE }; }
static inline Value v_bool(int b)        { return (Value){ .kind = V_BOOL, .u.b = !!b }; }
static inline Value v_int(int64_t i)     { return (Value){ .kind = V_INT, .u.i = i }; }
static inline Value v_float(double f)    { return (Value){ .kind = V_FLOAT, .u.f = f }; }
static inline Value v_dtype(DType t)     { return (Value){ .kind = V_DTYPE, .u.dtype = t }; }
static inline int   is_error(Value v)    { return v.kind == V_ERROR; }
static inline int   is_given(Value v)    { return v.kind != V_UNSET && v.kind != V_NONE; }
static inline int   is_number(Value v)   { return v.kind == V_BOOL || v.kind == V_INT || v.kind == V_FLOAT; }
static inline int   is_seq(Value v)      { return v.kind == V_LIST || v.kind == V_TUPLE; }
static inline double v_number(Value v)   { return v.kind == V_FLOAT ? v.u.f : v.kind == V_INT ? (double)v.u.i : v.u.b; }

Value v_str(Arena *a, const char *s, size_t len);
Value v_cstr(Arena *a, const char *s);
Value v_list(Arena *a);
Value v_tuple(Arena *a);
Value v_dict(Arena *a);
Value v_spec(Arena *a, Spec s);
Value v_shape(Arena *a, Shape s);                        /* as a tuple of ints */
Value v_tensors(Arena *a, Tensor *const *ts, int n);     /* as a tuple */
Value v_method(Arena *a, Value self, const Builtin *fn);
void  list_push(Arena *a, List *l, Value v);

/* --- dicts ---------------------------------------------------------------------------------------------------- */
const void *dict_key(Intern *names, Value v);            /* NULL: lists, dicts and their like cannot be keys */
DictEntry  *dict_get(const Dict *d, const void *key);
void        dict_set(Arena *a, Dict *d, const void *key, Value k, Value v);
#define DICT_EACH(d, entry) \
	for (int i_ = 0; i_ < (d)->map.n; i_++) \
		for (DictEntry *entry = (d)->map.at[i_].key ? (d)->map.at[i_].val : NULL; entry; entry = NULL)

/* --- asking --------------------------------------------------------------------------------------------------- */
int  values_equal(Value a, Value b);                     /* == of host values; identity for the rest */
int  values_equal_or(Value a, Value b);                  /* the same; -1: too large to tell */
int  values_same(Value a, Value b);                      /* is */
void value_show(Elab *e, Value v, int quoted, Buf *out); /* as print does; quoted: strings as inside containers */

#endif
