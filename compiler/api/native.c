/* native.c — C files with ops: read, compiled by the system's C compiler, loaded, their tables checked.
 *
 * A context keeps what it has loaded, since programs hold pointers into it, and finds a file again by its name and text.
 * Nobody gets here but by the host's own call, or by a model that the host lets name native code. */
#include "compiler/api/internal.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "compiler/codegen/cc.h"
#include "compiler/ops/host_op.h"
#include "lang/embed.h"

#pragma GCC diagnostic ignored "-Wpedantic"

struct Native {
	Native *next;
	NativeFile file;                     /* its texts are behind */
	void *dl;
	const pxl_host_op *ops;
	int n;
	char text[];
};

enum { MAX_NATIVE_BYTES = 16 << 20, MOST_NATIVE_OPS = 1000 };

/* as its Makefile has it when it is shipped; what it does not define itself is an error at once */
static const char *const flags[] = { "-std=c11", "-O3", "-ffp-contract=off", "-fPIC", "-shared", "-Wl,-z,defs", "-lm" };

int native_count(const Native *n) { return n->n; }
const NativeFile *native_file(const Native *n) { return &n->file; }

/* --- compiling and loading --------------------------------------------------------------------------------- */
/* the file's own name in the compiler's messages, if it is one that C can spell as it is */
static const char *short_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t n = strspn(name, "0123456789_-.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
	return n && !name[n] && n < 100 ? name : "native.c";
}

static pxl_status find_table(pxl_ctx *cx, Native *n)
{
	n->ops = dlsym(n->dl, "pxl_native_ops");
	if (!n->ops) return cx_fail(cx, PXL_EINVAL, "it has no table `pxl_native_ops`");
	for (; n->ops[n->n].name && n->n < MOST_NATIVE_OPS; n->n++) {
		if (n->ops[n->n].abi != PXL_HOST_ABI || n->ops[n->n].size != sizeof(pxl_host_op))
			return cx_fail(cx, PXL_EINVAL, "op %d of its table is for version %d of the interface; this library has %d", n->n, n->ops[n->n].abi, (int)PXL_HOST_ABI);
	}
	return n->n ? PXL_OK : cx_fail(cx, PXL_EINVAL, "its table `pxl_native_ops` is empty");
}

static pxl_status compile(pxl_ctx *cx, Native *n)
{
	const EmbeddedFile *header = embedded_file("compiler/api/pxl.h");
	size_t head = strlen(short_name(n->file.path)) + 12;
	char *text = cx_alloc(cx, head + n->file.len + 1);
	CcLoaded made;
	RtErr e = { 0 };
	if (!text) return cx_fail(cx, PXL_ENOMEM, "out of memory");
	int len = snprintf(text, head + 1, "#line 1 \"%s\"\n", short_name(n->file.path));
	memcpy(text + len, n->file.text, n->file.len);
	int st = cc_load(&(CcJob){ .what = "native code", .text = text, .len = (size_t)len + n->file.len, .header = "pxl.h", .header_text = header->text,
	                           .header_len = header->len, .flags = flags, .nflag = sizeof flags / sizeof *flags, .abi = PXL_HOST_ABI,
	                           .cache_dir = cx->cache_dir }, &made, &e);
	cx_free(cx, text);
	n->dl = made.dl;
	if (st) return cx_fail(cx, st == RT_EINTERNAL ? PXL_EINVAL : (pxl_status)st, "%s", e.text);
	if (made.warning) cx_log(cx, IN_CACHE, LOG_WARN, "`%s`: %s", cx->cache_dir, made.warning);
	cx_log(cx, IN_NATIVE, LOG_DEBUG, "native code `%s`: %s", n->file.path, made.kind);
	return find_table(cx, n);
}

static void native_free(pxl_ctx *cx, Native *n)
{
	if (n->dl) dlclose(n->dl);
	cx_free(cx, n);
}

static Native *native_new(pxl_ctx *cx, const char *path, const char *text, size_t len)
{
	size_t npath = strlen(path) + 1;
	Native *n = cx_alloc(cx, sizeof *n + npath + len + 1);
	if (!n) return NULL;
	memcpy(n->text, path, npath);
	memcpy(n->text + npath, text, len);
	n->file = (NativeFile){ .path = n->text, .text = n->text + npath, .len = len, .hash = hash_bytes(text, len) };
	return n;
}

static Native *find_loaded(pxl_ctx *cx, const char *path, const char *text, size_t len)
{
	for (Native *n = cx->natives; n; n = n->next)
		if (n->file.len == len && !strcmp(n->file.path, path) && !memcmp(n->file.text, text, len)) return n;
	return NULL;
}

pxl_status native_open(pxl_ctx *cx, const RtPlace *p, Native **out)
{
	struct stat sb;
	char *text;
	size_t len;
	const char *path = p->path;
	if (!p->reach && !stat(path, &sb) && !S_ISREG(sb.st_mode))
		return cx_fail(cx, PXL_EIO, "`%s` is no ordinary file", path);
	pxl_status st = read_file(cx, p, MAX_NATIVE_BYTES, &text, &len);
	if (st != PXL_OK) return st;
	Native *n = find_loaded(cx, path, text, len);
	int fresh = !n;
	if (fresh) n = native_new(cx, path, text, len);
	cx_free(cx, text);
	if (!n) return cx_fail(cx, PXL_ENOMEM, "out of memory");
	if (fresh) {
		if ((st = compile(cx, n)) != PXL_OK) {
			native_free(cx, n);
			return st;
		}
		n->next = cx->natives;
		cx->natives = n;
	}
	*out = n;
	return PXL_OK;
}

void natives_free(pxl_ctx *cx)
{
	for (Native *n = cx->natives, *next; n; n = next) {
		next = n->next;
		native_free(cx, n);
	}
}

/* --- its ops -------------------------------------------------------------------------------------------------- */
const HostOp *native_op(const Native *n, int i, const HostOp *list)
{
	while (list && (list->file != &n->file || list->at != i)) list = list->next;
	return list;
}

int native_find(const Native *n, const HostOp *h)
{
	for (int i = 0; i < n->n; i++) {
		const pxl_host_op *o = &n->ops[i];
		const char *v = o->version ? o->version : "";
		if (!strcmp(o->name, h->name) && !strcmp(v, h->version ? h->version : "") && o->nin == h->nin && o->nout == h->nout && o->nparam == h->nparam) return i;
	}
	return -1;
}

pxl_status native_add(pxl_ctx *cx, Arena *mem, const Native *n, const HostOp **list)
{
	for (int i = 0; i < n->n; i++) {
		pxl_status st = native_op(n, i, *list) ? PXL_OK : host_op_add(cx, mem, list, &n->ops[i], &n->file, i);
		if (st != PXL_OK) return st;
	}
	return PXL_OK;
}

pxl_status pxl_native_file(pxl_ctx *cx, const char *path)
{
	Native *n;
	if (!cx) return PXL_EINVAL;
	if (!path) return cx_fail(cx, PXL_EINVAL, "pxl_native_file needs a path");
	pxl_status st = native_open(cx, BY_USER(path), &n);
	if (st == PXL_OK) st = native_add(cx, NULL, n, &cx->hosts);
	if (st != PXL_OK) {
		char why[sizeof cx->errmsg];
		memcpy(why, cx->errmsg, sizeof why);
		return cx_fail(cx, st, "native code `%.200s`: %s", path, why);
	}
	return PXL_OK;
}
