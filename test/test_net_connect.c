/* SPDX-License-Identifier: MIT
 * bide_connect() and the connecting half of bide_dial(). Statements 39, 40, 170, scenarios E6, E7, F12. */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "counted_calls.h"
#include "resources.h"
#include "runs.h"
#include "sched/loop.h"
#include "sockets.h"
#include "suite.h"

static void *arg_of(const void *constant)
{
	return (void *)(uintptr_t)constant;
}

struct attempt {
	struct sockaddr_storage address;
	socklen_t length;
	int fd;
	int result; /* -2 until it is over */
	int err;
};

static void *connecting(void *arg)
{
	struct attempt *attempt = arg;
	attempt->result = bide_connect(attempt->fd, (void *)&attempt->address, attempt->length);
	attempt->err = errno;
	return NULL;
}

static bide_task *start(struct attempt *attempt)
{
	attempt->result = -2;
	bide_task *task = must_spawn(connecting, attempt);
	turns(1);
	return task;
}

static void set_address(struct attempt *attempt, const void *address, size_t length)
{
	memcpy(&attempt->address, address, length);
	attempt->length = (socklen_t)length;
}

static void set_unix(struct attempt *attempt, const char *name)
{
	attempt->length = abstract_address(name, (struct sockaddr_un *)&attempt->address);
}

static int unix_listener(const struct attempt *attempt, int backlog)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	must(bind(fd, (const void *)&attempt->address, attempt->length) == 0 && listen(fd, backlog) == 0);
	return fd;
}

/* A TCP listener whose queue is full: further attempts stay on their way. */
struct full_listener {
	int fd, filler[2];
	struct sockaddr_in address;
};

static void make_full_listener(struct full_listener *full)
{
	full->fd = plain_listener(0, &full->address);
	for (int i = 0; i < 2; i++) {
		full->filler[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)!connect(full->filler[i], (void *)&full->address, sizeof full->address);
		usleep(1000);
	}
}

static void close_full_listener(struct full_listener *full)
{
	close(full->filler[0]);
	close(full->filler[1]);
	close(full->fd);
}

/* ---- success -------------------------------------------------------------------------------------- */

static void *connects(void *arg)
{
	const bool *blocks = arg;
	struct sockaddr_in address;
	char buf[4];
	int listener = plain_listener(4, &address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	set_nonblocking(fd, !*blocks);
	must(bide_connect(fd, (void *)&address, sizeof address) == 0);
	must(is_nonblocking(fd) == !*blocks); /* its own flags again */
	int peer = bide_accept(listener, NULL, NULL);
	must(bide_send(peer, "abcd", 4, 0) == 4);
	must(bide_recv(fd, buf, 4, 0) == 4);
	ck_fails(bide_connect(fd, (void *)&address, sizeof address), EISCONN);
	must(is_nonblocking(fd) == !*blocks);
	must(bide_close(fd) == 0 && bide_close(peer) == 0 && bide_close(listener) == 0);
	return NULL;
}

START_TEST(a_socket_is_connected_and_keeps_its_flags)
{
	bool blocks = _i;
	run_real(connects, &blocks);
}
END_TEST

static void *datagrams(void *arg)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	char buf[4];
	(void)arg;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	for (int i = 0; i < 2; i++) {
		int other = socket(AF_INET, SOCK_DGRAM, 0);
		must(bind(other, (void *)&any, sizeof any) == 0);
		struct sockaddr_in address = local_address(other);
		must(bide_connect(fd, (void *)&address, sizeof address) == 0);
		must(bide_send(fd, "hi", 2, 0) == 2);
		must(bide_recv(other, buf, 4, 0) == 2);
		must(bide_close(other) == 0);
	}
	must(bide_close(fd) == 0);
	return NULL;
}

START_TEST(a_datagram_socket_is_connected_at_once_and_again)
{
	run_real(datagrams, NULL);
}
END_TEST

/* ---- refusals --------------------------------------------------------------------------------------- */

