/* map_test.c — variables whose copy on the host is a mapped file. */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/api/pxl.h"
#include "tests/check.h"

static const char model[] =
	"program main() {\n"
	"    w = variable([1.0, 2.0, 3.0], name = \"w\")\n"
	"    b = variable(zeros([2, 2], i32), name = \"layer/b\")\n"
	"    u = variable([4.0, 5.0, 6.0], name = \"u\")\n"
	"    w += 1.0\n"
	"    b += 1\n"
	"    host_store(d2h_stream(\"y\", f32[3]), w)\n"
	"}\n";

typedef struct World { pxl_ctx *cx; pxl_model *m; pxl_program *p; pxl_session *s; int w, b; } World;

static pxl_status open_model(World *o, const char *text, const pxl_map *maps, size_t n)
{
	pxl_session_options so = PXL_SESSION_OPTIONS_INIT;
	so.maps = maps;
	so.nmap = n;
	*o = (World){ 0 };
	CHECK("", pxl_ctx_new(NULL, &o->cx) == PXL_OK);
	CHECK("", pxl_compile_memory(o->cx, "map.pxl", text, strlen(text), &o->m) == PXL_OK);
	CHECK("", pxl_program_new(o->m, NULL, &o->p) == PXL_OK);
	o->w = pxl_find(o->p, PXL_VARIABLE, "w");
	o->b = pxl_find(o->p, PXL_VARIABLE, "layer/b");
	return pxl_session_new(o->p, &so, &o->s);
}

static pxl_status open_world(World *o, const pxl_map *maps, size_t n) { return open_model(o, model, maps, n); }

static void close_world(World *w)
{
	pxl_session_free(w->s);
	pxl_program_free(w->p);
	pxl_model_free(w->m);
	pxl_ctx_free(w->cx);
}

static size_t read_bytes(const char *path, void *out, size_t size)
{
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(out, 1, size, f) : 0;
	if (f) fclose(f);
	return n;
}

static void write_bytes(const char *path, const void *data, size_t size)
{
	FILE *f = fopen(path, "wb");
	CHECK("", f && fwrite(data, 1, size, f) == size);
	if (f) fclose(f);
}

static int is(const char *path, float a, float b, float c)
{
	float x[4];
	return read_bytes(path, x, sizeof x) == 12 && x[0] == a && x[1] == b && x[2] == c;
}

/* --- a folder of files -------------------------------------------------------------------------------------------- */
static void test_folder(void)
{
	pxl_map all = { NULL, "folder", 0 };
	World a, b;
	const void *v;
	float w[3];
	int32_t n[4];
	CHECK("A41", open_world(&a, &all, 1) == PXL_OK && is("folder/w.npy", 1, 2, 3));
	CHECK("A41", read_bytes("folder/layer%b.npy", n, sizeof n) == 16 && n[3] == 0);
	CHECK("R135", pxl_view(a.s, a.w, &v) == PXL_OK && ((const float *)v)[0] == 1);
	CHECK("R135", pxl_run(a.s, 1) == PXL_OK && is("folder/w.npy", 1, 2, 3));
	CHECK("R135", pxl_weights_to_host(a.s) == PXL_OK && is("folder/w.npy", 2, 3, 4) && ((const float *)v)[0] == 2);
	const void *again;
	CHECK("R135", pxl_view(a.s, a.w, &again) == PXL_OK && again == v);
	float other[3] = { 7, 8, 9 };                             /* no copy: what others write to the file is there */
	write_bytes("x", other, 12);
	FILE *f = fopen("folder/w.npy", "r+b");
	CHECK("R135 R88", f && fwrite(other, 4, 3, f) == 3 && !fclose(f) && pxl_read(a.s, a.w, w, 12) == PXL_OK && w[0] == 7);
	CHECK("R135", pxl_write(a.s, a.w, (float[]){ 4, 5, 6 }, 12) == PXL_OK && is("folder/w.npy", 4, 5, 6));
	CHECK("R135 A41", pxl_run(a.s, 1) == PXL_OK && pxl_detach(a.s, 1) == PXL_OK && is("folder/w.npy", 5, 6, 7));
	close_world(&a);
	CHECK("A41", open_world(&b, &all, 1) == PXL_OK && pxl_read(b.s, b.w, w, 12) == PXL_OK && w[0] == 5 && w[2] == 7);   /* files win */
	CHECK("A41", pxl_read(b.s, b.b, n, 16) == PXL_OK && n[0] == 2);
	close_world(&b);
}

