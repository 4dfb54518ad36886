/* store_test.c — results computed in the host's arrays: which tensors lie there, and that nobody can tell. Every program runs with and
 * without the pass on arrays that lie apart, at odd addresses, over each other, and on the session's own. */
#include "tests/api/session_world.h"

static const char model[] =
	"fn fed(name, spec) = host_load(h2d_stream(name, spec))\n"
	"fn out(name, x) { host_store(d2h_stream(name, x.spec), x) }\n"
	"program plain() { out(\"y\", gelu(fed(\"x\", f32[300])) * 2.0 + 1.0) }\n"
	"program read_later() {\n"
	"    y = fed(\"x\", f32[300]) * 2.0\n"
	"    with in_sequence() {\n"
	"        out(\"y\", y)\n"
	"        out(\"z\", y.sum() + y[3])\n"
	"    }\n"
	"}\n"
	"program seen_twice() {\n"                              /* one of the two is copied from the other */
	"    y = fed(\"x\", f32[300]) * 2.0\n"
	"    out(\"y\", y)\n"
	"    out(\"z\", y)\n"
	"}\n"
	"program written_later() {\n"
	"    y = fed(\"x\", f32[300]) * 2.0\n"
	"    with in_sequence() {\n"
	"        out(\"y\", y)\n"
	"        y += 1.0\n"
	"        out(\"z\", y.sum())\n"
	"    }\n"
	"}\n"
	"program written_between() {\n"
	"    y = fed(\"x\", f32[300]) * 2.0\n"
	"    with in_sequence() {\n"
	"        out(\"y\", y)\n"
	"        y += 1.0\n"
	"        out(\"z\", y)\n"
	"    }\n"
	"}\n"
	"program not_ours() {\n"                                /* nothing here is computed, or not as a whole */
	"    x = fed(\"x\", f32[300])\n"
	"    v = variable(3.0, f32[7])\n"
	"    out(\"y\", x)\n"
	"    out(\"v\", v)\n"
	"    out(\"c\", constant([1.0, 2.0]))\n"
	"    y = x + 1.0\n"
	"    out(\"part\", y[10:20])\n"
	"}\n"
	"program in_shape() { out(\"y\", softmax(fed(\"x\", f32[20, 15]), -1).reshape([15, 20])) }\n"
	"program turned() { out(\"y\", softmax(fed(\"x\", f32[20, 15]), -1).T) }\n"
	"program product() {\n"
	"    x = fed(\"x\", f32[31, 17])\n"
	"    out(\"y\", relu(x.T @ x + 1.0))\n"
	"}\n"
	"program both_made_first() host_transfers 2 {\n"
	"    s = d2h_stream(\"y\", f32[300])\n"
	"    x = fed(\"x\", f32[300])\n"
	"    with in_sequence() {\n"
	"        a = softmax(x, -1)\n"
	"        b = softmax(a, -1)\n"
	"        host_store(s, b)\n"
	"        host_store(s, a)\n"
	"    }\n"
	"}\n"
	"program one_by_one() host_transfers 2 {\n"
	"    s = d2h_stream(\"y\", f32[300])\n"
	"    x = fed(\"x\", f32[300])\n"
	"    with in_sequence() {\n"
	"        a = softmax(x, -1)\n"
	"        host_store(s, a)\n"
	"        b = softmax(a, -1)\n"
	"        host_store(s, b)\n"
	"    }\n"
	"}\n"
	"program exchanged() host_transfers 2 {\n"
	"    s = d2h_stream(\"y\", f32[30])\n"
	"    x = fed(\"x\", f32[30])\n"
	"    a = softmax(x, -1)\n"
	"    b = softmax(a, -1)\n"
	"    with merge_exchange() {\n"
	"        host_store(s, a)\n"
	"        host_store(s, b)\n"
	"        host_store(d2h_stream(\"z\", f32[30]), b)\n"
	"    }\n"
	"}\n"
	"program turns() host_transfers 5 {\n"
	"    xs, ys = h2d_stream(\"x\", f32[3, 11]), d2h_stream(\"y\", f32[3, 11])\n"
	"    v = variable(1.0, f32[3, 11])\n"
	"    fn body(v: ref) {\n"
	"        with in_sequence() {\n"
	"            y = softmax(host_load(xs) + v, -1)\n"
	"            host_store(ys, y)\n"
	"            v += y\n"
	"        }\n"
	"    }\n"
	"    repeat(graph(body, v), 5, v)\n"
	"}\n"
	"program called() host_transfers 2 {\n"                 /* the callee takes an entry of the stream that its result is stored to */
	"    s = d2h_stream(\"y\", f32[300])\n"
	"    fn body(x) {\n"
	"        y = softmax(x, -1)\n"
	"        host_store(s, y * 2.0)\n"
	"        return y\n"
	"    }\n"
	"    x = fed(\"x\", f32[300])\n"
	"    with in_sequence() { host_store(s, call(graph(body, x), x)) }\n"
	"}\n"
	"program results() {\n"
	"    x = fed(\"x\", f32[300])\n"
	"    g = graph(fn(x) = softmax(x, -1), x)\n"
	"    out(\"y\", call(g, call(g, x)))\n"
	"    out(\"z\", repeat(g, 3, x))\n"
	"}\n"
	"program fanned() replicas 3 { out(\"y\", gelu(fed(\"x\", f32[50])) * 2.0) }\n"
	"program fails() {\n"
	"    x = fed(\"x\", i32[300])\n"
	"    out(\"y\", (x * 0 + 7) / x)\n"
	"}\n"
	"program half() { out(\"y\", softmax(gelu(fed(\"x\", f16[301])), -1)) }\n";

