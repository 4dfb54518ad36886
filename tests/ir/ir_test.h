/* ir_test.h — a program to build on, for the tests of compiler/ir. */
#ifndef TESTS_IR_IR_TEST_H
#define TESTS_IR_IR_TEST_H

#include "compiler/ops/grad.h"
#include "tests/check.h"

#include <setjmp.h>
#include <stdlib.h>

typedef struct Bench { Arena mem; jmp_buf oom; Sources srcs; Intern names; Diags ds; Ir *ir; Build b; } Bench;

static inline void bench_open(Bench *t)
{
	memset(t, 0, sizeof *t);
	arena_init(&t->mem, NULL, NULL);
	t->mem.oom = &t->oom;
	if (setjmp(t->oom)) {
		printf("out of memory\n");
		exit(1);
	}
	t->srcs.mem = &t->mem;
	intern_init(&t->names, &t->mem);
	t->ds.mem = &t->mem;
	t->ds.srcs = &t->srcs;
	t->ir = ir_new(&t->mem, &t->names, &t->ds, 1);
	t->b = ir_build(t->ir->main);
}

static inline void bench_close(Bench *t) { arena_free(&t->mem); }

static inline Spec spec_f32(int rank, int64_t a, int64_t b)
{
	return (Spec){ .dtype = DT_F32, .shape = { .rank = rank, .dim = { a, b } } };
}

static inline Tensor *var_f32(Bench *t, const char *name, int rank, int64_t a, int64_t b)
{
	return ir_variable(&t->b, host_new(&t->mem, DT_F32, spec_f32(rank, a, b).shape), name);
}

/* results by op code; the variant with an underscore */
static inline Tensor *op1(Build *b, OpCode code, Tensor *x) { return ir_op(b, code, (Tensor *[]){ x }, 1, NULL, NULL)->out.at[0]; }
static inline Tensor *op2(Build *b, OpCode code, Tensor *x, Tensor *y) { return ir_op(b, code, (Tensor *[]){ x, y }, 2, NULL, NULL)->out.at[0]; }
static inline Tensor *op1_(Build *b, OpCode code, Tensor *x) { return ir_op_inplace(b, code, (Tensor *[]){ x }, 1, NULL, NULL)->out.at[0]; }
static inline Tensor *op2_(Build *b, OpCode code, Tensor *x, Tensor *y) { return ir_op_inplace(b, code, (Tensor *[]){ x, y }, 2, NULL, NULL)->out.at[0]; }

static inline int verified(Bench *t)
{
	Buf why = buf_new(&t->mem);
	if (ir_verify(t->ir, &why)) return 1;
	printf("verify: %s\n", why.s);
	return 0;
}

static inline const Diag *last_diag(const Bench *t) { return t->ds.at.n ? t->ds.at.at[t->ds.at.n - 1] : NULL; }
static inline int diag_is(const Bench *t, DiagCode code) { return t->ds.at.n && last_diag(t)->code == code; }

static inline const char *listing(Bench *t, Graph *g)
{
	Buf b = buf_new(&t->mem);
	print_schedule(g, NULL, &b);
	return b.s;
}

#endif
