/* misuse_test.c — a host that calls every function of pxl.h wrongly: with nothing where something is wanted, with numbers that
 * nothing can be, with values that an enumeration has not, and after what it was made from has been freed.
 *
 * Each wrong call gives PXL_EINVAL and a message of its own; the test first leaves another message behind, so that an old one does
 * not count.  What cannot fail gives the value that stands for nothing.  At the end every function of the header must have been
 * called wrongly. */
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "compiler/api/pxl.h"
#include "tests/check.h"

static const char text[] = "program main(n: int = 3) {\n"
                           "    x = host_load(h2d_stream(\"x\", f32[n]))\n"
                           "    w = variable(ones([n]), name = \"w\")\n"
                           "    host_store(d2h_stream(\"y\", f32[n]), x + w)\n"
                           "}\n"
                           "program several() host_transfers 2, replicas 2 {\n"
                           "    x = host_load(h2d_stream(\"x\", i32[3]))\n"
                           "    w = variable([1, 2, 3], name = \"w\")\n"
                           "    v = variable(0.0, name = \"v\")\n"
                           "    host_store(d2h_stream(\"y\", i32[3]), x + w)\n"
                           "}\n"
                           "program bad() { y = nope }\n"
                           "task train {\n    program = main\n    data = { \"x\": array([1.0, 2.0, 3.0]) }\n}\n";

/* --- what was called ---------------------------------------------------------------------------------------------- */
static char called[8192];

static void note(const char *call)
{
	const char *at = strstr(call, "pxl_");
	size_t n = at ? strcspn(at, "(") : 0, have = strlen(called);
	if (n && have + n + 2 < sizeof called) snprintf(called + have, sizeof called - have, "%.*s ", (int)n, at);
}

/* every function that the header declares */
static void all_were_called(void)
{
	FILE *f = fopen("compiler/api/pxl.h", "r");
	char line[512], name[128];
	int n = 0;
	CHECK("", f != NULL);
	while (f && fgets(line, sizeof line, f)) {
		char *p = strncmp(line, "PXL_API", 7) ? NULL : strchr(line, '(');
		if (!p) continue;
		while (p > line && (p[-1] == '_' || (p[-1] >= 'a' && p[-1] <= 'z'))) p--;
		snprintf(name, sizeof name, "%.*s ", (int)strcspn(p, "("), p);
		n++;
		if (!strstr(called, name)) printf("%s is never called wrongly\n", name);
		CHECK("", strstr(called, name));
	}
	CHECK("", n > 50);
	if (f) fclose(f);
}

/* --- one wrong call ------------------------------------------------------------------------------------------------- */
static pxl_ctx *cx;
static pxl_session *s;

static void leave_other_messages(void)
{
	pxl_model *m;
	if (cx && pxl_compile_file(cx, NULL, &m) == PXL_OK) printf("a model without a name\n");
	if (s && pxl_write(s, -77, NULL, 0) == PXL_OK) printf("a stream without a number\n");
}

static void one_wrong(const char *call, int line, pxl_status st, const char *said, const char *want)
{
	note(call);
	int ok = st == PXL_EINVAL && strstr(said, want);
	if (!ok) printf("misuse_test.c:%d: %s\n\tgives status %d, \"%s\", not \"%s\"\n", line, call, (int)st, said, want);
	CHECK("", ok);
}

/* the context, or the session, says why */
#define WRONG(call, want)    (leave_other_messages(), one_wrong(#call, __LINE__, (call), pxl_errmsg(cx), (want)))
#define WRONG_IN(call, want) (leave_other_messages(), one_wrong(#call, __LINE__, (call), pxl_session_errmsg(s), (want)))
/* there is no object that could say it */
#define NOWHERE(call)        one_wrong(#call, __LINE__, (call), "", "")
#define GIVES(cond)          (note(#cond), CHECK("", cond))
#define NOTHING(call)        (note(#call), (call))

/* --- without objects --------------------------------------------------------------------------------------------------- */
static void no_context(void)
{
	pxl_model *m;
	pxl_array a = { .rank = 3 };
	pxl_diag d;
	const char *t;
	float x[3] = { 0 };
	pxl_host_op op = PXL_HOST_OP_INIT;
	NOWHERE(pxl_ctx_new(NULL, NULL));
	NOWHERE(pxl_compile_file(NULL, "x", &m));
	NOWHERE(pxl_compile_memory(NULL, "x", text, 3, &m));
	NOWHERE(pxl_format(NULL, "x", text, 3, &t));
	NOWHERE(pxl_describe(NULL, "ops", NULL, &t));
	NOWHERE(pxl_npy_read(NULL, "x", &a));
	NOWHERE(pxl_npy_write(NULL, "x", PXL_F32, 0, NULL, x));
	NOWHERE(pxl_npy_write_in(NULL, ".", "x", PXL_F32, 0, NULL, x));
	NOWHERE(pxl_register_op(NULL, &op));
	NOWHERE(pxl_native_file(NULL, "x.c"));
	GIVES(pxl_diag_count(NULL) == 0);
	GIVES(!pxl_diag_get(NULL, 0, &d));
	GIVES(strstr(pxl_errmsg(NULL), "no context"));
	GIVES(!*pxl_diag_text(NULL, 0, 0));
	GIVES(!pxl_nearest("x", NULL, 3) && !pxl_nearest(NULL, NULL, 0) && !pxl_nearest("x", &t, INT_MIN) && !pxl_nearest("x", &t, INT_MAX));
	GIVES(!*pxl_table(NULL, &t, 1, 1, NULL, 0));
	NOTHING(pxl_ctx_free(NULL));
	NOTHING(pxl_array_free(NULL, &a));
	NOTHING(pxl_array_free(NULL, NULL));
	GIVES(a.rank == 3);
}

