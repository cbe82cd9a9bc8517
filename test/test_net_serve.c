/* SPDX-License-Identifier: MIT
 * bide_serve(): who is served, who waits, what happens at the limits and at the end. Statement 171,
 * scenarios C5, F17, F19. */
#include <netinet/in.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "counted_calls.h"
#include "resources.h"
#include "runs.h"
#include "sched/loop.h"
#include "sockets.h"
#include "suite.h"

/* ---- a server in a task ----------------------------------------------------------------------------------- */

struct server {
	int listener;
	struct sockaddr_in address;
	void (*handler)(int fd, void *arg);
	bide_serve_opts opts;
	bide_task *task;
	int entered, ended, most; /* handlers */
	int err;                  /* of bide_serve(), which always returns -1 */
};

static void *serve(void *arg)
{
	struct server *server = arg;
	must(bide_serve(server->listener, server->handler, server, &server->opts) == -1);
	server->err = errno;
	return NULL;
}

static void start(struct server *server, void (*handler)(int fd, void *arg))
{
	if (!server->opts.size)
		server->opts = (bide_serve_opts)BIDE_SERVE_OPTS_INIT;
	server->listener = plain_listener(64, &server->address);
	server->handler = handler;
	server->task = must_spawn(serve, server);
	turns(2);
}

static void must_end(struct server *server, int err)
{
	join_within(server->task, LONG);
	must_msg(server->err == err, "ended by %s", strerror(server->err));
	must(server->entered == server->ended);
}

static void stop(struct server *server)
{
	must(bide_cancel(server->task, NULL) == 0);
	must_end(server, ECANCELED);
	if (is_open(server->listener))
		must(bide_close(server->listener) == 0);
}

static void enter(struct server *server)
{
	server->entered++;
	if (server->entered - server->ended > server->most)
		server->most = server->entered - server->ended;
}

/* Until the peer ends. */
static void echo(int fd, void *arg)
{
	struct server *server = arg;
	char buf[16];
	ssize_t count;
	enter(server);
	while ((count = bide_recv(fd, buf, sizeof buf, 0)) > 0)
		if (bide_write_all(fd, buf, (size_t)count, NULL) < 0)
			break;
	server->ended++;
}

/* A client of this loop: one word there and back. */
static void must_be_served(int client)
{
	char buf[8];
	must(bide_write_all(client, "word", 4, NULL) == 4 && bide_read_exact(client, buf, 4, NULL) == 4);
}

static int connect_to(const struct server *server)
{
	int fd = plain_connection(&server->address);
	set_nonblocking(fd, true);
	return fd;
}

/* Until it holds; fails the test if it does not for long. Each step of a virtual clock takes real time too. */
#define WAIT_FOR(condition) WAIT_IN_STEPS(BIDE_MSEC, condition)
#define WAIT_IN_STEPS(step, condition)                                                             \
	do {                                                                                           \
		bide_time limit_ = clock_monotonic() + LONG;                                               \
		while (!(condition)) {                                                                     \
			must_msg(clock_monotonic() < limit_, "%s does not come true", #condition);             \
			must(bide_sleep(step) == 0);                                                           \
		}                                                                                          \
	} while (0)

/* ---- serving ------------------------------------------------------------------------------------------------ */

static void *serves(void *arg)
{
	struct server server = { .err = 0 };
	int clients[40], before = count_fds();
	char byte;
	(void)arg;
	start(&server, echo);
	for (int i = 0; i < 40; i++)
		clients[i] = connect_to(&server);
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < 40; i++)
			must_be_served(clients[i]);
	must(server.entered == 40 && server.ended == 0);
	for (int i = 0; i < 40; i++) {
		must(bide_shutdown(clients[i], SHUT_WR) == 0 && bide_recv(clients[i], &byte, 1, 0) == 0);
		must(bide_close(clients[i]) == 0);
	}
	must(server.ended == 40);
	stop(&server);
	must(count_fds() == before);
	return NULL;
}

START_TEST(each_connection_has_a_handler_and_is_closed_after_it)
{
	counted.modify_is_mute = true;
	run_real(serves, NULL);
}
END_TEST

