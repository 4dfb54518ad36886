/* dot.c — drawings of programs: which checkpoints are active, and one file per graph (semantics.md R65–R71).
 *
 * Nothing is drawn unless the host names a folder.  Then the checkpoints of its list and of $PXL_DOT_CHECKS are,
 * whatever their case; with neither given, all. */
#include "compiler/api/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/formats/formats.h"

static const char *keep(Arena *mem, const char *s) { return s ? arena_str(mem, s, strlen(s)) : NULL; }

void drawing_begin(Drawing *d, const pxl_program_options *o, Arena *mem)
{
	*d = (Drawing){ .base = keep(mem, o->dot_dir), .checks = keep(mem, o->dot_checks), .env = keep(mem, env_text("PXL_DOT_CHECKS", "POPART_DOT_CHECKS")),
	                .first = o->dot_first, .count = o->dot_count };
	d->dir = ".";
}

static int listed(const char *list, const char *name)
{
	size_t want = strlen(name);
	for (; list && *list; list += strcspn(list, ":"), list += *list == ':') {
		size_t n = strcspn(list, ":");
		if ((n == want && !strncasecmp(list, name, n)) || (n == 3 && !strncasecmp(list, "ALL", 3))) return 1;
	}
	return 0;
}

static int active(const Drawing *d, const char *name)
{
	if (!d->base) return 0;
	return (!d->env && (!d->checks || !*d->checks)) || listed(d->checks, name) || listed(d->env, name);
}

static int make_dirs(const char *path, Arena *mem)
{
	char *s = (char *)(uintptr_t)keep(mem, path);
	for (char *p = s + 1; *p; p++) {
		if (*p != '/') continue;
		*p = 0;
		if (mkdir(s, 0777) && errno != EEXIST) return 0;
		*p = '/';
	}
	return !mkdir(s, 0777) || errno == EEXIST;
}

/* "r" for the main graph, else what the id's brackets hold; a gradient graph's id goes on behind them */
static const char *graph_mark(const Graph *g, Arena *mem)
{
	const char *open = strrchr(g->id, '('), *close = open ? strchr(open, ')') : NULL;
	if (g == g->ir->main) return "r";
	return close ? arena_printf(mem, "%.*s%s", (int)(close - open - 1), open + 1, close + 1) : arena_printf(mem, "%d", g->index);
}

static int begins_as_dot(int fd, const RtAlloc *al)
{
	char begin[9];
	(void)al;
	return pread(fd, begin, sizeof begin, 0) == sizeof begin && !memcmp(begin, "digraph \"", sizeof begin);
}

static const RtFormat dot_format = { "Graphviz", (const char *const[]){ ".dot", NULL }, begins_as_dot };

typedef struct Picture { const char *path; Buf text; } Picture;

/* The arena may run out here, and nowhere below. */
static Picture *draw_all(const Drawing *d, const Ir *ir, const char *name, Arena *mem)
{
	Picture *p = NEWN(mem, Picture, ir->graphs.n + 1);
	for (int i = 0; i < ir->graphs.n; i++) {
		p[i] = (Picture){ arena_printf(mem, "%s/%s_%s.dot", d->dir, name, graph_mark(ir->graphs.at[i], mem)),
			buf_new(mem) };
		ir_dot(ir->graphs.at[i], d->first, d->count > 0 ? d->first + d->count - 1 : -1, &p[i].text);
	}
	return p;
}

/* The model names drawings and folders below the host's, which is a root of its own. */
static int write_all(pxl_ctx *cx, const char *base, const Picture *pic, int n, RtErr *e)
{
	RtSink s;
	RtRoot root[REACH_ALLOWED] = { { .path = NULL } };
	RtReach reach = { root, REACH_ALLOWED };
	RtAlloc al = cx_rt_alloc(cx);
	int fd, ok = !root_open(base, &al, &root[REACH_CURRENT], &fd, e);
	if (ok) close(fd);
	for (int i = 0; i < n && ok; i++) {
		RtPlace p = { .path = pic[i].path, .reach = &reach, .base = REACH_CURRENT, .make_folders = 1 };
		ok = !sink_open(&s, &p, &dot_format, &al, e) && !sink_write(&s, pic[i].text.s, pic[i].text.n, e) &&
		     !sink_commit(&s, e);
	}
	root_free(&root[REACH_CURRENT], &al);
	return ok;
}

int drawing_checkpoint(
	pxl_ctx *cx, Drawing *d, const Ir *ir, const char *name, const char *save_dir, Arena *mem, Buf *why)
{
	RtErr e;
	if (d->base && save_dir) d->dir = keep(mem, save_dir);
	if (!active(d, name)) return 1;
	Picture *pic = draw_all(d, ir, name, mem);
	if (!make_dirs(d->base, mem)) buf_printf(why, "%s: %s", d->base, strerror(errno));
	else if (!write_all(cx, d->base, pic, ir->graphs.n, &e)) buf_puts(why, e.text);
	else return 1;
	return 0;
}