static void no_type(void)
{
	float x[3] = { 1, 2, 3 };
	NOTHING(pxl_convert((pxl_dtype)99, x, PXL_F32, x, 3));
	NOTHING(pxl_convert(PXL_F32, x, (pxl_dtype)-1, x, 3));
	NOTHING(pxl_convert(PXL_F32, NULL, PXL_F32, NULL, 3));
	NOTHING(pxl_convert(PXL_F32, x, PXL_F64, x, SIZE_MAX));
	NOTHING(pxl_convert(PXL_F32, x, PXL_F64, x, SIZE_MAX / 8));
	GIVES(x[0] == 1 && x[2] == 3);
	GIVES(pxl_element((pxl_dtype)99, x, 0) == 0 && pxl_element(PXL_F32, NULL, 0) == 0 && pxl_element((pxl_dtype)INT_MIN, x, 0) == 0);
	GIVES(pxl_element(PXL_F32, x, SIZE_MAX) == 0 && pxl_element(PXL_I8, x, SIZE_MAX) == 0);
	GIVES(!strcmp(pxl_dtype_name((pxl_dtype)99), "?") && !strcmp(pxl_dtype_name((pxl_dtype)INT_MIN), "?"));
	GIVES(pxl_dtype_size((pxl_dtype)99) == 0 && pxl_dtype_size((pxl_dtype)INT_MIN) == 0);
	GIVES(!strcmp(pxl_strstatus((pxl_status)99), "unknown status") && !strcmp(pxl_strstatus((pxl_status)INT_MIN), "unknown status"));
	GIVES(pxl_version() == PXL_VERSION_NUMBER);
	GIVES(*pxl_version_text());
}

static void no_objects(void)
{
	pxl_info in;
	pxl_program *p;
	pxl_session *none;
	const pxl_result *r;
	const char *t;
	GIVES(pxl_program_count(NULL) == 0);
	GIVES(pxl_task_count(NULL) == 0);
	GIVES(!pxl_program_name(NULL, 0));
	GIVES(!pxl_task_name(NULL, 0));
	GIVES(!pxl_program_param(NULL, "main", 0));
	GIVES(pxl_count(NULL) == 0);
	GIVES(pxl_find(NULL, PXL_ANY, "x") == -1);
	GIVES(!pxl_get_info(NULL, 0, &in));
	NOWHERE(pxl_model_ast(NULL, &t));
	NOWHERE(pxl_program_new(NULL, NULL, &p));
	NOWHERE(pxl_check(NULL, NULL));
	NOWHERE(pxl_emit(NULL, "c", NULL, &t));
	NOWHERE(pxl_ship(NULL, "x"));
	NOWHERE(pxl_ship_files(NULL, "x", NULL, 0));
	NOWHERE(pxl_session_new(NULL, NULL, &none));
	NOWHERE(pxl_task_run(NULL, NULL, &r));
	NOTHING(pxl_program_get_info(NULL, NULL));
	NOTHING(pxl_model_free(NULL));
	NOTHING(pxl_program_free(NULL));
	NOTHING(pxl_session_free(NULL));
}

static void no_session(void)
{
	float x[3] = { 0 };
	size_t n;
	pxl_array a = { .dtype = PXL_F32 };
	NOWHERE(pxl_write(NULL, 0, x, 12));
	NOWHERE(pxl_write_variables(NULL, NULL, 0));
	NOWHERE(pxl_view(NULL, 0, &(const void *){ NULL }));
	NOWHERE(pxl_read(NULL, 0, x, 12));
	NOWHERE(pxl_bind(NULL, 0, x, 12));
	NOWHERE(pxl_write_array(NULL, 0, &a));
	NOWHERE(pxl_write_npy(NULL, 0, "x.npy"));
	NOWHERE(pxl_run(NULL, 1));
	NOWHERE(pxl_load(NULL, "x", 0));
	NOWHERE(pxl_save(NULL, "x"));
	NOWHERE(pxl_copy_variables(NULL, NULL, &n));
	NOWHERE(pxl_attach(NULL));
	NOWHERE(pxl_detach(NULL, 1));
	NOWHERE(pxl_weights_to_host(NULL));
	NOWHERE(pxl_weights_from_host(NULL));
	GIVES(pxl_session_threads(NULL) == 0);
	GIVES(!*pxl_session_jit(NULL));
	GIVES(pxl_runs(NULL) == 0);
	GIVES(!pxl_is_attached(NULL));
	GIVES(!pxl_in_sync(NULL));
	GIVES(!strcmp(pxl_session_errmsg(NULL), "no session"));
	NOTHING(pxl_get_traffic(NULL, NULL));
}

/* --- sizes of structures -------------------------------------------------------------------------------------------------- */
static const size_t small[] = { 0, 1, sizeof(size_t) - 1 }, large[] = { 4096, 1u << 20, SIZE_MAX };
enum { NSIZE = 3 };

