/* fold_test.c — folds at the ends of loops give what reductions of stored tensors give, for every kind, type and way of cutting a space;
 * the same bits from libtcc and cc and any number of threads. */
#include "tests/check.h"
#include "tests/graphs/run.h"

enum { TEXT = 1 << 18 };

/* shapes, and the axes to fold: one of anything, odd sizes, rows and columns on either side of every limit of fold.c */
typedef struct Case { const char *shape, *axes, *last, *first; } Case;       /* last, first: shapes that broadcast along the others */
static const Case cases[] = {
	{ "1", "[0]", "1", "1" }, { "5", "[0]", "1", "5" }, { "4099", "[0]", "1", "4099" }, { "70001", "[0]", "1", "70001" },
	{ "1, 7", "[1]", "7", "1, 1" }, { "7, 1", "[0]", "1", "7, 1" }, { "3, 5", "[0]", "5", "3, 1" }, { "3, 5", "[1]", "5", "3, 1" },
	{ "9, 1000", "[1]", "1000", "9, 1" }, { "9, 1000", "[0]", "1000", "9, 1" }, { "9, 1000", "[0, 1]", "1000", "9, 1" },
	{ "3, 9001", "[1]", "9001", "3, 1" }, { "3, 9001", "[0]", "9001", "3, 1" }, { "2, 9001", "[0, 1]", "9001", "2, 1" },
	{ "700, 3", "[0]", "3", "700, 1" }, { "700, 3", "[1]", "3", "700, 1" }, { "700, 3", "[0, 1]", "3", "700, 1" }, { "2001, 7", "[0]", "7", "2001, 1" },
	{ "300, 130", "[0]", "130", "300, 1" }, { "130, 520", "[0]", "520", "130, 1" }, { "70, 1100", "[0]", "1100", "70, 1" },
	{ "4, 5, 6", "[1]", "6", "5, 1" }, { "4, 5, 6", "[0, 2]", "6", "5, 1" }, { "4, 5, 6", "[0, 1]", "6", "5, 1" }, { "4, 5, 6", "[1, 2]", "6", "5, 1" },
	{ "3, 70, 130", "[1]", "130", "70, 1" }, { "5, 3, 3000", "[0, 2]", "3000", "3, 1" }, { "6, 3, 5000", "[0, 2]", "5000", "3, 1" },
	{ "80, 40, 60", "[0]", "60", "40, 1" }, { "70, 3, 1100", "[0]", "1100", "3, 1" }, { "90, 20, 70", "[0]", "70", "20, 1" },
	{ "30, 7, 49", "[0, 2]", "49", "7, 1" }, { "3, 2, 50, 16", "[0, 2]", "16", "2, 1, 1" }, { "2, 3, 90, 40, 1", "[2]", "1", "90, 1, 1" },
	{ "2, 3, 4, 5, 6", "[0, 1, 2, 3, 4]", "6", "3, 1, 1, 1" }, { "2, 3, 4, 5, 6", "[0, 2, 4]", "6", "3, 1, 1, 1" }, { "2, 1, 4, 1, 6", "[2, 3]", "6", "4, 1, 1" } };
/* rows that are cut, of one line of the loop and of several, and more rows than a piece has bands */
static const Case large[] = { { "3, 40000", "[0]", "40000", "3, 1" }, { "70, 40000", "[0]", "40000", "70, 1" }, { "66, 3, 20000", "[0]", "20000", "3, 1" },
	{ "2, 2, 33000", "[0]", "33000", "2, 1" }, { "1200, 2, 300", "[0, 2]", "300", "2, 1" }, { "9000, 200", "[0]", "200", "9000, 1" }, { "3, 300000", "[1]", "300000", "3, 1" } };

static const char *const float_kinds[] = { "sum", "mean", "max", "min", "prod", "l1", "l2", "sumsquare", "logsum", "logsumexp" };
enum { INT_KINDS = 5, FLOAT_KINDS = sizeof float_kinds / sizeof *float_kinds, CASES = sizeof cases / sizeof *cases, LARGE = sizeof large / sizeof *large };

static size_t add(char *text, size_t n, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	n += (size_t)vsnprintf(text + n, TEXT - n, fmt, ap);
	va_end(ap);
	return n;
}

/* a chain of values near 1 and its folds: plain; between a row and a column; stored as well; two of one chain, and one of what came before;
 * of a variable that is written */
