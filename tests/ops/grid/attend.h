/* attend.h — rows of the grid for attention and its gradient: every score at once, in the order of the formula. */
#ifndef TESTS_OPS_GRID_ATTEND_H
#define TESTS_OPS_GRID_ATTEND_H

#include "tests/ops/grid/fold.h"

/* sizes of an item, and which item and query this is */
typedef struct Query { size_t lq, lk, d, n, item, i, seen; Num scale; } Query;

static Query query_of(Unit *u, size_t at)
{
	int r = SX(0).rank;
	Query q = { .lq = (size_t)SX(0).dim[r - 2], .lk = (size_t)SX(1).dim[r - 2], .d = (size_t)SX(0).dim[r - 1], .n = (size_t)SX(2).dim[r - 1] };
	long ahead;
	q.item = at / q.lq;
	q.i = at % q.lq;
	ahead = (long)(q.i + 1 + q.lk) - (long)q.lq;
	q.seen = !ATTR("causal")->i ? q.lk : ahead < 0 ? 0 : (size_t)ahead;
	q.scale = ATTR("scale")->set ? (Num)ATTR("scale")->f : q.d ? 1 / sqrtl((Num)q.d) : 1;
	return q;
}

/* of all items: rows of q, which may be without elements */
static size_t queries(Unit *u)
{
	Shape rows = SX(0);
	rows.rank--;
	return (size_t)shape_nelems(rows);
}

static Num dot_of(Unit *u, int a, size_t at, int b, size_t bt, size_t n, Num *size)
{
	Num sum = 0;
	for (size_t z = 0; z < n; z++) sum += X(a, at + z) * X(b, bt + z), *size += fabsl(X(a, at + z) * X(b, bt + z));
	return sum;
}

static Num score(Unit *u, const Query *q, size_t j, Num *size)
{
	Shape all = SX(0);
	all.dim[all.rank - 1] = (int64_t)q->lk;
	Num s = q->scale * dot_of(u, 0, (q->item * q->lq + q->i) * q->d, 1, (q->item * q->lk + j) * q->d, q->d, size);
	*size *= q->scale;
	if (u->nin <= 3 || u->in[3].spec.dtype == DT_COUNT) return s;
	Num m = X(3, paired(SX(3), all, (q->item * q->lq + q->i) * q->lk + j));
	*size += fabsl(m);
	return s + m;
}

WHOLE(attention)
{
	for (size_t at = 0; at < queries(u); at++) {
		Query q = query_of(u, at);
		Num top = -INFINITY, sum = 0, most = 0;
		for (size_t j = 0; j < q.seen; j++) {
			Num size = 0;
			top = fmaxl(top, score(u, &q, j, &size));
			most = fmaxl(most, size);
		}
		for (size_t j = 0; j < q.seen; j++) {
			Num size = 0, p = expl(score(u, &q, j, &size) - top);
			sum += p;
			for (size_t z = 0; z < q.n; z++) {
				Num v = X(2, (q.item * q.lk + j) * q.n + z);
				Y(0, at * q.n + z) += p * v;
				M(0, at * q.n + z) += fabsl(p * v) * (4 + most);
			}
		}
		for (size_t z = 0; q.seen && z < q.n; z++) Y(0, at * q.n + z) /= sum, M(0, at * q.n + z) /= sum;
		Y(1, at) = q.seen ? top + logl(sum) : -INFINITY;
		M(1, at) = 4 + most;
	}
}

/* operands: q k v mask y lse g glse */
WHOLE(attention_grad)
{
	for (size_t at = 0; at < queries(u); at++) {
		Query q = query_of(u, at);
		Num room = 0, dot = dot_of(u, 6, at * q.n, 4, at * q.n, q.n, &room);
		if (u->nin > 7) dot -= X(7, at);
		for (size_t j = 0; j < q.seen; j++) {
			size_t key = q.item * q.lk + j;
			Num size = 0, p = expl(score(u, &q, j, &size) - X(5, at)), dp = 0, most = room + fabsl(dot);
			dp = dot_of(u, 6, at * q.n, 2, key * q.n, q.n, &most);
			Num ds = p * (dp - dot), off = p * most * (4 + size + fabsl(X(5, at)));
			for (size_t z = 0; z < q.d; z++) {
				Y(0, at * q.d + z) += q.scale * ds * X(1, key * q.d + z), M(0, at * q.d + z) += q.scale * off * fabsl(X(1, key * q.d + z));
				Y(1, key * q.d + z) += q.scale * ds * X(0, at * q.d + z), M(1, key * q.d + z) += q.scale * off * fabsl(X(0, at * q.d + z));
			}
			for (size_t z = 0; z < q.n; z++) {
				Y(2, key * q.n + z) += p * X(6, at * q.n + z);
				M(2, key * q.n + z) += p * (4 + size + fabsl(X(5, at))) * fabsl(X(6, at * q.n + z));
			}
			if (u->nout > 3) Y(3, at * q.lk + j) = ds, M(3, at * q.lk + j) = off;
		}
	}
}