/* all of one structure: `call` with `opt` of each size */
#define SIZES(opt, call) do { \
	size_t right = (opt).size; \
	for (int k = 0; k < NSIZE; k++) { \
		(opt).size = small[k]; \
		WRONG(call, "begin with its _INIT macro"); \
		(opt).size = large[k]; \
		WRONG(call, "compiled with a newer pxl.h"); \
	} \
	(opt).size = right + 1; \
	WRONG(call, "compiled with a newer pxl.h"); \
	(opt).size = right; \
} while (0)

static void sizes_of_context(void)
{
	pxl_options o = PXL_OPTIONS_INIT;
	pxl_ctx *none = NULL;
	for (int k = 0; k < NSIZE; k++) {
		o.size = small[k];
		NOWHERE(pxl_ctx_new(&o, &none));
		o.size = large[k];
		NOWHERE(pxl_ctx_new(&o, &none));
	}
	o = (pxl_options)PXL_OPTIONS_INIT;
	o.max_errors = INT_MIN;
	NOWHERE(pxl_ctx_new(&o, &none));
	o.max_errors = 0;
	o.max_steps = INT64_MIN;
	NOWHERE(pxl_ctx_new(&o, &none));
	GIVES(!none);
	o.max_steps = 0;
	o.size = offsetof(pxl_options, verbose);             /* an older caller */
	o.verbose = 77;
	CHECK("", pxl_ctx_new(&o, &none) == PXL_OK);
	pxl_ctx_free(none);
}

/* --- with a context --------------------------------------------------------------------------------------------------------- */
static void nothing_in_context(void)
{
	const char *t, *cells[2] = { "a", NULL };
	pxl_model *m;
	pxl_diag d;
	pxl_array a;
	WRONG(pxl_compile_file(cx, "x", NULL), "pxl_compile_file needs");
	WRONG(pxl_compile_memory(cx, NULL, NULL, 3, &m), "pxl_compile_memory needs");
	WRONG(pxl_compile_memory(cx, "x", text, 3, NULL), "pxl_compile_memory needs");
	WRONG(pxl_compile_memory(cx, "x", text, SIZE_MAX, &m), "at most 64 MiB");
	WRONG(pxl_describe(cx, NULL, NULL, &t), "pxl_describe");
	WRONG(pxl_describe(cx, "ops", NULL, NULL), "pxl_describe");
	WRONG(pxl_describe(cx, "nonsense", NULL, &t), "nonsense");
	WRONG(pxl_describe(cx, "op", NULL, &t), "there is no op ``");
	WRONG(pxl_describe(cx, "explain", NULL, &t), "there is no diagnostic ``");
	WRONG(pxl_format(cx, NULL, NULL, 3, &t), "pxl_format needs");
	WRONG(pxl_format(cx, "x", text, sizeof text - 1, NULL), "pxl_format needs");
	WRONG(pxl_format(cx, "x", text, SIZE_MAX, &t), "at most 64 MiB");
	WRONG(pxl_npy_read(cx, NULL, &a), "pxl_npy_read needs");
	WRONG(pxl_npy_read(cx, "x.npy", NULL), "pxl_npy_read needs");
	WRONG(pxl_native_file(cx, NULL), "pxl_native_file needs");
	GIVES(!*pxl_table(cx, NULL, 1, 1, NULL, 0) && !*pxl_table(cx, cells, 1, 2, NULL, 0));
	GIVES(!*pxl_table(cx, cells, INT_MIN, 1, NULL, 0) && !*pxl_table(cx, cells, 1, 0, NULL, 0) && !*pxl_table(cx, cells, INT_MAX, INT_MAX, NULL, 0));
	GIVES(!*pxl_table(cx, cells, INT_MAX, 1, NULL, 0));
	GIVES(!pxl_diag_get(cx, SIZE_MAX, &d) && !pxl_diag_get(cx, 0, NULL) && !*pxl_diag_text(cx, SIZE_MAX, INT_MIN));
}

static void arrays_of_nonsense(void)
{
	int64_t dim[9] = { 3, 1, 1, 1, 1, 1, 1, 1, 1 }, negative[2] = { -1, 3 }, least[1] = { INT64_MIN }, huge[3] = { INT64_MAX, INT64_MAX, 2 }, large_[1] = { INT64_MAX };
	float x[3] = { 0 };
	WRONG(pxl_npy_write(cx, NULL, PXL_F32, 0, NULL, x), "pxl_npy_write needs");
	WRONG(pxl_npy_write(cx, "x.npy", PXL_F32, 1, NULL, x), "needs dimensions");
	WRONG(pxl_npy_write(cx, "x.npy", PXL_F32, 1, dim, NULL), "needs data");
	WRONG(pxl_npy_write(cx, "x.npy", (pxl_dtype)99, 1, dim, x), "element type 99");
	WRONG(pxl_npy_write_in(cx, NULL, "x", PXL_F32, 0, NULL, x), "a folder and a name");
	WRONG(pxl_npy_write_in(cx, ".", NULL, PXL_F32, 0, NULL, x), "a folder and a name");
	WRONG(pxl_npy_write_in(cx, ".", "x", (pxl_dtype)99, 1, dim, x), "element type 99");
	WRONG(pxl_npy_write_in(cx, ".", "x", PXL_F32, 9, dim, x), "9 dimensions");
	WRONG(pxl_npy_write_in(cx, ".", "x", PXL_F32, 2, negative, x), "dimension 0 is -1");
	WRONG(pxl_npy_write(cx, "x.npy", (pxl_dtype)-1, 1, dim, x), "element type -1");
	WRONG(pxl_npy_write(cx, "x.npy", PXL_F32, 9, dim, x), "9 dimensions");
	WRONG(pxl_npy_write(cx, "x.npy", PXL_F32, INT_MIN, dim, x), "dimensions");
	WRONG(pxl_npy_write(cx, "x.npy", PXL_F32, 2, negative, x), "dimension 0 is -1");
	WRONG(pxl_npy_write(cx, "x.npy", PXL_F32, 1, least, x), "dimension 0 is -9223372036854775808");
	WRONG(pxl_npy_write(cx, "x.npy", PXL_F32, 3, huge, x), "so many elements");
	WRONG(pxl_npy_write(cx, "x.npy", PXL_F32, 1, large_, x), "so many elements");
	CHECK("", access("x.npy", F_OK) != 0);
}

