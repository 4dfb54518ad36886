#include "compiler/codegen/jit.h"
int jit_cc(const Module *m, const JitOptions *o, Jit *j, RtErr *e) { (void)m; (void)o; (void)j; return rt_fail(e, RT_EIO, "none"); }
void jit_cc_free(Jit *j) { (void)j; }