static void leave_at_once(int fd, void *arg)
{
	(void)fd;
	enter(arg);
	((struct server *)arg)->ended++;
}

/* The only handler may have ended before the server, which lets others run now and then, waits for it. */
static void *served_one_by_one(void *arg)
{
	struct server server = { .opts = { sizeof server.opts, 1, 0, BIDE_SEC } };
	int clients[10];
	(void)arg;
	start(&server, leave_at_once);
	for (int i = 0; i < 10; i++)
		clients[i] = connect_to(&server);
	WAIT_FOR(server.ended == 10);
	for (int i = 0; i < 10; i++)
		close(clients[i]);
	stop(&server);
	return NULL;
}

START_TEST(a_handler_that_ends_at_once_does_not_stop_a_server_at_its_limit)
{
	run_real(served_one_by_one, NULL);
}
END_TEST

static void *limited(void *arg)
{
	struct server server = { .opts = { sizeof server.opts, 3, 0, 0 } };
	int clients[10];
	(void)arg;
	start(&server, echo);
	for (int i = 0; i < 10; i++)
		clients[i] = connect_to(&server);
	for (int i = 0; i < 3; i++)
		must_be_served(clients[i]);
	must(server.entered == 3);
	for (int i = 0; i < 10; i++) { /* in the order in which they came */
		must_be_served(clients[i]);
		must(server.entered == (i < 7 ? i + 3 : 10));
		must(bide_close(clients[i]) == 0);
		if (i < 7)
			WAIT_FOR(server.entered == i + 4);
	}
	must(server.most == 3);
	stop(&server);
	return NULL;
}

START_TEST(beyond_the_limit_connections_wait_for_their_turn)
{
	run_real(limited, NULL);
}
END_TEST

/* ---- whose descriptor it is ------------------------------------------------------------------------------------ */

static int kept;

static void close_it(int fd, void *arg)
{
	struct server *server = arg;
	int next[2];
	enter(server);
	must(bide_close(fd) == 0);
	must(pipe(next) == 0 && next[0] == fd); /* the number is another one's when the handler ends */
	kept = next[0];
	close(next[1]);
	server->ended++;
}

static void keep_it(int fd, void *arg)
{
	struct server *server = arg;
	enter(server);
	must(bide_fd_forget(fd) == 0);
	kept = fd;
	server->ended++;
}

static void say_goodbye(void *arg)
{
	int fd = *(int *)arg;
	must(bide_send(fd, "bye", 3, 0) == 3);
}

static int goodbye_fd;

static void exit_it(int fd, void *arg)
{
	struct server *server = arg;
	enter(server);
	goodbye_fd = fd;
	must(bide_defer(say_goodbye, &goodbye_fd) == 0);
	server->ended++;
	bide_exit(NULL);
}

static void *endings(void *arg)
{
	void (*const handlers[])(int, void *) = { close_it, keep_it, exit_it };
	int which = *(int *)arg, before = count_fds();
	struct server server = { .err = 0 };
	char buf[8];
	start(&server, handlers[which]);
	kept = -1;
	int client = connect_to(&server);
	WAIT_FOR(server.ended == 1);
	must(bide_yield() == 0);
	if (which == 1) {
		must(is_open(kept) && bide_send(kept, "x", 1, 0) == 1 && bide_recv(client, buf, 8, 0) == 1);
	} else if (which == 2) {
		must(bide_read_exact(client, buf, 3, NULL) == 3 && memcmp(buf, "bye", 3) == 0);
	}
	must(kept < 0 || (is_open(kept) && bide_close(kept) == 0));
	must(bide_recv(client, buf, 8, 0) == 0 && bide_close(client) == 0);
	stop(&server);
	must(count_fds() == before);
	return NULL;
}

START_TEST(a_handler_may_close_keep_or_exit)
{
	run_real(endings, &_i);
}
END_TEST

/* ---- the end ------------------------------------------------------------------------------------------------------ */

