# A host that owns names the library uses inside (and a `malloc`-free idea of its own of them) links the static library and works.
. tests/cli/lib.sh
case $B in */san|*/tsan) skip 'the host is linked without sanitizers' ;; esac
cat > "$T/host.c" <<'END'
#include <pxl.h>
#include <stdio.h>
int arena_alloc = 1, tcc_new = 2, ir_new = 3, op_find = 4, node_new = 5, rt_table = 6, yylex = 7;
static const char text[] = "program main() {\n    x = host_load(h2d_stream(\"x\", f32[3]))\n"
	"    y = x * x + 1\n    host_store(d2h_stream(\"y\", y.spec), y)\n}\n";
int main(void)
{
	pxl_ctx *cx; pxl_model *m; pxl_program *p; pxl_session *s;
	float x[3] = { 1, 2, 3 }, y[3] = { 0 };
	if (pxl_ctx_new(NULL, &cx)) return 1;
	if (pxl_compile_memory(cx, "host.pxl", text, sizeof text - 1, &m) || pxl_program_new(m, NULL, &p) || pxl_session_new(p, NULL, &s)) {
		printf("%s\n", pxl_errmsg(cx));
		return 2;
	}
	if (pxl_write(s, pxl_find(p, PXL_INPUT, "x"), x, sizeof x) || pxl_run(s, 1) ||
	    pxl_read(s, pxl_find(p, PXL_OUTPUT, "y"), y, sizeof y)) return 3;
	pxl_session_free(s); pxl_program_free(p); pxl_model_free(m); pxl_ctx_free(cx);
	return y[0] == 2 && y[1] == 5 && y[2] == 10 && arena_alloc + tcc_new + ir_new + op_find + node_new + rt_table + yylex == 28 ? 0 : 4;
}
END
check 'install' make -s install DESTDIR="$T/root" PREFIX=/usr BUILD="$B"
libs=$(PKG_CONFIG_PATH="$T/root/usr/lib/pkgconfig" pkg-config --static --libs-only-l pxl | sed 's/-lpxl//')
check 'host builds' gcc -std=c99 -Wall -Wextra -I"$T/root/usr/include" "$T/host.c" "$T/root/usr/lib/libpxl.a" $libs -o "$T/host"
check 'host runs' "$T/host"
done_here
