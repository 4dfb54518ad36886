/* order.c — order statistics of contiguous lines, and counts between levels.
 *
 * An element becomes a 64-bit key whose order as an unsigned number is the order wanted: NaN above infinity, the
 * zeros equal; inverted when the smallest come first.  What follows is the same for every type: a heap of the best for
 * topk, kept where the indices go, and the digits of the middle one, eight bits a pass, for median. */
#include "runtime/kernels/kernels.h"

#include <string.h>

enum { KEYS = 512 };

typedef struct Order {
	const struct pxlrt_axis *d;
	long k;
	uint64_t flip;                       /* all ones: smallest first */
	const char *x;
	char *y;
	int *index;
} Order;

/* --- keys --------------------------------------------------------------------------------------------------------- */

static uint64_t float_key(uint64_t bits, int width, uint64_t inf)
{
	uint64_t sign = (uint64_t)1 << (width - 1), size = bits & (sign - 1);
	if (size > inf) return ~(uint64_t)0 << (64 - width);
	return (bits & sign ? sign - size : sign + size) << (64 - width);
}

#define KEYS_OF(T, key) { const T *v = (const T *)x; for (long i = 0; i < n; i++) out[i] = (key) ^ flip; break; }

/* of n elements of x */
static void keys(int dtype, const void *x, long n, uint64_t flip, uint64_t *out)
{
	enum { I32 = 32, I16 = 48, I8 = 56 };
	switch (dtype) {
	case DT_F64:  KEYS_OF(uint64_t, float_key(v[i], 64, 0x7ffull << 52))
	case DT_F32:  KEYS_OF(uint32_t, float_key(v[i], 32, 0xffull << 23))
	case DT_F16:  KEYS_OF(uint16_t, float_key(v[i], 16, 0x1full << 10))
	case DT_BF16: KEYS_OF(uint16_t, float_key(v[i], 16, 0xffull << 7))
	case DT_I64:  KEYS_OF(uint64_t, v[i] ^ (uint64_t)1 << 63)
	case DT_U64:  KEYS_OF(uint64_t, v[i])
	case DT_I32:  KEYS_OF(uint32_t, (uint64_t)(v[i] ^ 1u << 31) << I32)
	case DT_U32:  KEYS_OF(uint32_t, (uint64_t)v[i] << I32)
	case DT_I16:  KEYS_OF(uint16_t, (uint64_t)(v[i] ^ 1u << 15) << I16)
	case DT_U16:  KEYS_OF(uint16_t, (uint64_t)v[i] << I16)
	case DT_I8:   KEYS_OF(uint8_t, (uint64_t)(v[i] ^ 1u << 7) << I8)
	default:      KEYS_OF(uint8_t, (uint64_t)v[i] << I8)
	}
}

static uint64_t key_at(const Order *s, const char *line, long i)
{
	uint64_t k;
	keys(s->d->dtype, at_elem(line, s->d->dtype, i), 1, s->flip, &k);
	return k;
}

/* --- topk: a heap whose root is the worst of the k best ------------------------------------------------------------- */

typedef struct Item { uint64_t key; int at; } Item;
static int worse(Item a, Item b) { return a.key != b.key ? a.key < b.key : a.at > b.at; }

/* `item` into the hole at i of a heap of n */
static void sift(const Order *s, const char *line, int *heap, long n, long i, Item item)
{
	for (long c; (c = 2 * i + 1) < n; i = c) {
		Item child = { key_at(s, line, heap[c]), heap[c] };
		if (c + 1 < n) {
			Item other = { key_at(s, line, heap[c + 1]), heap[c + 1] };
			if (worse(other, child)) child = other, c++;
		}
		if (!worse(child, item)) break;
		heap[i] = child.at;
	}
	heap[i] = item.at;
}

static void best_of_line(const Order *s, const char *line, int *heap)
{
	uint64_t key[KEYS], root = 0;
	long n = s->d->n, k = s->k;
	for (long i = 0; i < k; i++) heap[i] = (int)i;
	for (long i = k / 2; i-- > 0;) sift(s, line, heap, k, i, (Item){ key_at(s, line, heap[i]), heap[i] });
	if (k) root = key_at(s, line, heap[0]);
	for (long at = k; k && at < n; at += KEYS) {
		long m = min_l(KEYS, n - at);
		keys(s->d->dtype, at_elem(line, s->d->dtype, at), m, s->flip, key);
		for (long j = 0; j < m; j++) {
			if (key[j] <= root) continue;                /* among equals the earlier one stays */
			sift(s, line, heap, k, 0, (Item){ key[j], (int)(at + j) });
			root = key_at(s, line, heap[0]);
		}
	}
	for (long i = k; i-- > 1;) {                         /* the worst goes last */
		int last = heap[i];
		heap[i] = heap[0];
		sift(s, line, heap, i, 0, (Item){ key_at(s, line, last), last });
	}
}

static int topk_body(RtLane *ln, void *ctx, long lo, long hi)
{
	const Order *s = ctx;
	long size = (long)dtype_size(s->d->dtype);
	(void)ln;
	for (long r = lo; r < hi; r++) {
		const char *line = s->x + r * s->d->n * size;
		int *index = s->index + r * s->k;
		best_of_line(s, line, index);
		for (long i = 0; i < s->k; i++) memcpy(s->y + (r * s->k + i) * size, line + index[i] * size, (size_t)size);
	}
	return 0;
}