/* Ends when its peer says so, or is canceled. */
static void slow(int fd, void *arg)
{
	struct server *server = arg;
	char byte;
	enter(server);
	if (bide_recv(fd, &byte, 1, 0) < 0 && errno == ECANCELED && bide_cancel_reason())
		server->most = -1;
	server->ended++;
}

static void *drains(void *arg)
{
	struct server server = { .opts = { sizeof server.opts, 0, BIDE_SERVE_CLOSE, BIDE_SEC } };
	(void)arg;
	int before = count_fds();
	start(&server, slow);
	int clients[3] = { connect_to(&server), connect_to(&server), connect_to(&server) };
	WAIT_FOR(server.entered == 3);
	bide_time begin = bide_now();
	must(bide_cancel(server.task, "enough") == 0);
	must(bide_sleep(BIDE_MSEC) == 0);
	must(!is_open(server.listener) && server.ended == 0);
	int late = socket(AF_INET, SOCK_STREAM, 0);
	must(connect(late, (void *)&server.address, sizeof server.address) < 0 && errno == ECONNREFUSED);
	close(late);
	must_write(clients[0], "x", 1);
	must_write(clients[1], "x", 1);
	WAIT_FOR(server.ended == 2);
	must(server.most == 3 && bide_task_state(server.task) != BIDE_TASK_DONE);
	must_end(&server, ECANCELED);
	must(server.most == -1); /* the third one was canceled, after a second */
	must(bide_now() - begin >= BIDE_SEC);
	for (int i = 0; i < 3; i++)
		close(clients[i]);
	must(count_fds() == before);
	return NULL;
}

START_TEST(handlers_have_time_to_end_and_are_canceled_then)
{
	run_virtual(drains, NULL);
}
END_TEST

static void *drains_early(void *arg)
{
	struct server server = { .opts = { sizeof server.opts, 0, 0, 3600 * BIDE_SEC } };
	(void)arg;
	start(&server, slow);
	int client = connect_to(&server);
	WAIT_FOR(server.entered == 1);
	bide_time begin = bide_now();
	must(bide_cancel(server.task, NULL) == 0);
	must(bide_sleep(BIDE_MSEC) == 0);
	int late = connect_to(&server); /* into the backlog, which is the caller's */
	must_write(client, "x", 1);
	must_end(&server, ECANCELED);
	must(bide_now() - begin < 3600 * BIDE_SEC && server.entered == 1);
	must(is_open(server.listener));
	int fd = bide_accept(server.listener, NULL, NULL);
	must(fd >= 0 && bide_close(fd) == 0 && bide_close(server.listener) == 0);
	close(client);
	close(late);
	return NULL;
}

START_TEST(a_drain_ends_with_the_last_handler)
{
	run_virtual(drains_early, NULL);
}
END_TEST

static void *ends_at_once(void *arg)
{
	struct server server = { .err = 0 };
	(void)arg;
	start(&server, slow);
	int client = connect_to(&server);
	WAIT_FOR(server.entered == 1);
	bide_time begin = bide_now();
	stop(&server);
	must(server.most == -1 && bide_now() == begin);
	close(client);
	return NULL;
}

START_TEST(without_a_drain_handlers_are_canceled_at_once)
{
	run_virtual(ends_at_once, NULL);
}
END_TEST

/* Statement 40 for owning calls: what has been accepted in that turn is closed. */
static void *canceled_at_any_moment(void *arg)
{
	(void)arg;
	int before = count_fds();
	for (int i = 0; i < 12; i++) {
		struct server server = { .opts = { sizeof server.opts, i % 3, 0, i % 2 } };
		server.listener = plain_listener(64, &server.address);
		server.handler = slow;
		server.task = must_spawn(serve, &server);
		int clients[4];
		for (int c = 0; c < 4; c++)
			clients[c] = connect_to(&server);
		turns(i);
		must(bide_cancel(server.task, NULL) == 0);
		bide_result result = join_within(server.task, LONG);
		must(server.entered == server.ended && (server.err == ECANCELED || (server.entered == 0 && result.err == ECANCELED)));
		must(bide_close(server.listener) == 0);
		for (int c = 0; c < 4; c++)
			close(clients[c]);
		must(count_fds() == before);
	}
	return NULL;
}

