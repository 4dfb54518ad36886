/* progress.c — the progress line of a task: one line rewritten on a terminal, plain lines elsewhere. */
#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "compiler/pxlc/cli.h"

static volatile sig_atomic_t stop;

/* the first Ctrl-C asks the task to stop and save; the second ends at once */
static void on_signal(int sig)
{
	stop = 1;
	signal(sig, SIG_DFL);
}

int interrupted(void) { return stop; }

/* those that ask a process to end: Ctrl-C, kill, and a terminal that is closed */
static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
enum { NSIGNAL = sizeof signals / sizeof *signals };

/* under nohup SIGHUP is ignored from the start, and stays so */
static int is_ignored(int sig)
{
	struct sigaction now;
	return sig == SIGHUP && !sigaction(sig, NULL, &now) && now.sa_handler == SIG_IGN;
}

void interrupts_begin(void)
{
	for (int i = 0; i < NSIGNAL; i++)
		if (!is_ignored(signals[i])) signal(signals[i], on_signal);
}

void interrupts_end(void)
{
	for (int i = 0; i < NSIGNAL; i++)
		if (!is_ignored(signals[i])) signal(signals[i], SIG_DFL);
}

void progress_begin(Progress *p, const Cli *c)
{
	*p = (Progress){ .f = stderr, .quiet = c->quiet, .tty = isatty(2), .tenth = -1 };
	interrupts_begin();
}

static void clock_text(double seconds, char out[24])
{
	if (!(seconds >= 0) || seconds > 360000) snprintf(out, 24, "?");
	else if (seconds >= 3600) snprintf(out, 24, "%d:%02d:%02d", (int)seconds / 3600, (int)seconds / 60 % 60, (int)seconds % 60);
	else snprintf(out, 24, "%02d:%02d", (int)seconds / 60, (int)seconds % 60);
}

static int metrics_text(const pxl_progress *now, char *out, int size)
{
	int n = 0;
	for (size_t i = 0; i < now->nmetric && n < size; i++) {
		int c = now->metrics[i].name[0];
		n += snprintf(out + n, (size_t)(size - n), "%s%c%s:%0.4f", i ? " " : "", c >= 'a' && c <= 'z' ? c - 32 : c, now->metrics[i].name + 1,
		              now->metrics[i].value);
	}
	return n < size ? n : size - 1;
}

/* Loss:0.0270: 100%|██████████| 7500/7500 [00:24<00:00, 306.92it/s] */
static void line_text(const pxl_progress *now, int bar, char *out, size_t size)
{
	char metrics[512], spent[24], left[24], blocks[64] = "";
	double part = now->steps ? (double)now->step / (double)now->steps : 1;
	metrics[metrics_text(now, metrics, sizeof metrics)] = 0;
	clock_text(now->seconds, spent);
	clock_text(now->it_per_s > 0 ? (double)(now->steps - now->step) / now->it_per_s : NAN, left);
	for (int i = 0; bar && i < 10; i++) strcat(blocks, i < (int)(part * 10 + 1e-9) ? "█" : " ");
	snprintf(out, size, "%s%s%3.0f%%%s%s%s %lld/%lld [%s<%s, %.2fit/s]", metrics, metrics[0] ? ": " : "", floor(part * 100), bar ? "|" : "", blocks,
	         bar ? "|" : "", (long long)now->step, (long long)now->steps, spent, left, now->it_per_s);
}

static void banner(Progress *p, const pxl_progress *now)
{
	if (p->epoch == now->epoch) return;
	p->epoch = (int)now->epoch;
	p->tenth = -1;
	p->last = 0;
	fprintf(p->f, "Epoch %lld/%lld\n", (long long)now->epoch, (long long)now->epochs);
}

int progress_show(void *user, const pxl_progress *now)
{
	Progress *p = user;
	char line[1024];
	if (p->quiet) return stop;
	banner(p, now);
	line_text(now, p->tty, line, sizeof line);
	if (p->tty) {
		fprintf(p->f, "\r%s\033[K%s", line, now->epoch_done ? "\n" : "");
		p->width = !now->epoch_done;
	} else {
		int tenth = now->steps ? (int)(now->step * 10 / now->steps) : 10;
		if (now->epoch_done || (tenth != p->tenth && tenth < 10 && now->seconds - p->last >= 1)) {
			fprintf(p->f, "%s\n", line);
			p->tenth = tenth;
			p->last = now->seconds;
		}
	}
	fflush(p->f);
	return stop;
}

void progress_end(Progress *p)
{
	if (p->width) fputc('\n', p->f);
	interrupts_end();
}