/* --- reading alone -------------------------------------------------------------------------------------------------- */
static void test_read_only(void)
{
	pxl_map maps[] = { { "w", "w.bin", PXL_MAP_READ_EXISTING }, { "layer*", "rest", 0 } };
	World a;
	float w[3];
	int32_t n[4];
	write_bytes("w.bin", (float[]){ 10, 20, 30 }, 12);
	CHECK("", chmod("w.bin", 0444) == 0);
	CHECK("R137", open_world(&a, maps, 2) == PXL_OK && pxl_run(a.s, 1) == PXL_OK);
	CHECK("R137", pxl_weights_to_host(a.s) == PXL_EINVAL && strstr(pxl_session_errmsg(a.s), "mapped for reading alone"));
	CHECK("R137", pxl_write(a.s, a.w, w, 12) == PXL_EINVAL && strstr(pxl_session_errmsg(a.s), "`w`"));
	CHECK("R137", pxl_read(a.s, a.w, w, 12) == PXL_OK && w[0] == 11 && pxl_read(a.s, a.b, n, 16) == PXL_OK && n[0] == 1);
	CHECK("R137", pxl_save(a.s, "saved.safetensors") == PXL_OK);
	CHECK("R137", pxl_detach(a.s, 1) == PXL_OK && is("w.bin", 10, 20, 30));
	CHECK("R137", read_bytes("rest/layer%b.npy", n, 16) == 16 && n[0] == 0);      /* nor is the other written */
	CHECK("R137", pxl_attach(a.s) == PXL_OK && pxl_load(a.s, "saved.safetensors", 0) == PXL_EINVAL);
	close_world(&a);
	maps[0].path = "missing.bin";                             /* made, and then it may be written */
	CHECK("A41", open_world(&a, maps, 2) == PXL_OK && pxl_run(a.s, 1) == PXL_OK && pxl_detach(a.s, 1) == PXL_OK && is("missing.bin", 2, 3, 4));
	close_world(&a);
	pxl_map hollow = { "w", "hollow.bin", PXL_MAP_EMPTY };
	CHECK("A39 A41", open_world(&a, &hollow, 1) == PXL_OK && is("hollow.bin", 0, 0, 0));
	close_world(&a);
}

/* --- .npy files, and files that do not fit ---------------------------------------------------------------------------- */
static void put_npy(const char *path, const char *header, const void *data, size_t size)
{
	char file[256] = "\x93NUMPY\x01\x00\x76\x00";
	memset(file + 10, ' ', 118);
	memcpy(file + 10, header, strlen(header));
	file[127] = '\n';
	memcpy(file + 128, data, size);
	write_bytes(path, file, 128 + size);
}

static int refused(const char *variable, const char *path, const char *why)
{
	World a;
	pxl_map m = { variable, path, 0 };
	pxl_status st = open_world(&a, &m, 1);
	int yes = (st == PXL_EIO || st == PXL_EINVAL) && strstr(pxl_errmsg(a.cx), why);
	if (!yes) printf("%s: %d %s\n", path, st, pxl_errmsg(a.cx));
	close_world(&a);
	return yes;
}

static void test_npy(void)
{
	static const float x[3] = { 3, 2, 1 };
	static const int32_t k[4] = { 1, 2, 3, 4 };
	World a;
	float file[35];
	pxl_map m = { "w", "in.npy", 0 };
	put_npy("in.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", x, 12);
	CHECK("R136", open_world(&a, &m, 1) == PXL_OK && pxl_run(a.s, 1) == PXL_OK && pxl_detach(a.s, 1) == PXL_OK);
	close_world(&a);
	CHECK("R135 R136", read_bytes("in.npy", file, sizeof file) == 140 && file[32] == 4 && file[34] == 2);
	put_npy("in.npy", "{'descr': '>f4', 'fortran_order': False, 'shape': (3,), }", x, 12);
	CHECK("R136", refused("w", "in.npy", "byte order"));
	put_npy("in.npy", "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }", x, 12);
	CHECK("R136", refused("w", "in.npy", "must hold f32"));
	put_npy("in.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 1), }", x, 12);
	CHECK("R136", refused("w", "in.npy", "in the variable's shape"));
	put_npy("in.npy", "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 2), }", k, 16);
	CHECK("R136", refused("layer/b", "in.npy", "in C order"));
	write_bytes("in.npy", x, 11);
	CHECK("R136", refused("w", "in.npy", "11 bytes"));
	CHECK("A41", refused("w", "no/such/folder", "cannot make `no/such/folder`"));
	CHECK("A41", refused("w", ".", "cannot open `.`") && refused("v", "x", "no variable `v`") && refused("v*", "x", "no variable is left"));
}

/* nothing stays behind when a session cannot be made */
static void test_undone(void)
{
	World a;
	pxl_map maps[] = { { "layer*", "undone", 0 }, { "w", "no/such/folder", 0 } };
	CHECK("A41", open_world(&a, maps, 2) == PXL_EIO);
	close_world(&a);
	CHECK("A41", access("undone/layer%b.npy", F_OK) != 0 && rmdir("undone") == 0);
}

