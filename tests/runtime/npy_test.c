/* npy_test.c — reading and writing .npy, and files that are replaced whole or not at all. */
#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "runtime/formats/formats.h"
#include "tests/runtime/files.h"

/* a file of `version` with this dict and this data, in a static buffer */
static unsigned char file[4096];
static size_t make(int version, const char *dict, const void *data, size_t n)
{
	size_t len = strlen(dict), head = version == 1 ? 10 : 12;
	memcpy(file, "\x93NUMPY", 6);
	file[6] = (unsigned char)version;
	file[7] = 0;
	for (size_t i = 8; i < head; i++) file[i] = (unsigned char)(len >> 8 * (i - 8));
	memcpy(file + head, dict, len);
	if (n) memcpy(file + head + len, data, n);
	return head + len + n;
}

static int parse(size_t n, RtArray *a, RtErr *e)
{
	RtSource *s;
	int st = source_memory(file, n, "t.npy", NULL, &s, e);
	if (st) return st;
	st = npy_read_from(s, NULL, NULL, a, e);
	source_close(s);
	return st;
}

static void refused(const char *dict, const void *data, size_t n, const char *why)
{
	RtArray a = { 0 };
	RtErr e = { 0 };
	CHECK("", parse(make(1, dict, data, n), &a, &e) == RT_EIO);
	if (!strstr(e.text, why)) printf("%s\n", e.text);
	CHECK("", strstr(e.text, why) && strstr(e.text, "t.npy"));
}

static void test_round_trip(void)
{
	unsigned char data[512], back[64];
	RtErr e;
	for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 37 + 1);
	for (int t = 0; t < DT_COUNT; t++)
		for (int rank = 0; rank <= MAX_RANK; rank++) {
			int64_t dim[MAX_RANK] = { 2, 1, 3, 2, 1, 1, 1, 2 };
			RtArray a;
			if (t == DT_BOOL) memset(data, 1, sizeof data);
			CHECK("", !npy_write(BY_USER(in_dir("a.npy")), (DType)t, rank, dim, data, NULL, &e));
			CHECK("", !npy_read(in_dir("a.npy"), NULL, &a, &e));
			CHECK("", npy_bits((DType)t, a.dtype) && a.rank == rank && !memcmp(a.dim, dim, (size_t)rank * sizeof *dim));
			CHECK("", !memcmp(a.data, data, a.bytes) && a.bytes == a.nelem * dtype_size(a.dtype));
			array_free(NULL, &a);
		}
	int64_t none[2] = { 3, 0 };
	RtArray a;
	CHECK("", !npy_write(BY_USER(in_dir("a.npy")), DT_F32, 2, none, NULL, NULL, &e) &&
			  !npy_read(in_dir("a.npy"), NULL, &a, &e));
	CHECK("", a.rank == 2 && a.nelem == 0 && a.dim[0] == 3);
	array_free(NULL, &a);
	CHECK("", get_file(in_dir("a.npy"), back, 64) == 64 && count_files() == 1);
}

