/* digits.c — handwritten-like digits out of nothing, for a first run without any data.
 *
 * A digit is a skeleton: strokes of a few control points on a unit square, drawn through by a smooth curve.
 * Each sample bends its skeleton (every control point moves a little), then slants, turns, scales and shifts
 * it, and draws it with a pen of its own width, pressure and softness; a little dirt is added.  Some digits
 * have several ways of being written, as people's do.
 *
 * Sample i of a split is a pure function of (split, i): its random numbers come from a counter, and the
 * arithmetic is plain float, so every machine sees the same picture. */
#include "runtime/formats/data.h"

#include <math.h>
#include <string.h>

enum { SIDE = 28, MAX_POINTS = 8, MAX_STROKES = 3, STEPS = 5 };

/* --- skeletons: x to the right, y down, inside a unit square; strokes end with -1 --------------------------- */

typedef struct Stroke { int n; float p[MAX_POINTS][2]; int closed; } Stroke;
typedef struct Shape { int digit, weight, nstroke; Stroke stroke[MAX_STROKES]; } Shape;

static const Shape shapes[] = {
	{ 0, 3, 1, { { 8, { { .50f, .02f }, { .22f, .14f }, { .10f, .50f }, { .22f, .86f }, { .50f, .98f }, { .78f, .86f }, { .90f, .50f }, { .78f, .14f } }, 1 } } },
	{ 0, 1, 1, { { 8, { { .62f, .03f }, { .30f, .10f }, { .14f, .50f }, { .28f, .92f }, { .58f, .97f }, { .82f, .74f }, { .84f, .34f }, { .50f, .06f } }, 0 } } },
	{ 1, 4, 1, { { 3, { { .54f, .02f }, { .50f, .50f }, { .47f, .98f } }, 0 } } },
	{ 1, 2, 1, { { 4, { { .30f, .26f }, { .54f, .02f }, { .54f, .50f }, { .54f, .98f } }, 0 } } },
	{ 1, 1, 2, { { 4, { { .30f, .24f }, { .52f, .02f }, { .52f, .50f }, { .52f, .97f } }, 0 }, { 2, { { .26f, .97f }, { .78f, .97f } }, 0 } } },
	{ 2, 3, 1, { { 8, { { .16f, .24f }, { .34f, .04f }, { .66f, .04f }, { .82f, .26f }, { .62f, .56f }, { .14f, .96f }, { .50f, .95f }, { .90f, .94f } }, 0 } } },
	{ 2, 2, 1, { { 8, { { .20f, .16f }, { .56f, .02f }, { .80f, .26f }, { .56f, .66f }, { .16f, .92f }, { .22f, .74f }, { .48f, .88f }, { .90f, .96f } }, 0 } } },
	{ 3, 3, 2, { { 5, { { .18f, .12f }, { .54f, .02f }, { .80f, .22f }, { .66f, .44f }, { .40f, .48f } }, 0 },
		{ 5, { { .40f, .48f }, { .76f, .54f }, { .84f, .78f }, { .56f, .98f }, { .14f, .88f } }, 0 } } },
	{ 3, 1, 2, { { 4, { { .16f, .05f }, { .50f, .04f }, { .82f, .04f }, { .48f, .42f } }, 0 },
		{ 5, { { .48f, .42f }, { .82f, .54f }, { .82f, .82f }, { .50f, .98f }, { .14f, .88f } }, 0 } } },
	{ 4, 3, 2, { { 4, { { .26f, .06f }, { .18f, .34f }, { .12f, .58f }, { .90f, .56f } }, 0 }, { 3, { { .74f, .06f }, { .70f, .50f }, { .66f, .98f } }, 0 } } },
	{ 4, 2, 2, { { 4, { { .66f, .03f }, { .36f, .38f }, { .08f, .66f }, { .92f, .66f } }, 0 }, { 3, { { .66f, .03f }, { .65f, .50f }, { .64f, .98f } }, 0 } } },
	{ 5, 3, 2, { { 3, { { .84f, .04f }, { .50f, .05f }, { .28f, .06f } }, 0 },
		{ 8, { { .28f, .06f }, { .22f, .28f }, { .20f, .44f }, { .50f, .38f }, { .82f, .54f }, { .78f, .84f }, { .46f, .98f }, { .14f, .88f } }, 0 } } },
	{ 5, 1, 1, { { 8, { { .80f, .05f }, { .40f, .06f }, { .26f, .24f }, { .36f, .42f }, { .72f, .50f }, { .78f, .78f }, { .48f, .98f }, { .16f, .90f } }, 0 } } },
	{ 6, 3, 1, { { 8, { { .70f, .03f }, { .34f, .30f }, { .16f, .66f }, { .36f, .96f }, { .70f, .94f }, { .82f, .70f }, { .56f, .52f }, { .20f, .68f } }, 0 } } },
	{ 6, 1, 1, { { 8, { { .46f, .02f }, { .24f, .36f }, { .18f, .72f }, { .40f, .98f }, { .76f, .88f }, { .76f, .62f }, { .46f, .54f }, { .20f, .74f } }, 0 } } },
	{ 7, 3, 1, { { 5, { { .12f, .08f }, { .50f, .07f }, { .88f, .06f }, { .58f, .48f }, { .38f, .98f } }, 0 } } },
	{ 7, 1, 2, { { 5, { { .12f, .08f }, { .50f, .07f }, { .88f, .06f }, { .58f, .48f }, { .38f, .98f } }, 0 }, { 2, { { .30f, .52f }, { .78f, .48f } }, 0 } } },
	{ 7, 1, 1, { { 6, { { .14f, .22f }, { .16f, .07f }, { .50f, .08f }, { .86f, .06f }, { .62f, .46f }, { .50f, .98f } }, 0 } } },
	{ 8, 3, 2, { { 6, { { .50f, .02f }, { .22f, .12f }, { .28f, .38f }, { .52f, .48f }, { .76f, .36f }, { .76f, .10f } }, 1 },
		{ 6, { { .50f, .48f }, { .20f, .62f }, { .20f, .90f }, { .50f, .99f }, { .82f, .88f }, { .80f, .60f } }, 1 } } },
	{ 8, 2, 1, { { 8, { { .76f, .12f }, { .46f, .02f }, { .24f, .24f }, { .50f, .46f }, { .78f, .76f }, { .48f, .98f }, { .24f, .76f }, { .52f, .44f } }, 1 } } },
	{ 9, 3, 2, { { 6, { { .74f, .16f }, { .46f, .03f }, { .20f, .20f }, { .26f, .46f }, { .56f, .48f }, { .76f, .28f } }, 1 },
		{ 4, { { .77f, .14f }, { .76f, .40f }, { .70f, .70f }, { .62f, .98f } }, 0 } } },
	{ 9, 1, 1, { { 8, { { .74f, .30f }, { .50f, .50f }, { .22f, .36f }, { .36f, .06f }, { .70f, .08f }, { .78f, .40f }, { .72f, .82f }, { .30f, .96f } }, 0 } } },
};
enum { NSHAPE = sizeof shapes / sizeof *shapes };