START_TEST(canceled_at_any_moment_it_leaves_nothing_open)
{
	run_real(canceled_at_any_moment, NULL);
}
END_TEST

/* The second accept fails in the slice in which the first connection has come. */
static void *fails_at_once(void *arg)
{
	struct server server = { .opts = BIDE_SERVE_OPTS_INIT, .handler = echo };
	char byte;
	(void)arg;
	int before = count_fds();
	server.listener = plain_listener(4, &server.address);
	int client = connect_to(&server);
	must(bide_fault("accept:EPERM@2") == 0);
	undisturbed();
	ck_fails(bide_serve(server.listener, echo, &server, &server.opts), EPERM);
	must(bide_fault(NULL) == 0 && server.entered == 0);
	must(bide_recv(client, &byte, 1, 0) == 0 && bide_close(client) == 0 && bide_close(server.listener) == 0);
	must(count_fds() == before);
	return NULL;
}

START_TEST(a_connection_whose_handler_never_ran_is_closed)
{
	run_real(fails_at_once, NULL);
}
END_TEST

static void *closed_listener(void *arg)
{
	struct server server = { .opts = { sizeof server.opts, *(int *)arg ? 1 : 0, BIDE_SERVE_CLOSE, BIDE_SEC } };
	int next[2];
	start(&server, slow);
	int client = connect_to(&server);
	WAIT_FOR(server.entered == 1);
	must(bide_close(server.listener) == 0);
	must(pipe(next) == 0 && next[0] == server.listener); /* another file's, which is left alone */
	must_write(client, "x", 1);
	must_end(&server, EBADF);
	must(is_open(next[0]));
	close_pair(next);
	close(client);
	return NULL;
}

/* While it accepts, and while it waits for one of its handlers. */
START_TEST(closing_the_listener_ends_it)
{
	run_virtual(closed_listener, &_i);
}
END_TEST

static void *in_a_scope(void *arg)
{
	struct server server = { .opts = BIDE_SERVE_OPTS_INIT };
	bide_scope scope = { { 0 } };
	(void)arg;
	server.listener = plain_listener(4, &server.address);
	must(bide_scope_enter(&scope, bide_after(BIDE_SEC), 0) == 0);
	ck_fails(bide_serve(server.listener, echo, &server, NULL), ETIMEDOUT);
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	must(bide_close(server.listener) == 0);
	return NULL;
}

START_TEST(a_deadline_ends_it)
{
	run_virtual(in_a_scope, NULL);
}
END_TEST

/* ---- at the limits -------------------------------------------------------------------------------------------------- */

static struct reports reports;

static void run_reported(bide_fn *main_fn, unsigned flags, unsigned max_tasks)
{
	memset(&reports, 0, sizeof reports);
	bide_config config = config_with(flags, &reports);
	config.flags &= ~BIDE_VIRTUAL_CLOCK | flags;
	config.max_tasks = max_tasks;
	bide_result result;
	ck_assert_int_eq(bide_run(main_fn, NULL, &config, &result), 0);
	ck_assert_int_eq(result.err, 0);
}

static const struct {
	const char *name;
	int err;
} shortages[] = { { "EMFILE", EMFILE }, { "ENFILE", ENFILE }, { "ENOBUFS", ENOBUFS }, { "ENOMEM", ENOMEM } };
static const char *shortage;

