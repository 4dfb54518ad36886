/* ir_text.c — fuzz target: any bytes as textual IR.
 * Parsing must end without a crash; what parses must verify, print and read back as the same program, and
 * be safe to copy, schedule, list, draw and check. */
#include "compiler/ir/ir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Text { Intern names; Sources srcs; Diags ds; Ir *ir; } Text;

static Text *parse(Arena *mem, const char *s, size_t n)
{
	Text *t = NEW(mem, Text);
	intern_init(&t->names, mem);
	t->srcs.mem = mem;
	t->ds = (Diags){ .mem = mem, .srcs = &t->srcs };
	t->ir = ir_parse(mem, &t->names, &t->ds, source_add(&t->srcs, "fuzz.ir", NULL, s, n));
	return t;
}

static void must(int ok, const char *what)
{
	if (ok) return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static Buf printed(Arena *mem, const Ir *ir)
{
	Buf b = buf_new(mem);
	ir_print(ir, &b);
	return b;
}

static void use(Arena *mem, Ir *ir)
{
	Buf out = buf_new(mem);
	for (int i = 0; i < ir->graphs.n; i++) {
		print_schedule(ir->graphs.at[i], NULL, &out);
		ir_dot(ir->graphs.at[i], 0, -1, &out);
		for (int k = 0; k < ir->graphs.at[i]->tensors.n; k++) {
			layout_of(ir->graphs.at[i]->tensors.at[k]);
			tensor_ipu(ir->graphs.at[i]->tensors.at[k]);
		}
	}
	ir_check_ambiguity(ir);
}

static void check(Arena *mem, const char *s, size_t n)
{
	Text *a = parse(mem, s, n);
	Buf out = buf_new(mem), why = buf_new(mem);
	for (int i = 0; i < a->ds.at.n; i++) diag_render(&a->ds, a->ds.at.at[i], 0, &out);
	must(!!a->ir == !a->ds.errors, "a program, or errors, but not both or neither");
	if (!a->ir) return;
	must(ir_verify(a->ir, &why), "what was read does not verify");
	Buf once = printed(mem, a->ir);
	Text *b = parse(mem, once.s, once.n);
	must(b->ir && !strcmp(printed(mem, b->ir).s, once.s), "what was printed reads differently");
	must(!strcmp(printed(mem, ir_clone(a->ir, mem, NULL)).s, once.s), "a copy prints differently");
	use(mem, a->ir);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	Arena mem;
	jmp_buf oom;
	arena_init(&mem, NULL, NULL);
	mem.limit = (size_t)1 << 29;
	mem.oom = &oom;
	if (!setjmp(oom)) check(&mem, (const char *)data, n);
	arena_free(&mem);
	return 0;
}
