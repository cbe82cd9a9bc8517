/* SPDX-License-Identifier: MIT
 * What every call on a descriptor has in common, tried with each of those that move pieces, messages,
 * files and descriptors: it waits, is canceled without effect, times out, is closed under, is refused,
 * and meets system calls that fail. Statements 12, 39, 40, 43, 160, 165, 169, 173, scenarios E8, F1, F8, F13,
 * F16. */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "counted_calls.h"
#include "elsewhere.h"
#include "runs.h"
#include "sockets.h"
#include "suite.h"

/* ---- the calls -------------------------------------------------------------------------------------- */

static char in_bytes[8];
static int a_file = -1; /* what is sent */

static ssize_t call_readv(int fd)
{
	struct iovec iov[2] = { { in_bytes, 1 }, { in_bytes + 1, 1 } };
	return bide_readv(fd, iov, 2);
}

static ssize_t call_recvfrom(int fd)
{
	return bide_recvfrom(fd, in_bytes, 2, 0, NULL, NULL);
}

static struct iovec one_piece = { in_bytes, 2 };

static ssize_t call_recvmsg(int fd)
{
	struct msghdr message = { .msg_iov = &one_piece, .msg_iovlen = 1 };
	return bide_recvmsg(fd, &message, 0);
}

static ssize_t call_recvmmsg(int fd)
{
	struct mmsghdr messages[2] = { { .msg_hdr = { .msg_iov = &one_piece, .msg_iovlen = 1 } } };
	messages[1] = messages[0];
	int count = bide_recvmmsg(fd, messages, 2, 0);
	return count < 0 ? -1 : (ssize_t)messages[0].msg_len;
}

static ssize_t call_recv_fd(int fd)
{
	int got = bide_recv_fd(fd);
	if (got < 0)
		return -1;
	must(is_cloexec(got) && bide_close(got) == 0);
	return 1;
}

static ssize_t call_writev(int fd)
{
	struct iovec iov[3] = { { in_bytes, 1 }, { NULL, 0 }, { in_bytes, 1 } };
	return bide_writev(fd, iov, 3);
}

static ssize_t call_sendto(int fd)
{
	return bide_sendto(fd, "ab", 2, 0, NULL, 0);
}

static ssize_t call_sendmsg(int fd)
{
	struct msghdr message = { .msg_iov = &one_piece, .msg_iovlen = 1 };
	return bide_sendmsg(fd, &message, 0);
}

static ssize_t call_sendmmsg(int fd)
{
	struct mmsghdr message = { .msg_hdr = { .msg_iov = &one_piece, .msg_iovlen = 1 } };
	return bide_sendmmsg(fd, &message, 1, 0) < 0 ? -1 : (ssize_t)message.msg_len;
}

static ssize_t call_sendfile(int fd)
{
	off_t offset = 0;
	ssize_t count = bide_sendfile(fd, a_file, &offset, 2);
	must(offset == (count < 0 ? 0 : count));
	return count;
}

static ssize_t call_send_fd(int fd)
{
	return bide_send_fd(fd, a_file) < 0 ? -1 : 1;
}

static const struct call {
	const char *name;
	ssize_t (*fn)(int fd);
	bool is_input;
	bool is_nonblocking; /* the descriptor under test */
	const char *fault;
	ssize_t count; /* that it returns */
} calls[] = {
	{ "readv", call_readv, true, false, "recv", 2 },
	{ "recvfrom", call_recvfrom, true, false, "recv", 2 },
	{ "recvmsg", call_recvmsg, true, false, "recv", 2 },
	{ "recvmmsg", call_recvmmsg, true, false, "recv", 2 },
	{ "recv_fd", call_recv_fd, true, false, "recv", 1 },
	{ "writev", call_writev, false, false, "send", 2 },
	{ "sendto", call_sendto, false, false, "send", 2 },
	{ "sendmsg", call_sendmsg, false, false, "send", 2 },
	{ "sendmmsg", call_sendmmsg, false, false, "send", 2 },
	{ "sendfile", call_sendfile, false, true, "sendfile", 2 },
	{ "sendfile by copy", call_sendfile, false, false, "send", 2 },
	{ "send_fd", call_send_fd, false, false, "send", 1 },
};

/* ---- one in a task ------------------------------------------------------------------------------------ */

struct attempt {
	const struct call *call;
	int fds[2]; /* the call is on the first one */
	ssize_t count;
	int err;
	bide_task *task;
};

