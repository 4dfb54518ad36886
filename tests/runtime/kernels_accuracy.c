/* kernels_accuracy.c — the bounds of accuracy.def on a sample, for every instruction set, which must also agree bit by bit; and
 * docs/vector-maths.md, which is made of them (BLESS=1 writes it).  tests/long/accuracy.c goes through every f32. */
#include "lang/base/buf.h"
#include "tests/runtime/accuracy.h"

static float float_of(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }

/* --- what is tried ---------------------------------------------------------------------------------------------------- */
/* arguments about which something changes: a range ends, another formula takes over */
static const double turns[] = { 0.4142135623731, 0.45, 0.5, 0.6, 0.75, 0.8484, 0.9, 1, 2.4142135623731, 4, 5.9, 6, 8.5, 9, 10, 10.5, 14.1, 17.3, 32, 64, 87.33, 88.02, 88.722, 103.28, 103.97, 104, 129, 1e5, 1e6,
                               708.4, 709.78, 710, 744.4, 745.13, 746, 0x1p23, 0x1p24, 0x1p52, 0x1p53, 1.57079632679, 3.14159265359, 710.2, 1.41421356237, 0.70710678 };

typedef struct Sample { float *f32; double *f64; long n, n64; } Sample;

static void take(Sample *s, float x) { s->f32[s->n++] = x; }
static void take64(Sample *s, double x) { s->f64[s->n64++] = x; }

static Sample sample_new(void)
{
	Sample s = { rt_alloc(NULL, sizeof(float) * 1200000), rt_alloc(NULL, sizeof(double) * 400000), 0, 0 };
	for (uint64_t u = 0; u < 1ull << 32; u += 4093) take(&s, float_of((uint32_t)u));
	for (uint32_t e = 0; e < 512; e++)
		for (int k = -8; k < 8; k++) take(&s, float_of((e << 23) + (uint32_t)k)), take(&s, float_of((e << 23) + 0x400000u + (uint32_t)k));
	for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
		uint32_t u;
		float x = (float)turns[i];
		memcpy(&u, &x, 4);
		for (int k = -64; k <= 64; k++) take(&s, float_of(u + (uint32_t)k)), take(&s, -float_of(u + (uint32_t)k));
		for (int k = -64; k <= 64; k++) take64(&s, turns[i] * (1 + k * 0x1p-51)), take64(&s, -turns[i] * (1 + k * 0x1p-51));
	}
	for (uint64_t e = 0; e < 4096; e++)
		for (int k = -2; k < 2; k++) take64(&s, bits_double((e << 52) + (uint64_t)k)), take64(&s, bits_double((e << 52) + (1ull << 51) + (uint64_t)k));
	for (long i = 0; i < 20000; i++) {
		double near_half_turn = (double)((Wide)i * 3 * 1.57079632679489661923132169163975144L);
		take64(&s, near_half_turn), take64(&s, -near_half_turn * (1 + 0x1p-50));
		take64(&s, noise((unsigned long)i)), take64(&s, noise((unsigned long)i + 50000) * 8), take64(&s, noise((unsigned long)i + 100000) * 40);
		take64(&s, noise((unsigned long)i + 150000) * 750), take64(&s, ldexp(noise((unsigned long)i + 200000), (int)(i % 2000) - 1000));
	}
	return s;
}

/* the k-th arguments: of the sample, and of two also moderate ones, in all four ways; a slope's gradient is 1 */
typedef struct Pair { double p, q; } Pair;
static Pair pair_of(const Prim *f, unsigned long k, double own, double other)
{
	int both = f->arity == 2 && !f->slope && k % 4 > 1;
	return (Pair){ f->slope ? 1 : k % 2 ? noise(k) * 100 : other, both ? noise(k + 1) * 10 : own };
}

