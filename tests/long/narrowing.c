/* narrowing.c — every f32 to every narrower float. */
#include "tests/runtime/narrowing.h"

int main(void)
{
	for (size_t i = 0; i < sizeof narrows / sizeof *narrows; i++) {
		uint32_t wrong = 0;
		int ok = narrow_all(&narrows[i], 1, &wrong);
		if (ok) printf("f32 to %s: 4278190080 values\n", dtype_info[narrows[i].t].name);
		else printf("f32 to %s: %08x\n", dtype_info[narrows[i].t].name, wrong);
		CHECK("", ok);
	}
	return check_done();
}
