/* lanes.h — reductions of one block over 64 lanes, which are combined in one order, so that every instruction set gives the
 * same bits. */
enum { LANES = 64 };

/* all of x[0, n), element i + j by lane j */
#define LANES_DO(n, ...) \
	{ \
		long i = 0; \
		for (; i + LANES <= (n); i += LANES) \
			_Pragma("GCC ivdep") for (int j = 0; j < LANES; j++) __VA_ARGS__ \
		for (int j = 0; i + j < (n); j++) __VA_ARGS__ \
	}
/* lane j takes j + 32, j + 16, … */
#define TREE(...) \
	HALVE(32, __VA_ARGS__) HALVE(16, __VA_ARGS__) HALVE(8, __VA_ARGS__) HALVE(4, __VA_ARGS__) HALVE(2, __VA_ARGS__) HALVE(1, __VA_ARGS__)
#define HALVE(W, ...) { enum { w = W }; EACH_LANE(W) __VA_ARGS__ }
#define EACH_LANE(W) _Pragma("GCC ivdep") for (int j = 0; j < W; j++)

#define FOLD(S, T, name, start, step) \
	static T S##_fold_##name(const T *x, long n) \
	{ \
		T lane[LANES]; \
		for (int j = 0; j < LANES; j++) lane[j] = (start); \
		LANES_DO(n, { T p = lane[j], q = x[i + j]; lane[j] = (step); }) \
		TREE({ T p = lane[j], q = lane[j + w]; lane[j] = (step); }) \
		return lane[0]; \
	}