static const Row attend_rows[] = {
	ROW("attention", attention, T_F, FORMS({ "T[3, 4] T[5, 4] T[5, 2]", "" }, { "T[1, 1] T[1, 1] T[1, 1]", "" }, { "T[2, 3, 5, 4] T[2, 3, 7, 4] T[2, 3, 7, 3]", "scale = 0.75" }, { "T[2, 6, 3] T[2, 6, 3] T[2, 6, 3]", "causal = true" },
		{ "T[1, 2, 3] T[1, 5, 3] T[1, 5, 3]", "causal = true" }, { "T[5, 3] T[2, 3] T[2, 4]", "causal = true" }, { "T[2, 3, 4] T[2, 5, 4] T[2, 5, 4] T[3, 5]", "" }, { "T[2, 3, 4] T[2, 5, 4] T[2, 5, 4] T[2, 1, 5]", "causal = true, scale = 1" },
		{ "T[2, 2, 3, 4] T[2, 2, 5, 4] T[2, 2, 5, 4] T[]", "" }, { "T[3, 4] T[0, 4] T[0, 2]", "" }, { "T[0, 4] T[5, 4] T[5, 2]", "" }, { "T[0, 3, 4] T[0, 5, 4] T[0, 5, 2]", "" }, { "T[3, 4] T[5, 4] T[5, 0]", "" },
		{ "T[2, 131, 9] T[2, 290, 9] T[2, 290, 17]", "" }, { "T[129, 33] T[257, 33] T[257, 16]", "causal = true" }, { "T[7, 300] T[70, 300] T[70, 5]", "" }, { "T[70, 3] T[66, 3] T[66, 260] T[66]", "causal = true" }), .sums = 12, .plain_numbers = 1),
	ROW("attention_grad", attention_grad, BIT(F16) | BIT(BF16) | BIT(F32), FORMS({ "T[3, 4] T[5, 4] T[5, 2] - T[3, 2] f32[3] T[3, 2]", "" }, { "T[2, 6, 3] T[2, 6, 3] T[2, 6, 3] T[6] T[2, 6, 3] f32[2, 6] T[2, 6, 3] f32[2, 6]", "causal = true, scores = true" },
		{ "T[5, 3] T[2, 3] T[2, 4] T[1, 2] T[5, 4] f32[5] T[5, 4]", "causal = true, scores = true, scale = 0.5" }, { "T[131, 9] T[140, 9] T[140, 3] - T[131, 3] f32[131] T[131, 3]", "causal = true" }, { "T[9, 3, 5] T[9, 4, 5] T[9, 4, 3] - T[9, 3, 3] f32[9, 3] T[9, 3, 3]", "" },
		{ "T[70, 260] T[66, 260] T[66, 2] - T[70, 2] f32[70] T[70, 2]", "" }, { "T[3, 4] T[0, 4] T[0, 2] - T[3, 2] f32[3] T[3, 2]", "" }), .any = T_ALL, .sums = 24, .plain_numbers = 1),
	ROW("attention_grad", attention_grad, BIT(F64), FORMS({ "T[3, 4] T[5, 4] T[5, 2] - T[3, 2] T[3] T[3, 2]", "" }, { "T[8, 6, 3] T[8, 6, 3] T[8, 6, 3] T[6] T[8, 6, 3] T[8, 6] T[8, 6, 3] T[8, 6]", "causal = true, scores = true" },
		{ "T[131, 9] T[140, 9] T[140, 3] - T[131, 3] T[131] T[131, 3]", "causal = true" }), .any = T_ALL, .sums = 24, .plain_numbers = 1),
};

#endif