static void *try_call(void *arg)
{
	struct attempt *attempt = arg;
	attempt->count = attempt->call->fn(attempt->fds[0]);
	attempt->err = attempt->count < 0 ? errno : 0;
	return NULL;
}

static void open_pair(struct attempt *attempt, const struct call *call)
{
	*attempt = (struct attempt){ .call = call };
	make_unix(attempt->fds);
	set_nonblocking(attempt->fds[0], call->is_nonblocking);
}

static void start(struct attempt *attempt)
{
	attempt->count = -2;
	attempt->task = must_spawn(try_call, attempt);
	must(bide_yield() == 0);
}

static void must_end(struct attempt *attempt, ssize_t count, int err)
{
	join_within(attempt->task, LONG);
	must_msg(attempt->count == count && attempt->err == err, "%s: %zd, %s", attempt->call->name,
	    attempt->count, strerror(attempt->err));
}

/* What the call waits for: data, or room. */
static void make_ready(const struct attempt *attempt)
{
	struct iovec iov = { (char[]){ 'a', 'b' }, 2 };
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
	if (!attempt->call->is_input) {
		drain(attempt->fds[1]);
		return;
	}
	if (attempt->call->fn == call_recv_fd) {
		memcpy(CMSG_DATA(&control.header), &a_file, sizeof a_file);
		message.msg_control = &control;
		message.msg_controllen = sizeof control;
		iov.iov_len = 1;
	}
	must(sendmsg(attempt->fds[1], &message, 0) == (ssize_t)iov.iov_len);
}

static void make_unready(const struct attempt *attempt)
{
	if (!attempt->call->is_input)
		fill(attempt->fds[0]);
}

/* What a peer, or a further reader, would find. */
static int in_the_pipe(const struct attempt *attempt)
{
	return bytes_waiting(attempt->fds[attempt->call->is_input ? 0 : 1]);
}

/* ---- waiting ------------------------------------------------------------------------------------------ */

static void *waits(void *arg)
{
	struct attempt attempt;
	open_pair(&attempt, arg);
	for (int i = 0; i < 3; i++) {
		make_unready(&attempt);
		start(&attempt);
		must(attempt.count == -2);
		make_ready(&attempt);
		must_end(&attempt, attempt.call->count, 0);
	}
	close_pair(attempt.fds);
	return NULL;
}

static void run_each(bide_fn *fn, int index)
{
	a_file = memfd_create("bide-test", MFD_CLOEXEC); /* known to be in memory, so that no thread reads it first */
	ck_assert(a_file >= 0 && write(a_file, "ab", 2) == 2);
	counted.modify_is_mute = true;
	run_real(fn, (void *)(uintptr_t)&calls[index]);
	close(a_file);
}

#define EACH_CALL(name, fn)                                                                        \
	START_TEST(name)                                                                               \
	{                                                                                              \
		run_each(fn, _i);                                                                          \
	}                                                                                              \
	END_TEST

EACH_CALL(it_waits_until_it_can_be_done, waits)

static void *is_done_at_once(void *arg)
{
	struct attempt attempt;
	open_pair(&attempt, arg);
	for (int i = 0; i < 3; i++) {
		make_ready(&attempt);
		int looks = counted.epoll_wait, changes = counted.epoll_ctl;
		ssize_t count = attempt.call->fn(attempt.fds[0]);
		must(count == attempt.call->count && counted.epoll_wait == looks && counted.epoll_ctl == changes);
	}
	close_pair(attempt.fds);
	return NULL;
}

/* Statement 160. */
EACH_CALL(what_can_be_done_costs_no_look_at_the_poller, is_done_at_once)

/* ---- without effect ----------------------------------------------------------------------------------- */

static void *canceled_while_it_waits(void *arg)
{
	struct attempt attempt;
	open_pair(&attempt, arg);
	make_unready(&attempt);
	start(&attempt);
	int before = in_the_pipe(&attempt);
	must(bide_cancel(attempt.task, NULL) == 0);
	must_end(&attempt, -1, ECANCELED);
	must(in_the_pipe(&attempt) == before);
	make_ready(&attempt);
	must(attempt.call->fn(attempt.fds[0]) == attempt.call->count);
	close_pair(attempt.fds);
	return NULL;
}

/* Statements 39, 40. */
EACH_CALL(canceled_while_it_waits_it_had_no_effect, canceled_while_it_waits)