/* a file is one variable's, under whatever name; read alone it may be several variables' beginning */
static void test_shared(void)
{
	World a;
	pxl_map same[] = { { "w", "one", 0 }, { "u", "one", 0 } }, other_name[] = { { "w", "one", 0 }, { "u", "./one", 0 } };
	CHECK("R135", open_world(&a, same, 2) == PXL_EINVAL && strstr(pxl_errmsg(a.cx), "cannot hold both `w` and `u`") && access("one", F_OK));
	close_world(&a);
	/* made by both: the first has it */
	CHECK("R135", open_world(&a, other_name, 2) == PXL_EIO && strstr(pxl_errmsg(a.cx), "has been made meanwhile") && is("one", 1, 2, 3));
	close_world(&a);
	CHECK("R135", open_world(&a, other_name, 2) == PXL_EINVAL && strstr(pxl_errmsg(a.cx), "cannot hold both"));
	close_world(&a);
	CHECK("", link("one", "two") == 0);
	other_name[1].path = "two";
	CHECK("R135", open_world(&a, other_name, 2) == PXL_EINVAL && strstr(pxl_errmsg(a.cx), "cannot hold both"));
	close_world(&a);
	other_name[0].how = other_name[1].how = PXL_MAP_READ_EXISTING;
	float x[3];
	CHECK("R137", open_world(&a, other_name, 2) == PXL_OK && pxl_read(a.s, pxl_find(a.p, PXL_VARIABLE, "u"), x, 12) == PXL_OK && x[2] == 3);
	close_world(&a);
}

/* what the program only reads is read where it is mapped, by every replica: the file's next bytes are seen by the next run */
static void test_read_in_place(void)
{
	static const char reads[] =
		"program main() replicas 2 {\n"
		"    w = variable([1.0, 2.0, 3.0], name = \"w\")\n"
		"    b = variable(zeros([2, 2], i32), name = \"layer/b\")\n"
		"    fn body(v, b: ref) {\n        b += 1\n        return v * 2.0\n    }\n"
		"    host_store(d2h_stream(\"y\", f32[3]), call(graph(body, w, b), w, b))\n"
		"}\n";
	pxl_map m = { "w", "read.bin", PXL_MAP_READ_EXISTING };
	World a;
	float y[6], w[3];
	const void *view;
	int32_t n[4];
	write_bytes("read.bin", (float[]){ 10, 20, 30 }, 12);
	CHECK("R135", open_model(&a, reads, &m, 1) == PXL_OK && pxl_run(a.s, 1) == PXL_OK);
	int out = pxl_find(a.p, PXL_OUTPUT, "y");
	CHECK("", pxl_read(a.s, out, y, sizeof y) == PXL_OK && y[0] == 20 && y[5] == 60);
	FILE *f = fopen("read.bin", "r+b");
	CHECK("", f && fwrite((float[]){ 7 }, 4, 1, f) == 1 && fclose(f) == 0 && pxl_run(a.s, 1) == PXL_OK);
	CHECK("R135", pxl_read(a.s, out, y, sizeof y) == PXL_OK && y[0] == 14 && y[3] == 14 && y[5] == 60);
	CHECK("R135", pxl_view(a.s, a.w, &view) == PXL_OK && ((const float *)view)[0] == 7);
	CHECK("R137", pxl_read(a.s, a.w, w, 12) == PXL_OK && w[0] == 7 && pxl_read(a.s, a.b, n, 16) == PXL_OK && n[0] == 2);
	close_world(&a);
	CHECK("", open_model(&a, reads, NULL, 0) == PXL_OK && pxl_write(a.s, a.w, w, 12) == PXL_OK && pxl_run(a.s, 1) == PXL_OK);
	CHECK("", pxl_read(a.s, out, y, sizeof y) == PXL_OK && y[0] == 14 && pxl_detach(a.s, 1) == PXL_OK && pxl_write(a.s, a.w, y + 1, 12) == PXL_OK);
	CHECK("R282", pxl_attach(a.s) == PXL_OK && pxl_run(a.s, 1) == PXL_OK && pxl_read(a.s, out, y, sizeof y) == PXL_OK && y[0] == 80);
	close_world(&a);
}

int main(void)
{
	char dir[] = "/tmp/pxl-map-XXXXXX", cmd[64];
	CHECK("", mkdtemp(dir) && chdir(dir) == 0);
	test_folder();
	test_read_only();
	test_npy();
	test_undone();
	test_shared();
	test_read_in_place();
	snprintf(cmd, sizeof cmd, "rm -rf '%s'", dir);
	CHECK("", system(cmd) == 0);
	return check_done();
}