static void *refused(void *arg)
{
	struct attempt attempt = { .fd = -1 };
	struct sockaddr_in address;
	bool is_unix = arg;
	(void)arg;
	if (is_unix) {
		set_unix(&attempt, "refused");
	} else {
		close(plain_listener(1, &address)); /* a port nobody listens on */
		set_address(&attempt, &address, sizeof address);
	}
	attempt.fd = socket(attempt.address.ss_family, SOCK_STREAM, 0);
	join_within(start(&attempt), LONG);
	must(attempt.result == -1 && attempt.err == ECONNREFUSED);
	must(!is_nonblocking(attempt.fd) && is_open(attempt.fd));
	/* The same socket may try again. */
	if (!is_unix) {
		int listener = plain_listener(1, &address);
		must(bide_connect(attempt.fd, (void *)&address, sizeof address) == 0);
		close(listener);
	}
	must(bide_close(attempt.fd) == 0);
	return NULL;
}

/* Statement 170, scenario E7. */
START_TEST(a_refused_connection_is_told_at_once_and_the_socket_stays_good)
{
	counted.modify_is_mute = true;
	run_real(refused, _i ? arg_of("unix") : NULL);
}
END_TEST

static void *dial_refused(void *arg)
{
	struct sockaddr_in address;
	char text[32];
	(void)arg;
	int listener = plain_listener(1, &address);
	address_text(listener, text);
	close(listener);
	int fds = count_fds();
	ck_fails(bide_dial("tcp", text), ECONNREFUSED);
	ck_fails(bide_dial("unix", "@bide-nobody-is-here"), ECONNREFUSED);
	ck_fails(bide_dial("unix", "/nonexistent/socket"), ENOENT);
	must(count_fds() == fds);
	return NULL;
}

START_TEST(a_refused_dial_leaves_no_socket)
{
	run_real(dial_refused, NULL);
}
END_TEST

/* ---- attempts that last ----------------------------------------------------------------------------- */

static bide_task *start_that_lasts(struct attempt *attempt, struct full_listener *full)
{
	*attempt = (struct attempt){ .fd = socket(AF_INET, SOCK_STREAM, 0) };
	make_full_listener(full);
	set_address(attempt, &full->address, sizeof full->address);
	bide_task *task = start(attempt);
	must(attempt->result == -2);
	return task;
}

static void *canceled(void *arg)
{
	struct full_listener full;
	struct attempt attempt;
	(void)arg;
	bide_task *task = start_that_lasts(&attempt, &full);
	must(bide_sleep(20 * BIDE_MSEC) == 0);
	must(attempt.result == -2);
	must(is_nonblocking(attempt.fd)); /* during the call */
	must(bide_cancel(task, NULL) == 0);
	must_join(task);
	must(attempt.result == -1 && attempt.err == ECANCELED);
	must(!is_nonblocking(attempt.fd));
	must(bide_close(attempt.fd) == 0);
	close_full_listener(&full);
	return NULL;
}

/* Statement 170. */
START_TEST(an_attempt_can_be_canceled_and_the_socket_closed)
{
	run_virtual(canceled, NULL);
}
END_TEST

static void *closed_meanwhile(void *arg)
{
	struct full_listener full;
	struct attempt attempt;
	(void)arg;
	bide_task *task = start_that_lasts(&attempt, &full);
	must(bide_close(attempt.fd) == 0);
	int fresh = socket(AF_INET, SOCK_STREAM, 0);
	must(fresh == attempt.fd);
	join_within(task, LONG);
	must(attempt.result == -1 && attempt.err == EBADF);
	must(!is_nonblocking(fresh)); /* the next file's flags were not touched */
	close(fresh);
	close_full_listener(&full);
	return NULL;
}

START_TEST(closing_the_socket_ends_the_attempt)
{
	run_real(closed_meanwhile, NULL);
}
END_TEST

static void *spurious(void *arg)
{
	struct full_listener full;
	struct attempt attempt;
	(void)arg;
	bide_task *task = start_that_lasts(&attempt, &full);
	const struct descriptor *descriptor = descriptor_find(&loop_current->descriptors, attempt.fd);
	struct poller_event event = { (uint64_t)descriptor->registration << 32 | (uint32_t)attempt.fd, 0 };
	static const uint32_t events[] = { POLLER_OUT, POLLER_HUP, POLLER_OUT | POLLER_HUP, POLLER_IN };
	for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
		event.events = events[i];
		descriptors_fire(loop_current, &event, 1);
		turns(3);
		must(attempt.result == -2);
	}
	must(bide_cancel(task, NULL) == 0);
	must_join(task);
	must(bide_close(attempt.fd) == 0);
	close_full_listener(&full);
	return NULL;
}

