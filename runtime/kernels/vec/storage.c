/* storage.c — memory to blocks and back.
 *
 * A block of a class holds f32, f64, i64 or u64 (ld, st, norm); a block of an own type holds what memory holds (get, put). */
#include "runtime/kernels/vec/vec.h"
#include "runtime/kernels/vec/half_vec.h"

/* one row of T (in memory), C (in the block), how v is read, how v is written */
#define STORAGE(X) STORAGE_INT(X) STORAGE_FLOAT(X)
#define STORAGE_INT(X) \
	X(BOOL, unsigned char, i64, v != 0, v != 0) \
	X(I8,  signed char, i64, v, (signed char)v)        X(I16, short, i64, v, (short)v) \
	X(I32, int, i64, v, (int)v)                        X(I64, i64, i64, v, v) \
	X(U8,  unsigned char, i64, v, (unsigned char)v)    X(U16, unsigned short, i64, v, (unsigned short)v) \
	X(U32, unsigned, i64, v, (unsigned)v)              X(U64, u64, u64, v, v)
#define STORAGE_FLOAT(X) \
	X(F8_143, unsigned char, float, f8_143_load(v), f8_143_store(v, 0x80)) \
	X(F8_152, unsigned char, float, f8_152_load(v), f8_152_store(v, 0x80)) \
	X(F16, unsigned short, float, half_load(v), half_store(v)) \
	X(BF16, unsigned short, float, brain_load(v), brain_store(v)) \
	X(F32, float, float, v, v)                         X(F64, double, double, v, v)

#define LOAD_STORE(D, T, C, get, put) \
	static void ld_##D(void *block, const void *src, long stride, long n) \
	{ \
		C *y = block; \
		const T *x = src; \
		if (stride == 1) { \
			EACH(n) { T v = x[i]; y[i] = (get); } \
		} else if (stride == 0) { \
			T v = *x; \
			C one = (get); \
			for (long i = 0; i < n; i++) y[i] = one; \
		} else if (stride == 2) { \
			EACH(n) { T v = x[2 * i]; y[i] = (get); } \
		} else { \
			for (long i = 0; i < n; i++) { T v = x[i * stride]; y[i] = (get); } \
		} \
	} \
	static void st_##D(void *dst, long stride, const void *block, long n) STRIDED_STORE(T, C, put) \
	static inline C round_##D(C w) { C v0; { C v = w; T s = (T)(put); { T v = s; v0 = (get); } } return v0; }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
STORAGE(LOAD_STORE)
#pragma GCC diagnostic pop

#define NORM(D, C) static void norm_##D(void *block, long n) { C *y = block; EACH(n) y[i] = round_##D(y[i]); }
NORM(BOOL, i64) NORM(I8, i64) NORM(I16, i64) NORM(I32, i64) NORM(U8, i64) NORM(U16, i64) NORM(U32, i64)
NORM(F8_143, float) NORM(F8_152, float) NORM(F16, float) NORM(BF16, float)

/* blocks of own types: every stride-th element; stride 0 repeats one */
#define MOVES(name, T, get) \
	static void get_##name(void *block, const void *src, long stride, long n) \
	{ \
		T *y = block; \
		const T *x = src; \
		if (stride == 1) { \
			EACH(n) { T v = x[i]; y[i] = (T)(get); } \
		} else { \
			for (long i = 0; i < n; i++) { T v = x[i * stride]; y[i] = (T)(get); } \
		} \
	} \
	static void put_##name(void *dst, long stride, const void *block, long n) STRIDED_STORE(T, T, get)
MOVES(1, unsigned char, v)
MOVES(2, unsigned short, v)
MOVES(4, unsigned, v)
MOVES(bool, unsigned char, v != 0)

#if HAS_HALVES
static void ld_half(void *block, const void *src, long stride, long n)
{
	float *y = block;
	const uint16_t *x = src;
	long i = 0;
	for (; stride == 1 && i + HALVES <= n; i += HALVES) PUT_FLOATS(y + i, HALF_LOAD(x + i));
	ld_F16(y + i, x + i * stride, stride, n - i);
}

static void st_half(void *dst, long stride, const void *block, long n)
{
	uint16_t *y = dst;
	const float *x = block;
	long i = 0;
	for (; stride == 1 && i + HALVES <= n; i += HALVES) HALF_STORE(y + i, FLOATS(x + i));
	st_F16(y + i * stride, stride, x + i, n - i);
}

static void norm_half(void *block, long n)
{
	float *y = block;
	long i = 0;
	for (; i + HALVES <= n; i += HALVES) PUT_FLOATS(y + i, HALF_ROUND(FLOATS(y + i)));
	norm_F16(y + i, n - i);
}
#define ld_F16   ld_half
#define st_F16   st_half
#define norm_F16 norm_half
#endif

#define LD_SLOT(D, ...) [DT_##D] = ld_##D,
#define ST_SLOT(D, ...) [DT_##D] = st_##D,
const pxlrt_load VEC(ld)[PXLRT_NDTYPE] = { STORAGE(LD_SLOT) };
const pxlrt_store VEC(st)[PXLRT_NDTYPE] = { STORAGE(ST_SLOT) };
const pxlrt_norm_block VEC(norm)[PXLRT_NDTYPE] = {
	[DT_BOOL] = norm_BOOL, [DT_I8] = norm_I8, [DT_I16] = norm_I16, [DT_I32] = norm_I32, [DT_U8] = norm_U8, [DT_U16] = norm_U16,
	[DT_U32] = norm_U32, [DT_F8_143] = norm_F8_143, [DT_F8_152] = norm_F8_152, [DT_F16] = norm_F16, [DT_BF16] = norm_BF16,
};
const pxlrt_load VEC(get)[PXLRT_NDTYPE] = {
	[DT_BOOL] = get_bool, [DT_I8] = get_1, [DT_U8] = get_1, [DT_I16] = get_2, [DT_U16] = get_2, [DT_I32] = get_4, [DT_U32] = get_4,
	[DT_I64] = ld_I64, [DT_U64] = ld_U64, STORAGE_FLOAT(LD_SLOT)
};
const pxlrt_store VEC(put)[PXLRT_NDTYPE] = {
	[DT_BOOL] = put_bool, [DT_I8] = put_1, [DT_U8] = put_1, [DT_I16] = put_2, [DT_U16] = put_2, [DT_I32] = put_4, [DT_U32] = put_4,
	[DT_I64] = st_I64, [DT_U64] = st_U64, STORAGE_FLOAT(ST_SLOT)
};
