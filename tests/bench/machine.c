/* machine.c — what this machine can do at best, so that a row's floor fits it: f32 multiply-adds per second out of registers, and
 * bytes per second read and copied in each level of memory, by one thread and by two at once.  The best of many short runs: a
 * busy machine misleads least so.  Prints one JSON object.  `build/b/machine` */
#include "runtime/kernels/kernels.h"

#include <immintrin.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_THREADS = 2, RUNS = 200, ACCUMULATORS = 12, CHUNK = 16 };      /* CHUNK floats: 64 bytes */

typedef struct Work Work;
struct Work {
	void (*once)(Work *);            /* what is timed */
	float *from, *to, *all_from, *all_to;
	size_t floats;                   /* of a run */
	size_t span;                     /* of each array: a run takes the part after its predecessor's, so that past the caches
	                                  * runs are short enough to fall between two slices of a busy machine */
	long times;                      /* passes over the arrays, or rounds of multiply-adds */
	pthread_barrier_t *start;
	double seconds[RUNS];
	float sink;                      /* so that nothing is thrown away */
};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* each accumulator waits for itself only: enough of them fill the pipes */
#define FMA_LOOP(type, set, fma, first) do { \
	type acc[ACCUMULATORS], a = set(0.999f), b = set(1e-3f); \
	for (int i = 0; i < ACCUMULATORS; i++) acc[i] = set((float)i); \
	for (long n = 0; n < w->times; n++) \
		_Pragma("GCC unroll 12") \
		for (int i = 0; i < ACCUMULATORS; i++) acc[i] = fma(acc[i], a, b); \
	for (int i = 0; i < ACCUMULATORS; i++) w->sink += first(acc[i]); \
} while (0)

__attribute__((target("avx512f"), optimize("O3"))) static void fma_512(Work *w)
{
	FMA_LOOP(__m512, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_cvtss_f32);
}

__attribute__((target("avx2,fma"), optimize("O3"))) static void fma_256(Work *w)
{
	FMA_LOOP(__m256, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_cvtss_f32);
}

#define PLAIN(x, a, b) _mm_add_ps(_mm_mul_ps(x, a), b)
static void fma_128(Work *w)
{
	FMA_LOOP(__m128, _mm_set1_ps, PLAIN, _mm_cvtss_f32);
}

static void read_all(Work *w)
{
	__m128 sum[4] = { _mm_setzero_ps(), _mm_setzero_ps(), _mm_setzero_ps(), _mm_setzero_ps() };
	for (long n = 0; n < w->times; n++)
		for (size_t i = 0; i < w->floats; i += CHUNK)
			for (int j = 0; j < 4; j++) sum[j] = _mm_or_ps(sum[j], _mm_load_ps(w->from + i + 4 * j));
	for (int j = 0; j < 4; j++) w->sink += _mm_cvtss_f32(sum[j]);
}

__attribute__((target("avx"))) static void read_wide(Work *w)
{
	__m256 a = _mm256_setzero_ps(), b = a;
	for (long n = 0; n < w->times; n++)
		for (size_t i = 0; i < w->floats; i += CHUNK) {
			a = _mm256_or_ps(a, _mm256_load_ps(w->from + i));
			b = _mm256_or_ps(b, _mm256_load_ps(w->from + i + 8));
		}
	w->sink += _mm256_cvtss_f32(a) + _mm256_cvtss_f32(b);
}

static void copy_cached(Work *w)
{
	for (long n = 0; n < w->times; n++) memcpy(w->to, w->from, w->floats * sizeof *w->to);
}

/* past the caches: what is written need not be read first */
static void copy_streamed(Work *w)
{
	for (long n = 0; n < w->times; n++)
		for (size_t i = 0; i < w->floats; i += 4) _mm_stream_ps(w->to + i, _mm_load_ps(w->from + i));
	_mm_sfence();
}

static void *repeat(void *arg)
{
	Work *w = arg;
	for (int run = 0; run < RUNS; run++) {
		if (w->floats) w->from = w->all_from + (size_t)run * w->floats % w->span, w->to = w->all_to + (w->from - w->all_from);
		pthread_barrier_wait(w->start);
		double t = now();
		w->once(w);
		w->seconds[run] = now() - t;
	}
	return NULL;
}

/* of the runs that all threads began together, the one whose last was soonest done */
static double best_run(const Work *w, int threads)
{
	double best = 1e9;
	for (int run = 0; run < RUNS; run++) {
		double last = 0;
		for (int i = 0; i < threads; i++)
			if (w[i].seconds[run] > last) last = w[i].seconds[run];
		if (last < best) best = last;
	}
	return best;
}

static int own_arrays(Work *w)
{
	size_t bytes = w->span * sizeof(float);
	if (!bytes) return 1;
	w->all_from = aligned_alloc(64, bytes), w->all_to = aligned_alloc(64, bytes);
	if (!w->all_from || !w->all_to) return 0;
	memset(w->all_from, 0, bytes), memset(w->all_to, 0, bytes);
	return 1;
}

/* units per second of all threads together, each on arrays of its own */
static double rate(const Work *what, int threads, double units)
{
	static Work w[MAX_THREADS];
	pthread_t id[MAX_THREADS];
	pthread_barrier_t start;
	pthread_barrier_init(&start, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++) {
		w[i] = *what, w[i].start = &start;
		if (!own_arrays(&w[i])) return 0;
	}
	for (int i = 0; i < threads; i++)
		if (pthread_create(&id[i], NULL, repeat, &w[i])) exit(1);
	for (int i = 0; i < threads; i++) pthread_join(id[i], NULL);
	for (int i = 0; i < threads; i++) free(w[i].all_from), free(w[i].all_to);
	pthread_barrier_destroy(&start);
	return threads * units / best_run(w, threads);
}

static void fastest_fma(Work *w, double *flops)
{
	int lanes = 4;
	w->once = fma_128;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) w->once = fma_256, lanes = 8;
	if (__builtin_cpu_supports("avx512f")) w->once = fma_512, lanes = 16;
	*flops = 2.0 * lanes * ACCUMULATORS * (double)w->times;
}

static void print_pair(const char *name, const Work *w, double units)
{
	printf("\"%s\": [%.2f, %.2f]", name, rate(w, 1, units) * 1e-9, rate(w, 2, units) * 1e-9);
}

/* arrays of so many bytes each, runs of at most RUN_BYTES of them */
static void memory(const char *level, size_t bytes)
{
	enum { RUN_BYTES = 4 << 20, CACHES = 32 << 20 };
	char name[32];
	size_t run = bytes < RUN_BYTES ? bytes : RUN_BYTES;
	Work w = { .floats = run / sizeof(float), .span = bytes / sizeof(float), .times = (long)(RUN_BYTES / run) };
	double total = (double)run * (double)w.times;
	w.once = __builtin_cpu_supports("avx") ? read_wide : read_all;
	snprintf(name, sizeof name, "%s_read", level);
	printf(", "), print_pair(name, &w, total);
	w.once = bytes > CACHES ? copy_streamed : copy_cached;
	snprintf(name, sizeof name, "%s_copy", level);
	printf(", "), print_pair(name, &w, 2 * total);
}

int main(void)
{
	Work w = { .times = 200000 };
	double flops;
	fastest_fma(&w, &flops);
	printf("{"), print_pair("gflops", &w, flops);
	memory("l2", 256 << 10);
	memory("l3", 4 << 20);
	memory("dram", 96 << 20);
	printf("}\n");
	return 0;
}