static int run_nothing(pxl_host_call *c) { return c->nin < 0; }

static void ops_of_nonsense(void)
{
	pxl_host_param params[2] = { { "by", 1, 1.0, PXL_PARAM_FLOAT }, { "by", 1, 1.0, PXL_PARAM_FLOAT } };
	const pxl_host_op good = { .size = sizeof good, .abi = PXL_HOST_ABI, .name = "scale", .nin = 1, .nout = 1, .run = run_nothing };
	pxl_host_op o = good;
	WRONG(pxl_register_op(cx, NULL), "pxl_register_op needs");
	SIZES(o, pxl_register_op(cx, &o));
	o.abi = INT_MIN;
	WRONG(pxl_register_op(cx, &o), "version -2147483648 of the interface");
	o = good, o.name = NULL;
	WRONG(pxl_register_op(cx, &o), "needs a name");
	o.name = "two words";
	WRONG(pxl_register_op(cx, &o), "needs a name");
	o = good, o.version = "a b";
	WRONG(pxl_register_op(cx, &o), "the version of the op `scale`");
	o = good, o.run = NULL;
	WRONG(pxl_register_op(cx, &o), "has no function");
	for (int k = 0; k < 2; k++) {
		o = good, o.nin = k ? INT_MIN : 17;
		WRONG(pxl_register_op(cx, &o), "1 to 16 operands");
		o = good, o.nout = k ? 0 : INT_MAX;
		WRONG(pxl_register_op(cx, &o), "1 to 16 operands");
		o = good, o.nparam = k ? INT_MIN : INT_MAX;
		WRONG(pxl_register_op(cx, &o), "as many parameters");
	}
	o = good, o.nparam = 1;
	WRONG(pxl_register_op(cx, &o), "the op `scale` announces 1 parameters and lists none");
	o.params = params, o.nparam = 2;
	WRONG(pxl_register_op(cx, &o), "two parameters `by`");
	params[0].name = NULL;
	WRONG(pxl_register_op(cx, &o), "parameter 0 of the op `scale` needs a name");
	params[0] = (pxl_host_param){ "by", 1, 1.0, (pxl_param_kind)77 };
	WRONG(pxl_register_op(cx, &o), "of no known kind");
	o = good, o.grad = "none", o.grad_in = "z9";
	WRONG(pxl_register_op(cx, &o), "the gradient of the op `scale`");
	o.grad_in = NULL, o.grad_out = "x99999999999999999999";
	WRONG(pxl_register_op(cx, &o), "the gradient of the op `scale`");
	CHECK("", pxl_register_op(cx, &good) == PXL_OK);
	WRONG(pxl_register_op(cx, &good), "is registered already");
}