static size_t case_text(char *text, size_t n, const Case *c, int number, const char *type, const char *kind)
{
	int real = type[0] == 'f' || type[0] == 'b';
	n = add(text, n, "    x = data(%s[%s], %d)\n    a = data(%s[%s], 1)\n    b = data(%s[%s], 2)\n", type, c->shape, number, type, c->last, type, c->first);
	n = add(text, n, "    t = x * x * x\n    out(\"p%d\", %s(t, %s))\n", number, kind, c->axes);
	n = add(text, n, real ? "    t = abs(x + a) * b + a\n" : "    t = (x + a) * b - a\n");
	n = add(text, n, "    out(\"q%d\", %s(t, %s))\n", number, kind, c->axes);
	n = add(text, n, "    t = x + b\n    u = t * %s * a\n    out(\"s%d\", %s(u, %s))\n    out(\"m%d\", max(u, %s))\n    out(\"t%d\", sum(t, %s))\n    out(\"u%d\", u)\n",
	        real ? "0.5" : "x", number, kind, c->axes, number, c->axes, number, c->axes, number);
	n = add(text, n, "    w = data(%s[%s], 3)\n    w += x\n    out(\"w%d\", %s(w, %s))\n", type, c->shape, number, kind, c->axes);
	return n;
}

static char *text_of(const char *type, const char *kind, const Case *all, int n_all, int from, int step)
{
	char *text = malloc(TEXT);
	int real = type[0] == 'f' || type[0] == 'b';
	size_t n = add(text, 0, "fn out(name: str, t) { host_store(d2h_stream(name, t.spec), t) }\n"
	                        "fn data(s, k: int) = variable(%s, s)\nprogram main(outline: bool = true) {\n",
	               real ? "uniform(0.97, 1.03)" : "uniform(0, 4)");
	for (int i = from; i < n_all; i += step) n = case_text(text, n, &all[i], i, type, kind);
	add(text, n, "}\n");
	return text;
}

/* how far sums in another order may be apart: much less than one element of a fold */
static int near(const Result *a, const Result *b)
{
	for (int i = 0; i < a->n; i++) {
		const Out *x = &a->out[i], *y = &b->out[i];
		double rel = x->dtype == PXL_F64 ? 1e-12 : x->dtype == PXL_F32 ? 1e-5 : x->dtype == PXL_F16 ? 4e-3 : x->dtype == PXL_BF16 ? 3e-2 : 0, most = 1;
		for (size_t k = 0; k < x->n; k++)
			if (isfinite(out_at(x, k))) most = fmax(most, fabs(out_at(x, k)));
		for (size_t k = 0; k < x->n; k++) {
			double u = out_at(x, k), v = out_at(y, k);
			if (u == v || (isnan(u) && isnan(v)) || fabs(u - v) <= rel * most) continue;
			printf("%s: element %zu of %zu (%s) is %.17g and %.17g\n", x->name, k, x->n, pxl_dtype_name(x->dtype), u, v);
			return 0;
		}
	}
	return 1;
}

static void check(const char *text, int threads, pxl_jit jit, const Result *like, int bits)
{
	Config c = { "", 2, jit, threads, 1, 0 };
	Result r = run_text(text, &c);
	char why[800] = "";
	int ok = results_agree(like, &r, bits, why, sizeof why);
	if (!ok) printf("%d threads, %s: %s\n", threads, jit == PXL_JIT_CC ? "cc" : "tcc", why);
	CHECK("", ok);
	result_free(&r);
}

static void check_text(const char *type, const char *kind, const Case *all, int n_all, int from, int step, int all_ways)
{
	char *text = text_of(type, kind, all, n_all, from, step);
	Config plain = { "", 0, PXL_JIT_TCC, 1, 1, 0 }, first = { "", 2, PXL_JIT_TCC, 1, 1, 0 };
	Result a = run_text(text, &plain), b = run_text(text, &first);
	char why[800] = "";
	static const int threads[] = { 2, 3, 8, 16 };
	int ok = results_agree(&a, &b, 0, why, sizeof why);
	if (!ok || a.st) printf("%s of %s: %s %s\n", kind, type, why, a.why);
	CHECK("", ok && !a.st && near(&a, &b));
	check(text, 3, PXL_JIT_TCC, &b, 1);
	for (int i = 0; all_ways && i < 4; i++) check(text, threads[i], PXL_JIT_TCC, &b, 1);
	if (all_ways) check(text, 2, PXL_JIT_CC, &b, 1);
	result_free(&a);
	result_free(&b);
	free(text);
}

int main(void)
{
	static const char *const types[] = { "f32", "f64", "f16", "bf16", "i32", "i64", "u8", "u64" };
	for (int i = 0; i < FLOAT_KINDS; i++)
		for (int t = 0; t < (i < INT_KINDS ? 8 : 4); t++)
			check_text(types[t], float_kinds[i], cases, CASES, t < 2 || !i ? 0 : i % 3, t < 2 || !i ? 1 : 3, i == 0 && t < 2);
	check_text("f32", "sum", large, LARGE, 0, 1, 0);
	check_text("f64", "max", large, LARGE, 0, 1, 0);
	check_text("i32", "mean", large, LARGE, 0, 2, 0);
	return check_done();
}