static void *backs_off(void *arg)
{
	struct server server = { .err = 0 };
	char spec[32];
	(void)arg;
	start(&server, echo);
	int old = connect_to(&server);
	WAIT_FOR(server.entered == 1);
	bide_time begin = bide_now();
	snprintf(spec, sizeof spec, "accept:%s", shortage);
	must(bide_fault(spec) == 0);
	int client = connect_to(&server);
	must(bide_sleep(1) == 0);
	uint64_t turn = loop_current->ready.turn;
	must(bide_sleep(10 * BIDE_SEC) == 0);
	must(loop_current->ready.turn - turn < 100 && server.entered == 1); /* a few, in ten seconds */
	must(bide_fault(NULL) == 0);
	WAIT_IN_STEPS(50 * BIDE_MSEC, server.entered == 2);
	must(bide_now() - begin < 12 * BIDE_SEC);
	/* A handler that ends is a reason to try before the second is over. */
	must(bide_fault(spec) == 0);
	int late = connect_to(&server);
	must(bide_sleep(100 * BIDE_MSEC) == 0 && bide_fault(NULL) == 0 && server.entered == 2);
	begin = bide_now();
	close(old);
	WAIT_IN_STEPS(20 * BIDE_MSEC, server.entered == 3);
	must(bide_now() - begin < 500 * BIDE_MSEC);
	stop(&server);
	close(client);
	close(late);
	return NULL;
}

/* Statement 171, scenario F17. */
START_TEST(without_a_descriptor_it_backs_off_and_recovers)
{
	shortage = shortages[_i].name;
	run_reported(backs_off, BIDE_VIRTUAL_CLOCK, 0);
	ck_assert_int_ge(reports.count[BIDE_REPORT_LIMIT], 1);
	ck_assert_ptr_nonnull(strstr(reports.text[BIDE_REPORT_LIMIT], strerror(shortages[_i].err)));
}
END_TEST