/* --- with a model -------------------------------------------------------------------------------------------------------------- */
static void options_of_nonsense(pxl_model *m)
{
	pxl_program *p;
	pxl_set set = { NULL, NULL };
	const pxl_program_options good = PXL_PROGRAM_OPTIONS_INIT;
	pxl_program_options o = good;
	WRONG(pxl_program_new(m, NULL, NULL), "pxl_program_new needs");
	SIZES(o, pxl_program_new(m, &o, &p));
	SIZES(o, pxl_check(m, &o));
	o.name = "none";
	WRONG(pxl_program_new(m, &o, &p), "there is no program `none`");
#define FIELD(field, value, want) do { \
	o = good, o.name = "main", o.field = (value); \
	WRONG(pxl_program_new(m, &o, &p), want); \
	WRONG(pxl_check(m, &o), want); \
} while (0)
	FIELD(replicas, -5, "-5 replicas");
	FIELD(replicas, INT_MIN, "replicas");
	FIELD(replicas, INT_MAX, "replicas");
	FIELD(level, -1, "no level -1");
	FIELD(level, 3, "no level 3");
	FIELD(level, INT_MIN, "no level");
	FIELD(jit, (pxl_jit)77, "no compiler 77");
	FIELD(jit, (pxl_jit)-1, "no compiler -1");
	FIELD(matmul, (pxl_matmul)7, "no way 7");
	FIELD(matmul, (pxl_matmul)INT_MIN, "no way -2147483648");
	FIELD(build_only, 3, "no stage 3");
	FIELD(build_only, -1, "no stage -1");
	FIELD(dot_first, -1, "ops -1");
	FIELD(dot_count, INT_MIN, "numbers are not negative");
	FIELD(swap_after, -2, "swap_after is -2");
	FIELD(swap_after, INT64_MIN, "swap_after");
	FIELD(nset, 1, "1 parameters are announced");
	FIELD(nset, SIZE_MAX, "too many");
	o = good, o.name = "main", o.sets = &set, o.nset = 1;
	WRONG(pxl_program_new(m, &o, &p), "parameter 0 has no name");
	WRONG(pxl_check(m, &o), "parameter 0 has no name");
	o.nset = SIZE_MAX;
	WRONG(pxl_program_new(m, &o, &p), "too many");
	o.nset = 1;
	set = (pxl_set){ "n", NULL };
	WRONG(pxl_program_new(m, &o, &p), "parameter 0 has no name or no value");
	set = (pxl_set){ "n", "4x" };
	WRONG(pxl_program_new(m, &o, &p), "program `main` cannot be set so");
	set = (pxl_set){ "q", "4" };
	WRONG(pxl_program_new(m, &o, &p), "program `main` cannot be set so");
	WRONG(pxl_check(m, &o), "no program of this model has a parameter `q`");
	o = good, o.name = "main", o.no_pass = "nonsense";
	WRONG(pxl_program_new(m, &o, &p), "there is no pass `nonsense`");
	WRONG(pxl_model_ast(m, NULL), "pxl_model_ast needs");
	GIVES(!pxl_program_param(m, NULL, 0) && !pxl_program_param(m, "none", 0) && !pxl_program_param(m, "main", SIZE_MAX));
	GIVES(!pxl_program_name(m, SIZE_MAX) && !pxl_task_name(m, SIZE_MAX));
}

static void tasks_of_nonsense(pxl_model *m)
{
	const pxl_result *r = NULL;
	const pxl_task_options good = PXL_TASK_OPTIONS_INIT;
	pxl_task_options o = good;
	pxl_map map = { NULL, NULL, 0 };
	WRONG(pxl_task_run(m, NULL, NULL), "pxl_task_run needs a place for the result");
	SIZES(o, pxl_task_run(m, &o, &r));
	o = good, o.task = "none";
	WRONG(pxl_task_run(m, &o, &r), "there is no task `none`");
	o = good, o.epochs = -1;
	WRONG(pxl_task_run(m, &o, &r), "not negative");
	o = good, o.limit = INT64_MIN;
	WRONG(pxl_task_run(m, &o, &r), "not negative");
	o = good, o.program.nset = 3;
	WRONG(pxl_task_run(m, &o, &r), "3 parameters are announced");
	o = good, o.program.jit = (pxl_jit)77;
	WRONG(pxl_task_run(m, &o, &r), "no compiler 77");
	o = good, o.program.size = 0;
	WRONG(pxl_task_run(m, &o, &r), "the sizes of `program` and `session`");
	o = good, o.session.size = SIZE_MAX;
	WRONG(pxl_task_run(m, &o, &r), "the sizes of `program` and `session`");
	o = good, o.session.threads = -1;
	WRONG(pxl_task_run(m, &o, &r), "threads must lie between");
	o = good, o.session.nmap = 1;
	WRONG(pxl_task_run(m, &o, &r), "1 mappings are announced");
	o.session.maps = &map;
	WRONG(pxl_task_run(m, &o, &r), "mapping 0 has no path");
	o = good, o.resume = 1;
	WRONG(pxl_task_run(m, &o, &r), "nothing to resume");
	GIVES(!r);
	o = good, o.limit = 1, o.save = "", o.progress = NULL;
	CHECK("", pxl_task_run(m, &o, &r) == PXL_OK && r->steps == 1);
}

/* --- with a program --------------------------------------------------------------------------------------------------------------- */
static void nothing_in_program(pxl_model *m, pxl_program *p)
{
	const char *t, *files[1] = { NULL };
	pxl_info in;
	pxl_program *built;
	pxl_program_options o = PXL_PROGRAM_OPTIONS_INIT;
	pxl_session *none = NULL;
	WRONG(pxl_emit(p, NULL, NULL, &t), "pxl_emit needs");
	WRONG(pxl_emit(p, "c", NULL, NULL), "pxl_emit needs");
	WRONG(pxl_emit(p, "nonsense", NULL, &t), "there is no stage `nonsense`");
	WRONG(pxl_emit(p, "ir", "nonsense", &t), "there is no pass `nonsense`");
	WRONG(pxl_emit(p, "c", "fuse", &t), "only `ir` is printed after a pass, not `c`");
	WRONG(pxl_ship(p, NULL), "pxl_ship needs");
	WRONG(pxl_ship_files(p, NULL, NULL, 0), "pxl_ship needs");
	WRONG(pxl_ship_files(p, "x", NULL, 1), "C file 0 has no name");
	WRONG(pxl_ship_files(p, "x", files, 1), "C file 0 has no name");
	WRONG(pxl_ship_files(p, "x", files, SIZE_MAX), "too many");
	GIVES(pxl_find(p, PXL_INPUT, NULL) == -1 && pxl_find(p, (pxl_kind)99, "x") == -1 && pxl_find(p, (pxl_kind)INT_MIN, "x") == -1);
	GIVES(!pxl_get_info(p, 0, NULL) && !pxl_get_info(p, INT_MIN, &in) && !pxl_get_info(p, INT_MAX, &in) && !pxl_get_info(p, -1, &in));
	NOTHING(pxl_program_get_info(p, NULL));
	/* one that was built in part has no sessions, and says what it has */
	for (o.name = "main", o.build_only = PXL_STAGE_IR; o.build_only <= PXL_STAGE_C; o.build_only++) {
		CHECK("", pxl_program_new(m, &o, &built) == PXL_OK);
		WRONG(pxl_session_new(built, NULL, &none), "only built");
		if (o.build_only == PXL_STAGE_IR) WRONG(pxl_emit(built, "c", NULL, &t), "only built");
		if (o.build_only == PXL_STAGE_IR) WRONG(pxl_emit(built, "plan", NULL, &t), "only built");
		if (o.build_only == PXL_STAGE_IR) WRONG(pxl_emit(built, "times", NULL, &t), "only built");
		if (o.build_only == PXL_STAGE_IR) WRONG(pxl_ship(built, "x"), "only built");
		if (o.build_only == PXL_STAGE_C) CHECK("", pxl_emit(built, "c", NULL, &t) == PXL_OK && strstr(t, "pxl_main") && pxl_find(built, PXL_INPUT, "x") == 0);
		pxl_program_free(built);
	}
	GIVES(!none);
}

