/* SPDX-License-Identifier: MIT
 * shell_pipe: programs joined by pipes, as a shell does it; fed, read and waited for beside other tasks.
 *     shell_pipe                     which words are in a text: sort, uniq -c, sort -k1,1rn -k2
 *     shell_pipe 'PROGRAM ARGUMENT...'...
 * The result is on the standard output; which programs failed, and how, on the standard error. */
#define _GNU_SOURCE /* pipe2, strsep */
#include <bide.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h> /* WIFEXITED and its relatives, too */
#include <string.h>
#include <unistd.h>

enum { STAGES_MAX = 16, WORDS_MAX = 16 };

static const char text[] = "to\nbe\nor\nnot\nto\nbe\nthat\nis\nthe\nquestion\n";

struct stage {
	char *words[WORDS_MAX + 1]; /* the program and its arguments */
	pid_t pid;
	int status; /* as waitpid(2) has it */
};

static void split(struct stage *stage, char *line)
{
	for (int i = 0; i < WORDS_MAX && (stage->words[i] = strsep(&line, " ")) != NULL; i++)
		;
}

/* Between two programs is an ordinary pipe, whose reads and writes block, as programs expect it: `*in` is where
 * this one reads, and then where the next one does. At the two ends are those of BIDE_PROC_PIPE, for us. */
static int start(struct stage *stage, int *in, int is_last, bide_proc *ends)
{
	bide_proc_opts opts = BIDE_PROC_OPTS_INIT;
	int between[2] = { -1, BIDE_PROC_PIPE };
	bide_proc proc;

	opts.file = stage->words[0];
	opts.argv = stage->words;
	opts.in = *in;
	int result = is_last ? 0 : pipe2(between, O_CLOEXEC);
	opts.out = between[1];
	if (result == 0 && (result = bide_proc_spawn(&opts, &proc)) == 0)
		*ends = (bide_proc){ stage->pid = proc.pid, proc.in >= 0 ? proc.in : ends->in, proc.out, -1 };
	else
		fprintf(stderr, "shell_pipe: %s: %s\n", opts.file, strerror(errno));
	close(*in); /* our copies would keep a pipe open when its program has ended */
	close(between[1]);
	*in = between[0];
	return result;
}

static int failed(const struct stage *stage)
{
	int number = WTERMSIG(stage->status);

	if (stage->status != 0)
		fprintf(stderr, "shell_pipe: %s: %s %d\n", stage->words[0], number ? "signal" : "exit status",
		    number ? number : WEXITSTATUS(stage->status));
	return stage->status != 0;
}

/* If one cannot be started, those before it lose their reader, and end; each is waited for all the same. Both
 * ends are served at once, since a program may want to be rid of output before it reads on. */
static void *run(void *arg)
{
	struct stage stages[STAGES_MAX] = { 0 };
	bide_proc ends = { .in = -1, .out = -1, .err = -1 };
	bide_proc_output output = { .out = NULL };
	int in = BIDE_PROC_PIPE, count = 0, bad = 0;

	for (char **line = arg; *line != NULL && bad == 0; count += bad == 0) {
		split(&stages[count], *line++);
		bad = start(&stages[count], &in, *line == NULL, &ends);
	}
	close(in);
	if (count > 0 && bide_proc_communicate(&ends, text, strlen(text), 1 << 20, &output) == 0) {
		fwrite(output.out ? output.out : "", 1, output.out_size, stdout);
		stages[--count].status = output.status; /* it has been waited for */
		bad |= failed(&stages[count]);
	} else if (count > 0)
		bad = fprintf(stderr, "shell_pipe: %s\n", strerror(errno));
	free(output.out);
	while (count-- > 0)
		if (bide_proc_wait(stages[count].pid, &stages[count].status) < 0 || failed(&stages[count]))
			bad = 1;
	return bad ? bide_fail(ECHILD) : NULL;
}

int main(int argc, char **argv)
{
	char lines[3][20] = { "sort", "uniq -c", "sort -k1,1rn -k2" };
	char *usual[] = { lines[0], lines[1], lines[2], NULL };

	if (argc > STAGES_MAX + 1)
		return fprintf(stderr, "shell_pipe: at most %d programs\n", STAGES_MAX), 2;
	return bide_run(run, argc > 1 ? argv + 1 : usual, NULL, NULL) < 0;
}
