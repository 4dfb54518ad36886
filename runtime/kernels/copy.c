/* copy.c — element copies between two strided layouts of one shape.
 *
 * Axes of size 1 go and neighbours that run on in both layouts merge.  What is left is walked plane by plane: the last axis and one
 * other.  Where the source is contiguous along an axis that is not the last, that is the other one, and the plane is turned in square
 * tiles, so that every cache line fetched is used; else it is the one before the last, and runs are copied one below the other. */
#include "runtime/kernels/kernels.h"

#include <string.h>

enum { TILE = 32, UNIT = 16384 };

typedef struct Copy {
	int size, rank, across, turned;      /* a plane: axes `across` and the last, the same one if there is only a long run */
	long dim[PXLRT_MAXRANK], dst[PXLRT_MAXRANK], src[PXLRT_MAXRANK];
	const char *from;
	char *to;
	long unit, units;                    /* planes are cut along `across` into pieces of this many */
} Copy;

static void copy_push(Copy *c, long dim, long dst, long src)
{
	int l = c->rank - 1;
	if (c->rank && c->dst[l] == dst * dim && c->src[l] == src * dim) {
		c->dim[l] *= dim, c->dst[l] = dst, c->src[l] = src;
		return;
	}
	c->dim[c->rank] = dim, c->dst[c->rank] = dst, c->src[c->rank++] = src;
}

/* the axis (not the last) along which the source is contiguous, or -1 */
static int transposed_axis(const Copy *c)
{
	for (int i = 0; i < c->rank - 1; i++)
		if (c->size <= 8 && c->src[i] == 1 && c->src[c->rank - 1] != 1) return i;
	return -1;
}

/* --- runs ---------------------------------------------------------------------------------------------------------- */

#define APART(T, ds, ss) for (long i = 0; i < n; i++) ((T *restrict)(void *)d)[i * (ds)] = ((const T *restrict)(const void *)s)[i * (ss)]
/* Other strides: vectors put together from single elements take six times as long as these do, and the asm keeps them away. */
#define ONE_BY_ONE(T) for (long i = 0; i < n; i++, d += ds * (long)sizeof(T), s += ss * (long)sizeof(T)) { memcpy(d, s, sizeof(T)); __asm__ volatile(""); }
/* the strides that vectors know */
#define STRIDED(T) \
	if (ds == 1 && ss == 2) APART(T, 1, 2); \
	else if (ds == 1 && ss == -1) APART(T, 1, -1); \
	else if (ds == 1 && ss == 0) APART(T, 1, 0); \
	else if (ds == 2 && ss == 1) APART(T, 2, 1); \
	else ONE_BY_ONE(T)
static void copy_run(int size, char *d, long ds, const char *s, long ss, long n)
{
	if (ds == 1 && ss == 1) {
		memcpy(d, s, (size_t)n * (size_t)size);
		return;
	}
	switch (size) {
	case 1: STRIDED(char) break;
	case 2: STRIDED(short) break;
	case 4: STRIDED(int) break;
	case 8: STRIDED(i64) break;
	default: for (long i = 0; i < n; i++) memcpy(d + i * ds * size, s + i * ss * size, (size_t)size);
	}
}

#define ROWS_OF(BYTES) case BYTES: for (long r = 0; r < n; r++) memcpy(d + r * dstep, s + r * sstep, BYTES); break;
/* n contiguous runs; short ones without a call for each */
static void copy_rows(char *d, long dstep, const char *s, long sstep, size_t bytes, long n)
{
	switch (bytes) {
	ROWS_OF(4) ROWS_OF(8) ROWS_OF(16) ROWS_OF(32) ROWS_OF(64) ROWS_OF(128) ROWS_OF(256)
	default: for (long r = 0; r < n; r++) memcpy(d + r * dstep, s + r * sstep, bytes);
	}
}

static void copy_lines(const Copy *c, char *d, const char *s, long n)
{
	int l = c->rank - 1, a = c->across;
	long dstep = c->dst[a] * c->size, sstep = c->src[a] * c->size;
	if (c->dst[l] == 1 && c->src[l] == 1) copy_rows(d, dstep, s, sstep, (size_t)(c->dim[l] * c->size), n);
	else for (long r = 0; r < n; r++) copy_run(c->size, d + r * dstep, c->dst[l], s + r * sstep, c->src[l], c->dim[l]);
}

/* --- turned planes ----------------------------------------------------------------------------------------------------- */

/* y[i, j] = x[j, i] of i < rows, j < cols <= TILE, rows of y TILE apart; in squares of N × N, each a vector of 16 bytes by rounds
 * that interleave the first half of its rows with the second */