static void sessions_of_nonsense(pxl_program *p)
{
	pxl_session *none = NULL;
	pxl_map map = { NULL, NULL, 0 };
	const pxl_session_options good = PXL_SESSION_OPTIONS_INIT;
	pxl_session_options o = good;
	WRONG(pxl_session_new(p, NULL, NULL), "pxl_session_new needs");
	SIZES(o, pxl_session_new(p, &o, &none));
	o.threads = -1;
	WRONG(pxl_session_new(p, &o, &none), "threads must lie between 0 and 1024, not be -1");
	o.threads = INT_MIN;
	WRONG(pxl_session_new(p, &o, &none), "threads must lie between");
	o.threads = INT_MAX;
	WRONG(pxl_session_new(p, &o, &none), "threads must lie between");
	o = good, o.nmap = 1;
	WRONG(pxl_session_new(p, &o, &none), "1 mappings are announced, and none is given");
	o.maps = &map, o.nmap = SIZE_MAX;
	WRONG(pxl_session_new(p, &o, &none), "too many");
	o.nmap = 1;
	WRONG(pxl_session_new(p, &o, &none), "mapping 0 has no path");
	map.path = "";
	WRONG(pxl_session_new(p, &o, &none), "mapping 0 has no path");
	map = (pxl_map){ "w", "x.npy", 64 };
	WRONG(pxl_session_new(p, &o, &none), "no way 64 to map");
	map.how = INT_MIN;
	WRONG(pxl_session_new(p, &o, &none), "no way -2147483648 to map");
	map = (pxl_map){ "none", "x.npy", 0 };
	WRONG(pxl_session_new(p, &o, &none), "there is no variable `none`");
	GIVES(!none);
	CHECK("", access("x.npy", F_OK) != 0);
}

/* --- with a session ------------------------------------------------------------------------------------------------------------------ */
static void nothing_in_session(const pxl_program *p)
{
	int x = pxl_find(p, PXL_INPUT, "x"), y = pxl_find(p, PXL_OUTPUT, "y"), w = pxl_find(p, PXL_VARIABLE, "w");
	static const int none[] = { -1, INT_MIN, INT_MAX, 3 };
	float data[6] = { 0 };
	const void *view;
	for (int i = 0; i < 4; i++) {
		WRONG_IN(pxl_write(s, none[i], data, 12), "cannot write index");
		WRONG_IN(pxl_read(s, none[i], data, 12), "cannot read index");
		WRONG_IN(pxl_bind(s, none[i], data, 12), "cannot bind index");
		WRONG_IN(pxl_view(s, none[i], &view), "pxl_view needs");
		WRONG_IN(pxl_write_variables(s, &(pxl_value){ none[i], data, 12 }, 1), "cannot write index");
	}
	WRONG_IN(pxl_write(s, x, NULL, 12), "cannot write `x`: no data");
	WRONG_IN(pxl_write(s, w, NULL, 12), "cannot write `w`: no data");
	WRONG_IN(pxl_write(s, y, data, 12), "it is an output");
	WRONG_IN(pxl_write(s, x, data, SIZE_MAX), "bytes were given");
	WRONG_IN(pxl_write(s, w, data, 0), "0 bytes were given");
	WRONG_IN(pxl_read(s, w, NULL, 12), "no place for it");
	WRONG_IN(pxl_read(s, y, data, SIZE_MAX), "bytes were given");
	WRONG_IN(pxl_read(s, y, data, 12), "nothing has been written to it yet");
	WRONG_IN(pxl_write_variables(s, NULL, 1), "needs a list");
	WRONG_IN(pxl_write_variables(s, NULL, SIZE_MAX), "needs a list");
	WRONG_IN(pxl_write_variables(s, &(pxl_value){ w, data, 12 }, SIZE_MAX), "values for the 1 variables");
	WRONG_IN(pxl_write_variables(s, &(pxl_value){ w, NULL, 12 }, 1), "no data");
	WRONG_IN(pxl_write_variables(s, &(pxl_value){ w, data, 13 }, 1), "13 bytes were given");
	WRONG_IN(pxl_write_variables(s, &(pxl_value){ x, data, 12 }, 1), "it is a stream");
	WRONG_IN(pxl_view(s, x, &view), "pxl_view needs");
	WRONG_IN(pxl_view(s, w, NULL), "pxl_view needs");
	WRONG_IN(pxl_bind(s, w, data, 12), "it is a variable");
	WRONG_IN(pxl_bind(s, x, data, 24), "24 bytes were given");
	WRONG_IN(pxl_bind(s, y, data, SIZE_MAX), "bytes were given");
	WRONG_IN(pxl_save(s, NULL), "pxl_save needs");
	WRONG_IN(pxl_load(s, NULL, 0), "pxl_load needs");
	WRONG_IN(pxl_load(s, "x", 3), "no way 3 to load");
	WRONG_IN(pxl_load(s, "x", INT_MIN), "no way -2147483648 to load");
	WRONG_IN(pxl_copy_variables(s, NULL, NULL), "no session to copy from");
	WRONG_IN(pxl_run(s, 1), "input `x` has no data");
	WRONG_IN(pxl_run(s, SIZE_MAX), "is it a negative number?");
	NOTHING(pxl_get_traffic(s, NULL));
}

