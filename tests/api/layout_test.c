/* layout_test.c — channels in blocks: networks trained with and without the pass, and without any, agree to rounding; conversions stand where
 * blocks meet what lies plain and nowhere else; and the plan does not grow. */
#include "tests/api/session_world.h"

#include <math.h>

static const char frame[] =
	"use nn\n"
	"fn train(net, image) {\n"                              /* loss: mean square of what comes out */
	"    facts, g = net.create_graph(image)\n"
	"    grad     = autodiff(g)\n"
	"    weights  = facts.init()\n"
	"    fwd      = g.bind(weights).call_with_info(image)\n"
	"    y        = fwd.outputs[0]\n"
	"    bwd      = grad.call_with_info(y, args = grad.info.inputs_dict(fwd))\n"
	"    grads    = grad.info.fwd_parent_ins_to_grad_parent_outs(fwd, bwd)\n"
	"    host_store(d2h_stream(\"dx\", image.spec), grads[image])\n"
	"    host_store(d2h_stream(\"y\", y.spec), y)\n"
	"    for w in weights.tensors { scaled_add_(w, grads[w], b = -0.001) }\n"
	"}\n"
	"fn images(shape) = variable(normal(0, 1), f32[shape], name = \"image\")\n";

/* --- networks ------------------------------------------------------------------------------------------------------- */

#define CONV(name, channels, rest) "    " name " = Conv2D(" channels ", " rest ", deviation = 0.2)\n"

static const char lenet[] =
	"module Net() {\n" CONV("c1", "32", "3, paddings = 1") CONV("c2", "64", "3, paddings = 1")
	"    f1 = Linear(16)\n"
	"    build(x) {\n"
	"        x = max_pool(relu(c1(x)), kernel_size = 2, stride = 2)\n"
	"        x = max_pool(relu(c2(x)), kernel_size = 2, stride = 2)\n"
	"        return f1(x.reshape([x.shape[0], -1]))\n"
	"    }\n"
	"}\n"
	"program main() { train(Net(), images([4, 1, 12, 12])) }\n";

static const char residual[] =
	"module Net() {\n" CONV("c1", "32", "3, paddings = 1") CONV("c2", "32", "3, paddings = 1") CONV("c3", "48", "3, strides = 2, paddings = 1")
	CONV("short", "48", "1, strides = 2")
	"    f = Linear(10)\n"
	"    build(x) {\n"
	"        x = gelu(c1(x))\n"
	"        m = x.mean([0, 2, 3], keepdims = true)\n"
	"        x = (x - m) * (((x - m) * (x - m)).mean([0, 2, 3], keepdims = true) + 0.001) ** -0.5\n"
	"        x = relu(c2(x)) + x\n"
	"        x = average_pool(x, kernel_size = 3, stride = 1, padding = 1)\n"
	"        x = relu(c3(x) + short(x))\n"
	"        x = x * tanh(x.mean([2, 3], keepdims = true))\n"
	"        return f(x.mean([2, 3]))\n"
	"    }\n"
	"}\n"
	"program main() { train(Net(), images([3, 3, 13, 11])) }\n";

static const char grouped[] =                                /* dilations, and groups of whole blocks */
	"module Net() {\n" CONV("c1", "32", "3, paddings = 1") CONV("c2", "32", "3, paddings = 2, dilations = 2") CONV("c3", "32", "3, paddings = 1, groups = 2")
	"    build(x) {\n"
	"        x = relu(c1(x))\n"
	"        x = relu(c2(x))\n"
	"        return c3(x) * 0.5\n"
	"    }\n"
	"}\n"
	"program main() { train(Net(), images([2, 16, 9, 9])) }\n";

static const char line[] =                                   /* one axis of space */
	"module Net() {\n" CONV("c1", "16", "5, paddings = 2") CONV("c2", "16", "4, strides = 3")
	"    build(x) {\n"
	"        y = c1(x)\n"
	"        return max_pool(tanh(c2(where(y > 0.1, y, x * 0.5))), kernel_size = 2)\n"
	"    }\n"
	"}\n"
	"program main() { train(Net(), images([2, 16, 33])) }\n";

