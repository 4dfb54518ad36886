/* jit_tcc.c — libtcc behind its door: code runs and outlives the compile, errors come back as text, running out of
 * memory at any allocation comes back as a status, and what went wrong before is not seen after. */
#define _DEFAULT_SOURCE
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "compiler/codegen/codegen.h"
#include "tests/check.h"

static const char good[] =
	"#include \"runtime/pxlrt.h\"\n"
	"struct two { double a, b; unsigned long long n[9]; };\n"
	"static const struct two init = { 1.5, 2.25, { 18446744073709551615ULL } };\n"
	"int pxl_main(const struct pxlrt *rt, struct pxlrt_lane *ln)\n"
	"{\n"
	"\tstruct two t = init;\n"
	"\tdouble *y = (double *)ln->frame;\n"
	"\ty[0] = t.a + t.b;\n"
	"\ty[1] = (double)t.n[0];\n"
	"\ty[2] = (double)(float)(t.n[0] >> 1);\n"
	"\treturn rt->abi + 41;\n"
	"}\n";

/* an allocator that fails at the nth request and counts what is alive */
typedef struct Count { long left, live, total; } Count;
static void *counting(void *user, void *old, size_t size)
{
	Count *c = user;
	if (size == 0) {
		c->live -= old != NULL;
		free(old);
		return NULL;
	}
	if (c->left-- <= 0) return NULL;
	c->live += !old;
	c->total++;
	return realloc(old, size);
}

static int compile(const char *text, const JitOptions *o, Jit **j, RtErr *e)
{
	Module m = { .text = text, .len = strlen(text) };
	return jit_compile(&m, o, j, e);
}

static void run(const Jit *j)
{
	double y[4] = { 0 };
	struct pxlrt_lane ln = { .frame = (char *)y };
	struct pxlrt rt = { .abi = 1 };
	CHECK("", jit_entry(j)(&rt, &ln) == 42);
	CHECK("", y[0] == 3.75 && y[1] == 18446744073709551616.0 && y[2] == 9223372036854775808.0);
}

static void errors(void)
{
	JitOptions o = { .kind = JIT_TCC };
	RtErr e = { 0 };
	Jit *j = NULL;
	CHECK("", compile("#include \"runtime/pxlrt.h\"\nint pxl_main(void) { return nowhere(1); }\n", &o, &j, &e) == RT_EINTERNAL);
	CHECK("", strstr(e.text, "nowhere") && strstr(e.text, "model.c:2"));
	CHECK("", compile("int pxl_main(void) {{{", &o, &j, &e) == RT_EINTERNAL);
	CHECK("", compile("int other(void) { return 0; }", &o, &j, &e) == RT_EINTERNAL && strstr(e.text, "pxl_main"));
	CHECK("", compile("#include <stdio.h>\nint pxl_main(void) { return 0; }", &o, &j, &e) == RT_EINTERNAL);
	CHECK("", !j);
}

static void out_of_memory(void)
{
	long fails = 0, n = 0;
	for (;; n++) {
		Count c = { .left = n };
		JitOptions o = { .kind = JIT_TCC, .alloc = { counting, &c } };
		RtErr e = { 0 };
		Jit *j = NULL;
		int st = compile(good, &o, &j, &e);
		if (!st) {
			run(j);
			jit_free(j);
			CHECK("", c.live == 0);
			break;
		}
		fails += st == RT_ENOMEM && c.live == 0 && e.text[0];
	}
	CHECK("", n > 2 && fails == n);
}

static void *many(void *arg)
{
	for (int i = 0; i < 20; i++) {
		JitOptions o = { .kind = i % 2 ? JIT_AUTO : JIT_TCC };
		RtErr e;
		Jit *j;
		const char *text = i % 5 == 3 ? "int broken(" : good;
		int st = compile(text, &o, &j, &e);
		if (text != good ? st != RT_EINTERNAL : st) return arg;
		if (st) continue;
		double y[4];
		struct pxlrt_lane ln = { .frame = (char *)y };
		struct pxlrt rt = { .abi = 1 };
		int ok = jit_entry(j)(&rt, &ln) == 42 && y[0] == 3.75;
		jit_free(j);
		if (!ok) return arg;
	}
	return NULL;
}

static void threads(void)
{
	pthread_t t[4];
	int bad = 0;
	for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, many, &bad);
	for (int i = 0; i < 4; i++) {
		void *r;
		pthread_join(t[i], &r);
		bad += r != NULL;
	}
	CHECK("", bad == 0);
}

/* a module of n calls, to see what compiling costs */
static double compile_ms(int lines)
{
	static char text[1 << 20];
	size_t n = (size_t)sprintf(text, "#include \"runtime/pxlrt.h\"\nint pxl_main(const struct pxlrt *rt, struct pxlrt_lane *ln)\n{\n\tint st;\n");
	for (int i = 0; i < lines; i++)
		n += (size_t)sprintf(text + n, "\tif ((st = rt->host_store(ln, %d, ln->frame + %d))) return st;\n", i, i * 64);
	sprintf(text + n, "\treturn 0;\n}\n");
	JitOptions o = { .kind = JIT_TCC };
	double best = 1e9;
	for (int i = 0; i < 7; i++) {
		struct timespec a, b;
		RtErr e;
		Jit *j;
		clock_gettime(CLOCK_MONOTONIC, &a);
		if (compile(text, &o, &j, &e)) return printf("%s\n", e.text), 1e9;
		clock_gettime(CLOCK_MONOTONIC, &b);
		jit_free(j);
		double ms = (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6;
		if (ms < best) best = ms;
	}
	return best;
}

int main(void)
{
	JitOptions o = { .kind = JIT_TCC };
	RtErr e = { 0 };
	Jit *j = NULL;
	CHECK("", compile(good, &o, &j, &e) == RT_OK);
	if (e.text[0]) printf("%s\n", e.text);
	if (!j) return check_done();
	CHECK_STR("", jit_kind(j), "tcc");
	run(j);
	errors();
	run(j);                                      /* still there after failed compiles */
	setlocale(LC_ALL, "de_DE.UTF-8");            /* a comma for a point, where that locale exists */
	Jit *k = NULL;
	CHECK("", compile(good, &o, &k, &e) == RT_OK);
	run(k);
	jit_free(k);
	jit_free(j);
	out_of_memory();
	threads();
	printf("0 lines %.3f ms, 200 lines %.3f ms\n", compile_ms(0), compile_ms(200));
	jit_free(NULL);
	return check_done();
}
