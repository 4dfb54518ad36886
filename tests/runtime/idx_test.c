/* idx_test.c — the MNIST family's format, plain and through gzip. */
#include <zlib.h>

#include "runtime/formats/formats.h"
#include "tests/runtime/files.h"

static int parse(const void *p, size_t n, RtArray *a, RtErr *e)
{
	RtSource *s;
	int st = source_memory(p, n, "t-idx1", NULL, &s, e);
	if (st) return st;
	st = idx_read_from(s, NULL, NULL, a, e);
	source_close(s);
	return st;
}

static void refused(const char *p, size_t n, const char *why)
{
	RtArray a;
	RtErr e = { 0 };
	CHECK("", parse(p, n, &a, &e) == RT_EIO);
	if (!strstr(e.text, why)) printf("%s\n", e.text);
	CHECK("", strstr(e.text, why) && strstr(e.text, "t-idx1"));
}

static void test_forms(void)
{
	RtArray a;
	RtErr e;
	float f;
	CHECK("A323", !parse("\0\0\x08\2\0\0\0\2\0\0\0\3abcdef", 18, &a, &e) && a.rank == 2 && a.dim[0] == 2 && a.dim[1] == 3 &&
		a.dtype == DT_U8 && !memcmp(a.data, "abcdef", 6));
	array_free(NULL, &a);
	CHECK("", !parse("\0\0\x0c\1\0\0\0\2\0\0\1\2\xff\xff\xff\xfe", 16, &a, &e) && a.dtype == DT_I32 &&
		((int32_t *)a.data)[0] == 258 && ((int32_t *)a.data)[1] == -2);
	array_free(NULL, &a);
	CHECK("", !parse("\0\0\x0d\0\x3f\x80\0\0", 8, &a, &e) && a.rank == 0 && a.dtype == DT_F32);
	memcpy(&f, a.data, 4);
	CHECK("", f == 1.0f);
	array_free(NULL, &a);
	CHECK("", !parse("\0\0\x08\1\0\0\0\0", 8, &a, &e) && a.nelem == 0);
	array_free(NULL, &a);
}

static void test_refused(void)
{
	static const char good[] = "\0\0\x08\2\0\0\0\2\0\0\0\3abcdef";
	RtArray a;
	RtErr e;
	for (size_t n = 0; n < 18; n++) CHECK("", parse(good, n, &a, &e) == RT_EIO);
	refused(good, 19, "goes on");
	refused(good, 17, "promises 6 bytes of data, it has 5");
	refused("\1\0\x08\1\0\0\0\0", 8, "not an IDX file");
	refused("\0\0\x07\1\0\0\0\0", 8, "not an IDX file");
	refused("\0\0\x08\x09\0\0\0\0", 8, "9 dimensions");
	refused("\0\0\x08\1\xff\xff\xff\xff", 8, "ends early");
	refused("\0\0\x0e\3\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16, "too large");
	refused("<!DOCTYPE html>", 15, "not an IDX file");
}

static void write_gz(const char *path, const char *mode, const void *p, unsigned n)
{
	gzFile g = gzopen(path, mode);
	if (g) gzwrite(g, p, n), gzclose(g);
}

/* large enough for several chunks of input and of output */
static void test_gzip(void)
{
	enum { N = 3 << 20 };
	static unsigned char raw[N + 8], packed[N + 4096];
	RtArray a;
	RtErr e;
	memcpy(raw, "\0\0\x08\1\0\x30\0\0", 8);
	uint32_t x = 1;
	for (int i = 0; i < N; i++) raw[8 + i] = (unsigned char)((x = x * 1664525 + 1013904223) >> 28);
	write_gz(in_dir("a.gz"), "wb", raw, 1000);
	write_gz(in_dir("a.gz"), "ab", raw + 1000, N + 8 - 1000);      /* two members */
	CHECK("A323", !idx_read(in_dir("a.gz"), NULL, NULL, &a, &e) && a.nelem == N && !memcmp(a.data, raw + 8, N));
	array_free(NULL, &a);
	size_t n = get_file(in_dir("a.gz"), packed, sizeof packed);
	put_file(in_dir("short.gz"), packed, n - 1000);
	CHECK("", idx_read(in_dir("short.gz"), NULL, NULL, &a, &e) == RT_EIO && strstr(e.text, "gzip data ends early"));
	packed[n / 2] ^= 0x55;
	put_file(in_dir("bad.gz"), packed, n);
	CHECK("", idx_read(in_dir("bad.gz"), NULL, NULL, &a, &e) == RT_EIO && strstr(e.text, "damaged"));
	packed[n / 2] ^= 0x55;
	memcpy(packed + n, "junk", 4);
	put_file(in_dir("junk.gz"), packed, n + 4);
	CHECK("", idx_read(in_dir("junk.gz"), NULL, NULL, &a, &e) == RT_EIO && strstr(e.text, "damaged"));
	put_file(in_dir("plain"), raw, N + 8);
	CHECK("", !idx_read(in_dir("plain"), NULL, NULL, &a, &e) && !memcmp(a.data, raw + 8, N));
	array_free(NULL, &a);
}

int main(void)
{
	dir_begin();
	test_forms();
	test_refused();
	test_gzip();
	dir_end();
	return check_done();
}