/* Scenario E7: not connected and no error means wait on. */
START_TEST(a_wake_up_for_nothing_does_not_count_as_connected)
{
	run_virtual(spurious, NULL);
}
END_TEST

static void *listener_dies(void *arg)
{
	struct full_listener full;
	struct attempt attempt;
	(void)arg;
	bide_task *task = start_that_lasts(&attempt, &full);
	close_full_listener(&full);
	/* The kernel sends its next SYN after a second, and is refused. */
	join_within(task, 3 * LONG);
	must(attempt.result == -1 && attempt.err == ECONNREFUSED);
	must(bide_close(attempt.fd) == 0);
	return NULL;
}

/* Scenario E7. */
START_TEST(a_failure_that_comes_late_is_told)
{
	run_real(listener_dies, NULL);
}
END_TEST

static void *many_timeouts(void *arg)
{
	struct full_listener full;
	char text[32];
	int rounds = suite_scaled_down(2000, 100);
	(void)arg;
	make_full_listener(&full);
	address_text(full.fd, text);
	int fds = count_fds();
	for (int i = 0; i < rounds; i++) {
		bide_scope scope;
		must(bide_scope_enter(&scope, bide_after(20 * BIDE_MSEC), 0) == 0);
		ck_fails(bide_dial("tcp", text), ETIMEDOUT);
		ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	}
	must(count_fds() == fds);
	close_full_listener(&full);
	return NULL;
}

/* Scenario E6, statement 170. */
START_TEST(a_dial_that_times_out_closes_its_socket)
{
	run_virtual(many_timeouts, NULL);
}
END_TEST

/* ---- unix sockets --------------------------------------------------------------------------------- */

static void *full_backlog(void *arg)
{
	struct attempt attempts[4] = { { .fd = -1 } };
	bide_task *tasks[4];
	(void)arg;
	set_unix(&attempts[0], "backlog");
	int listener = unix_listener(&attempts[0], 0);
	for (int i = 0; i < 4; i++) {
		attempts[i] = attempts[0];
		attempts[i].fd = socket(AF_UNIX, SOCK_STREAM, 0);
		tasks[i] = start(&attempts[i]);
	}
	must(attempts[0].result == 0 && attempts[3].result == -2);
	must(bide_sleep(30 * BIDE_MSEC) == 0);
	must(attempts[3].result == -2);
	must(bide_cancel(tasks[2], NULL) == 0);
	must_join(tasks[2]);
	must(attempts[2].result == -1 && attempts[2].err == ECANCELED);
	for (int i = 0; i < 3; i++) {
		int peer = bide_accept(listener, NULL, NULL);
		must(peer >= 0 && bide_close(peer) == 0);
	}
	for (int i = 0; i < 4; i++) {
		if (i != 2)
			join_within(tasks[i], LONG);
		must(i == 2 || attempts[i].result == 0);
		must(bide_close(attempts[i].fd) == 0);
	}
	must(bide_close(listener) == 0);
	return NULL;
}

/* "EAGAIN never reaches the caller." */
START_TEST(a_unix_listener_with_a_full_backlog_is_waited_for)
{
	(_i ? run_virtual : run_real)(full_backlog, NULL);
}
END_TEST

static void *backlog_closes(void *arg)
{
	struct attempt attempt = { .fd = socket(AF_UNIX, SOCK_STREAM, 0) }, waits;
	(void)arg;
	set_unix(&attempt, "closing");
	int listener = unix_listener(&attempt, 0);
	join_within(start(&attempt), LONG);
	must(attempt.result == 0);
	waits = attempt;
	waits.fd = socket(AF_UNIX, SOCK_STREAM, 0);
	bide_task *task = start(&waits);
	must(waits.result == -2);
	close(listener);
	join_within(task, LONG);
	must(waits.result == -1 && waits.err == ECONNREFUSED);
	waits.fd = (bide_close(waits.fd), -1);
	must(bide_close(attempt.fd) == 0);
	return NULL;
}

