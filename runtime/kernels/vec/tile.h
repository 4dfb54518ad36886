/* tile.h — one register tile of a product, for one element type (vector.h). */

/* direct.h: products on b in place, for the table that gemm.h makes */
void VEC(G(direct))(long kn, const void *a, long lda, const void *b, long ldb, void *c, long ldc, long m, long n, double alpha, double beta);
void VEC(G(direct_t))(long kn, const void *a, long lda, const void *b, long ldb, void *c, long ldc, long m, long n, double alpha, double beta);

/* one k of a tile; the first makes the sums, which costs less than clearing them */
VM void G(step)(const int M, const int NV, const int first, VT acc[][8], const GT *a, long ai, const GT *b)
{
	VT row[8];
	UNROLL for (int j = 0; j < NV; j++) row[j] = *(const VU *)(b + j * VL);
	UNROLL for (int i = 0; i < M; i++) {
		VT x = a[i * ai] - (VT){ 0 };
		UNROLL for (int j = 0; j < NV; j++) acc[i][j] = first ? x * row[j] : GFMA(x, row[j], acc[i][j]);
	}
}

/* c[M, NV·VL] = alpha Σ_k a[i, k] b[k, j] + beta c; element (i, k) of a is at i·ai + k·ak.  Inlined with constant M, NV. */
VM void G(tile)(const int M, const int NV, long kn, const GT *a, long ai, long ak, const GT *b, long ldb,
                GT *c, long ldc, GT alpha, GT beta)
{
	VT acc[TILE_ROWS][8];
	/* c is about to be read: the next tile's part, so that it is here in time; this tile's, where rows of c drive each other out of the caches */
	int apart = kn >= 128 && ldc * (long)sizeof(GT) % 2048 == 0;
	GT *row = c + (apart ? 0 : NV * VL);
	if (beta != 0 || apart)
		UNROLL for (int i = 0; i < M; i++) {
			UNROLL for (int j = 0; j < NV; j++) __builtin_prefetch(row + j * VL, 1);
			NEXT_ROW(row, ldc);
		}
	if (kn > 0) G(step)(M, NV, 1, acc, a, ai, b);
	else
		UNROLL for (int i = 0; i < M; i++)
			UNROLL for (int j = 0; j < NV; j++) acc[i][j] = (VT){ 0 };
	for (long k = 1; k < kn; k++) G(step)(M, NV, 0, acc, a += ak, ai, b += ldb);
	VT al = (VT){ 0 } + alpha;
	UNROLL for (int i = 0; i < M; i++) {
		UNROLL for (int j = 0; j < NV; j++) {
			VU *p = (VU *)(c + j * VL);
			if (beta == 0) *p = acc[i][j] * al;
			else if (beta == 1) *p = GFMA(acc[i][j], al, (VT)*p);
			else *p = GFMA(acc[i][j], al, *p * beta);
		}
		NEXT_ROW(c, ldc);
	}
}

/* a as in `packed`; column j of b begins at b + j·bj: 1 where it stands, kn in panels */
#define STRIP(M, NV) \
	if (lda) for (; j + NV * VL <= n; j += NV * VL) G(tile)(M, NV, kn, a, lda, 1, b + j * bj, ldb, c + j, ldc, alpha, beta); \
	else for (; j + NV * VL <= n; j += NV * VL) G(tile)(M, NV, kn, a, 1, TILE_ROWS, b + j * bj, ldb, c + j, ldc, alpha, beta);

/* as many rows as a tile has */
static void G(rows)(long kn, const GT *a, long lda, const GT *b, long bj, long ldb, GT *c, long ldc, long n, GT alpha, GT beta)
{
	long j = 0;
	STRIP(TILE_ROWS, TILE_VECS) STRIP(TILE_ROWS, 2) STRIP(TILE_ROWS, 1)
}
