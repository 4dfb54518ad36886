/* safetensors_test.c — weights by name: what is written reads back, what is wrong is refused. */
#include "runtime/formats/formats.h"
#include "tests/runtime/files.h"

static unsigned char file[8192];

static size_t make(const char *json, size_t data)
{
	size_t n = strlen(json);
	for (int i = 0; i < 8; i++) file[i] = (unsigned char)((uint64_t)n >> 8 * i);
	memcpy(file + 8, json, n);
	for (size_t i = 0; i < data; i++) file[8 + n + i] = (unsigned char)i;
	return 8 + n + data;
}

static int parse(const char *json, size_t data, StFile **f, RtErr *e) { return st_memory(file, make(json, data), "t.safetensors", NULL, f, e); }

static void refused(const char *json, size_t data, const char *why)
{
	StFile *f = NULL;
	RtErr e = { 0 };
	CHECK("", parse(json, data, &f, &e) == RT_EIO);
	if (!strstr(e.text, why)) printf("%s: %s\n", json, e.text);
	CHECK("", strstr(e.text, why) && strstr(e.text, "t.safetensors"));
	if (f) st_close(f);
}

static void test_forms(void)
{
	StFile *f;
	RtErr e;
	unsigned char x[8];
	CHECK("", !parse("{}", 0, &f, &e) && st_count(f) == 0 && !st_find(f, "a") && !st_entry(f, 0));
	st_close(f);
	CHECK("", !parse(" { \"b\" : {\"shape\":[2,2],\"data_offsets\":[0,4],\"dtype\":\"I8\"},\n\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[4,8]},"
		"\"__metadata__\":{\"step\":\"17\",\"caf\\u00e9\":\"\\ud83d\\ude00\\n\"}}   ", 8, &f, &e));
	CHECK("", st_count(f) == 2 && !strcmp(st_entry(f, 0)->name, "a") && st_entry(f, 0)->rank == 0 && st_entry(f, 0)->bytes == 4);
	const StEntry *b = st_find(f, "b");
	CHECK("", b && b->dtype == DT_I8 && b->rank == 2 && b->dim[1] == 2 && !st_read(f, b, x, &e) && !memcmp(x, "\0\1\2\3", 4));
	CHECK("", !st_read(f, st_find(f, "a"), x, &e) && !memcmp(x, "\4\5\6\7", 4));
	CHECK("", !strcmp(st_meta(f, "step"), "17") && !strcmp(st_meta(f, "caf\xc3\xa9"), "\xf0\x9f\x98\x80\n") && !st_meta(f, "no"));
	st_close(f);
}

