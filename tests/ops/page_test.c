/* page_test.c — docs/ops.md is made from the op table: this makes the page and compares; BLESS=1
 * (make bless) writes it.  Ops stand by family, in the table's order. */
#include "tests/ops/ops.h"

static const char path[] = "docs/ops.md";
static const char head[] =
	"# Ops\n\n"
	"Made from the op table (`compiler/ops`) by `make bless`; `pxlc ops NAME` prints one entry. In formulas x, a, b are operands, y the result, "
	"g the incoming gradient and d… the one passed on.\n\n"
	"Unless an op says otherwise: operands have one element type; shapes broadcast from the right only where the op is elementwise; negative axes "
	"count from the end; f16 and bf16 are computed in f32 and rounded once, and accumulate in f32; integers wrap. A name with a trailing underscore "
	"is the op in place: its result is an alias of its first operand.\n";

static const struct { const char *family, *title; } sections[] = {
	{ "unary", "Elementwise, one operand" }, { "activation", "Activations" }, { "binary", "Arithmetic" }, { "compare", "Comparison, logic, selection" },
	{ "reduce", "Reductions and running sums" }, { "order", "Order statistics" }, { "shape", "Shape and order" }, { "index", "Creation and indexing" }, { "scatter", "Writing to and reading from computed places" }, { "linalg", "Matrix products" }, { "attention", "Attention" },
	{ "window", "Convolution, pooling, sampling" },
	{ "norm", "Normalisation" }, { "loss", "Softmax and losses" }, { "random", "Random numbers" }, { "cast", "Conversion" }, { "control", "Graphs" }, { "collective", "Replicas and IPUs together" }, { "host_io", "Streams and remote buffers" },
	{ "place", "Copies between places" }, { "update", "Updates of variables" },
};

static void put_section(Buf *out, const char *family, const char *title)
{
	buf_printf(out, "\n## %s\n", title);
	for (int i = 0; i < OP_COUNT; i++) {
		const OpDef *d = op_table[i];
		if (strcmp(d->family, family) || d->traits & INTERNAL) continue;
		buf_printf(out, "\n### %s\n\n", d->name);
		op_page(d, out);
	}
}

static char *page(Arena *mem)
{
	Buf out = buf_new(mem);
	buf_puts(&out, head);
	for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) put_section(&out, sections[i].family, sections[i].title);
	return out.s;
}

static char *read_all(Arena *mem)
{
	Buf b = buf_new(mem);
	FILE *f = fopen(path, "rb");
	buf_puts(&b, "");
	for (int c; f && (c = getc(f)) != EOF;) buf_putc(&b, (char)c);
	if (f) fclose(f);
	return b.s;
}

int main(void)
{
	Bench t;
	bench_open(&t);
	char *want = page(&t.mem);
	FILE *f = getenv("BLESS") ? fopen(path, "wb") : NULL;
	if (f) fputs(want, f), fclose(f);
	int same = !strcmp(read_all(&t.mem), want);
	if (!same) printf("%s is not what the op table says: make bless\n", path);
	CHECK("", same);
	for (int i = 0; i < OP_COUNT; i++) {
		char title[80];
		snprintf(title, sizeof title, "### %s\n", op_table[i]->name);
		CHECK("", (op_table[i]->traits & INTERNAL) != 0 || strstr(want, title));
	}
	bench_close(&t);
	return check_done();
}