static void arrays_in_session(const pxl_program *p)
{
	int x = pxl_find(p, PXL_INPUT, "x");
	float data[3] = { 1, 2, 3 };
	const pxl_array good = { .dtype = PXL_F32, .rank = 1, .dim = { 3 }, .data = data };
	pxl_array a = good;
	WRONG_IN(pxl_write_array(s, x, NULL), "no array");
	a.dtype = (pxl_dtype)99;
	WRONG_IN(pxl_write_array(s, x, &a), "element type 99");
	a.dtype = (pxl_dtype)INT_MIN;
	WRONG_IN(pxl_write_array(s, x, &a), "element type");
	a = good, a.rank = 9;
	WRONG_IN(pxl_write_array(s, x, &a), "9 dimensions");
	a.rank = INT_MIN;
	WRONG_IN(pxl_write_array(s, x, &a), "dimensions");
	a = good, a.dim[0] = -3;
	WRONG_IN(pxl_write_array(s, x, &a), "dimension 0 of the array is -3");
	a = good, a.rank = 2, a.dim[0] = INT64_MAX, a.dim[1] = INT64_MAX;
	WRONG_IN(pxl_write_array(s, x, &a), "dimension 1 of the array");
	a = good, a.nelem = 2;
	WRONG_IN(pxl_write_array(s, x, &a), "make 3 elements, but it says 2");
	a = good, a.bytes = 8;
	WRONG_IN(pxl_write_array(s, x, &a), "make 3 elements");
	a = good, a.dim[0] = 4;
	WRONG_IN(pxl_write_array(s, x, &a), "the array is f32[4], but input `x` takes f32[3]");
	a = good, a.data = NULL;
	WRONG_IN(pxl_write_array(s, x, &a), "no data");
	WRONG_IN(pxl_write_npy(s, x, NULL), "needs a path");
	WRONG_IN(pxl_write_npy(s, -1, "x.npy"), "cannot write index -1");
	WRONG_IN(pxl_write_npy(s, INT_MAX, "x.npy"), "cannot write index");
	WRONG_IN(pxl_write_array(s, -1, &good), "cannot write index -1");
	WRONG_IN(pxl_write_array(s, INT_MAX, &good), "cannot write index");
	CHECK("", pxl_write_array(s, x, &good) == PXL_OK);
}

/* counts of structures that the library fills */
static void traffic_of_any_size(void)
{
	struct { pxl_traffic t; char behind[64]; } room;
	static const size_t size[] = { 0, 1, sizeof(size_t), sizeof(pxl_traffic), SIZE_MAX };
	for (int i = 0; i < 5; i++) {
		memset(&room, 7, sizeof room);
		room.t.size = size[i];
		NOTHING(pxl_get_traffic(s, &room.t));
		CHECK("", room.behind[0] == 7 && room.t.size == size[i]);
	}
}

/* several transfers: only whole ones; other types: nothing is copied */
static void between_programs(pxl_model *m)
{
	pxl_program *p;
	pxl_session *ours = s, *other;
	pxl_program_options o = PXL_PROGRAM_OPTIONS_INIT;
	int32_t data[30], w[3] = { 7, 8, 9 }, got[3];
	size_t n = 99;
	for (int i = 0; i < 30; i++) data[i] = i;
	o.name = "several";
	o.jit = PXL_JIT_TCC;
	CHECK("", pxl_program_new(m, &o, &p) == PXL_OK && pxl_session_new(p, NULL, &other) == PXL_OK);
	int x = pxl_find(p, PXL_INPUT, "x"), iw = pxl_find(p, PXL_VARIABLE, "w"), iv = pxl_find(p, PXL_VARIABLE, "v");
	CHECK("", pxl_write(other, iw, w, sizeof w) == PXL_OK);
	WRONG_IN(pxl_copy_variables(s, other, &n), "`w` of program `several` is i32[3], that of program `main` f32[3]: nothing is copied");
	s = other;
	WRONG_IN(pxl_copy_variables(s, ours, &n), "`w` of program `main` is f32[3], that of program `several` i32[3]");
	CHECK("", n == 99 && pxl_read(s, iw, got, sizeof got) == PXL_OK && got[0] == 7);
	CHECK("", pxl_copy_variables(s, s, &n) == PXL_OK && n == 2 && pxl_copy_variables(s, s, NULL) == PXL_OK);
	/* a run takes two transfers of 24 bytes; more may be given, but only whole ones */
	WRONG_IN(pxl_bind(s, x, data, 49), "49 bytes are no whole number of transfers of 24 bytes");
	WRONG_IN(pxl_bind(s, x, data, 60), "60 bytes are no whole number of transfers of 24 bytes");
	WRONG_IN(pxl_bind(s, x, data, 24), "24 bytes were given");
	WRONG_IN(pxl_bind(s, x, data, SIZE_MAX), "no whole number of transfers");
	CHECK("", pxl_bind(s, x, data, 72) == PXL_OK && pxl_run(s, 1) == PXL_OK);
	CHECK("", pxl_write(s, iv, w, 4) == PXL_OK);
	s = ours;
	pxl_session_free(other);
	pxl_program_free(p);
}