enum { ROOM = 1 << 16, STREAMS = 8 };
typedef enum Lie { OWN, APART, ODD, OVER, SAME, LIES } Lie;
/* --- the same bits wherever arrays lie ------------------------------------------------------------------------ */

/* where stream i's array begins in the room all share */
static size_t place(Lie lie, int i, size_t element)
{
	switch (lie) {
	case APART: return (size_t)i * (ROOM / STREAMS);
	case ODD:   return (size_t)i * (ROOM / STREAMS) + element;
	case OVER:  return (size_t)i * 256;
	default:    return 0;
	}
}

static void fill(pxl_dtype t, char *data, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		float x = (float)((int)(k * 37 % 101) - 50) / 16;
		if (x == 0) x = 1;
		pxl_convert(t, data + k * pxl_dtype_size(t), PXL_F32, &x, 1);
	}
}

static void bind_all(World *w, char *room, Lie lie)
{
	pxl_info info;
	for (int i = 0; i < STREAMS && pxl_get_info(w->p, i, &info) && info.kind != PXL_VARIABLE; i++) {
		char *at = room + place(lie, i, pxl_dtype_size(info.dtype));
		CHECK("", info.bytes < ROOM / STREAMS);
		if (info.kind == PXL_INPUT) fill(info.dtype, at, info.nelem);
		if (lie != OWN) CHECK("", pxl_bind(w->s, i, at, info.bytes) == PXL_OK);
		else if (info.kind == PXL_INPUT) CHECK("", pxl_write(w->s, i, at, info.bytes) == PXL_OK);
	}
}

/* two runs, whose outputs are seen one behind the other */
static size_t run(World *w, Lie lie, char *seen)
{
	static char room[ROOM] __attribute__((aligned(64)));
	size_t n = 0;
	pxl_info info;
	memset(room, 0, sizeof room);
	for (int k = 0; k < 2; k++) {
		bind_all(w, room, lie);
		if (pxl_run(w->s, 1) != PXL_OK) printf("%s\n", pxl_session_errmsg(w->s)), CHECK("", 0);
		for (int i = 0; pxl_get_info(w->p, i, &info) && info.kind != PXL_VARIABLE; i++) {
			if (info.kind != PXL_OUTPUT) continue;
			CHECK("", pxl_read(w->s, i, seen + n, info.bytes) == PXL_OK);
			n += info.bytes;
		}
	}
	return n;
}

