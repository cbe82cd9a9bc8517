/* SPDX-License-Identifier: MIT
 * pipeline: stages joined by channels. The slow last stage holds the fast first one back: no queue grows
 * beyond its capacity.
 *
 *     pipeline [--virtual] */
#include <bide.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { ITEMS = 6 };

static bide_time start;

struct stage {
	bide_chan *in, *out; /* NULL at the ends */
};

static void say(const char *what, int n)
{
	printf("%3d ms  %s %d\n", (int)((bide_now() - start) / BIDE_MSEC), what, n);
}

static void *produce(void *arg)
{
	struct stage *stage = arg;
	for (int n = 1; n <= ITEMS; n++) {
		if (bide_chan_send(stage->out, &n) < 0) /* suspends while the channel is full */
			return bide_fail(errno);
		say("made", n);
	}
	bide_chan_close(stage->out, 0);
	return NULL;
}

static void *square(void *arg)
{
	struct stage *stage = arg;
	int n;
	while (bide_chan_recv(stage->in, &n) == 0) {
		n *= n;
		if (bide_chan_send(stage->out, &n) < 0)
			return bide_fail(errno);
	}
	bide_chan_close(stage->out, 0); /* the end is passed on from stage to stage */
	return NULL;
}

static void *consume(void *arg)
{
	struct stage *stage = arg;
	int n;
	while (bide_chan_recv(stage->in, &n) == 0) {
		if (bide_sleep(10 * BIDE_MSEC) < 0)
			return bide_fail(errno);
		say("used", n);
	}
	return NULL;
}

static void *run(void *arg)
{
	bide_chan *numbers = bide_chan_new(sizeof(int), 1, 0, NULL);
	bide_chan *squares = bide_chan_new(sizeof(int), 1, 0, NULL);
	struct stage stages[] = { { NULL, numbers }, { numbers, squares }, { squares, NULL } };
	bide_group group = { { 0 } };
	(void)arg;
	start = bide_now();
	if (!numbers || !squares || bide_group_enter(&group, 0, 0) < 0)
		return bide_fail(errno);
	/* If one of them cannot be spawned, canceling the group ends the others. */
	if (!bide_group_spawn(&group, produce, &stages[0], NULL) ||
	    !bide_group_spawn(&group, square, &stages[1], NULL) ||
	    !bide_group_spawn(&group, consume, &stages[2], NULL))
		bide_group_cancel(&group, "a stage is missing");
	int left = bide_group_leave(&group); /* the stages are on this stack: they have ended now */
	int err = errno;
	bide_chan_unref(numbers);
	bide_chan_unref(squares);
	return left < 0 ? bide_fail(err) : NULL;
}

int main(int argc, char **argv)
{
	bide_config config = BIDE_CONFIG_INIT;
	bide_result result;
	if (argc > 1 && strcmp(argv[1], "--virtual") == 0)
		config.flags |= BIDE_VIRTUAL_CLOCK;
	if (bide_run(run, NULL, &config, &result) < 0 || result.err) {
		fprintf(stderr, "pipeline: %s\n", strerror(result.err));
		return 1;
	}
	return 0;
}