static void *canceled_when_it_can(void *arg)
{
	struct attempt attempt;
	open_pair(&attempt, arg);
	make_unready(&attempt);
	start(&attempt);
	make_ready(&attempt);
	must(bide_cancel(attempt.task, NULL) == 0); /* the event is not fetched, or the task has not run */
	int before = in_the_pipe(&attempt);
	must_end(&attempt, -1, ECANCELED);
	must(in_the_pipe(&attempt) == before);
	must(attempt.call->fn(attempt.fds[0]) == attempt.call->count);
	close_pair(attempt.fds);
	return NULL;
}

/* Statement 43, scenario E8: the cancel comes in the turn in which it would have been done. */
EACH_CALL(canceled_in_the_turn_of_readiness_it_had_no_effect, canceled_when_it_can)

static void *canceled_before(void *arg)
{
	struct attempt attempt;
	open_pair(&attempt, arg);
	make_ready(&attempt);
	int before = in_the_pipe(&attempt);
	must(bide_cancel(bide_self(), NULL) == 0);
	ck_fails(attempt.call->fn(attempt.fds[0]), ECANCELED);
	must(in_the_pipe(&attempt) == before && bide_uncancel() == 0);
	must(attempt.call->fn(attempt.fds[0]) == attempt.call->count);
	close_pair(attempt.fds);
	return NULL;
}

/* Statement 39. */
EACH_CALL(with_a_cancel_pending_it_has_no_effect, canceled_before)

static void *times_out(void *arg)
{
	struct attempt attempt;
	bide_scope scope = { { 0 } };
	open_pair(&attempt, arg);
	make_unready(&attempt);
	int before = in_the_pipe(&attempt);
	must(bide_scope_enter(&scope, bide_after(5 * BIDE_MSEC), 0) == 0);
	ck_fails(attempt.call->fn(attempt.fds[0]), ETIMEDOUT);
	make_ready(&attempt);
	int ready = in_the_pipe(&attempt);
	ck_fails(attempt.call->fn(attempt.fds[0]), ETIMEDOUT); /* it could now, and may not */
	must(in_the_pipe(&attempt) == ready && (attempt.call->is_input || ready <= before));
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	must(attempt.call->fn(attempt.fds[0]) == attempt.call->count);
	close_pair(attempt.fds);
	return NULL;
}

EACH_CALL(after_its_deadline_it_has_no_effect, times_out)

/* ---- closed, and bad ------------------------------------------------------------------------------------- */

static void *closed_under(void *arg)
{
	struct attempt attempts[2];
	open_pair(&attempts[0], arg);
	make_unready(&attempts[0]);
	attempts[1] = attempts[0];
	start(&attempts[0]);
	start(&attempts[1]);
	int fd = attempts[0].fds[0], next[2];
	must(bide_close(fd) == 0);
	make_unix(next); /* has the number */
	must(next[0] == fd);
	must_write(next[1], "theirs", 6);
	must_end(&attempts[0], -1, EBADF);
	must_end(&attempts[1], -1, EBADF);
	must(bytes_waiting(next[0]) == 6 && bytes_waiting(next[1]) == 0);
	close_pair(next);
	close(attempts[0].fds[1]);
	return NULL;
}

/* Statement 165, scenario F1. */
EACH_CALL(closed_under_its_waiters_it_touches_nothing, closed_under)

/* The end of the input is no failure, but for a call that cannot say it otherwise. */
static void *peer_is_gone(void *arg)
{
	const struct call *call = arg;
	struct attempt attempt;
	for (int waits = 0; waits < 2; waits++) {
		open_pair(&attempt, call);
		if (waits)
			make_unready(&attempt);
		else
			close(attempt.fds[1]);
		start(&attempt);
		must((attempt.count == -2) == waits);
		if (waits)
			close(attempt.fds[1]);
		bool is_end = call->is_input && call->fn != call_recv_fd;
		must_end(&attempt, is_end ? 0 : -1, is_end ? 0 : EPIPE);
		must(bide_close(attempt.fds[0]) == 0);
	}
	return NULL;
}

/* Statement 169, scenarios F8, F16: SIGPIPE would end the process. */
EACH_CALL(a_peer_that_is_gone_is_told, peer_is_gone)

static void *bad_descriptors(void *arg)
{
	const struct call *call = arg;
	int closed = dup(a_file);
	must(close(closed) == 0);
	ck_fails(call->fn(-1), EBADF);
	ck_fails(call->fn(INT32_MIN), EBADF);
	ck_fails(call->fn(closed), EBADF);
	ck_fails(call->fn(99999), EBADF);
	return NULL;
}

/* Scenario F13. */
EACH_CALL(a_bad_descriptor_is_ebadf, bad_descriptors)

static const struct call *outside_call;
static int outside_fd;

static int call_outside(void)
{
	return (int)outside_call->fn(outside_fd);
}

