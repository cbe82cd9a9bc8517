/* SPDX-License-Identifier: MIT
 * Loops of several threads at one port. Statement 173, scenario F20. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "runs.h"
#include "sockets.h"
#include "suite.h"

#define THREADS 4

struct worker {
	pthread_t thread;
	int listener, end;  /* the read end of a pipe: closed when it is over */
	atomic_int accepted;
};

static void count_it(int fd, void *arg)
{
	struct worker *worker = arg;
	(void)fd;
	atomic_fetch_add(&worker->accepted, 1);
}

static void *serve_in_thread(void *arg)
{
	struct worker *worker = arg;
	must(bide_serve(worker->listener, count_it, worker, NULL) == -1 && errno == ECANCELED);
	return NULL;
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	char byte;
	bide_task *server = must_spawn(serve_in_thread, worker);
	must(bide_read(worker->end, &byte, 1) == 0);
	must(bide_cancel(server, NULL) == 0);
	must_join(server);
	return NULL;
}

static void *run_worker(void *arg)
{
	must(bide_run(work, arg, NULL, NULL) == 0);
	return NULL;
}

/* _i: whether each thread has a listener of its own, with BIDE_LISTEN_REUSEPORT. Scenario F20. */
START_TEST(loops_of_several_threads_share_a_port)
{
	static struct worker workers[THREADS];
	bide_listen_opts opts = BIDE_LISTEN_OPTS_INIT;
	int pipe_fds[2], sum = 0, connections = suite_scaled_down(1000, 100);
	char text[32] = "127.0.0.1:0", byte;
	opts.flags = BIDE_LISTEN_REUSEPORT;
	make_pipe(pipe_fds);
	for (int i = 0; i < THREADS; i++) {
		atomic_init(&workers[i].accepted, 0);
		workers[i].listener = i == 0 || _i ? bide_listen_with("tcp", text, &opts) : workers[0].listener;
		workers[i].end = dup(pipe_fds[0]);
		ck_assert_int_ge(workers[i].listener, 0);
		address_text(workers[i].listener, text);
	}
	struct sockaddr_in address = local_address(workers[0].listener);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]), 0);
	for (int i = 0; i < connections; i++) {
		int fd = plain_connection(&address);
		must(read(fd, &byte, 1) == 0); /* its handler has ended */
		reset_connection(fd);
		close(fd);
	}
	close(pipe_fds[1]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	for (int i = 0; i < THREADS; i++) {
		sum += atomic_load(&workers[i].accepted);
		close(workers[i].end);
		if (i == 0 || _i)
			close(workers[i].listener);
	}
	close(pipe_fds[0]);
	ck_assert_int_eq(sum, connections);
}
END_TEST

/* ---- races that are lost ----------------------------------------------------------------------------------- */

static void *loses_races(void *arg)
{
	const struct worker *worker = arg;
	bide_scope scope = { { 0 } };
	bide_time deadline = bide_after(200 * BIDE_MSEC);
	must(bide_scope_enter(&scope, deadline, 0) == 0);
	for (;;) {
		int fd = bide_accept(worker->listener, NULL, NULL);
		if (fd < 0)
			break;
		must(bide_close(fd) == 0);
	}
	must(errno == ETIMEDOUT && bide_now() >= deadline);
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	must(bide_now() - deadline < LONG);
	return NULL;
}

static atomic_bool is_over;

static void *steal(void *arg)
{
	const struct worker *worker = arg;
	while (!atomic_load(&is_over)) {
		struct pollfd poll_fd = { .fd = worker->listener, .events = POLLIN };
		if (poll(&poll_fd, 1, 10) == 1)
			close(accept(worker->listener, NULL, NULL));
	}
	return NULL;
}

static void *come_and_go(void *arg)
{
	const struct worker *worker = arg;
	struct sockaddr_in address = local_address(worker->listener);
	while (!atomic_load(&is_over)) {
		int fd = plain_connection(&address);
		reset_connection(fd);
		close(fd);
		usleep(200);
	}
	return NULL;
}

/* Scenario F20: EAGAIN after a race that was lost is normal. */
START_TEST(an_accept_that_loses_races_keeps_its_deadline)
{
	struct worker worker = { .listener = bide_listen("tcp", "127.0.0.1:0", 0) };
	pthread_t thief, guest;
	atomic_store(&is_over, false);
	ck_assert_int_eq(pthread_create(&thief, NULL, steal, &worker), 0);
	ck_assert_int_eq(pthread_create(&guest, NULL, come_and_go, &worker), 0);
	run_real(loses_races, &worker);
	atomic_store(&is_over, true);
	pthread_join(guest, NULL);
	pthread_join(thief, NULL);
	ck_assert_int_eq(bide_close(worker.listener), 0);
}
END_TEST

int main(void)
{
	return SUITE("net_threads", LOOP(loops_of_several_threads_share_a_port, 0, 2),
	    TEST(an_accept_that_loses_races_keeps_its_deadline));
}
