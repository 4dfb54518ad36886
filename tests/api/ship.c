/* ship.c — a shipped directory builds with a plain make and gives what the session in this process gives. */
#define _DEFAULT_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "compiler/codegen/ship.h"
#include "tests/api/world.h"

#if defined __SANITIZE_ADDRESS__
#define SANFLAGS "-fsanitize=address,undefined"      /* the shipped library is the one of this build */
#else
#define SANFLAGS ""
#endif

static int shell(const char *fmt, const char *dir)
{
	char cmd[600];
	snprintf(cmd, sizeof cmd, fmt, dir);
	return system(cmd);
}

static const char *first_line(const char *dir)
{
	static char line[256];
	char path[300];
	snprintf(path, sizeof path, "%s/out", dir);
	FILE *f = fopen(path, "r");
	if (!f || !fgets(line, sizeof line, f)) line[0] = 0;
	if (f) fclose(f);
	return line;
}

int main(void)
{
	char dir[] = "/tmp/pxl-test-XXXXXX", sub[64];
	if (!mkdtemp(dir)) return 1;
	World *w = world_new();
	HostArray *h = host_new(&w->mem, DT_F32, SPEC(DT_F32, 3).shape);
	memcpy(host_bytes(&w->mem, h, 0), (float[]){ 0.5f, -1.25f, 4 }, 12);
	Tensor *v = ir_variable(&w->b, h, "odd \"name\" */"), *x = input(w, SPEC(DT_F32, 2, 3), 0, 0);
	output(w, op2(w, OP_add, x, v));
	RtErr e = { 0 };
	CHECK("", compile(w, 2) != NULL);
	if (!w->mod) return check_done();
	RtProgram p = program(w, NULL);
	p.name = "while";                                    /* a program may be called as it likes */
	snprintf(sub, sizeof sub, "%s/out.d", dir);
	CHECK("", ship(w->mod, &p, NULL, sub, &w->mem, &e) == RT_OK);
	CHECK("", shell("make -s -C %s CFLAGS='-Wall -Wextra -Werror -Wno-missing-field-initializers " SANFLAGS "'", sub) == 0);
	CHECK("", shell("cd %s && ./example > out", sub) == 0);
	/* from anywhere, with the one folder on the path */
	CHECK("", shell("d=%s; cc -std=c11 -fsyntax-only -I $d $d/*.c", sub) == 0);
	CHECK_STR("", first_line(sub), "out: 0.5 -1.25 4 0.5 -1.25 4\n");
	CHECK("", ship(w->mod, &p, NULL, "/proc/nowhere", &w->mem, &e) == RT_EIO && strstr(e.text, "/proc/nowhere"));
	shell("rm -r %s", dir);
	world_free(w);
	return check_done();
}