/* --- f32 --------------------------------------------------------------------------------------------------------------- */
static void sample_f32(const Sample *s, const struct pxlrt *const *rts, int nrt, const Prim *f)
{
	static float p[CHUNK], q[CHUNK];
	Worst w = { .same = 1 };
	for (long at = 0; at < s->n; at += CHUNK) {
		long n = min_l(CHUNK, s->n - at);
		for (long i = 0; i < n; i++) {
			unsigned long k = (unsigned long)(at + i);
			Pair a = pair_of(f, k, (double)s->f32[k], (double)s->f32[k * 7919 % (unsigned long)s->n]);
			p[i] = (float)a.p, q[i] = (float)a.q;
		}
		chunk_f32(&w, rts, nrt, f, p, q, n);
	}
	CHECK("", report(&w, f, 0));
}

/* powers all over the range of results: bases of any size, and close to 1 */
static void powers_f32(const struct pxlrt *const *rts, int nrt, const Prim *f)
{
	static float p[CHUNK], q[CHUNK];
	Worst w = { .same = 1 };
	for (unsigned long at = 0; at < 100 * CHUNK; at += CHUNK) {
		for (unsigned long i = 0; i < CHUNK; i++) {
			double u = noise(at + i), e = noise(at + i + 500000);
			p[i] = (float)(i % 2 ? ldexp(1 + u * u, (int)(e * 140)) : 1 + u * fabs(e));
			q[i] = (float)(noise(at + i + 1000000) * 155 / (log2((double)p[i]) + 1e-9));
		}
		chunk_f32(&w, rts, nrt, f, p, q, CHUNK);
	}
	CHECK("", report(&w, f, 0));
}

/* and where it is all in the rules: bit by bit what C says, signs of zeros included */
static void special_powers(const struct pxlrt *rt)
{
	static const float at[] = { 0, 1e-45f, 1e-38f, 0.5f, 0x1.fffffep-1f, 1, 0x1.000002p0f, 1.5f, 2, 3, 8388607.5f, 0x1p23f, 0x1.fffffep23f, 0x1p24f, 0x1p31f, FLT_MAX, INFINITY, NAN };
	enum { N = sizeof at / sizeof *at };
	int same = 1;
	for (int i = 0; i < 4 * N * N; i++) {
		float x = at[i / 4 % N], y = at[i / 4 / N], p, want;
		x = i & 1 ? -x : x, y = i & 2 ? -y : y;
		rt->f32->pow(&p, &x, &y, 1);
		want = powf(x, y);
		int ok = want != want ? p != p : !signbit(p) == !signbit(want) && fabs((double)p - (double)want) <= 1e-6 * fabs((double)want);
		same &= ok || p == want;
		if (!ok && p != want) printf("pow(%a, %a) is %a, not %a\n", (double)x, (double)y, (double)p, (double)want);
	}
	CHECK("", same);
}

/* --- f64 --------------------------------------------------------------------------------------------------------------- */
static void sample_f64(const Sample *s, const struct pxlrt *const *rts, int nrt, const Prim *f)
{
	static double p[CHUNK], q[CHUNK], y[CHUNK], z[CHUNK];
	Worst w = { .same = 1 };
	for (long at = 0; at < s->n64; at += CHUNK) {
		long n = min_l(CHUNK, s->n64 - at);
		for (long i = 0; i < n; i++) {
			unsigned long k = (unsigned long)(at + i);
			Pair a = pair_of(f, k, s->f64[k], s->f64[k * 7919 % (unsigned long)s->n64]);
			p[i] = a.p, q[i] = a.q;
		}
		prim_f64(rts[nrt - 1], f, y, p, q, n);
		for (int t = 0; t < nrt - 1; t++) {
			prim_f64(rts[t], f, z, p, q, n);
			for (long i = 0; i < n; i++) w.same &= double_bits(y[i]) == double_bits(z[i]) || (y[i] != y[i] && z[i] != z[i]);
		}
		for (long i = 0; i < n; i++) {
			Wide want = f->exact(f->arity == 1 ? (Wide)q[i] : (Wide)p[i], (Wide)q[i]);
			for (int b = 0; b < BOUNDS; b++) {
				double e = strcmp(bounds[b].name, f->name) ? 0 : error_f64(y[i], want, bounds[b].below);
				if (e > w.err[b]) w.err[b] = e, w.at[b] = q[i], w.with[b] = p[i];
			}
		}
	}
	CHECK("", report(&w, f, 1));
}