/* Scenario E7. */
START_TEST(a_unix_listener_that_closes_meanwhile_refuses)
{
	run_real(backlog_closes, NULL);
}
END_TEST

/* ---- cancellation, bad input ------------------------------------------------------------------------ */

static void *canceled_on_entry(void *arg)
{
	struct sockaddr_in address;
	char text[32];
	(void)arg;
	int listener = plain_listener(4, &address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int fds = count_fds();
	must(bide_cancel(bide_self(), NULL) == 0);
	ck_fails(bide_connect(fd, (void *)&address, sizeof address), ECANCELED);
	ck_fails(bide_dial("tcp", address_text(listener, text)), ECANCELED);
	must(bide_uncancel() == 0);
	must(count_fds() == fds && !is_nonblocking(fd));
	set_nonblocking(listener, true);
	ck_fails(accept(listener, NULL, NULL), EAGAIN);
	must(bide_close(fd) == 0);
	close(listener);
	return NULL;
}

/* Statement 39. */
START_TEST(with_a_cancel_pending_no_connection_is_attempted)
{
	run_virtual(canceled_on_entry, NULL);
}
END_TEST

static void *bad_input(void *arg)
{
	struct sockaddr_in address;
	int fds[2];
	(void)arg;
	int listener = plain_listener(4, &address);
	make_pipe(fds);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	ck_fails(bide_connect(fd, NULL, sizeof address), EINVAL);
	ck_fails(bide_connect(fd, (void *)&address, 1), EINVAL);
	ck_fails(bide_connect(fd, (void *)&address, (socklen_t)-1), EINVAL);
	ck_fails(bide_connect(-1, (void *)&address, sizeof address), EBADF);
	ck_fails(bide_connect(9999, (void *)&address, sizeof address), EBADF);
	ck_fails(bide_connect(INT32_MAX, (void *)&address, sizeof address), EBADF);
	ck_fails(bide_connect(fds[0], (void *)&address, sizeof address), ENOTSOCK);
	must(!is_nonblocking(fds[0]) && !is_nonblocking(fd));
	address.sin_family = AF_UNIX;
	ck_fails(bide_connect(fd, (void *)&address, sizeof address), EAFNOSUPPORT);
	close_pair(fds);
	must(bide_close(fd) == 0);
	ck_fails(bide_connect(fd, (void *)&address, sizeof address), EBADF);
	close(listener);
	return NULL;
}

START_TEST(bad_input_is_answered_and_changes_nothing)
{
	run_virtual(bad_input, NULL);
}
END_TEST

START_TEST(outside_a_task_it_is_eperm)
{
	struct sockaddr_in address;
	int listener = plain_listener(4, &address);
	char text[32];
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	ck_fails(bide_connect(fd, (void *)&address, sizeof address), EPERM);
	ck_fails(bide_dial("tcp", address_text(listener, text)), EPERM);
	close(fd);
	close(listener);
}
END_TEST

int main(void)
{
	return SUITE("net_connect", LOOP(a_socket_is_connected_and_keeps_its_flags, 0, 2),
	    TEST(a_datagram_socket_is_connected_at_once_and_again),
	    LOOP(a_refused_connection_is_told_at_once_and_the_socket_stays_good, 0, 2),
	    TEST(a_refused_dial_leaves_no_socket), TEST(an_attempt_can_be_canceled_and_the_socket_closed),
	    TEST(closing_the_socket_ends_the_attempt),
	    TEST(a_wake_up_for_nothing_does_not_count_as_connected),
	    TEST(a_failure_that_comes_late_is_told), TEST(a_dial_that_times_out_closes_its_socket),
	    LOOP(a_unix_listener_with_a_full_backlog_is_waited_for, 0, 2),
	    TEST(a_unix_listener_that_closes_meanwhile_refuses),
	    TEST(with_a_cancel_pending_no_connection_is_attempted),
	    TEST(bad_input_is_answered_and_changes_nothing), TEST(outside_a_task_it_is_eperm));
}