static void *elsewhere(void *arg)
{
	struct attempt attempt;
	open_pair(&attempt, arg);
	make_ready(&attempt);
	int before = in_the_pipe(&attempt);
	outside_call = arg;
	outside_fd = attempt.fds[0];
	must(errno_in_callback(call_outside) == EPERM && errno_on_plain_thread(call_outside) == EPERM);
	must(in_the_pipe(&attempt) == before);
	close_pair(attempt.fds);
	return NULL;
}

/* Statement 12. */
EACH_CALL(outside_a_task_it_is_eperm, elsewhere)

/* ---- system calls that fail -------------------------------------------------------------------------------- */

static void arm(const struct call *call, const char *what)
{
	char spec[64];
	snprintf(spec, sizeof spec, "%s:%s@1", call->fault, what);
	must(bide_fault(spec) == 0);
}

static void *fails(void *arg)
{
	static const struct {
		const char *name;
		int err;
	} told[] = { { "ENOBUFS", ENOBUFS }, { "ENOMEM", ENOMEM }, { "ECONNRESET", ECONNRESET }, { "EIO", EIO } };
	static const char *const hidden[] = { "EINTR", "EAGAIN" };
	struct attempt attempt;
	open_pair(&attempt, arg);
	for (int i = 0; i < 2; i++) {
		make_ready(&attempt);
		arm(attempt.call, hidden[i]);
		start(&attempt);
		if (attempt.count == -2 && i == 1) /* it said EAGAIN without reason: the next event ends it */
			make_ready(&attempt);
		must_end(&attempt, attempt.call->count, 0);
		must(bide_fault(NULL) == 0);
		drain(attempt.fds[0]);
	}
	for (int i = 0; i < 4; i++) {
		make_ready(&attempt);
		arm(attempt.call, told[i].name);
		int before = in_the_pipe(&attempt);
		ck_fails(attempt.call->fn(attempt.fds[0]), told[i].err);
		must(bide_fault(NULL) == 0 && in_the_pipe(&attempt) == before);
		must(attempt.call->fn(attempt.fds[0]) == attempt.call->count);
	}
	close_pair(attempt.fds);
	return NULL;
}

/* Statement 173. */
EACH_CALL(eintr_and_eagain_are_hidden_and_all_else_is_told, fails)

static void *does_not_register(void *arg)
{
	struct attempt attempt;
	open_pair(&attempt, arg);
	make_unready(&attempt);
	must(bide_fault("epoll_ctl:ENOSPC@1") == 0);
	ck_fails(attempt.call->fn(attempt.fds[0]), ENOSPC);
	must(bide_fault(NULL) == 0);
	make_ready(&attempt);
	must(attempt.call->fn(attempt.fds[0]) == attempt.call->count);
	close_pair(attempt.fds);
	return NULL;
}

EACH_CALL(a_wait_that_the_system_refuses_is_told, does_not_register)

/* A call that is not given up on when only a part of it is done says how much that was. */
static void *is_short(void *arg)
{
	struct attempt attempt;
	open_pair(&attempt, arg);
	make_ready(&attempt);
	arm(attempt.call, "short");
	ssize_t count = attempt.call->fn(attempt.fds[0]);
	must(bide_fault(NULL) == 0);
	bool counts_messages = attempt.call->fn == call_recvmmsg || attempt.call->fn == call_sendmmsg;
	must(count == (counts_messages ? 2 : 1));
	close_pair(attempt.fds);
	return NULL;
}

EACH_CALL(a_short_count_is_told, is_short)

int main(void)
{
	return SUITE("io_calls", TABLE(it_waits_until_it_can_be_done, calls),
	    TABLE(what_can_be_done_costs_no_look_at_the_poller, calls),
	    TABLE(canceled_while_it_waits_it_had_no_effect, calls),
	    TABLE(canceled_in_the_turn_of_readiness_it_had_no_effect, calls),
	    TABLE(with_a_cancel_pending_it_has_no_effect, calls), TABLE(after_its_deadline_it_has_no_effect, calls),
	    TABLE(closed_under_its_waiters_it_touches_nothing, calls), TABLE(a_peer_that_is_gone_is_told, calls),
	    TABLE(a_bad_descriptor_is_ebadf, calls),
	    TABLE(outside_a_task_it_is_eperm, calls),
	    TABLE(eintr_and_eagain_are_hidden_and_all_else_is_told, calls),
	    TABLE(a_wait_that_the_system_refuses_is_told, calls), TABLE(a_short_count_is_told, calls));
}
