/* replay.c — runs a fuzz target over its corpus, tests/fuzz/corpus/NAME, where NAME is the program's own name.
 * A file that once broke a target is added there and so stays fixed. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
{
	FILE *f = fopen(path, "rb");
	long n = f && !fseek(f, 0, SEEK_END) ? ftell(f) : -1;
	if (n < 0) return 0;
	rewind(f);
	uint8_t *p = malloc((size_t)n + !n);                  /* exactly the file: a sanitizer sees one byte more */
	size_t got = p ? fread(p, 1, (size_t)n, f) : 0;
	fclose(f);
	LLVMFuzzerTestOneInput(p, got);
	free(p);
	return 1;
}

int main(int argc, char **argv)
{
	const char *slash = argc ? strrchr(argv[0], '/') : NULL, *name = slash ? slash + 1 : argv[0];
	char dir[256], path[1024];
	int n = 0;
	snprintf(dir, sizeof dir, "tests/fuzz/corpus/%s", name);
	DIR *d = opendir(dir);
	for (struct dirent *x; d && (x = readdir(d)); ) {
		if (x->d_name[0] == '.') continue;
		snprintf(path, sizeof path, "%s/%s", dir, x->d_name);
		n += replay(path);
	}
	if (d) closedir(d);
	printf("%s: each file was read without a crash\nchecks %d passed, 0 failed\n", dir, n);
	return n == 0;
}