static void test_bits(const char *program)
{
	static char copied[2 * ROOM], direct[2 * ROOM];
	int all = 1;
	for (int lie = 0; lie < LIES; lie++)
		for (int level = 0; level <= 2; level++) {
			World a = open_world(model, program, level, "store"), b = open_world(model, program, level, NULL);
			size_t n = run(&a, (Lie)lie, copied), m = run(&b, (Lie)lie, direct);
			pxl_traffic x = { .size = sizeof x }, y = { .size = sizeof y };
			int same = n == m && n > 0 && !memcmp(copied, direct, n);
			if (lie == OVER && !strcmp(program, "fanned")) same = 1;         /* what one replica writes another reads: anything */
			if (!same) printf("%s: lie %d, level %d: other bits\n", program, lie, level);
			all &= same;
			pxl_get_traffic(a.s, &x);
			pxl_get_traffic(b.s, &y);
			CHECK("", x.host_stores == y.host_stores && x.exchanges == y.exchanges && y.host_stores > 0);
			close_world(&a);
			close_world(&b);
		}
	CHECK("R305 R307", all);
}

/* one session whose arrays are bound anew, now apart and now not */
static void test_rebinding(void)
{
	static char first[ROOM], again[ROOM];
	World w = open_world(model, "plain", 2, NULL);
	size_t n = run(&w, APART, first);
	static const Lie order[] = { SAME, OWN, SAME, APART, OVER, APART };
	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		if (order[i] == OWN)                                 /* NULL takes a binding back */
			for (int k = 0; k < 2; k++) CHECK("", pxl_bind(w.s, k, NULL, 0) == PXL_OK);
		CHECK("", run(&w, order[i], again) == n && !memcmp(first, again, n));
	}
	close_world(&w);
}

/* --- which tensors lie there ------------------------------------------------------------------------------------ */

static int count_hosted(const char *program, const char *no_pass)
{
	World w = open_world(model, program, 2, no_pass);
	const char *text;
	int n = 0;
	CHECK("", pxl_emit(w.p, "c", NULL, &text) == PXL_OK);
	for (const char *at = text; (at = strstr(at, "rt->host_room(")); at++) n++;
	close_world(&w);
	return n;
}

static void test_places(void)
{
	static const struct { const char *program; int hosted; } want[] = {
		{ "plain", 1 }, { "read_later", 2 }, { "seen_twice", 1 }, { "written_later", 1 }, { "written_between", 1 }, { "not_ours", 0 },
		{ "in_shape", 1 }, { "product", 1 }, { "both_made_first", 1 }, { "one_by_one", 2 }, { "exchanged", 1 }, { "turns", 1 }, { "fanned", 1 },
		{ "results", 2 },
	};
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		int n = count_hosted(want[i].program, NULL);
		if (n != want[i].hosted) printf("%s: %d, not %d\n", want[i].program, n, want[i].hosted);
		CHECK("", n == want[i].hosted && count_hosted(want[i].program, "store") == 0);
	}
}

/* a run that failed may have written a part of the array; the next one writes all of it */
static void test_failing(void)
{
	World w = open_world(model, "fails", 2, NULL);
	int x[300], y[300];
	for (int i = 0; i < 300; i++) x[i] = 1, y[i] = -1;
	CHECK("", pxl_bind(w.s, 0, x, sizeof x) == PXL_OK && pxl_bind(w.s, 1, y, sizeof y) == PXL_OK && pxl_run(w.s, 1) == PXL_OK && y[0] == 7 && y[299] == 7);
	x[299] = 0;
	CHECK("", pxl_run(w.s, 1) == PXL_ERUN);
	x[299] = 7;
	CHECK("R310", pxl_run(w.s, 1) == PXL_OK && y[299] == 1 && y[0] == 7);
	close_world(&w);
}

int main(void)
{
	static const char *const programs[] = { "plain", "read_later", "seen_twice", "written_later", "written_between", "not_ours", "in_shape", "turned",
		"product", "both_made_first", "one_by_one", "exchanged", "turns", "called", "results", "fanned", "half" };
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) test_bits(programs[i]);
	test_rebinding();
	test_places();
	test_failing();
	return check_done();
}
