/* set_base.h — the baseline instruction set of the machine's architecture. */
#define VEC_SET base
#define BF16_SET base
#define VEC_LABEL "base"
#define VEC_BYTES 16
