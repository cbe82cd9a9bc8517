/* SPDX-License-Identifier: MIT
 * shutdown: a server that ends in good order: no new work, what runs may finish, what takes too long is
 * canceled and says goodbye.
 *
 *     shutdown [--virtual]
 *
 * Two clients are served when the order to stop comes at 50 ms. They have 100 ms to finish. */
#include <bide.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bide_time start;
static bide_group sessions;

static void say(const char *who, const char *what)
{
	printf("%3d ms  %s %s\n", (int)((bide_now() - start) / BIDE_MSEC), who, what);
}

/* Deferred calls are shielded: they may suspend although the task is canceled. */
static void say_goodbye(void *arg)
{
	if (bide_sleep(5 * BIDE_MSEC) == 0) /* stands for a last write to the client */
		say(arg, "said goodbye");
}

static void *session(void *arg)
{
	const char *who = arg;
	int ms = strcmp(who, "quick") == 0 ? 80 : 10000;
	if (bide_defer(say_goodbye, arg) < 0)
		return bide_fail(errno);
	say(who, "is served");
	if (bide_sleep(ms * BIDE_MSEC) < 0) {
		say(who, bide_cancel_reason()); /* why it was canceled */
		return bide_fail(errno);
	}
	say(who, "was served");
	return NULL;
}

/* Waits for the sessions until the grace is over; then they are canceled. */
static int drain(bide_time grace)
{
	bide_scope scope = { { 0 } };
	if (bide_scope_enter(&scope, bide_after(grace), 0) < 0)
		return -1;
	bide_result ended;
	while (bide_group_next(&sessions, NULL, &ended) == 0)
		;
	return bide_scope_leave(&scope);
}

static void *run(void *arg)
{
	(void)arg;
	start = bide_now();
	if (bide_group_enter(&sessions, 0, BIDE_KEEP_GOING | BIDE_COLLECT) < 0)
		return bide_fail(errno);
	bool spawned = bide_group_spawn(&sessions, session, "quick", NULL) &&
	    bide_group_spawn(&sessions, session, "slow", NULL);
	if (spawned && bide_sleep(50 * BIDE_MSEC) == 0) {
		say("server", "is told to stop");
		if (drain(100 * BIDE_MSEC) < 0)
			say("server", "waits no longer");
	}
	bide_group_cancel(&sessions, "is canceled by the server");
	if (bide_group_leave(&sessions) < 0)
		return bide_fail(errno);
	say("server", "ends");
	return NULL;
}

int main(int argc, char **argv)
{
	bide_config config = BIDE_CONFIG_INIT;
	bide_result result;
	if (argc > 1 && strcmp(argv[1], "--virtual") == 0)
		config.flags |= BIDE_VIRTUAL_CLOCK;
	if (bide_run(run, NULL, &config, &result) < 0 || result.err) {
		fprintf(stderr, "shutdown: %s\n", strerror(result.err));
		return 1;
	}
	return 0;
}
