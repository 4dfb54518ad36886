/* seeds.c — seeds on the host: create_seeds, uint64_to_two_uint32, two_uint32_to_uint64.
 *
 * create_seeds draws what NumPy's default_rng draws, so that a model ported from PopXL keeps its seeds: the words of the seed
 * are hashed into a pool of four (SeedSequence), the pool into state and increment of a PCG with 128 bits, whose outputs are the
 * two halves of the state xored and turned by its top bits. */
#include "compiler/elab/eval.h"

enum { POOL = 4 };
typedef unsigned __int128 U128;
typedef struct Pcg { U128 state, inc; } Pcg;

/* --- a seed into 256 bits ------------------------------------------------------------------------------------------------ */

static uint32_t hashed(uint32_t x, uint32_t *key, uint32_t by)
{
	x ^= *key;
	*key *= by;
	x *= *key;
	return x ^ x >> 16;
}

static uint32_t mixed(uint32_t x, uint32_t y)
{
	uint32_t r = 0xca01f9ddu * x - 0x4973f715u * y;
	return r ^ r >> 16;
}

static void fill_pool(uint64_t seed, uint32_t pool[POOL])
{
	uint32_t key = 0x43b0d7e5u;
	for (int i = 0; i < POOL; i++) pool[i] = hashed(i < 2 ? (uint32_t)(seed >> 32 * i) : 0, &key, 0x931e8875u);
	for (int from = 0; from < POOL; from++)
		for (int to = 0; to < POOL; to++)
			if (from != to) pool[to] = mixed(pool[to], hashed(pool[from], &key, 0x931e8875u));
}

static U128 draw_128(const uint32_t pool[POOL], int at, uint32_t *key)
{
	uint64_t half[2] = { 0, 0 };
	for (int i = 0; i < POOL; i++) half[i / 2] |= (uint64_t)hashed(pool[(at + i) % POOL], key, 0x58f38dedu) << 32 * (i % 2);
	return (U128)half[0] << 64 | half[1];
}

/* --- the generator --------------------------------------------------------------------------------------------------------- */

static void advance(Pcg *g) { g->state = g->state * ((U128)0x2360ed051fc65da4u << 64 | 0x4385df649fccf645u) + g->inc; }

static Pcg pcg_new(uint64_t seed)
{
	uint32_t pool[POOL], key = 0x8b51f9ddu;
	fill_pool(seed, pool);
	U128 start = draw_128(pool, 0, &key), sequence = draw_128(pool, 0, &key);
	Pcg g = { 0, sequence << 1 | 1 };
	advance(&g);
	g.state += start;
	advance(&g);
	return g;
}

static uint64_t pcg_next(Pcg *g)
{
	advance(g);
	uint64_t x = (uint64_t)(g->state >> 64) ^ (uint64_t)g->state;
	unsigned turn = (unsigned)(g->state >> 122);
	return x >> turn | x << (-turn & 63);
}

/* --- the functions ----------------------------------------------------------------------------------------------------------- */

static int not_negative(Elab *e, Call *c, int i, const char *what, int64_t absent, int64_t *out)
{
	*out = absent;
	if (!is_given(c->arg[i])) return 1;
	if (!want_int(e, c->arg[i], c->at, what, out)) return 0;
	if (*out >= 0) return 1;
	fail(e, E0114, c->at, "%s must not be negative, got %lld", what, (long long)*out);
	return 0;
}

/* [bps, ga, replicas, 2] without the axes of length 1 */
static int seeds_shape(Elab *e, Call *c, Shape *s)
{
	static const char *const names[] = { "`batches_per_step`", "`gradient_accumulation_factor`", "`replicas`" };
	for (int i = 0; i < 3; i++) {
		int64_t n;
		if (!not_negative(e, c, 2 + i, names[i], 1, &n)) return 0;
		if (n < 1) {
			fail(e, E0114, c->at, "%s must be at least 1, got 0", names[i]);
			return 0;
		}
		if (n > 1) s->dim[s->rank++] = n;
	}
	s->dim[s->rank++] = 2;
	return 1;
}

static Value do_create_seeds(Elab *e, Call *c)
{
	int64_t seed, offset;
	Shape s = { 0 };
	if (!not_negative(e, c, 0, "`seed`", 0, &seed) || !not_negative(e, c, 1, "`offset`", 0, &offset) || !seeds_shape(e, c, &s)) return v_error();
	HostArray *a = array_new(e, DT_U32, s, c->at);
	if (!a) return v_error();
	uint32_t *p = host_bytes(e->mem, a, e->o.seed);
	Pcg g = pcg_new((uint64_t)seed + (uint64_t)offset);
	for (int64_t i = 0, n = shape_nelems(s) / 2; i < n; i++) {
		uint64_t x = pcg_next(&g);
		p[2 * i] = (uint32_t)(x >> 32);
		p[2 * i + 1] = (uint32_t)x;
	}
	return v_of(V_ARRAY, a);
}

/* an int, or the u64 that two_uint32_to_uint64 gives, which may be beyond an int */
static Value do_split_word(Elab *e, Call *c)
{
	Value v = c->arg[0], out = v_tuple(e->mem);
	uint64_t x;
	if (v.kind == V_ARRAY && v.u.array->dtype == DT_U64 && v.u.array->shape.rank == 0) {
		const void *p = array_bytes(e, v.u.array, c->at);
		if (!p) return v_error();
		x = (uint64_t)rt_get_int(DT_U64, p, 0);
	} else {
		int64_t i;
		if (!not_negative(e, c, 0, "a 64-bit word", 0, &i)) return v_error();
		x = (uint64_t)i;
	}
	vec_push(e->mem, out.u.list, v_int((int64_t)(x >> 32)));
	vec_push(e->mem, out.u.list, v_int((int64_t)(x & UINT32_MAX)));
	return out;
}

static Value do_join_words(Elab *e, Call *c)
{
	static const char *const names[] = { "the high word", "the low word" };
	int64_t w[2];
	for (int i = 0; i < 2; i++) {
		if (!not_negative(e, c, i, names[i], 0, &w[i])) return v_error();
		if (w[i] > UINT32_MAX) return fail(e, E0114, c->at, "%s has 32 bits, got %lld", names[i], (long long)w[i]);
	}
	HostArray *a = array_new(e, DT_U64, (Shape){ 0 }, c->at);
	if (!a) return v_error();
	*(uint64_t *)host_bytes(e->mem, a, e->o.seed) = (uint64_t)w[0] << 32 | (uint64_t)w[1];
	return v_of(V_ARRAY, a);
}

const Builtin seed_builtins[] = {
	{ "create_seeds", "seed offset? batches_per_step? gradient_accumulation_factor? replicas?", do_create_seeds },
	{ "uint64_to_two_uint32", "value", do_split_word }, { "two_uint32_to_uint64", "high low", do_join_words }, { NULL, NULL, NULL }
};