/* --- random numbers ---------------------------------------------------------------------------------------- */

typedef struct Rand { uint64_t key, n; } Rand;

static uint64_t next(Rand *r)
{
	uint64_t z = r->key + ++r->n * 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static float between(Rand *r, float lo, float hi) { return lo + (hi - lo) * ((float)(next(r) >> 40) * (1.0f / 16777216.0f)); }
/* a bell around 0: within ±2, of deviation 2/3 */
static float bell(Rand *r) { return between(r, -.667f, .667f) + between(r, -.667f, .667f) + between(r, -.667f, .667f); }

/* --- drawing ------------------------------------------------------------------------------------------------- */

typedef struct Pen { float radius, soft, wave, ink[SIDE][SIDE]; } Pen;
typedef struct Point { float x, y; } Point;

/* ink along the segment a–b: full within the pen's radius, fading over `soft` pixels; overlaps take the darker */
static void draw_segment(Pen *pen, Point a, Point b, float radius)
{
	float reach = radius + pen->soft, dx = b.x - a.x, dy = b.y - a.y, len = dx * dx + dy * dy;
	int x0 = (int)fmaxf(0, fminf(a.x, b.x) - reach), x1 = (int)fminf(SIDE - 1, fmaxf(a.x, b.x) + reach + 1);
	int y0 = (int)fmaxf(0, fminf(a.y, b.y) - reach), y1 = (int)fminf(SIDE - 1, fmaxf(a.y, b.y) + reach + 1);
	float by = len > 0 ? 1 / len : 0, fade = 1 / pen->soft;
	for (int y = y0; y <= y1; y++)
		for (int x = x0; x <= x1; x++) {
			float px = (float)x + .5f - a.x, py = (float)y + .5f - a.y;
			float t = (px * dx + py * dy) * by;
			t = t < 0 ? 0 : t > 1 ? 1 : t;
			px -= t * dx;
			py -= t * dy;
			float v = (reach - sqrtf(px * px + py * py)) * fade;
			v = v < 0 ? 0 : v > 1 ? 1 : v;
			pen->ink[y][x] = v > pen->ink[y][x] ? v : pen->ink[y][x];
		}
}

/* the Catmull-Rom curve from p1 to p2 */
static Point curve(Point p0, Point p1, Point p2, Point p3, float t)
{
	float t2 = t * t, t3 = t2 * t;
	float w0 = -.5f * t + t2 - .5f * t3, w1 = 1 - 2.5f * t2 + 1.5f * t3, w2 = .5f * t + 2 * t2 - 1.5f * t3, w3 = -.5f * t2 + .5f * t3;
	return (Point){ w0 * p0.x + w1 * p1.x + w2 * p2.x + w3 * p3.x, w0 * p0.y + w1 * p1.y + w2 * p2.y + w3 * p3.y };
}

static void draw_stroke(Pen *pen, const Point *p, int n, int closed)
{
	int pieces = closed ? n : n - 1;
	Point from = p[0];
	for (int i = 0; i < pieces; i++) {
		Point p0 = p[closed ? (i + n - 1) % n : i ? i - 1 : 0], p3 = p[closed ? (i + 2) % n : i + 2 < n ? i + 2 : n - 1];
		for (int k = 1; k <= STEPS; k++) {
			Point to = curve(p0, p[i], p[(i + 1) % n], p3, (float)k / STEPS);
			float along = ((float)i + (float)k / STEPS) / (float)pieces;
			draw_segment(pen, from, to, pen->radius * (1 + pen->wave * (along - .5f)));
			from = to;
		}
	}
}

/* --- one sample ---------------------------------------------------------------------------------------------- */

typedef struct Frame { float a, b, c, d, x, y; } Frame;       /* unit square → pixels */

/* sine and cosine of a small angle, as sums that round alike everywhere */
static Frame random_frame(Rand *r)
{
	float turn = .17f * bell(r), slant = .26f * bell(r) - .06f, w = 13.0f + 3.2f * bell(r), h = 18.5f + 2.0f * bell(r);
	float s = turn - turn * turn * turn / 6, c = 1 - turn * turn / 2 + turn * turn * turn * turn / 24;
	Frame f = { .a = w * c, .b = -h * (s + slant * c), .c = w * s, .d = h * (c - slant * s) };
	f.x = 14 + 1.5f * bell(r) - .5f * (f.a + f.b);
	f.y = 14 + 1.5f * bell(r) - .5f * (f.c + f.d);
	return f;
}

static const Shape *pick_shape(Rand *r, int digit)
{
	int all = 0;
	for (int i = 0; i < NSHAPE; i++) if (shapes[i].digit == digit) all += shapes[i].weight;
	int k = (int)(next(r) % (uint64_t)all);
	for (int i = 0; i < NSHAPE; i++)
		if (shapes[i].digit == digit && (k -= shapes[i].weight) < 0) return &shapes[i];
	return &shapes[0];
}

/* what a scanner sees beside the digit: a faint short mark */
static void draw_dirt(Pen *pen, Rand *r)
{
	Point a = { between(r, 2, SIDE - 2), between(r, 2, SIDE - 2) }, b = { a.x + 2.5f * bell(r), a.y + 2.5f * bell(r) };
	draw_segment(pen, a, b, between(r, .1f, .5f));
}

static void draw_shape(Pen *pen, const Shape *shape, Rand *r)
{
	Frame f = random_frame(r);
	float loose = between(r, .03f, .12f);
	for (int k = 0; k < shape->nstroke; k++) {
		const Stroke *st = &shape->stroke[k];
		Point p[MAX_POINTS];
		for (int i = 0; i < st->n; i++) {
			float x = st->p[i][0] + loose * bell(r), y = st->p[i][1] + loose * bell(r);
			p[i] = (Point){ f.a * x + f.b * y + f.x, f.c * x + f.d * y + f.y };
		}
		draw_stroke(pen, p, st->n, st->closed);
	}
}

int digit_sample(int split, uint32_t i, unsigned char pixels[SIDE * SIDE])
{
	Rand r = { 0x5eed0d191751u + ((uint64_t)(split != SPLIT_TRAIN) << 40) * 0x2545f491u + (uint64_t)i * 0xd1342543de82ef95u, 0 };
	r.key = next(&r);                                      /* neighbours get unrelated keys */
	r.n = 0;
	int digit = (int)(next(&r) % 10);
	Pen pen = { .radius = between(&r, .45f, 1.35f), .soft = between(&r, .8f, 1.4f), .wave = .5f * bell(&r) };
	float dark = between(&r, 215, 255.9f);
	draw_shape(&pen, pick_shape(&r, digit), &r);
	if (next(&r) % 8 == 0) draw_dirt(&pen, &r);
	for (int y = 0; y < SIDE; y++)
		for (int x = 0; x < SIDE; x++) pixels[y * SIDE + x] = (unsigned char)(pen.ink[y][x] * dark);
	return digit;
}
