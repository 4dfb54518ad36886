/* copy.c — element copies between two strided layouts of one shape.
 *
 * Axes of size 1 go and neighbours that run on in both layouts merge.  If both layouts are contiguous on the last
 * axis left, runs are copied; otherwise the axis where the source is contiguous and the last one are walked in square tiles (a transpose),
 * so that every cache line fetched is used. */
#include "runtime/kernels/kernels.h"

#include <string.h>

enum { TILE = 32 };

typedef struct Copy { int size, rank; long dim[PXLRT_MAXRANK], dst[PXLRT_MAXRANK], src[PXLRT_MAXRANK]; const char *from; char *to; int across; long count; } Copy;

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

#define STRIDED(T) \
	for (long i = 0; i < n; i++) ((T *)(void *)d)[i * ds] = ((const T *)(const void *)s)[i * ss]
static void copy_run(int size, char *d, long ds, const char *s, long ss, long n)
{
	if (ds == 1 && ss == 1) {
		memcpy(d, s, (size_t)n * (size_t)size);
		return;
	}
	switch (size) {
	case 1: STRIDED(char); break;
	case 2: STRIDED(short); break;
	case 4: STRIDED(int); break;
	case 8: STRIDED(i64); break;
	default: for (long i = 0; i < n; i++) memcpy(d + i * ds * size, s + i * ss * size, (size_t)size);
	}
}

/* a tile by way of a buffer: lines are read along the source and written along the destination, each once */
static void copy_tile(const Copy *c, char *d, const char *s, long rows, long cols)
{
	int l = c->rank - 1, a = c->across;
	i64 room[TILE * TILE];
	char *buf = (char *)room;
	for (long j = 0; j < cols; j++) copy_run(c->size, buf + j * c->size, TILE, s + j * c->src[l] * c->size, 1, rows);
	for (long r = 0; r < rows; r++) copy_run(c->size, d + r * c->dst[a] * c->size, c->dst[l], buf + r * TILE * c->size, 1, cols);
}

/* one plane: axes `across` and the last */
static void copy_plane(const Copy *c, char *d, const char *s)
{
	int l = c->rank - 1, a = c->across;
	for (long i = 0; i < c->dim[a]; i += TILE)
		for (long j = 0; j < c->dim[l]; j += TILE)
			copy_tile(c, d + (i * c->dst[a] + j * c->dst[l]) * c->size, s + (i + j * c->src[l]) * c->size,
			          min_l(TILE, c->dim[a] - i), min_l(TILE, c->dim[l] - j));
}

static int copy_body(RtLane *ln, void *ctx, long lo, long hi)
{
	const Copy *c = ctx;
	int l = c->rank - 1;
	(void)ln;
	for (long i = lo; i < hi; i++) {
		long left = i, d = 0, s = 0;
		for (int x = l - 1; x >= 0; x--) {
			if (x == c->across) continue;
			d += left % c->dim[x] * c->dst[x], s += left % c->dim[x] * c->src[x];
			left /= c->dim[x];
		}
		if (c->across >= 0) copy_plane(c, c->to + d * c->size, c->from + s * c->size);
		else copy_run(c->size, c->to + d * c->size, c->dst[l], c->from + s * c->size, c->src[l], c->dim[l]);
	}
	return 0;
}

/* a single long run or plane is cut along its first axis, so that several threads can share it */
static void copy_split(Copy *c)
{
	int l = c->rank - 1, a = c->across >= 0 ? c->across : l;
	long unit = c->across >= 0 ? TILE * 4 : 16384;
	if (c->count > 1 || c->rank == PXLRT_MAXRANK || c->dim[a] < 2 * unit || c->dim[a] % unit) return;
	for (int x = c->rank; x > 0; x--) c->dim[x] = c->dim[x - 1], c->dst[x] = c->dst[x - 1], c->src[x] = c->src[x - 1];
	c->rank++, a++;
	c->across += c->across >= 0;
	c->dim[0] = c->dim[a] / unit, c->dst[0] = c->dst[a] * unit, c->src[0] = c->src[a] * unit;
	c->dim[a] = unit;
	c->count = c->dim[0];
}

int k_copy(struct pxlrt_lane *lane, const struct pxlrt_copy *d, const void *src, void *dst)
{
	Copy c = { .size = d->size, .from = src, .to = dst, .count = 1 };
	for (int i = 0; i < d->rank; i++) {
		if (d->dim[i] <= 0) return 0;
		if (d->dim[i] > 1) copy_push(&c, d->dim[i], d->dst[i], d->src[i]);
	}
	if (!c.rank) copy_push(&c, 1, 1, 1);
	c.across = transposed_axis(&c);
	double per = (double)c.dim[c.rank - 1] * (c.across >= 0 ? (double)c.dim[c.across] : 1);
	for (int i = 0; i < c.rank - 1; i++)
		if (i != c.across) c.count *= c.dim[i];
	long before = c.count;
	copy_split(&c);
	return span_run(rt_lane(lane), copy_body, &c, c.count, piece_of(c.count, per * (double)before / (double)c.count * (0.3 + 0.05 * c.size)));
}