/* the bytes NumPy itself writes for zeros((2, 3), "<f4") and for arange(3, dtype="i1") */
static void test_header_bytes(void)
{
	char got[256], want[256];
	float x[6] = { 0 };
	RtErr e;
	memset(want, ' ', 128);
	memcpy(want, "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 69);
	want[127] = '\n';
	memset(want + 128, 0, 24);
	CHECK("", !npy_write(BY_USER(in_dir("b.npy")), DT_F32, 2, (int64_t[]){ 2, 3 }, x, NULL, &e));
	CHECK("", get_file(in_dir("b.npy"), got, sizeof got) == 152 && !memcmp(got, want, 152));
	CHECK("", !npy_write(BY_USER(in_dir("b.npy")), DT_I8, 1, (int64_t[]){ 3 }, "\0\1\2", NULL, &e));
	CHECK("", get_file(in_dir("b.npy"), got, sizeof got) == 131 && !memcmp(got + 10, "{'descr': '|i1', 'fortran_order': False, 'shape': (3,), }", 57));
}

static void test_forms(void)
{
	RtArray a;
	RtErr e;
	int16_t big[2];
	memcpy(big, "\x01\x02\xff\xfe", 4);
	for (int version = 1; version <= 3; version++) {
		CHECK("", !parse(make(version, "{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }\n", big, 4), &a, &e));
		CHECK("", ((int16_t *)a.data)[0] == 0x102 && ((int16_t *)a.data)[1] == -2);
		array_free(NULL, &a);
	}
	/* [[1, 2, 3], [4, 5, 6]] stored by columns: R87 */
	CHECK("R87", !parse(make(1, "{\"shape\":(2,3),\"fortran_order\":True,\"descr\":\"|u1\"}", "\1\4\2\5\3\6", 6), &a, &e) &&
		!memcmp(a.data, "\1\2\3\4\5\6", 6));
	array_free(NULL, &a);
	unsigned char cube[24], want[24];
	for (int i = 0; i < 2; i++) for (int j = 0; j < 3; j++) for (int k = 0; k < 4; k++)
		cube[i + 2 * j + 6 * k] = want[12 * i + 4 * j + k] = (unsigned char)(100 * i + 10 * j + k);
	CHECK("R87", !parse(make(1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4)}", cube, 24), &a, &e) && !memcmp(a.data, want, 24));
	array_free(NULL, &a);
	CHECK("", !parse(make(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (2L,)}", "\7\0", 2), &a, &e) && !memcmp(a.data, "\1\0", 2));
	array_free(NULL, &a);
}

static void test_refused(void)
{
	char zero[64] = { 0 };
	refused("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", zero, 8, "type '<c8'");
	refused("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", zero, 8, "type '|O'");
	refused("{'descr': '|f4', 'fortran_order': False, 'shape': (1,)}", zero, 4, "type '|f4'");
	refused("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", zero, 4, "records");
	refused("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", zero, 7, "ends early: its shape wants 8 bytes of data, it has 7");
	refused("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", zero, 9, "goes on");
	refused("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999,)}", zero, 9, "ends early");
	refused("{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999,9999999999)}", zero, 9, "too large");
	refused("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", zero, 9, "not a tuple of sizes");
	refused("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", zero, 9, "not a tuple of sizes");
	refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1)}", zero, 4, "end properly");
	refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", zero, 4, "more than 8 dimensions");
	refused("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}", zero, 4, "neither True nor False");
	refused("{'descr': '<f4', 'fortran_order': False}", zero, 4, "lacks one");
	refused("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", zero, 4, "twice");
	refused("{'descr': '<f4', 'other': False, 'shape': ()}", zero, 4, "other than");
	refused("{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", zero, 4, "goes on after its dict");
	refused("[]", zero, 4, "not a dict");
	RtArray a;
	RtErr e;
	size_t n = make(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", zero, 12);
	for (size_t k = 0; k < n; k++) CHECK("", parse(k, &a, &e) == RT_EIO);
	file[7] = 1;
	CHECK("", parse(n, &a, &e) == RT_EIO && strstr(e.text, "version 1.1"));
	file[6] = 9;
	file[7] = 0;
	CHECK("", parse(n, &a, &e) == RT_EIO && strstr(e.text, "version 9.0"));
	CHECK("", npy_read(in_dir("nowhere.npy"), NULL, &a, &e) == RT_EIO && strstr(e.text, "No such file"));
	CHECK("", npy_read(test_dir, NULL, &a, &e) == RT_EIO && strstr(e.text, "is a directory"));
}

/* What is not a regular file is written directly and stays what it is. A pipe of the test's own: were this broken, the
 * machine's devices must not be what gets replaced. */
static void test_pipe(void)
{
	static float x[4] = { 1 };
	char got[256];
	struct stat info;
	RtErr e = { 0 };
	CHECK("", !mkfifo(in_dir("pipe"), 0600));
	int fd = open(in_dir("pipe"), O_RDWR);
	CHECK("", fd >= 0 && !npy_write(BY_USER(in_dir("pipe")), DT_F32, 1, (int64_t[]){ 4 }, x, NULL, &e));
	CHECK("", !lstat(in_dir("pipe"), &info) && S_ISFIFO(info.st_mode));
	if (S_ISFIFO(info.st_mode)) CHECK("", read(fd, got, sizeof got) == 144 && !memcmp(got + 128, x, 16));
	close(fd);
	unlink(in_dir("pipe"));
}

/* A full disk, played by a limit on file size. */
static void test_whole_or_not_at_all(void)
{
	static float x[4096];
	RtErr e;
	char got[8];
	struct rlimit old, small = { 1024, 1024 };
	put_file(in_dir("c.npy"), "before", 6);
	int files = count_files();
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_FSIZE, &small);
	int st = npy_write(BY_USER(in_dir("c.npy")), DT_F32, 1, (int64_t[]){ 4096 }, x, NULL, &e);
	setrlimit(RLIMIT_FSIZE, &old);
	CHECK("", st == RT_EIO && strstr(e.text, "c.npy") && strstr(e.text, "nothing was changed"));
	CHECK("", get_file(in_dir("c.npy"), got, 8) == 6 && !memcmp(got, "before", 6) && count_files() == files);
	CHECK("", npy_write(BY_USER(in_dir("no/such/dir.npy")), DT_F32, 0, NULL, x, NULL, &e) == RT_EIO &&
			  strstr(e.text, "No such file"));
	/* a link is written through, and the mode of a file that was there stays */
	struct stat info;
	CHECK("", !symlink("c.npy", in_dir("link.npy")) && !chmod(in_dir("c.npy"), 0640));
	CHECK("", !npy_write(BY_USER(in_dir("link.npy")), DT_F32, 0, NULL, x, NULL, &e));
	CHECK("", !lstat(in_dir("link.npy"), &info) && S_ISLNK(info.st_mode));
	CHECK("", !stat(in_dir("c.npy"), &info) && info.st_size > 6 && (info.st_mode & 0777) == 0640);
}

int main(void)
{
	dir_begin();
	test_round_trip();
	test_header_bytes();
	test_forms();
	test_refused();
	test_whole_or_not_at_all();
	test_pipe();
	dir_end();
	return check_done();
}
