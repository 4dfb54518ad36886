/* accuracy.c — the float primitives of one operand, and the gradients for an incoming 1, on every f32: the kernels of this machine
 * against the bounds of accuracy.def, the other instruction sets by their bits (the baseline, slow where it has no fma, on one chunk in 61). */
#include "tests/runtime/accuracy.h"

static int every_f32(const struct pxlrt *const *rts, int nrt, const Prim *f)
{
	static float p[CHUNK], q[CHUNK];
	Worst w = { .same = 1 };
	for (int i = 0; i < CHUNK; i++) p[i] = 1;
	for (uint64_t at = 0; at < 1ull << 32; at += CHUNK) {
		int from = nrt > 1 && at / CHUNK % 61;          /* the baseline comes first */
		for (uint32_t i = 0; i < CHUNK; i++) {
			uint32_t u = (uint32_t)at + i;
			memcpy(&q[i], &u, 4);
		}
		chunk_f32(&w, rts + from, nrt - from, f, p, q, CHUNK);
	}
	return report(&w, f, 0);
}

int main(int argc, char **argv)
{
	const struct pxlrt *rts[8];
	int nrt = all_tables(rts);
	for (int i = 0; i < PRIMS; i++)
		if ((prims[i].arity == 1 || prims[i].slope) && (argc < 2 || !strcmp(argv[1], prims[i].name))) CHECK("", every_f32(rts, nrt, &prims[i]));
	return check_done();
}