static void *at_the_real_limit(void *arg)
{
	struct server server = { .err = 0 };
	struct rlimit limit, low;
	int clients[30], taken[200], count = 0, fd;
	(void)arg;
	start(&server, echo);
	for (int i = 0; i < 30; i++)
		clients[i] = connect_to(&server);
	must_be_served(clients[29]); /* all have a handler */
	int late[10];
	for (int i = 0; i < 10; i++)
		late[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	must(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	low = limit;
	low.rlim_cur = 200;
	must(setrlimit(RLIMIT_NOFILE, &low) == 0);
	while ((fd = dup(server.listener)) >= 0)
		taken[count++] = fd;
	for (int i = 0; i < 10; i++)
		must(bide_connect(late[i], (void *)&server.address, sizeof server.address) == 0);
	int tries = counted.accept;
	bide_time begin = clock_monotonic();
	for (int round = 0; clock_monotonic() - begin < 300 * BIDE_MSEC; round++) {
		must_be_served(clients[round % 30]); /* who is there goes on */
		must(bide_sleep(5 * BIDE_MSEC) == 0);
	}
	must(server.entered == 30);
	must(counted.accept - tries <= 2 + (clock_monotonic() - begin) / BIDE_SEC); /* once a second: nothing spins */
	for (int i = 0; i < 10; i++) /* a client leaves, and another one comes, at once */
		must(bide_shutdown(clients[i], SHUT_WR) == 0);
	for (int i = 0; i < 10; i++)
		must_be_served(late[i]);
	must(server.entered == 40);
	while (count > 0)
		close(taken[--count]);
	must(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	stop(&server);
	for (int i = 0; i < 30; i++)
		close(clients[i]);
	for (int i = 0; i < 10; i++)
		close(late[i]);
	return NULL;
}

/* Scenario F17. */
START_TEST(at_the_descriptor_limit_who_is_there_is_served_and_who_comes_waits)
{
	if (suite_is_under("valgrind"))
		return;
	run_reported(at_the_real_limit, 0, 0);
	ck_assert_int_ge(reports.count[BIDE_REPORT_LIMIT], 1);
	ck_assert_int_le(reports.count[BIDE_REPORT_LIMIT], 3 * suite_scale());
}
END_TEST

static void *some_cannot_be_handled(void *arg)
{
	struct server server = { .err = 0 };
	int served = 0, refused = 0, before = count_fds();
	(void)arg;
	start(&server, echo);
	for (int i = 0; i < 60; i++) {
		char buf[4], spec[32];
		int client = connect_to(&server);
		snprintf(spec, sizeof spec, "malloc:ENOMEM@%d", i % 6 + 1);
		must(bide_fault(spec) == 0);
		ssize_t sent = bide_send(client, "word", 4, 0);
		ssize_t count = sent == 4 ? bide_recv(client, buf, 4, 0) : -1;
		must(bide_fault(NULL) == 0);
		if (count == 4)
			served++;
		else
			refused++; /* it sees the end, or a reset: no hang */
		must(bide_close(client) == 0);
		turns(3);
	}
	must(served > 0 && refused > 0);
	WAIT_FOR(server.entered == server.ended);
	must(server.entered <= 60);
	stop(&server);
	must(count_fds() == before);
	return NULL;
}

/* Scenario F19. */
START_TEST(a_connection_without_memory_for_its_handler_is_closed)
{
	run_reported(some_cannot_be_handled, 0, 0);
	ck_assert_int_ge(reports.count[BIDE_REPORT_LIMIT], 1);
	ck_assert_int_eq(reports.count[BIDE_REPORT_FAILURE], 0);
}
END_TEST

/* How many are in the backlog: they are taken out of it. */
static int count_backlog(int listener)
{
	int count = 0;
	for (int fd; (fd = accept(listener, NULL, NULL)) >= 0; count++)
		must(bide_close(fd) == 0);
	return count;
}

/* main, the server and two handlers: the others wait, unseen, and come when a handler ends. */
static void *too_many_tasks(void *arg)
{
	struct server server = { .err = 0 };
	int clients[4], others[4];
	(void)arg;
	start(&server, echo);
	for (int i = 0; i < 4; i++)
		clients[i] = connect_to(&server);
	must_be_served(clients[0]);
	must_be_served(clients[1]);
	turns(20);
	must(server.entered == 2 && count_backlog(server.listener) == 2);
	for (int i = 0; i < 4; i++)
		others[i] = connect_to(&server);
	for (int i = 0; i < 2; i++) {
		must(bide_close(clients[i]) == 0);
		must_be_served(others[i]);
	}
	turns(20);
	must(count_backlog(server.listener) == 2);
	stop(&server);
	for (int i = 2; i < 4; i++)
		close(clients[i]);
	for (int i = 0; i < 4; i++)
		close(others[i]);
	return NULL;
}

START_TEST(a_connection_without_a_task_waits_in_the_backlog)
{
	bide_time begin = clock_monotonic();
	run_reported(too_many_tasks, 0, 4);
	ck_assert_int_ge(reports.count[BIDE_REPORT_LIMIT], 1);
	ck_assert_int_le(reports.count[BIDE_REPORT_LIMIT], 1 + (clock_monotonic() - begin) / BIDE_SEC);
}
END_TEST

/* While the server waits for a connection, somebody else takes the last task: the connection is kept, and
 * handled when that one has ended, which the server is not told, or closed with the server. */
static void *last_task_is_taken(void *arg)
{
	const bool *ends_first = arg;
	struct server server = { .err = 0 };
	int before = count_fds();
	start(&server, echo);
	bide_task *other = must_spawn(forever_sleeper, NULL);
	int client = connect_to(&server), later = connect_to(&server);
	must(bide_sleep(3 * BIDE_SEC) == 0 && server.entered == 0);
	if (!*ends_first) {
		must(bide_cancel(other, NULL) == 0 && must_join(other).err == ECANCELED);
		must_be_served(client);
		close(client);
		must_be_served(later);
	}
	stop(&server);
	if (*ends_first) {
		char byte;
		must(bide_recv(client, &byte, 1, 0) == 0);
		must(bide_cancel(other, NULL) == 0 && must_join(other).err == ECANCELED);
		close(client);
	}
	close(later);
	must(count_fds() == before);
	return NULL;
}

static bool ends_first;

static void *lose_the_last_task(void *arg)
{
	(void)arg;
	return last_task_is_taken(&ends_first);
}

START_TEST(a_connection_whose_task_went_to_another_is_kept)
{
	ends_first = _i;
	run_reported(lose_the_last_task, BIDE_VIRTUAL_CLOCK, 3);
	ck_assert_int_ge(reports.count[BIDE_REPORT_LIMIT], 1);
}
END_TEST

/* ---- a flood -------------------------------------------------------------------------------------------------------- */

struct flood {
	const struct sockaddr_in *address;
	int clients[48];
};

static void at_once(int fd, void *arg)
{
	struct server *server = arg;
	(void)fd;
	enter(server);
	server->ended++;
}

/* 48 are there when it begins. */
static void *batches(void *arg)
{
	struct server server = { .handler = at_once, .opts = BIDE_SERVE_OPTS_INIT };
	int clients[48], most = 0;
	(void)arg;
	server.listener = plain_listener(64, &server.address);
	for (int i = 0; i < 48; i++)
		clients[i] = connect_to(&server);
	server.task = must_spawn(serve, &server);
	for (int seen = 0; server.ended < 48;) {
		must(bide_yield() == 0);
		most = server.ended - seen > most ? server.ended - seen : most;
		seen = server.ended;
	}
	must(most <= 16);
	stop(&server);
	for (int i = 0; i < 48; i++)
		close(clients[i]);
	return NULL;
}

/* Scenario C5. */
START_TEST(a_flood_is_accepted_in_batches_between_which_others_run)
{
	run_real(batches, NULL);
}
END_TEST

/* ---- bad input -------------------------------------------------------------------------------------------------------- */

static void *refusals(void *arg)
{
	bide_serve_opts opts = BIDE_SERVE_OPTS_INIT, bad[4] = { opts, opts, opts, opts };
	struct sockaddr_in address;
	int listener = plain_listener(1, &address), fds[2], pipe_fds[2];
	(void)arg;
	make_tcp(fds);
	make_pipe(pipe_fds);
	bad[0].size = 0;
	bad[1].size++;
	bad[2].flags = 2;
	bad[3].drain = -1;
	ck_fails(bide_serve(listener, NULL, NULL, NULL), EINVAL);
	for (int i = 0; i < 4; i++)
		ck_fails(bide_serve(listener, at_once, NULL, &bad[i]), EINVAL);
	ck_fails(bide_serve(-1, at_once, NULL, NULL), EBADF);
	ck_fails(bide_serve(99999, at_once, NULL, NULL), EBADF);
	ck_fails(bide_serve(fds[0], at_once, NULL, NULL), EINVAL);
	ck_fails(bide_serve(pipe_fds[0], at_once, NULL, NULL), ENOTSOCK);
	must(bide_cancel(bide_self(), NULL) == 0);
	ck_fails(bide_serve(listener, at_once, NULL, NULL), ECANCELED);
	must(bide_uncancel() == 0);
	close_pair(fds);
	close_pair(pipe_fds);
	must(bide_close(listener) == 0);
	return NULL;
}

START_TEST(bad_input_is_answered_with_the_errno_of_the_manual)
{
	run_virtual(refusals, NULL);
	ck_fails(bide_serve(0, at_once, NULL, NULL), EPERM);
}
END_TEST

int main(void)
{
	return SUITE("net_serve", TEST(each_connection_has_a_handler_and_is_closed_after_it),
	    TEST(a_handler_that_ends_at_once_does_not_stop_a_server_at_its_limit),
	    TEST(beyond_the_limit_connections_wait_for_their_turn), LOOP(a_handler_may_close_keep_or_exit, 0, 3),
	    TEST(handlers_have_time_to_end_and_are_canceled_then), TEST(a_drain_ends_with_the_last_handler),
	    TEST(without_a_drain_handlers_are_canceled_at_once), TEST(canceled_at_any_moment_it_leaves_nothing_open),
	    TEST(a_connection_whose_handler_never_ran_is_closed),
	    LOOP(closing_the_listener_ends_it, 0, 2), TEST(a_deadline_ends_it),
	    TABLE(without_a_descriptor_it_backs_off_and_recovers, shortages),
	    TEST(at_the_descriptor_limit_who_is_there_is_served_and_who_comes_waits),
	    TEST(a_connection_without_memory_for_its_handler_is_closed), TEST(a_connection_without_a_task_waits_in_the_backlog),
	    LOOP(a_connection_whose_task_went_to_another_is_kept, 0, 2),
	    TEST(a_flood_is_accepted_in_batches_between_which_others_run),
	    TEST(bad_input_is_answered_with_the_errno_of_the_manual));
}