#define T(name, rest) "\"" name "\":{\"dtype\":\"U8\"," rest "}"
static void test_refused(void)
{
	refused("", 0, "not an object");
	refused("[]", 0, "not an object");
	refused("{", 0, "a string is missing");
	refused("{} x", 0, "something follows");
	refused("{\"a\":1}", 0, "not an object");
	refused("{\"a\"}", 0, "`:` is missing");
	refused("{\"a\":{}}", 0, "a string is missing");
	refused("{" T("a", "\"shape\":[4]") "}", 4, "lacks one of");
	refused("{" T("a", "\"shape\":[4],\"shape\":[4],\"data_offsets\":[0,4]") "}", 4, "key twice");
	refused("{" T("a", "\"shape\":[4],\"data_offsets\":[0,4],\"x\":1") "}", 4, "key other than");
	refused("{" T("a", "\"shape\":[4],\"data_offsets\":[0,4]") "}", 3, "ends early");
	refused("{" T("a", "\"shape\":[4],\"data_offsets\":[0,4]") "}", 5, "goes on after");
	refused("{" T("a", "\"shape\":[4],\"data_offsets\":[0,5]") "}", 5, "not what its shape");
	refused("{" T("a", "\"shape\":[4],\"data_offsets\":[4,0]") "}", 4, "not what its shape");
	refused("{" T("a", "\"shape\":[4],\"data_offsets\":[0]") "}", 4, "not a pair");
	refused("{" T("a", "\"shape\":[4],\"data_offsets\":[0,4,8]") "}", 4, "more numbers");
	refused("{" T("a", "\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]") "}", 1, "more numbers");
	refused("{" T("a", "\"shape\":[-4],\"data_offsets\":[0,4]") "}", 4, "whole number");
	refused("{" T("a", "\"shape\":[4.0],\"data_offsets\":[0,4]") "}", 4, "does not end properly");
	refused("{" T("a", "\"shape\":[04],\"data_offsets\":[0,4]") "}", 4, "whole number");
	refused("{" T("a", "\"shape\":[99999999999999999999],\"data_offsets\":[0,4]") "}", 4, "too large");
	refused("{" T("a", "\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]") "}", 4, "not what its shape");
	refused("{" T("a", "\"shape\":[4],\"data_offsets\":[0,4]") "," T("b", "\"shape\":[4],\"data_offsets\":[2,6]") "}", 6, "shares bytes");
	refused("{" T("a", "\"shape\":[4],\"data_offsets\":[0,4]") "," T("b", "\"shape\":[4],\"data_offsets\":[0,4]") "}", 4, "shares bytes");
	refused("{" T("a", "\"shape\":[2],\"data_offsets\":[0,2]") "," T("b", "\"shape\":[2],\"data_offsets\":[4,6]") "}", 6, "belong to no tensor");
	refused("{" T("a", "\"shape\":[2],\"data_offsets\":[0,2]") "," T("a", "\"shape\":[2],\"data_offsets\":[2,4]") "}", 4, "`a` occurs twice");
	refused("{" T("a", "\"shape\":[2],\"data_offsets\":[9007199254740993,9007199254740995]") "}", 4, "ends early");
	refused("{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1, "type F8_E4M3");
	refused("{\"__metadata__\":[]}", 0, "not an object");
	refused("{\"__metadata__\":{\"a\":1}}", 0, "string is missing");
	refused("{\"__metadata__\":{},\"__metadata__\":{}}", 0, "occurs twice");
	refused("{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0, "metadata `a` occurs twice");
	refused("{\"\\ud800\":1}", 0, "escape");
	refused("{\"\\u0000\":1}", 0, "escape");
	refused("{\"\\x\":1}", 0, "escape");
	refused("{\"\xff\":1}", 0, "UTF-8");
	refused("{\"\xc0\x80\":1}", 0, "UTF-8");
	refused("{\"\xed\xa0\x80\":1}", 0, "UTF-8");
	refused("{\"a\nb\":1}", 0, "control");
	refused("{\"a", 0, "does not end");
	StFile *f;
	RtErr e;
	size_t n = make("{" T("a", "\"shape\":[4],\"data_offsets\":[0,4]") "}", 4);
	for (size_t k = 0; k < n; k++) CHECK("", st_memory(file, k, "t", NULL, &f, &e) == RT_EIO);
	memset(file, 0xff, 8);
	CHECK("", st_memory(file, n, "t", NULL, &f, &e) == RT_EIO && strstr(e.text, "header of 18446744073709551615"));
	CHECK("", st_open(BY_USER(in_dir("none")), NULL, &f, &e) == RT_EIO && strstr(e.text, "No such file"));
	CHECK("", st_open(BY_USER("/dev/zero"), NULL, &f, &e) == RT_EIO && strstr(e.text, "regular"));
}

static void test_round_trip(void)
{
	static const int64_t dim[MAX_RANK] = { 2, 3, 1, 1, 1, 1, 1, 2 };
	static unsigned char data[256], back[256];
	char names[DT_COUNT + 2][32];
	StItem items[DT_COUNT + 2];
	StMeta meta[] = { { "step", "17" }, { "epoch", "2" }, { "odd \"key\"\\", "line\nwith \x01 and \xc3\xa9" } };
	StFile *f;
	RtErr e = { 0 };
	for (int i = 0; i < 256; i++) data[i] = (unsigned char)(i * 31);
	for (int t = 0; t < DT_COUNT; t++) {
		snprintf(names[t], 32, "layer%d.\"%s\"", 9 - t % 10, dtype_info[t].name);
		items[t] = (StItem){ names[t], (DType)t, t % (MAX_RANK + 1), dim, data };
	}
	items[DT_COUNT] = (StItem){ "empty", DT_F32, 2, (int64_t[]){ 0, 3 }, NULL };
	CHECK("", !st_write(BY_USER(in_dir("w.safetensors")), items, DT_COUNT + 1, meta, 3, NULL, &e));
	CHECK("", !st_open(BY_USER(in_dir("w.safetensors")), NULL, &f, &e) && st_count(f) == DT_COUNT + 1);
	for (int t = 0; t < DT_COUNT; t++) {
		const StEntry *x = st_find(f, names[t]);
		CHECK("", x && x->dtype == (DType)t && x->rank == items[t].rank && !memcmp(x->dim, dim, (size_t)x->rank * sizeof *dim));
		CHECK("", x && !st_read(f, x, back, &e) && !memcmp(back, data, x->bytes));
	}
	for (int i = 1; i < st_count(f); i++) CHECK("", strcmp(st_entry(f, i - 1)->name, st_entry(f, i)->name) < 0);
	CHECK("", st_find(f, "empty")->nelem == 0 && !strcmp(st_meta(f, "step"), "17") && !strcmp(st_meta(f, meta[2].key), meta[2].value));
	/* the file shrinks under an open reader: an error, not a signal */
	CHECK("", !truncate(in_dir("w.safetensors"), 100) && st_read(f, st_find(f, names[DT_F64]), back, &e) == RT_EIO && strstr(e.text, "shorter"));
	st_close(f);
}

static void test_writer(void)
{
	static const char want[] = "{\"__metadata__\":{\"seed\":\"1\"},\"a\":{\"dtype\":\"I8\",\"shape\":[3],\"data_offsets\":[0,3]},"
		"\"b\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[3,7]}}";
	float one = 1;
	char got[512];
	StItem items[] = { { "b", DT_F32, 0, NULL, &one }, { "a", DT_I8, 1, (int64_t[]){ 3 }, "xyz" } };
	StMeta meta[] = { { "seed", "1" } };
	RtErr e;
	CHECK("", !st_write(BY_USER(in_dir("b.st")), items, 2, meta, 1, NULL, &e));
	size_t n = get_file(in_dir("b.st"), got, sizeof got);
	CHECK("", n > 8 && (unsigned char)got[0] % 8 == 0 && !memcmp(got + 8, want, sizeof want - 1));
	CHECK("", n == 8u + (unsigned char)got[0] + 7 && !memcmp(got + n - 7, "xyz\0\0\x80\x3f", 7));
	items[1].name = "b";
	CHECK("",
		st_write(BY_USER(in_dir("b.st")), items, 2, NULL, 0, NULL, &e) == RT_EINVAL && strstr(e.text, "taken"));
	items[1].name = "\xff";
	CHECK("", st_write(BY_USER(in_dir("b.st")), items, 2, NULL, 0, NULL, &e) == RT_EINVAL &&
			  strstr(e.text, "not UTF-8"));
	CHECK("", st_write(BY_USER(test_dir), items, 1, NULL, 0, NULL, &e) == RT_EIO && strstr(e.text, "directory"));
	CHECK("", get_file(in_dir("b.st"), got, sizeof got) == n);
}

int main(void)
{
	dir_begin();
	test_forms();
	test_refused();
	test_round_trip();
	test_writer();
	dir_end();
	return check_done();
}
