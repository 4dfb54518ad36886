/* diag_test.c — how diagnostics are collected and rendered: whole texts. */
#include "lang/base/diag.h"
#include "tests/check.h"

static Arena mem;
static Sources srcs = { .mem = &mem };

static Diags new_diags(void) { return (Diags){ .mem = &mem, .srcs = &srcs }; }

static Span span(uint32_t src, const char *what)
{
	const Source *s = source_get(&srcs, src);
	const char *at = strstr(s->text, what);
	uint32_t lo = at ? (uint32_t)(at - s->text) : 0;
	return (Span){ src, lo, lo + (uint32_t)strlen(what) };
}

static char *render(const Diags *ds, const Diag *d, int flags)
{
	Buf b = buf_new(&mem);
	diag_render(ds, d, flags, &b);
	return b.s;
}

static char *render_json(const Diags *ds, const Diag *d)
{
	Buf b = buf_new(&mem);
	diag_render_json(ds, d, &b);
	return b.s;
}

static uint32_t add(const char *name, const char *text) { return source_add(&srcs, name, NULL, text, strlen(text)); }

static void test_full(void)
{
	uint32_t s = add("mlp.pxl", "a = 1\nb = 2\n\n\n\n        y = x @ w\n\n\n\nimage = host_load(i)\n");
	Diags ds = new_diags();
	Diag *d = diag(&ds, E0001, span(s, "x @ w"), "inner dimensions of `%s` differ", "matmul");
	diag_label(&ds, d, "%d columns against %d rows", 784, 128);
	diag_note(&ds, d, span(s, "image"), "left operand has shape f32[32, 784]");
	diag_note(&ds, d, (Span){0}, "in `Linear.build`");
	diag_help(&ds, d, (Span){0}, "transpose the right operand: `x @ w.T`");
	CHECK_STR("", render(&ds, d, 0),
		"error[E0001]: inner dimensions of `matmul` differ\n"
		"  --> mlp.pxl:6:13\n"
		"   |\n"
		" 6 |         y = x @ w\n"
		"   |             ^^^^^ 784 columns against 128 rows\n"
		"note: left operand has shape f32[32, 784]\n"
		"  --> mlp.pxl:10:1\n"
		"   |\n"
		"10 | image = host_load(i)\n"
		"   | ^^^^^\n"
		"note: in `Linear.build`\n"
		"help: transpose the right operand: `x @ w.T`\n");
	CHECK_STR("", render(&ds, d, DIAG_SHORT),
		"mlp.pxl:6:13: error[E0001]: inner dimensions of `matmul` differ: 784 columns against 128 rows\n");
	CHECK_STR("", render_json(&ds, d),
		"{\"level\":\"error\",\"code\":\"E0001\",\"kind\":\"SyntaxError\",\"message\":\"inner dimensions of `matmul` differ\","
		"\"label\":\"784 columns against 128 rows\",\"file\":\"mlp.pxl\",\"line\":6,\"column\":13,\"end_line\":6,\"end_column\":18,"
		"\"offset\":27,\"end_offset\":32,\"notes\":["
		"{\"level\":\"note\",\"message\":\"left operand has shape f32[32, 784]\",\"file\":\"mlp.pxl\",\"line\":10,\"column\":1,"
		"\"end_line\":10,\"end_column\":6,\"offset\":36,\"end_offset\":41},"
		"{\"level\":\"note\",\"message\":\"in `Linear.build`\"},"
		"{\"level\":\"help\",\"message\":\"transpose the right operand: `x @ w.T`\"}]}");
}

static void test_color(void)
{
	uint32_t s = add("c.pxl", "x = y\n");
	Diags ds = new_diags();
	Diag *d = diag(&ds, E0001, span(s, "y"), "no");
	CHECK_STR("", render(&ds, d, DIAG_COLOR),
		"\033[1;31merror[E0001]\033[0;1m: no\033[0m\n"
		"\033[1;34m -->\033[0m c.pxl:1:5\n"
		"\033[1;34m  |\033[0m\n"
		"\033[1;34m1 |\033[0m x = y\n"
		"\033[1;34m  |\033[0m     \033[1;31m^\033[0m\n");
}

