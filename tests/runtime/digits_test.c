/* digits_test.c — the made digits: pure, alike everywhere, varied, learnable; and data sets over them. */
#include <stdlib.h>
#include <zlib.h>

#include "runtime/formats/data.h"
#include "tests/runtime/files.h"

enum { PIX = 28 * 28 };

static uint64_t hash(uint64_t h, const void *p, size_t n)
{
	for (const unsigned char *c = p; n--; c++) h = (h ^ *c) * 0x100000001b3u;
	return h;
}

static void test_pure(void)
{
	unsigned char a[PIX], b[PIX], other[PIX];
	uint64_t h = 0xcbf29ce484222325u;
	int label = digit_sample(SPLIT_TRAIN, 12345, a), count[10] = { 0 };
	for (uint32_t i = 0; i < 100; i++) {
		int d = digit_sample(SPLIT_TRAIN, i, b);
		h = hash(hash(h, &d, sizeof d), b, PIX);
	}
	CHECK("", digit_sample(SPLIT_TRAIN, 12345, b) == label && !memcmp(a, b, PIX));
	CHECK("", h == 0xd665904d7938a81cu);                    /* a change here changes what first runs show */
	digit_sample(SPLIT_TEST, 12345, other);
	CHECK("", memcmp(a, other, PIX) != 0);
	for (uint32_t i = 0; i < 10000; i++) {
		int d = digit_sample(SPLIT_TEST, i, b);
		if (d < 0 || d > 9) { CHECK("", !"label in range"); break; }
		count[d]++;
	}
	for (int d = 0; d < 10; d++) CHECK("", count[d] > 850 && count[d] < 1150);
}

/* Nearest mean image: far better than chance, far from perfect. And every sample has ink, and room around it. */
static void test_learnable(void)
{
	static double mean[10][PIX];
	unsigned char x[PIX];
	int n[10] = { 0 }, hits = 0, blank = 0;
	for (uint32_t i = 0; i < 2000; i++) {
		int d = digit_sample(SPLIT_TRAIN, i, x), ink = 0;
		n[d]++;
		for (int k = 0; k < PIX; k++) mean[d][k] += x[k], ink += x[k] > 100;
		blank += ink < 15 || ink > 300;
	}
	for (int d = 0; d < 10; d++) for (int k = 0; k < PIX; k++) mean[d][k] /= n[d];
	for (uint32_t i = 0; i < 1000; i++) {
		int label = digit_sample(SPLIT_TEST, i, x), best = 0;
		double least = 1e30;
		for (int d = 0; d < 10; d++) {
			double far = 0;
			for (int k = 0; k < PIX; k++) far += (x[k] - mean[d][k]) * (x[k] - mean[d][k]);
			if (far < least) least = far, best = d;
		}
		hits += best == label;
	}
	CHECK("", blank == 0);
	CHECK("", hits > 600 && hits < 950);
}

/* --- data sets -------------------------------------------------------------------------------------------------- */

static RtData *arrays(size_t n, int shuffle)
{
	int32_t *id = malloc((n + 1) * sizeof *id);
	RtArray a = { .dtype = DT_I32, .rank = 2, .dim = { (int64_t)n, 1 }, .nelem = n, .bytes = n * 4, .data = id };
	RtErr e;
	RtData *d = NULL;
	for (size_t i = 0; i < n; i++) id[i] = (int32_t)i;
	CHECK("", !data_arrays(n, shuffle, NULL, &d, &e) && !data_add(d, "id", &a, &e));
	CHECK("", data_add(d, "id", &a, &e) == RT_EINVAL);
	a.dim[0]++;
	CHECK("", data_add(d, "more", &a, &e) == RT_EINVAL);
	free(id);
	return d;
}

static void test_order(void)
{
	enum { N = 1000 };
	static int32_t a[N], b[N], part[N];
	RtData *d = arrays(N, 1), *plain = arrays(N, 0);
	int id = data_column(d, "id"), seen[N] = { 0 }, fixed = 0;
	CHECK("", id == 0 && data_column(d, "no") == -1 && d->column[0].rank == 1);
	data_epoch(d, 7, 3);
	data_fill(d, id, 0, N, a);
	for (int i = 0; i < N; i++) seen[a[i]]++, fixed += a[i] == i;
	int all = 1;
	for (int i = 0; i < N; i++) all &= seen[i] == 1;
	CHECK("A323", all && fixed < 20);
	data_epoch(d, 7, 4);
	data_fill(d, id, 0, N, b);
	CHECK("A323", memcmp(a, b, sizeof a) != 0);               /* every epoch anew */
	data_epoch(d, 8, 3);
	data_fill(d, id, 0, N, b);
	CHECK("", memcmp(a, b, sizeof a) != 0);
	data_epoch(d, 7, 3);                                       /* whatever went before, the same order again */
	for (int pos = 0; pos + 64 <= N; pos += 64) data_fill(d, id, (size_t)pos, 64, part + pos);
	CHECK("", !memcmp(a, part, 960 * sizeof *a));
	data_epoch(plain, 7, 3);
	data_fill(plain, id, 10, 5, b);
	CHECK("", b[0] == 10 && b[4] == 14);
	data_free(d);
	data_free(plain);
}

static void put_idx(const char *name, const char *head, size_t n, const void *data, size_t bytes)
{
	static unsigned char buf[1 << 16];
	memcpy(buf, head, n);
	memcpy(buf + n, data, bytes);
	put_file(in_dir(name), buf, n + bytes);
}

