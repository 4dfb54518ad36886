/* float_loops.h — primitives of floats whose loop has a rare second part, by libm: arguments of sin and cos that the fast
 * reduction is too short for, remainders whose quotient is large. */
/* sine and cosine: the fast loop, then libm for the rare arguments its reduction is too short for */
#define SINCOS(S, T, name, turn) \
	static void S##_##name(T *y, const T *a, long n) \
	{ \
		T keep[PXLRT_BLOCK]; \
		for (long at = 0; at < n; at += PXLRT_BLOCK) { \
			long m = min_l(PXLRT_BLOCK, n - at); \
			int far = 0; \
			for (long i = 0; i < m; i++) far |= abs_##S(keep[i] = a[at + i]) > (T)SINCOS_MAX; \
			for (long i = 0; i < m; i++) y[at + i] = sincos_##S(keep[i], turn); \
			for (long i = 0; far && i < m; i++) \
				if (abs_##S(keep[i]) > (T)SINCOS_MAX) y[at + i] = (T)name(keep[i]); \
		} \
	}

/* libm gives the exact remainder, as the fast loop does */
#define MODS(S, T) \
	static void S##_mod_block(T *y, const T *a, const T *b, long n) \
	{ \
		T z[PXLRT_BLOCK]; \
		for (long at = 0; at < n; at += PXLRT_BLOCK) { \
			long m = min_l(PXLRT_BLOCK, n - at); \
			int near = 1; \
			for (long i = 0; i < m; i++) near &= mod_is_near_##S(a[at + i], b[at + i]), z[i] = mod_near_##S(a[at + i], b[at + i]); \
			for (long i = 0; !near && i < m; i++) \
				if (!mod_is_near_##S(a[at + i], b[at + i])) S##_mod(z + i, a + at + i, b + at + i, 1); \
			memcpy(y + at, z, (size_t)m * sizeof *y); \
		} \
	}

#define FILL(S, T) static void S##_fill(T *y, T x, long n) { for (long i = 0; i < n; i++) y[i] = x; }