/* --- freed in any order ---------------------------------------------------------------------------------------------------------------- */
static void after_the_others(pxl_program *p, const pxl_result **r)
{
	float data[3] = { 1, 2, 3 }, got[3];
	char path[] = "/tmp/pxl_misuse_XXXXXX";
	const void *view;
	int fd = mkstemp(path), x = pxl_find(p, PXL_INPUT, "x"), y = pxl_find(p, PXL_OUTPUT, "y"), w = pxl_find(p, PXL_VARIABLE, "w");
	CHECK("", fd >= 0 && !close(fd) && *r && (*r)->steps == 1);
	pxl_program_free(p);
	CHECK("", pxl_write(s, x, data, 12) == PXL_OK && pxl_run(s, 2) == PXL_OK && pxl_read(s, y, got, 12) == PXL_OK && got[2] == 4);
	CHECK("", pxl_save(s, path) == PXL_OK && pxl_load(s, path, PXL_NEEDED) == PXL_OK && pxl_view(s, w, &view) == PXL_OK);
	CHECK("", pxl_detach(s, 1) == PXL_OK && pxl_run(s, 1) == PXL_EINVAL && strstr(pxl_session_errmsg(s), "detached"));
	CHECK("", pxl_weights_to_host(s) == PXL_EINVAL && pxl_weights_from_host(s) == PXL_EINVAL && pxl_attach(s) == PXL_OK && pxl_run(s, 1) == PXL_OK);
	CHECK("", pxl_write(s, -1, data, 12) == PXL_EINVAL && strstr(pxl_session_errmsg(s), "index -1"));
	unlink(path);
}

/* a task's result and a model's names, while the context is the model's alone */
static void model_alone(void)
{
	pxl_ctx *own;
	pxl_model *m;
	pxl_program *p;
	const pxl_result *r = NULL;
	pxl_task_options o = PXL_TASK_OPTIONS_INIT;
	o.limit = 1;
	CHECK("", pxl_ctx_new(NULL, &own) == PXL_OK && pxl_compile_memory(own, NULL, text, sizeof text - 1, &m) == PXL_OK);
	pxl_ctx_free(own);
	CHECK("", pxl_task_run(m, &o, &r) == PXL_OK && !strcmp(r->task, "train") && !strcmp(r->program, "main"));
	CHECK("", pxl_check(m, NULL) == PXL_EMODEL && pxl_task_run(m, NULL, NULL) == PXL_EINVAL);
	CHECK("", pxl_program_new(m, &(pxl_program_options){ .size = sizeof(pxl_program_options), .name = "main" }, &p) == PXL_OK);
	pxl_model_free(m);
	const char *c;
	CHECK("", pxl_emit(p, "c", NULL, &c) == PXL_OK && strstr(c, "pxl_main"));
	pxl_program_free(p);
}

int main(void)
{
	pxl_model *m;
	pxl_program *p, *none;
	const pxl_result *r;
	pxl_program_options o = PXL_PROGRAM_OPTIONS_INIT;
	pxl_task_options to = PXL_TASK_OPTIONS_INIT;
	o.name = "main";
	no_context();
	no_type();
	no_objects();
	no_session();
	sizes_of_context();
	if (pxl_ctx_new(NULL, &cx) || pxl_compile_memory(cx, "m", text, sizeof text - 1, &m)) return 1;
	nothing_in_context();
	arrays_of_nonsense();
	ops_of_nonsense();
	options_of_nonsense(m);
	tasks_of_nonsense(m);
	if (pxl_program_new(m, &o, &p) || pxl_session_new(p, NULL, &s)) return 1;
	nothing_in_program(m, p);
	sessions_of_nonsense(p);
	nothing_in_session(p);
	arrays_in_session(p);
	traffic_of_any_size();
	between_programs(m);
	o.name = "bad";
	CHECK("", pxl_program_new(m, &o, &none) == PXL_EMODEL && !pxl_diag_get(cx, 0, NULL) && pxl_diag_text(cx, 0, INT_MAX));
	to.limit = 1;
	if (pxl_task_run(m, &to, &r)) return 1;
	all_were_called();
	pxl_ctx_free(cx);
	after_the_others(p, &r);
	pxl_model_free(m);
	pxl_session_free(s);
	model_alone();
	return check_done();
}
