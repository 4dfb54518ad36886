/* progress.c — the progress line of a task: one line rewritten on a terminal, as wide as that is, plain lines elsewhere. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
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

/* --- the line ------------------------------------------------------------------------------------------------- */
/* How much of the line there is room for; the less, the higher: a bar of 10, of 5, none; then no rate, no times. */
enum { LINE_WHOLE, LINE_SHORT_BAR, LINE_NO_BAR, LINE_NO_RATE, LINE_NO_TIME, LINE_FORMS };
enum { LINE_BYTES = 4096 };

/* bytes of the character at s; *cells: the columns that it takes on a terminal */
static int character(const char *s, int *cells)
{
	unsigned char first = (unsigned char)*s;
	int n = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	long c = n == 1 ? first : first & (0xff >> (n + 1));
	for (int i = 1; i < n; i++) {
		if (((unsigned char)s[i] & 0xc0) != 0x80) return *cells = 1;
		c = c << 6 | ((unsigned char)s[i] & 0x3f);
	}
	int none = (c >= 0x300 && c <= 0x36f) || (c >= 0x200b && c <= 0x200f);
	int wide = (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) || (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
	           (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) || (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x3fffd);
	*cells = none ? 0 : wide ? 2 : 1;
	return n;
}

/* how many bytes of the text fit in so many columns; what it takes of them in *used */
static int fitting(const char *text, int columns, int *used)
{
	int at = 0, cells;
	*used = 0;
	while (text[at]) {
		int n = character(text + at, &cells);
		if (*used + cells > columns) break;
		*used += cells;
		at += n;
	}
	return at;
}

/* names come from the model: nothing in them moves the cursor */
static void put_name(char *out, size_t size, const char *name)
{
	size_t n = 0;
	for (; name[n] && n + 1 < size; n++) {
		unsigned char c = (unsigned char)name[n];
		out[n] = c < 0x20 || c == 0x7f ? '?' : n == 0 && c >= 'a' && c <= 'z' ? (char)(c - 32) : (char)c;
	}
	out[n] = 0;
}

static void metrics_text(const pxl_progress *now, size_t count, char *out, size_t size)
{
	char name[256];
	size_t n = 0;
	out[0] = 0;
	for (size_t i = 0; i < count && n < size; i++) {
		put_name(name, sizeof name, now->metrics[i].name);
		n += (size_t)snprintf(out + n, size - n, "%s%s:%0.4f", i ? " " : "", name, now->metrics[i].value);
	}
}

/* Loss:0.0270: 100%|██████████| 7500/7500 [00:24<00:00, 306.92it/s] */
static void line_text(const pxl_progress *now, int form, size_t nmetric, char *out, size_t size)
{
	char metrics[LINE_BYTES / 2], spent[24], left[24], bar[64] = "", times[96] = "";
	double part = now->steps ? (double)now->step / (double)now->steps : 1;
	int blocks = form == LINE_WHOLE ? 10 : form == LINE_SHORT_BAR ? 5 : 0;
	metrics_text(now, nmetric, metrics, sizeof metrics);
	clock_text(now->seconds, spent);
	clock_text(now->it_per_s > 0 ? (double)(now->steps - now->step) / now->it_per_s : NAN, left);
	for (int i = 0; i < blocks; i++) strcat(bar, i < (int)(part * blocks + 1e-9) ? "█" : " ");
	if (form < LINE_NO_RATE) snprintf(times, sizeof times, " [%s<%s, %.2fit/s]", spent, left, now->it_per_s);
	else if (form < LINE_NO_TIME) snprintf(times, sizeof times, " [%s<%s]", spent, left);
	snprintf(out, size, "%s%s%3.0f%%%s%s%s %lld/%lld%s", metrics, metrics[0] ? ": " : "", floor(part * 100), blocks ? "|" : "", bar, blocks ? "|" : "",
	         (long long)now->step, (long long)now->steps, times);
}

/* The most that fits in so many columns: a shorter form, then fewer metrics, then the beginning of what is left. */
static void line_for(const pxl_progress *now, int columns, char *out, size_t size)
{
	int used;
	size_t n = now->nmetric;
	for (int form = LINE_WHOLE; form < LINE_FORMS; form++) {
		line_text(now, form, n, out, size);
		if (!out[fitting(out, columns, &used)]) return;
	}
	while (n > 0) {
		line_text(now, LINE_NO_TIME, --n, out, size);
		if (!out[fitting(out, columns, &used)]) return;
	}
	out[fitting(out, columns, &used)] = 0;
}

/* asked for each line, so that a window may change its size; the last column stays free, where some terminals wrap */
static int columns_of(int fd)
{
	struct winsize w;
	const char *env = getenv("COLUMNS");
	long n = ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col ? w.ws_col : env ? strtol(env, NULL, 10) : 0;
	if (n <= 0 || n > LINE_BYTES / 4) n = n > 0 ? LINE_BYTES / 4 : 80;
	return (int)n - 1;
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
	char line[LINE_BYTES];
	if (p->quiet) return stop;
	banner(p, now);
	if (p->tty) {
		line_for(now, columns_of(fileno(p->f)), line, sizeof line);
		fprintf(p->f, "\r%s\033[K%s", line, now->epoch_done ? "\n" : "");
		p->width = !now->epoch_done;
	} else {
		int tenth = now->steps ? (int)(now->step * 10 / now->steps) : 10;
		if (now->epoch_done || (tenth != p->tenth && tenth < 10 && now->seconds - p->last >= 1)) {
			line_text(now, LINE_NO_BAR, now->nmetric, line, sizeof line);
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
