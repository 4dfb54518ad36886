/* base.h — what every file of runtime/ shares: element types, errors, memory.  Includes nothing of ours.
 *
 * Runtime code never prints, exits or aborts.  A function that can fail returns a status (0: fine)
 * and fills an RtErr with the whole message. */
#ifndef RUNTIME_BASE_H
#define RUNTIME_BASE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

typedef enum DType {
#define DTYPE(id, name, popxl, size, ctype, cls) DT_##id,
#include "runtime/dtype.def"
#undef DTYPE
	DT_COUNT
} DType;

typedef struct DTypeInfo { const char *name, *popxl, *ctype; int size; char cls; } DTypeInfo;
extern const DTypeInfo dtype_info[DT_COUNT];
#define dtype_size(t) ((size_t)dtype_info[t].size)
static inline int dtype_is_float(DType t) { return dtype_info[t].cls == 'f'; }
static inline int dtype_is_int(DType t) { return dtype_info[t].cls == 'i' || dtype_info[t].cls == 'u'; }
static inline int dtype_is_f8(DType t) { return dtype_info[t].cls == '8'; }
int dtype_find(const char *name);           /* by .pxl or PopXL name or alias (half, float, double); -1 */

enum { MAX_RANK = 8 };

/* the same numbers as pxl_status in pxl.h */
enum { RT_OK, RT_ENOMEM, RT_EMODEL, RT_EINVAL, RT_EIO, RT_ERUN, RT_EFIT, RT_EINTR, RT_EINTERNAL };

typedef struct RtErr { int status; char text[512]; } RtErr;
int rt_fail(RtErr *e, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));   /* returns status */

/* the host's allocator: old NULL allocates, size 0 frees; large blocks come aligned to 64 */
typedef struct RtAlloc { void *(*fn)(void *user, void *old, size_t size); void *user; } RtAlloc;
void *rt_alloc(const RtAlloc *a, size_t size);            /* zeroed, aligned to 64; NULL: no memory */
void  rt_free(const RtAlloc *a, void *p);                 /* takes NULL */
size_t rt_memory_free(void); /* bytes that the machine can still give; SIZE_MAX: it does not say */

/* scalar conversions between storage formats, exact and to nearest even; in kernels/convert.c */
float    f16_to_f32(uint16_t h);
uint16_t f32_to_f16(float x);
float    bf16_to_f32(uint16_t h);
uint16_t f32_to_bf16(float x);
float    f8_to_f32(DType t, uint8_t b);                    /* without a scale */
uint8_t  f32_to_f8(DType t, float x, int nan_on_overflow);
double   rt_get(DType t, const void *p, size_t i);         /* element i as a double (64-bit ints may round) */
int64_t  rt_get_int(DType t, const void *p, size_t i);     /* of an integer or bool array */
void     rt_set(DType t, void *p, size_t i, double x);     /* by the rules of `cast`: saturating, NaN → 0 for ints */
int      rt_own_class(DType t);      /* what emitted loops hold it in: PXLRT_I8 … for integers of 32 bits and less, U8 for bool, else the class */
/* n elements of one type into another, by the rules of `cast` */
void     rt_convert(DType to, void *dst, DType from, const void *src, size_t n);

#endif