static const char solid[] =                                  /* three */
	"module Net() {\n" CONV("c1", "16", "3, paddings = 1") CONV("c2", "32", "2")
	"    build(x) { return relu(c2(max_pool(relu(c1(x)), kernel_size = 2, stride = 2))) }\n"
	"}\n"
	"program main() { train(Net(), images([2, 2, 6, 4, 8])) }\n";

static const char called[] =                                 /* a graph that is called twice keeps its borders plain */
	"module Block() {\n" CONV("c1", "32", "3, paddings = 1") CONV("c2", "32", "3, paddings = 1")
	"    build(x) { return x + relu(c2(relu(c1(x)))) }\n"
	"}\n"
	"program main() {\n"
	"    image    = images([2, 32, 6, 6])\n"
	"    facts, g = Block().create_graph(image)\n"
	"    one      = g.bind(facts.init()).call(image)\n"
	"    two      = g.bind(facts.init()).call(one)\n"
	"    host_store(d2h_stream(\"y\", two.spec), two)\n"
	"}\n";

static const char looped[] =                                 /* bodies of loops and branches */
	"program main() {\n"
	"    x = images([2, 16, 6, 6])\n"
	"    w = variable(normal(0, 0.1), f32[16, 16, 3, 3], name = \"w\")\n"
	"    fn body(x, w) = x + 0.5 * relu(conv(relu(conv(x, w, padding = 1)), w, padding = 1))\n"
	"    fn rest(x, w) = conv(tanh(conv(x, w, padding = 1)), w, padding = 1)\n"
	"    x = repeat(graph(body, x, w), 3, x, w)\n"
	"    x = conditional(x.sum() > -1000000.0, graph(rest, x, w), graph(body, x, w), then_inputs = [x, w], else_inputs = [x, w])\n"
	"    host_store(d2h_stream(\"y\", x.spec), x)\n"
	"}\n";

/* --- running --------------------------------------------------------------------------------------------------------- */

enum { MOST = 1 << 17 };
typedef struct Numbers { float at[MOST]; size_t n; double peak, bound; } Numbers;

static Numbers at[3];

/* all that the program puts out, and its variables, after three steps */
static void numbers_of(const char *text, int level, const char *no_pass, Numbers *out)
{
	World w = open_world(text, "main", level, no_pass);
	pxl_program_info info = { .name = NULL };
	pxl_program_get_info(w.p, &info);
	out->n = 0;
	out->peak = (double)info.frame_bytes;
	out->bound = (double)info.lower_bound;
	CHECK("", pxl_run(w.s, 3) == PXL_OK);
	for (int i = 0; i < (int)pxl_count(w.p); i++) {
		pxl_info x;
		int there = pxl_get_info(w.p, i, &x) && x.kind != PXL_INPUT && x.dtype == PXL_F32 && out->n + x.nelem <= MOST;
		CHECK("", there);
		if (!there) continue;
		CHECK("", pxl_read(w.s, i, out->at + out->n, x.bytes) == PXL_OK);
		out->n += x.nelem;
	}
	close_world(&w);
}

static double largest(const Numbers *x)
{
	double m = 0;
	for (size_t i = 0; i < x->n; i++) m = fmax(m, fabs(x->at[i]));
	return m;
}

static int close_to(const Numbers *x, const Numbers *y)
{
	double most = 2e-5 * largest(x) + 1e-9;
	if (x->n != y->n) return 0;
	for (size_t i = 0; i < x->n; i++)
		if (!(fabs((double)x->at[i] - y->at[i]) <= most)) return printf("%zu: %g against %g, most %g\n", i, x->at[i], y->at[i], most), 0;
	return 1;
}

/* conversions in the text of the IR after the pass */
static int conversions(const char *text)
{
	const char *ir = "";
	int n = 0;
	World w = open_world(text, "main", 2, NULL);
	CHECK("", pxl_emit(w.p, "ir", "layout", &ir) == PXL_OK);
	for (const char *p = ir; (p = strstr(p, "o_blocks.")); p++) n++;
	for (const char *p = ir; (p = strstr(p, "from_blocks.")); p++) n++;
	CHECK("", strstr(ir, "_blocked = "));
	close_world(&w);
	return n;
}