static void put_gz(const char *name, const void *p, unsigned n)
{
	gzFile g = gzopen(in_dir(name), "wb");
	if (g) gzwrite(g, p, n), gzclose(g);
}

/* the files in DIR/mnist, packed; and in ~/.cache/pxl when no directory is given */
static void test_places(const unsigned char *pix)
{
	unsigned char image[16 + 3 * PIX] = "\0\0\x08\3\0\0\0\3\0\0\0\x1c\0\0\0\x1c";
	RtData *d;
	RtErr e;
	char dir[256];
	memcpy(image + 16, pix, 3 * PIX);
	mkdir(in_dir(".cache"), 0700);
	mkdir(in_dir(".cache/pxl"), 0700);
	mkdir(in_dir(".cache/pxl/mnist"), 0700);
	put_gz(".cache/pxl/mnist/t10k-images-idx3-ubyte.gz", image, sizeof image);
	put_gz(".cache/pxl/mnist/t10k-labels-idx1-ubyte.gz", "\0\0\x08\1\0\0\0\3\7\2\1", 11);
	setenv("HOME", test_dir, 1);
	snprintf(dir, sizeof dir, "%s", in_dir(".cache/pxl"));
	for (int given = 0; given < 2; given++) {
		CHECK("A323", !data_mnist(given ? dir : NULL, SPLIT_TEST, 0, NULL, &d, &e) && !strcmp(d->kind, "mnist") && d->n == 3);
		data_free(d);
	}
	unlink(in_dir(".cache/pxl/mnist/t10k-images-idx3-ubyte.gz"));
	unlink(in_dir(".cache/pxl/mnist/t10k-labels-idx1-ubyte.gz"));
	rmdir(in_dir(".cache/pxl/mnist"));
	rmdir(in_dir(".cache/pxl"));
	rmdir(in_dir(".cache"));
}

static void test_mnist(void)
{
	static unsigned char pix[10 * PIX];
	static float x[10 * PIX];
	unsigned char lab[11] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 10 };
	int32_t y[10];
	RtData *d;
	RtErr e;
	for (int i = 0; i < 10 * PIX; i++) pix[i] = (unsigned char)(i % 256);
	CHECK("", data_mnist(test_dir, SPLIT_TRAIN, 0, NULL, &d, &e) == RT_EIO && strstr(e.text, "train-images-idx3-ubyte") && strstr(e.text, test_dir));
	put_idx("train-images-idx3-ubyte", "\0\0\x08\3\0\0\0\x0a\0\0\0\x1c\0\0\0\x1c", 16, pix, sizeof pix);
	CHECK("", data_mnist(test_dir, SPLIT_TRAIN, 0, NULL, &d, &e) == RT_EIO && strstr(e.text, "train-labels-idx1-ubyte"));
	put_idx("train-labels-idx1-ubyte", "\0\0\x08\1\0\0\0\x0b", 8, lab, 11);
	CHECK("", data_mnist(test_dir, SPLIT_TRAIN, 0, NULL, &d, &e) == RT_EIO && strstr(e.text, "10 images") && strstr(e.text, "11 labels"));
	put_idx("train-labels-idx1-ubyte", "\0\0\x08\1\0\0\0\x0a", 8, lab + 1, 10);
	CHECK("", data_mnist(test_dir, SPLIT_TRAIN, 0, NULL, &d, &e) == RT_EIO && strstr(e.text, "label 10 at 9"));
	put_idx("train-labels-idx1-ubyte", "\0\0\x08\1\0\0\0\x0a", 8, lab, 10);
	CHECK("A323", !data_mnist(test_dir, SPLIT_TRAIN, 0, NULL, &d, &e) && d->n == 10 && !strcmp(d->kind, "mnist"));
	int image = data_column(d, "image"), label = data_column(d, "label");
	CHECK("A323", d->column[image].dtype == DT_F32 && d->column[image].rank == 2 && d->column[label].dtype == DT_I32 && d->column[label].rank == 0);
	data_fill(d, image, 0, 10, x);
	data_fill(d, label, 0, 10, y);
	int good = 1;
	for (int i = 0; i < 10 * PIX; i++) good &= fabs(x[i] - (pix[i] / 255.0 - 0.1307) / 0.3081) < 1e-6;
	CHECK("A323", good && y[0] == 3 && y[5] == 9);
	data_free(d);
	test_places(pix);
	put_idx("train-images-idx3-ubyte", "\0\0\x08\3\0\0\0\x0a\0\0\0\x1b\0\0\0\x1c", 16, pix, 10 * 27 * 28);
	CHECK("", data_mnist(test_dir, SPLIT_TRAIN, 0, NULL, &d, &e) == RT_EIO && strstr(e.text, "28×28"));
	setenv("HOME", test_dir, 1);
	CHECK("", !data_mnist(NULL, SPLIT_TEST, 1, NULL, &d, &e) && !strcmp(d->kind, "digits") && d->n == DIGITS_TEST);
	unsigned char raw[PIX];
	size_t first = d->order[0];
	int want = digit_sample(SPLIT_TEST, (uint32_t)first, raw);
	data_fill(d, image, 0, 1, x);
	data_fill(d, label, 0, 1, y);
	good = y[0] == want;
	for (int i = 0; i < PIX; i++) good &= x[i] == ((float)raw[i] / 255.0f - 0.1307f) / 0.3081f;
	CHECK("", good);
	data_free(d);
}

int main(void)
{
	dir_begin();
	test_pure();
	test_learnable();
	test_order();
	test_mnist();
	dir_end();
	return check_done();
}
