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

static const char *keep(Arena *mem, const char *s) { return s ? arena_str(mem, s, strlen(s)) : NULL; }

void drawing_begin(Drawing *d, const pxl_program_options *o, Arena *mem)
{
	*d = (Drawing){ .base = keep(mem, o->dot_dir), .checks = keep(mem, o->dot_checks), .env = keep(mem, env_text("PXL_DOT_CHECKS", "POPART_DOT_CHECKS")),
	                .first = o->dot_first, .count = o->dot_count };
	d->dir = d->base;
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

static int draw(const Drawing *d, const Graph *g, const char *name, Arena *mem, Buf *why)
{
	const char *path = arena_printf(mem, "%s/%s_%s.dot", d->dir, name, graph_mark(g, mem));
	Buf b = buf_new(mem);
	ir_dot(g, d->first, d->count > 0 ? d->first + d->count - 1 : -1, &b);
	FILE *f = fopen(path, "wb");
	int ok = f && fwrite(b.s, 1, b.n, f) == b.n;
	if (f) ok = fclose(f) == 0 && ok;
	if (!ok) buf_printf(why, "%s: %s", path, strerror(errno));
	return ok;
}

int drawing_checkpoint(Drawing *d, const Ir *ir, const char *name, const char *save_dir, Arena *mem, Buf *why)
{
	if (d->base && save_dir) d->dir = arena_printf(mem, "%s/%s", d->base, save_dir);
	if (!active(d, name)) return 1;
	if (!make_dirs(d->dir, mem)) {
		buf_printf(why, "%s: %s", d->dir, strerror(errno));
		return 0;
	}
	for (int i = 0; i < ir->graphs.n; i++)
		if (!draw(d, ir->graphs.at[i], name, mem, why)) return 0;
	return 1;
}