static void same_with_and_without(const char *name, const char *text)
{
	check_where = name;
	numbers_of(text, 0, NULL, &at[0]);
	numbers_of(text, 2, "layout", &at[1]);
	numbers_of(text, 2, NULL, &at[2]);
	CHECK("", at[0].n > 0 && largest(&at[0]) > 0);
	CHECK("", close_to(&at[0], &at[1]));
	CHECK("", close_to(&at[0], &at[2]));
	check_where = NULL;
}

static void network(const char *name, const char *body, int borders)
{
	char text[4096];
	snprintf(text, sizeof text, "%s%s", frame, body);
	same_with_and_without(name, text);
	int n = conversions(text);
	if (n != borders) printf("%s: %d conversions\n", name, n);
	CHECK("", n == borders);
}

/* --- networks nobody thought of ----------------------------------------------------------------------------------------- */

static unsigned dice;
static int roll(int n) { return (int)((dice = dice * 1664525u + 1013904223u) >> 16) % n; }

/* layers on a square of `size`; what does not fit is left out */
static void random_network(char *text, size_t room)
{
	static const int channels[] = { 16, 32, 48, 24, 3 };
	static const char *const acts[] = { "relu(%s)", "gelu(%s)", "%s", "%s * 0.5", "where(%s > 0.0, x, x * 0.25)", "tanh(%s)" };
	int size = 9 + roll(4), now = channels[roll(5)], layers = 2 + roll(4), n;
	char fields[1024] = "", body[2048] = "", act[64];
	n = snprintf(text, room, "%smodule Net() {\n", frame);
	snprintf(body, sizeof body, "program main() { train(Net(), images([%d, %d, %d, %d])) }\n", 1 + roll(3), now, size, size);
	char head[256];
	snprintf(head, sizeof head, "%s", body);
	body[0] = 0;
	for (int i = 0; i < layers; i++) {
		int to = channels[roll(5)], k = 1 + roll(3), stride = 1 + roll(2), pad = roll(k), dilation = 1 + roll(2), left = size + 2 * pad - dilation * (k - 1) - 1;
		size_t f = strlen(fields), b = strlen(body);
		if (left < 0) continue;
		size = left / stride + 1;
		snprintf(fields + f, sizeof fields - f, "    c%d = Conv2D(%d, %d, strides = %d, paddings = %d, dilations = %d, deviation = 0.2)\n", i, to, k, stride, pad, dilation);
		snprintf(act, sizeof act, acts[roll(6)], "x");
		b += (size_t)snprintf(body + b, sizeof body - b, "        x = c%d(x)\n        x = %s\n", i, act);
		if (roll(3) == 0) b += (size_t)snprintf(body + b, sizeof body - b, "        x = x + relu(x - x.mean([2, 3], keepdims = true))\n");
		if (roll(3) == 0 && size >= 2) {
			snprintf(body + b, sizeof body - b, "        x = %s(x, kernel_size = 2, stride = 1)\n", roll(2) ? "max_pool" : "average_pool");
			size--;
		}
		now = to;
	}
	snprintf(text + n, room - (size_t)n, "%s    build(x) {\n%s        return %s\n    }\n}\n%s", fields, body, roll(2) ? "x" : "x.reshape([x.shape[0], -1])", head);
}

int main(void)
{
	network("lenet", lenet, 3);                          /* before the linear layer, there and back; the gradient of one channel */
	CHECK("", at[2].peak <= at[1].peak * 1.02);
	network("residual", residual, 1);                    /* the gradient of three channels */
	network("grouped", grouped, 2);
	network("line", line, 3);                            /* the image is read beside what lies in blocks */
	network("solid", solid, 2);
	network("called", called, 2);
	network("looped", looped, 0);                        /* inside, between two convolutions */
	for (int i = 0; i < 12; i++) {
		char text[8192];
		dice = 77u * (unsigned)i + 5;
		random_network(text, sizeof text);
		same_with_and_without(text, text);
	}
	return check_done();
}
