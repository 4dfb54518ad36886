/* cmd_task.c — `pxlc train` and `pxlc test`: a task of the file, its progress, its results. */
#include <string.h>

#include "compiler/pxlc/commands.h"

static pxl_task_options task_options(const Cli *c, const char *name, Progress *bar)
{
	pxl_task_options o = PXL_TASK_OPTIONS_INIT;
	o.task = c->task ? c->task : name;
	o.epochs = c->epochs;
	o.limit = c->limit;
	o.weights = c->weights;
	o.save = c->save;
	o.resume = c->resume;
	o.log = c->log;
	o.data_dir = c->data;
	o.program = host_program_options(c);
	o.session = host_session_options(c);
	o.progress = progress_show;
	o.progress_user = bar;
	return o;
}

static void json_metrics(const pxl_metric *m, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		printf(", ");
		json_string(stdout, m[i].name);
		printf(": ");
		json_number(stdout, m[i].value);
	}
}

static void put_json(const pxl_result *r, int is_test)
{
	printf("{\"task\": ");
	json_string(stdout, r->task);
	printf(", \"data\": \"%s\", \"steps\": %lld, \"samples\": %lld, \"seconds\": %.6f, \"it_per_s\": %.3f, \"samples_per_s\": %.3f, \"compile_ms\": %.3f",
	       r->data, (long long)r->steps, (long long)r->samples, r->seconds, r->it_per_s, r->samples_per_s, r->compile_ms);
	if (!is_test) {
		printf(", \"last_loss\": ");
		json_number(stdout, r->last_loss);
	}
	printf(", \"interrupted\": %s, \"saved\": ", r->interrupted ? "true" : "false");
	json_string(stdout, r->saved);
	json_metrics(r->report, r->nreport);
	if (!is_test) json_metrics(r->show, r->nshow);
	printf("}\n");
}

static void put_metrics(FILE *f, const pxl_metric *m, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		fprintf(f, "%s: ", m[i].name);
		print_number(f, m[i].value);
		fputc('\n', f);
	}
}

static void put_summary(FILE *f, const pxl_result *r)
{
	if (!r->steps && !r->interrupted) fprintf(f, "%s: nothing is left to do", r->task);
	else fprintf(f, "%s%s: %lld steps in %.2f s, %.2f it/s, %.0f samples/s", r->task, r->interrupted ? " (interrupted)" : "", (long long)r->steps,
	             r->seconds, r->it_per_s, r->samples_per_s);
	fprintf(f, ", data %s", r->data);
	for (size_t i = 0; i < r->nshow; i++) fprintf(f, ", %s %.4f", r->show[i].name, r->show[i].value);
	if (r->saved[0]) fprintf(f, ", saved %s", r->saved);
	fputc('\n', f);
}

static int run_task(Host *h, const char *name)
{
	Progress bar;
	const pxl_result *r = NULL;
	progress_begin(&bar, h->c);
	pxl_task_options o = task_options(h->c, name, &bar);
	pxl_status st = pxl_task_run(h->m, &o, &r);
	progress_end(&bar);
	if (st != PXL_OK && st != PXL_EINTR) return interrupted() ? EXIT_INTERRUPTED : host_fail(h, st);
	int is_test = !strcmp(name, "test");
	if (h->c->json) {
		put_json(r, is_test);
	} else {
		put_metrics(stdout, r->report, r->nreport);
		if (!h->c->quiet) put_summary(is_test ? stderr : stdout, r);
	}
	int code = finish_output();
	return code && st == PXL_OK ? code : exit_code(st);      /* a terminal that is gone takes no results: what it ended with counts */
}

static int task(Cli *c, const char *name)
{
	Host h;
	if (c->files.n != 1) return usage(c, "needs one model: pxlc %s FILE", name);
	int code = host_context(&h, c);
	if (!code) code = host_model(&h, c->files.at[0]);
	if (!code) code = run_task(&h, name);
	host_close(&h);
	return code;
}

int cmd_train(Cli *c) { return task(c, "train"); }
int cmd_test(Cli *c) { return task(c, "test"); }
