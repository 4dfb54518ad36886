/* map.c — which variables of a session live in files, and in which.
 *
 * A rule names one variable and its file, or the beginning of many names and a folder, in which the file of a
 * variable is NAME.npy (`/` in a name becomes `%`).  The first rule that fits a variable counts.  Files are opened before
 * the session is made and closed after it is freed; new ones are published when the session has
 * filled them. */
#define _GNU_SOURCE                          /* O_PATH */
#include "compiler/api/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/formats/formats.h"

/* folder: of each rule that has one, open while files may be made; else -1 */
struct Maps { FileMap *file; RtMap *row; int n; int *folder; size_t nfolder; };

static int is_pattern(const char *name) { return !name || (*name && name[strlen(name) - 1] == '*'); }

static int fits(const pxl_map *m, const char *name)
{
	if (!m->variable) return 1;
	return is_pattern(m->variable) ? !strncmp(m->variable, name, strlen(m->variable) - 1) : !strcmp(m->variable, name);
}

static const pxl_map *find_rule(const pxl_session_options *o, const char *name)
{
	for (size_t i = 0; i < o->nmap; i++)
		if (fits(&o->maps[i], name)) return &o->maps[i];
	return NULL;
}

static pxl_status check_rules(pxl_program *p, const pxl_session_options *o)
{
	for (size_t i = 0; i < o->nmap; i++) {
		const pxl_map *m = &o->maps[i];
		int used = 0;
		if (!is_pattern(m->variable) && pxl_find(p, PXL_VARIABLE, m->variable) < 0)
			return cx_fail(p->m->cx, PXL_EINVAL, "there is no variable `%s` to map from `%s`", m->variable, m->path);
		for (int k = 0; k < p->rt.nvar; k++) used += find_rule(o, p->rt.vars[k].name) == m;
		if (m->variable && !used) return cx_fail(p->m->cx, PXL_EINVAL, "no variable is left for the mapping of `%s`", m->variable);
		if (is_pattern(m->variable) && mkdir(m->path, 0777) && errno != EEXIST)
			return cx_fail(p->m->cx, PXL_EIO, "cannot make the folder `%s`: %s", m->path, strerror(errno));
	}
	return PXL_OK;
}

static int file_path(const pxl_map *m, const char *name, char *path, size_t size)
{
	if (!is_pattern(m->variable)) return snprintf(path, size, "%s", m->path) < (int)size;
	size_t n = strlen(m->path);
	if (snprintf(path, size, "%s/%s.npy", m->path, name) >= (int)size) return 0;
	for (char *c = path + n + 1; *c; c++)
		if (*c == '/') *c = '%';
	return 1;
}

/* Two variables in one file would overwrite each other; where nothing is written they may have the same beginning. */
static const RtMap *sharing(const struct Maps *m, const FileMap *f)
{
	for (int i = 0; i < m->n; i++) {
		const FileMap *g = &m->file[i];
		int same = f->fresh || g->fresh ? !strcmp(f->path, g->path) : f->device == g->device && f->inode == g->inode;
		if (same && !(f->read_only && g->read_only)) return &m->row[i];
	}
	return NULL;
}

static pxl_status map_variable(pxl_session *s, const pxl_map *m, size_t rule, int var)
{
	char path[4096];
	const RtVar *v = &s->p->rt.vars[var];
	RtAlloc al = cx_rt_alloc(s->p->m->cx);
	FileMap *f = &s->maps->file[s->maps->n];
	RtArray want = { .dtype = v->dtype, .rank = v->rank, .nelem = v->nelem, .bytes = v->bytes };
	memcpy(want.dim, v->dim, sizeof want.dim);
	int folder = s->maps->folder[rule];
	size_t name = folder >= 0 ? strlen(m->path) + 1 : 0;
	if (!file_path(m, v->name, path, sizeof path)) return session_fail(s, PXL_EIO, "the path `%s` is too long", m->path);
	if (map_open(f, name ? folder : AT_FDCWD, path, name, &want, !!(m->how & PXL_MAP_READ_EXISTING), &al, &s->err))
		return (pxl_status)s->err.status;
	const RtMap *other = sharing(s->maps, f);
	if (other) {
		map_close(f);
		return session_fail(s, PXL_EINVAL, "`%s` cannot hold both `%s` and `%s`: variables need a file each", path, s->p->rt.vars[other->var].name, v->name);
	}
	s->maps->row[s->maps->n++] = (RtMap){ var, f->data, f->base, f->size, f->read_only, f->fresh && !(m->how & PXL_MAP_EMPTY) };
	return PXL_OK;
}

/* Variables' names are the model's; the folder is the host's. */
static pxl_status open_folders(pxl_session *s, const pxl_session_options *o)
{
	for (size_t i = 0; i < o->nmap; i++) {
		int pattern = is_pattern(o->maps[i].variable);
		s->maps->folder[i] = pattern ? open(o->maps[i].path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
		s->maps->nfolder++;
		if (pattern && s->maps->folder[i] < 0)
			return cx_fail(s->p->m->cx, PXL_EIO, "cannot use the folder `%s`: %s", o->maps[i].path,
				strerror(errno));
	}
	return PXL_OK;
}

static void close_folders(struct Maps *m)
{
	for (size_t i = 0; i < m->nfolder; i++)
		if (m->folder[i] >= 0) close(m->folder[i]);
	m->nfolder = 0;
}

pxl_status maps_open(pxl_session *s, const pxl_session_options *o)
{
	pxl_ctx *cx = s->p->m->cx;
	size_t nvar = (size_t)s->p->rt.nvar;
	if (!o->nmap) return PXL_OK;
	pxl_status st = check_rules(s->p, o);
	if (st != PXL_OK) return st;
	if ((s->maps = cx_alloc(cx, sizeof *s->maps))) {
		s->maps->folder = cx_alloc(cx, o->nmap * sizeof *s->maps->folder);
		s->maps->file = cx_alloc(cx, (nvar + 1) * sizeof *s->maps->file);
		s->maps->row = cx_alloc(cx, (nvar + 1) * sizeof *s->maps->row);
	}
	if (!s->maps || !s->maps->file || !s->maps->row || !s->maps->folder)
		return cx_fail(cx, PXL_ENOMEM, "out of memory");
	if ((st = open_folders(s, o)) != PXL_OK) return st;
	for (int i = 0; i < s->p->rt.nvar; i++) {
		const pxl_map *m = s->p->rt.vars[i].bytes ? find_rule(o, s->p->rt.vars[i].name) : NULL;
		if (m && map_variable(s, m, (size_t)(m - o->maps), i) != PXL_OK) return cx_fail_rt(cx, &s->err);
	}
	return PXL_OK;
}

void maps_use(const pxl_session *s, RtOptions *o)
{
	if (!s->maps) return;
	o->maps = s->maps->row;
	o->nmap = s->maps->n;
}

pxl_status maps_publish(pxl_session *s)
{
	for (int i = 0; s->maps && i < s->maps->n; i++)
		if (map_publish(&s->maps->file[i], &s->err)) return cx_fail_rt(s->p->m->cx, &s->err);
	if (s->maps) close_folders(s->maps);
	return PXL_OK;
}

void maps_close(pxl_session *s)
{
	pxl_ctx *cx = s->p->m->cx;
	if (!s->maps) return;
	for (int i = 0; i < s->maps->n; i++) map_close(&s->maps->file[i]);
	close_folders(s->maps);
	cx_free(cx, s->maps->folder);
	cx_free(cx, s->maps->file);
	cx_free(cx, s->maps->row);
	cx_free(cx, s->maps);
	s->maps = NULL;
}
