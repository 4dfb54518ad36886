/* order.c — order statistics of contiguous lines, and counts between levels.
 *
 * An element becomes a key whose order as an unsigned number is the order wanted: NaN above infinity, the zeros equal;
 * inverted when the smallest come first.  What follows is the same for every type.  Keys of 32 bits, of lines that fit the lane's scratch:
 * in short lines each counts the keys above it; in long ones the digits of the last key wanted, eight bits a pass, say which are
 * chosen, and those are sorted by digits.  Everything else: a heap of the best for topk, kept where the indices go, and digits for median. */
#include "runtime/kernels/kernels.h"

#include <limits.h>
#include <string.h>

enum { KEYS = 512, SHORT = 128 };

typedef struct Order {
	const Isa *isa;
	const struct pxlrt_axis *d;
	long k;
	uint64_t flip;                       /* all ones: smallest first */
	const char *x;
	char *y;
	int *index;
} Order;

/* --- keys --------------------------------------------------------------------------------------------------------- */

#define FLOAT_KEY(BITS) \
static inline uint##BITS##_t float_key_##BITS(uint##BITS##_t bits, uint##BITS##_t inf) \
{ \
	uint##BITS##_t sign = (uint##BITS##_t)1 << (BITS - 1), size = bits & (sign - 1), key = bits & sign ? sign - size : sign + size; \
	return size > inf ? ~(uint##BITS##_t)0 : key; \
}
FLOAT_KEY(32)
FLOAT_KEY(64)

#define KEYS_OF(T, key) { const T *v = (const T *)x; for (long i = 0; i < n; i++) out[i] = (key) ^ flip; break; }
#define HIGH32 ((uint32_t)1 << 31)
#define HIGH64 ((uint64_t)1 << 63)

static int is_narrow(int dtype) { return dtype_info[dtype].size <= 4; }

/* of n elements of x */
static void keys_32(int dtype, const void *x, long n, uint32_t flip, uint32_t *out)
{
	switch (dtype) {
	case DT_F32:  KEYS_OF(uint32_t, float_key_32(v[i], 0xffu << 23))
	case DT_F16:  KEYS_OF(uint16_t, float_key_32((uint32_t)v[i] << 16, 0x1fu << 26))
	case DT_BF16: KEYS_OF(uint16_t, float_key_32((uint32_t)v[i] << 16, 0xffu << 23))
	case DT_I32:  KEYS_OF(uint32_t, v[i] ^ HIGH32)
	case DT_U32:  KEYS_OF(uint32_t, v[i])
	case DT_I16:  KEYS_OF(uint16_t, (uint32_t)v[i] << 16 ^ HIGH32)
	case DT_U16:  KEYS_OF(uint16_t, (uint32_t)v[i] << 16)
	case DT_I8:   KEYS_OF(uint8_t, (uint32_t)v[i] << 24 ^ HIGH32)
	default:      KEYS_OF(uint8_t, (uint32_t)v[i] << 24)
	}
}

/* n <= KEYS of any type: narrow ones are the upper half */
static void keys(int dtype, const void *x, long n, uint64_t flip, uint64_t *out)
{
	uint32_t narrow[KEYS];
	switch (dtype) {
	case DT_F64: KEYS_OF(uint64_t, float_key_64(v[i], 0x7ffull << 52))
	case DT_I64: KEYS_OF(uint64_t, v[i] ^ HIGH64)
	case DT_U64: KEYS_OF(uint64_t, v[i])
	default:
		keys_32(dtype, x, n, (uint32_t)flip, narrow);
		for (long i = 0; i < n; i++) out[i] = (uint64_t)narrow[i] << 32;
	}
}

static uint64_t key_at(const Order *s, const char *line, long i)
{
	uint64_t k;
	keys(s->d->dtype, at_elem(line, s->d->dtype, i), 1, s->flip, &k);
	return k;
}

/* --- lines in the lane's scratch --------------------------------------------------------------------------------------- */

static int fits(const struct pxlrt_axis *d) { return is_narrow(d->dtype) && d->n <= RT_SCRATCH_BYTES / 16; }

/* where each of n <= SHORT keys stands when the highest come first, and of equals the first */
static void ranks(const Isa *isa, const uint32_t *key, long n, int *rank)
{
	enum { STEP = 32 };
	int with_sign[SHORT] = { 0 }, equals[SHORT];
	long i, all = (n + STEP - 1) / STEP * STEP;
	memset(equals, 0, (size_t)n * sizeof *equals);
	for (i = 0; i < n; i++) with_sign[i] = (int)(key[i] ^ HIGH32);
	for (; i < all; i++) with_sign[i] = INT_MIN;
	isa->order->above(rank, with_sign, all);
	for (i = 0; i < n; i++) rank[i] += equals[rank[i]]++;
}

/* the key that would stand at `rank`; room is for n */
static uint32_t key_of_rank(const Isa *isa, const uint32_t *key, long n, long rank, uint32_t *room)
{
	for (int shift = 24; shift >= 0 && n > SHORT; shift -= 8) {
		unsigned count[256] = { 0 }, digit = 255;
		for (long i = 0; i < n; i++) count[key[i] >> shift & 255]++;
		for (; rank >= count[digit]; digit--) rank -= count[digit];
		long m = 0;
		for (long i = 0; i < n; i++) {
			uint32_t it = key[i];
			room[m] = it;
			m += (it >> shift & 255) == digit;
		}
		key = room, n = m;
	}
	if (n > SHORT) return key[0];                        /* all that are left are equal */
	int at[SHORT];
	long i = 0;
	ranks(isa, key, n, at);
	while (at[i] != rank) i++;
	return key[i];
}

/* an item is a key, inverted, above its position */
static uint64_t item_of(uint32_t key, long i) { return (uint64_t)~key << 32 | (uint64_t)i; }

/* A key that at least k are not below.  Few: of so many parts of the line, k have a highest key that is not below it, and not
 * many keys are. */
static uint32_t bar_for(const Isa *isa, const uint32_t *key, long n, long k, uint32_t *room)
{
	enum { PARTS = 64 };
	uint32_t highest[PARTS];
	if (k > PARTS / 2) return key_of_rank(isa, key, n, k - 1, room);
	memcpy(highest, key, sizeof highest);
	for (long i = PARTS; i + PARTS <= n; i += PARTS)
		for (int j = 0; j < PARTS; j++) highest[j] = highest[j] > key[i + j] ? highest[j] : key[i + j];
	return key_of_rank(isa, highest, PARTS, k - 1, room);
}

/* the keys that are not below `bar` as items, in order of position */
static long not_below(uint32_t bar, const uint32_t *key, long n, uint64_t *item)
{
	long m = 0;
	for (long i = 0; i < n; i++) {
		item[m] = item_of(key[i], i);
		m += key[i] >= bar;
	}
	return m;
}

/* n items by their keys, equal ones as they stood; what is returned is a or b */
static const uint64_t *sorted(uint64_t *a, uint64_t *b, long n)
{
	unsigned count[4][256] = { { 0 } };
	for (long i = 0; i < n; i++)
		for (int d = 0; d < 4; d++) count[d][a[i] >> (32 + 8 * d) & 255]++;
	for (int d = 0, shift = 32; d < 4; d++, shift += 8) {
		unsigned *at = count[d], sum = 0;
		if (at[a[0] >> shift & 255] == n) continue;
		for (int v = 0; v < 256; v++) {
			unsigned here = at[v];
			at[v] = sum;
			sum += here;
		}
		for (long i = 0; i < n; i++) b[at[a[i] >> shift & 255]++] = a[i];
		uint64_t *swap = a;
		a = b, b = swap;
	}
	return a;
}

static void best_by_rank(const Order *s, const char *line, int *index)
{
	uint32_t key[SHORT];
	int rank[SHORT], at[SHORT];
	keys_32(s->d->dtype, line, s->d->n, (uint32_t)s->flip, key);
	ranks(s->isa, key, s->d->n, rank);
	for (long i = 0; i < s->d->n; i++) at[rank[i]] = (int)i;
	memcpy(index, at, (size_t)s->k * sizeof *at);
}

static void best_by_digits(const Order *s, const char *line, void *scratch, int *index)
{
	long n = s->d->n, k = s->k;
	uint64_t *item = scratch, *other = item + n;
	uint32_t *key = (uint32_t *)(void *)other;           /* until the items are made */
	keys_32(s->d->dtype, line, n, (uint32_t)s->flip, key);
	long m = not_below(k < n ? bar_for(s->isa, key, n, k, key + n) : 0, key, n, item);
	if (m > SHORT) {
		const uint64_t *best = sorted(item, other, m);
		for (long i = 0; i < k; i++) index[i] = (int)best[i];
		return;
	}
	int rank[SHORT];
	for (long i = 0; i < m; i++) key[i] = ~(uint32_t)(item[i] >> 32);
	ranks(s->isa, key, m, rank);
	for (long i = 0; i < m; i++)
		if (rank[i] < k) index[rank[i]] = (int)item[i];
}

/* --- topk of other lines: a heap whose root is the worst of the k best --------------------------------------------------- */

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

/* y[i] = line[index[i]] */
static void pick(const Order *s, const char *line, const int *index, char *y)
{
#define PICK(T) for (long i = 0; i < s->k; i++) ((T *)(void *)y)[i] = ((const T *)(const void *)line)[index[i]]
	switch (dtype_size(s->d->dtype)) {
	case 1: PICK(char); break;
	case 2: PICK(short); break;
	case 4: PICK(int); break;
	default: PICK(i64);
	}
}

static int topk_body(RtLane *ln, void *ctx, long lo, long hi)
{
	const Order *s = ctx;
	long size = (long)dtype_size(s->d->dtype);
	for (long r = lo; r < hi; r++) {
		const char *line = s->x + r * s->d->n * size;
		int *index = s->index + r * s->k;
		if (!fits(s->d)) best_of_line(s, line, index);
		else if (s->d->n <= SHORT) best_by_rank(s, line, index);
		else best_by_digits(s, line, ln->scratch, index);
		pick(s, line, index, s->y + r * s->k * size);
	}
	return 0;
}

int k_topk(struct pxlrt_lane *ln, const struct pxlrt_axis *d, long k, int smallest, const void *x, void *y, int *index)
{
	Order s = { isa_of(rt_lane(ln)), d, k, smallest ? ~(uint64_t)0 : 0, x, y, index };
	if (d->outer <= 0 || k <= 0) return 0;
	return span_run(rt_lane(ln), topk_body, &s, d->outer, piece_of(d->outer, (double)(2 * d->n + 8 * k)));
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

static long median_at(const Order *s, const char *line)
{
	uint64_t prefix = 0;
	long rank = (s->d->n - 1) / 2;
	int shift = 64, end = is_narrow(s->d->dtype) ? 32 : 0;
	while ((shift -= 8) >= end) prefix = prefix << 8 | next_digit(s, line, prefix, shift, &rank);
	return first_with(s, line, prefix << end);
}

static long median_in_scratch(const Order *s, const char *line, uint32_t *key)
{
	long n = s->d->n, i = 0;
	keys_32(s->d->dtype, line, n, 0, key);
	uint32_t middle = key_of_rank(s->isa, key, n, n - 1 - (n - 1) / 2, key + n);
	while (key[i] != middle) i++;
	return i;
}

static int median_body(RtLane *ln, void *ctx, long lo, long hi)
{
	const Order *s = ctx;
	long size = (long)dtype_size(s->d->dtype);
	for (long r = lo; r < hi; r++) {
		const char *line = s->x + r * s->d->n * size;
		s->index[r] = (int)(fits(s->d) ? median_in_scratch(s, line, ln->scratch) : median_at(s, line));
		memcpy(s->y + r * size, line + s->index[r] * size, (size_t)size);
	}
	return 0;
}

int k_median(struct pxlrt_lane *ln, const struct pxlrt_axis *d, const void *x, void *y, int *index)
{
	Order s = { isa_of(rt_lane(ln)), d, 1, 0, x, y, index };
	if (d->outer <= 0) return 0;
	if (d->n <= 0) return lane_fault(rt_lane(ln), "the median of no elements");
	return span_run(rt_lane(ln), median_body, &s, d->outer, piece_of(d->outer, 5.0 * (double)d->n));
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