/* tabs stay tabs, letters of several bytes are one column, control characters are not echoed */
static void test_odd_text(void)
{
	uint32_t s = add("t.pxl", "\tx\t= \"\xc3\xa9\" + \x1b[31m bad\r\n");
	Diags ds = new_diags();
	CHECK_STR("", render(&ds, diag(&ds, E0001, span(s, "bad"), "no"), 0),
		"error[E0001]: no\n"
		" --> t.pxl:1:18\n"
		"  |\n"
		"1 | \tx\t= \"\xc3\xa9\" + ?[31m bad\n"
		"  | \t \t              ^^^\n");
	uint32_t e = add("e.pxl", "");
	CHECK_STR("", render(&ds, diag(&ds, E0001, (Span){ e, 0, 0 }, "empty"), 0),
		"error[E0001]: empty\n --> e.pxl:1:1\n  |\n1 |\n  | ^\n");
	CHECK_STR("", render(&ds, diag(&ds, E0001, (Span){0}, "nowhere"), 0), "error[E0001]: nowhere\n");
}

static void test_long_line(void)
{
	Buf b = buf_new(&mem);
	for (int i = 0; i < 1000; i++) buf_printf(&b, "%03d ", i);
	uint32_t s = add("l.pxl", b.s);
	Diags ds = new_diags();
	CHECK_STR("", render(&ds, diag(&ds, E0001, span(s, "500"), "no"), 0),
		"error[E0001]: no\n"
		" --> l.pxl:1:2001\n"
		"  |\n"
		"1 | ... 491 492 493 494 495 496 497 498 499 500 501 502 503 504 505 506 507 508 509 510 511 512 513 514 515  ...\n"
		"  |                                         ^^^\n");
}

static void test_several_lines(void)
{
	uint32_t s = add("m.pxl", "x = f(a,\n    b,\n    c)\n");
	Diags ds = new_diags();
	Diag *d = diag(&ds, E0001, span(s, "f(a,\n    b,\n    c)"), "no");
	diag_label(&ds, d, "here");
	CHECK_STR("", render(&ds, d, 0),
		"error[E0001]: no\n"
		" --> m.pxl:1:5\n"
		"  |\n"
		"1 | x = f(a,\n"
		"  |     ^^^^\n"
		"...\n"
		"3 |     c)\n"
		"  |     ^^ here\n");
}

/* beyond the limit they are counted, and building on them is harmless */
static void test_limit(void)
{
	Diags ds = new_diags();
	ds.max_errors = 2;
	for (int i = 0; i < 5; i++) {
		Diag *d = diag(&ds, E0001, (Span){0}, "error %d", i);
		diag_label(&ds, d, "label");
		diag_note(&ds, d, (Span){0}, "note");
		diag_help(&ds, d, (Span){0}, "help");
	}
	CHECK("", ds.errors == 5 && ds.at.n == 2);
	CHECK_STR("", ds.at.at[1]->text, "error 1");
}

static void test_table(void)
{
	CHECK("", diag_find("E0001") == E0001);
	CHECK("", diag_find("E9999") == -1 && diag_find("") == -1);
	for (int i = 0; i < DIAG_COUNT; i++) {
		CHECK("", strlen(diag_table[i].text) > 40 && diag_table[i].title[0]);
		CHECK("", diag_find(diag_table[i].code) == i);
		CHECK("", diag_kind_name[diag_table[i].kind] != NULL);
	}
	CHECK_STR("", diag_kind_name[K_VALUE], "ValueError");
}

static void test_nearest(void)
{
	static const char *const words[] = { "relu", "gelu", "softmax", "layer_norm", NULL, "w" };
	const char *got = nearest("rleu", words, 6);
	CHECK("", got == words[0]);
	CHECK("", nearest("sofmax", words, 6) == words[2]);
	CHECK("", nearest("layernorm", words, 6) == words[3]);
	CHECK("", nearest("conv2d", words, 6) == NULL);
	CHECK("", nearest("x", words, 6) == NULL);
	CHECK("", nearest("", words, 6) == NULL);
}

/* numbers read back whatever the locale's decimal point is; what is no number is refused */
static void test_float(void)
{
	double x = 0;
	CHECK("", text_float("0.05", 4, &x) && x == 0.05);
	CHECK("", text_float("1e-07", 5, &x) && x == 1e-07);
	CHECK("", text_float("3", 1, &x) && x == 3);
	CHECK("", !text_float("", 0, &x) && !text_float("1.2.3", 5, &x) && !text_float("0x10", 4, &x) && !text_float("nan", 3, &x));
}

int main(void)
{
	jmp_buf oom;
	arena_init(&mem, NULL, NULL);
	if (setjmp(oom)) return 1;
	mem.oom = &oom;
	test_full();
	test_color();
	test_odd_text();
	test_long_line();
	test_several_lines();
	test_limit();
	test_table();
	test_nearest();
	test_float();
	arena_free(&mem);
	return check_done();
}
