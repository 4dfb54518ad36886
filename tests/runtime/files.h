/* files.h — what the tests of file formats share: a directory of their own, and files from bytes. */
#ifndef TESTS_RUNTIME_FILES_H
#define TESTS_RUNTIME_FILES_H

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/check.h"

static char test_dir[64] = "/tmp/pxl-test-XXXXXX";

static inline const char *in_dir(const char *name)           /* one of four buffers in turn */
{
	static char path[4][sizeof test_dir + 256];
	static int k;
	k = (k + 1) % 4;
	snprintf(path[k], sizeof path[k], "%s/%s", test_dir, name);
	return path[k];
}

static inline void put_file(const char *path, const void *p, size_t n)
{
	FILE *f = fopen(path, "wb");
	if (f) fwrite(p, 1, n, f), fclose(f);
}

static inline size_t get_file(const char *path, void *p, size_t n)
{
	FILE *f = fopen(path, "rb");
	if (!f) return 0;
	n = fread(p, 1, n, f);
	fclose(f);
	return n;
}

static inline int count_files(void)
{
	int n = 0;
	DIR *d = opendir(test_dir);
	for (struct dirent *x; d && (x = readdir(d)); ) n += strcmp(x->d_name, ".") && strcmp(x->d_name, "..");
	if (d) closedir(d);
	return n;
}

static inline void dir_begin(void) { if (!mkdtemp(test_dir)) perror(test_dir), exit(1); }
static inline void dir_end(void)
{
	DIR *d = opendir(test_dir);
	for (struct dirent *x; d && (x = readdir(d)); )
		if (strcmp(x->d_name, ".") && strcmp(x->d_name, "..")) unlink(in_dir(x->d_name));
	if (d) closedir(d);
	rmdir(test_dir);
}

#endif