int k_topk(struct pxlrt_lane *ln, const struct pxlrt_axis *d, long k, int smallest, const void *x, void *y, int *index)
{
	Order s = { d, k, smallest ? ~(uint64_t)0 : 0, x, y, index };
	if (d->outer <= 0 || k <= 0) return 0;
	return span_run(rt_lane(ln), topk_body, &s, d->outer, piece_of(d->outer, (double)(2 * d->n + 20 * k)));
}

/* --- median: digit by digit -------------------------------------------------------------------------------------------- */

/* Among the keys of the line that begin with `prefix`, the digit after it of the one at *rank; *rank counts within that digit then. */
static uint64_t next_digit(const Order *s, const char *line, uint64_t prefix, int shift, long *rank)
{
	uint64_t key[KEYS];
	long count[256] = { 0 };
	for (long at = 0; at < s->d->n; at += KEYS) {
		long m = min_l(KEYS, s->d->n - at);
		keys(s->d->dtype, at_elem(line, s->d->dtype, at), m, 0, key);
		for (long j = 0; j < m; j++) count[key[j] >> shift & 255] += shift == 56 || key[j] >> (shift + 8) == prefix;
	}
	uint64_t digit = 0;
	while (*rank >= count[digit]) *rank -= count[digit++];
	return digit;
}

static long first_with(const Order *s, const char *line, uint64_t want)
{
	uint64_t key[KEYS];
	for (long at = 0;; at += KEYS) {
		long m = min_l(KEYS, s->d->n - at);
		keys(s->d->dtype, at_elem(line, s->d->dtype, at), m, 0, key);
		for (long j = 0; j < m; j++)
			if (key[j] == want) return at + j;
	}
}

static int median_body(RtLane *ln, void *ctx, long lo, long hi)
{
	const Order *s = ctx;
	long size = (long)dtype_size(s->d->dtype);
	(void)ln;
	for (long r = lo; r < hi; r++) {
		const char *line = s->x + r * s->d->n * size;
		uint64_t prefix = 0;
		long rank = (s->d->n - 1) / 2;
		int shift = 64, end = 64 - 8 * (int)size;        /* a key has no digits below those of its type */
		while ((shift -= 8) >= end) prefix = prefix << 8 | next_digit(s, line, prefix, shift, &rank);
		s->index[r] = (int)first_with(s, line, prefix << end);
		memcpy(s->y + r * size, line + s->index[r] * size, (size_t)size);
	}
	return 0;
}

int k_median(struct pxlrt_lane *ln, const struct pxlrt_axis *d, const void *x, void *y, int *index)
{
	Order s = { d, 1, 0, x, y, index };
	if (d->outer <= 0) return 0;
	if (d->n <= 0) return lane_fault(rt_lane(ln), "the median of no elements");
	return span_run(rt_lane(ln), median_body, &s, d->outer, piece_of(d->outer, 10.0 * (double)d->n));
}

/* --- counts between levels ------------------------------------------------------------------------------------------------ */

typedef struct Counts { const struct pxlrt *rt; int dtype, absolute, n; const double *level; const char *x; unsigned *y; } Counts;

static int bin_of(const Counts *s, double x)         /* how many levels are not above x */
{
	int lo = 0, hi = s->n;
	while (lo < hi) {
		int mid = lo + (hi - lo) / 2;
		if (s->level[mid] <= x) lo = mid + 1;
		else hi = mid;
	}
	return lo;
}

static int counts_body(RtLane *ln, void *ctx, long lo, long hi)
{
	enum { NEAR = 1024 };                            /* counted here first, so that pieces rarely meet */
	const Counts *s = ctx;
	unsigned near[NEAR] = { 0 };
	Block b;
	(void)ln;
	for (long at = lo; at < hi; at += BLOCK_MAX) {
		long m = min_l(BLOCK_MAX, hi - at);
		s->rt->ld[s->dtype](&b, at_elem(s->x, s->dtype, at), 1, m);
		for (long j = 0; j < m; j++) {
			double x = s->dtype == DT_F64 ? b.f64[j] : (double)b.f32[j];
			if (x != x) continue;
			int bin = bin_of(s, s->absolute && x < 0 ? -x : x);
			if (bin < NEAR) near[bin]++;
			else __atomic_fetch_add(&s->y[bin], 1, __ATOMIC_RELAXED);
		}
	}
	for (int i = 0; i <= s->n && i < NEAR; i++)
		if (near[i]) __atomic_fetch_add(&s->y[i], near[i], __ATOMIC_RELAXED);
	return 0;
}

int k_histogram(struct pxlrt_lane *ln, int dtype, int absolute, int nlevel, const double *level, const void *x, long n, unsigned *y)
{
	Counts s = { table_of(rt_lane(ln)), dtype, absolute, nlevel, level, x, y };
	memset(y, 0, sizeof *y * ((size_t)nlevel + 1));
	return n > 0 ? span_run(rt_lane(ln), counts_body, &s, n, piece_of(n, 5)) : 0;
}