/* --- the page ------------------------------------------------------------------------------------------------------------ */
static const char path[] = "docs/vector-maths.md";
static const char head[] =
	"# Vector maths: how close results are\n\n"
	"Made from `runtime/kernels/accuracy.def` by `make bless`. These are the primitives that formulas of elementwise ops and of `kernel` are made of.\n\n"
	"A result differs from the exact value e of its operands by at most the stated number of units in the last place (ulp) of the larger of |e| and the "
	"number in the last column but one. A bound of 0.5 is the exact value rounded once. A unit in the last place of a denormal is the smallest denormal; "
	"an infinite result counts as the power of two above the largest number. A result is a NaN where the exact one is no number, and nowhere else. "
	"f16 and bf16 are computed as f32 and rounded to their type. `make test` holds every row to about 1.1 million f32, over all exponents with both ends of each, "
	"denormals, infinities, NaNs and the places where a formula changes, and to 300,000 f64; "
	"`make test-long` goes through every f32 ([long-tests.md](long-tests.md)). AVX-512, AVX2 and the baseline give the same bits.\n\n"
	"Exact, as their types allow: ";
static const char table[] =
	"; `sel` chooses; `fma` is `mul` and then `add`, with both roundings, and so `root`, √(p q) + r, and `ratio`, p q / r, round after each step; `mod` is C's `fmod`, whose exact value is always a number of the type.\n\n"
	"Rounded once (0.5 ulp): ";
static const char rows[] = ".\n\n| primitive | f32, ulp | f64, ulp | of e or at least | note |\n|---|---|---|---|---|\n";
static const char tail[] =
	"\nRows of …`_grad` are for an incoming gradient of 1: another one multiplies the result, which rounds once more. Where a gradient passes through zero its error is "
	"that of the terms that cancel, so it is measured against 1.\n";

static void names_of(Buf *out, double bound)
{
	for (int b = 0, n = 0; b < BOUNDS; b++)
		if (bounds[b].f32 == bound && bounds[b].f64 == bound) buf_printf(out, "%s`%s`", n++ ? ", " : "", bounds[b].name);
}

static const char *page(Arena *mem)
{
	Buf out = buf_new(mem);
	buf_puts(&out, head);
	names_of(&out, 0);
	buf_puts(&out, table);
	names_of(&out, 0.5);
	buf_puts(&out, rows);
	for (int b = 0; b < BOUNDS; b++) {
		const Bound *r = &bounds[b];
		if (r->f32 <= 0.5) continue;
		buf_printf(&out, "| `%s` | %g | %g | ", r->name, r->f32, r->f64);
		if (r->below > 0) buf_printf(&out, "%g", r->below);
		buf_printf(&out, " | %s |\n", r->note);
	}
	buf_puts(&out, tail);
	return out.s;
}

static void page_agrees(void)
{
	Arena mem;
	jmp_buf oom;
	arena_init(&mem, NULL, NULL);
	mem.oom = &oom;
	if (setjmp(oom)) return CHECK("", !"memory");
	const char *want = page(&mem);
	FILE *f = getenv("BLESS") ? fopen(path, "wb") : NULL;
	if (f) fputs(want, f), fclose(f);
	Buf have = buf_new(&mem);
	buf_puts(&have, "");
	f = fopen(path, "rb");
	for (int c; f && (c = getc(f)) != EOF;) buf_putc(&have, (char)c);
	if (f) fclose(f);
	int same = !strcmp(have.s, want);
	if (!same) printf("%s is not what accuracy.def says: make bless\n", path);
	CHECK("", same);
	arena_free(&mem);
}

int main(void)
{
	page_agrees();
	const struct pxlrt *rts[8];
	int nrt = all_tables(rts);
	Sample s = sample_new();
	for (int i = 0; i < PRIMS; i++) {
		sample_f32(&s, rts, nrt, &prims[i]);
		sample_f64(&s, rts, nrt, &prims[i]);
		if (!strcmp(prims[i].name, "pow")) powers_f32(rts, nrt, &prims[i]);
	}
	for (int t = 0; t < nrt; t++) special_powers(rts[t]);
	rt_free(NULL, s.f32);
	rt_free(NULL, s.f64);
	return check_done();
}