#define TURN(T, N, LOW, HIGH) \
typedef T Vec##N __attribute__((vector_size(16))); \
static void square_##N(T *y, const T *x, long stride) \
{ \
	Vec##N v[N], w[N]; \
	for (int k = 0; k < N; k++) memcpy(&v[k], x + k * stride, 16); \
	for (int round = 1; round < N; round *= 2) { \
		for (int k = 0; k < N / 2; k++) { \
			w[2 * k] = __builtin_shufflevector(v[k], v[k + N / 2], LOW); \
			w[2 * k + 1] = __builtin_shufflevector(v[k], v[k + N / 2], HIGH); \
		} \
		memcpy(v, w, sizeof v); \
	} \
	for (int k = 0; k < N; k++) memcpy(y + k * TILE, &v[k], 16); \
} \
static void turn_##N(void *to, const void *from, long stride, long rows, long cols) \
{ \
	T *y = to; \
	const T *x = from; \
	long i, j; \
	for (j = 0; j + N <= cols; j += N) { \
		for (i = 0; i + N <= rows; i += N) square_##N(y + i * TILE + j, x + j * stride + i, stride); \
		for (; i < rows; i++) \
			for (long k = j; k < j + N; k++) y[i * TILE + k] = x[k * stride + i]; \
	} \
	for (; j < cols; j++) \
		for (i = 0; i < rows; i++) y[i * TILE + j] = x[j * stride + i]; \
}
#define PAIRS_LOW  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define PAIRS_HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define LIST(...) __VA_ARGS__
TURN(char, 16, LIST(PAIRS_LOW), LIST(PAIRS_HIGH))
TURN(short, 8, LIST(0, 8, 1, 9, 2, 10, 3, 11), LIST(4, 12, 5, 13, 6, 14, 7, 15))
TURN(int, 4, LIST(0, 4, 1, 5), LIST(2, 6, 3, 7))
TURN(i64, 2, LIST(0, 2), LIST(1, 3))

/* a tile by way of a buffer: lines are read along the source and written along the destination, each once */
static void copy_tile(const Copy *c, char *d, const char *s, long rows, long cols)
{
	int l = c->rank - 1, a = c->across;
	i64 room[TILE * TILE];
	(c->size == 1 ? turn_16 : c->size == 2 ? turn_8 : c->size == 4 ? turn_4 : turn_2)(room, s, c->src[l], rows, cols);
	long dstep = c->dst[a] * c->size, sstep = TILE * c->size;
	if (c->dst[l] == 1) copy_rows(d, dstep, (char *)room, sstep, (size_t)(cols * c->size), rows);
	else for (long r = 0; r < rows; r++) copy_run(c->size, d + r * dstep, c->dst[l], (char *)room + r * sstep, 1, cols);
}

static void copy_turned(const Copy *c, char *d, const char *s, long n)
{
	int l = c->rank - 1, a = c->across;
	for (long i = 0; i < n; i += TILE)
		for (long j = 0; j < c->dim[l]; j += TILE)
			copy_tile(c, d + (i * c->dst[a] + j * c->dst[l]) * c->size, s + (i + j * c->src[l]) * c->size,
			          min_l(TILE, n - i), min_l(TILE, c->dim[l] - j));
}

/* --- pieces of planes ---------------------------------------------------------------------------------------------------- */

static int copy_body(RtLane *ln, void *ctx, long lo, long hi)
{
	const Copy *c = ctx;
	int l = c->rank - 1, a = c->across;
	(void)ln;
	for (long i = lo; i < hi; i++) {
		long left = i / c->units, at = i % c->units * c->unit, n = min_l(c->unit, c->dim[a] - at), d = at * c->dst[a], s = at * c->src[a];
		for (int x = l - 1; x >= 0; x--) {
			if (x == a) continue;
			d += left % c->dim[x] * c->dst[x], s += left % c->dim[x] * c->src[x];
			left /= c->dim[x];
		}
		char *to = c->to + d * c->size;
		const char *from = c->from + s * c->size;
		if (c->turned) copy_turned(c, to, from, n);
		else if (a == l) copy_run(c->size, to, c->dst[l], from, c->src[l], n);
		else copy_lines(c, to, from, n);
	}
	return 0;
}

int k_copy(struct pxlrt_lane *lane, const struct pxlrt_copy *d, const void *src, void *dst)
{
	Copy c = { .size = d->size, .from = src, .to = dst };
	long count = 1;
	for (int i = 0; i < d->rank; i++) {
		if (d->dim[i] <= 0) return 0;
		count *= d->dim[i];
		if (d->dim[i] > 1) copy_push(&c, d->dim[i], d->dst[i], d->src[i]);
	}
	if (!c.rank) copy_push(&c, 1, 1, 1);
	int l = c.rank - 1, t = transposed_axis(&c);
	c.turned = t >= 0;
	c.across = c.turned ? t : l > 0 && c.dim[l] < UNIT ? l - 1 : l;
	long line = c.across == l ? 1 : c.dim[l];
	c.unit = min_l(c.dim[c.across], c.turned ? 4 * TILE : max_l(1, UNIT / line));
	c.units = (c.dim[c.across] + c.unit - 1) / c.unit;
	long n = count / (c.dim[c.across] * line) * c.units;
	return span_run(rt_lane(lane), copy_body, &c, n, piece_of(n, (double)count / (double)n * (0.3 + 0.05 * c.size)));
}
