/* SPDX-License-Identifier: MIT
 * bide_sendfile(): by the kernel where the receiver is non-blocking, by copying where it is not. Statement
 * 169, scenarios F15, F16. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <bide/inspect.h>

#include "runs.h"
#include "sockets.h"
#include "suite.h"

#define SIZE 700000

static int make_file(size_t size)
{
	static unsigned char bytes[SIZE];
	char path[] = "/tmp/bide-test-XXXXXX";
	int fd = mkstemp(path);
	pattern_fill(3, 0, bytes, size);
	must(fd >= 0 && unlink(path) == 0);
	must_write(fd, bytes, size);
	must(lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

/* ---- every kind -------------------------------------------------------------------------------------------- */

struct sending {
	int out, in;
	bool is_nonblocking, has_offset;
	size_t start;
};

static void *send_all(void *arg)
{
	const struct sending *sending = arg;
	off_t offset = (off_t)sending->start;
	ssize_t count;
	must(lseek(sending->in, sending->has_offset ? 5 : offset, SEEK_SET) >= 0);
	for (size_t done = sending->start;; done += (size_t)count) {
		count = bide_sendfile(sending->out, sending->in, sending->has_offset ? &offset : NULL, SIZE);
		must_msg(count >= 0, "%s", strerror(errno));
		must(lseek(sending->in, 0, SEEK_CUR) == (sending->has_offset ? 5 : (off_t)done + count));
		must(!sending->has_offset || offset == (off_t)done + count);
		if (count == 0)
			break;
	}
	must(is_nonblocking(sending->out) == sending->is_nonblocking && bide_close(sending->out) == 0);
	return NULL;
}

struct case_ {
	const struct fd_kind *kind;
	bool is_nonblocking, has_offset;
};

static void *file_to_peer(void *arg)
{
	const struct case_ *c = arg;
	unsigned char bytes[10000];
	struct heartbeat heartbeat;
	int fds[2], in = make_file(SIZE);
	c->kind->make(fds);
	set_nonblocking(fds[1], c->is_nonblocking);
	struct sending sending = { fds[1], in, c->is_nonblocking, c->has_offset, 1234 };
	bide_task *sender = must_spawn(send_all, &sending);
	heartbeat_start(&heartbeat, BIDE_MSEC);
	while (heartbeat.beats < 5) /* it waits for a peer that does not read, and alone */
		must(bide_sleep(BIDE_MSEC) == 0);
	heartbeat_stop(&heartbeat);
	for (size_t done = sending.start; done < SIZE;) {
		ssize_t count = bide_read(fds[0], bytes, sizeof bytes);
		must(count > 0);
		pattern_check(3, done, bytes, (size_t)count);
		done += (size_t)count;
	}
	must(bide_read(fds[0], bytes, 1) == 0);
	must_end_well(sender);
	must(bide_close(fds[0]) == 0 && bide_close(in) == 0);
	return NULL;
}

#define STREAMS 5

/* Scenario F15: the flags of the receiver are left as they are, and a blocking one blocks nobody else. */
START_TEST(a_file_arrives_whole_at_any_stream)
{
	struct case_ c = { kind_with(STREAM, _i / 4), _i & 1, _i & 2 };
	run_real(file_to_peer, &c);
}
END_TEST

START_TEST(a_file_arrives_whole_whatever_is_interrupted_or_short)
{
	struct case_ c = { kind_with(STREAM, _i / 4), _i & 1, _i & 2 };
	if (c.kind->traits & TCP) /* their time is better spent on others */
		return;
	ck_assert_int_eq(bide_fault("sendfile:short%2,send:short%2,write:short%2"), 0);
	run_real(file_to_peer, &c);
	ck_assert_int_eq(bide_fault("sendfile:EINTR%2,send:EINTR%2,write:EINTR%2,read:short%7"), 0);
	run_real(file_to_peer, &c);
	ck_assert_int_eq(bide_fault(NULL), 0);
}
END_TEST

static void *file_to_file(void *arg)
{
	static unsigned char bytes[SIZE];
	int in = make_file(SIZE), out = make_file(0);
	ssize_t count;
	size_t done = 0;
	(void)arg;
	while ((count = bide_sendfile(out, in, NULL, SIZE)) > 0)
		done += (size_t)count;
	must(count == 0 && done == SIZE && pread(out, bytes, SIZE, 0) == SIZE);
	pattern_check(3, 0, bytes, SIZE);
	must(bide_close(in) == 0 && bide_close(out) == 0);
	return NULL;
}

START_TEST(a_file_is_copied_to_another)
{
	run_real(file_to_file, NULL);
}
END_TEST

/* ---- nobody reads ------------------------------------------------------------------------------------------- */

static void *to_nobody(void *arg)
{
	const struct case_ *c = arg;
	int fds[2], in = make_file(100);
	off_t offset = 0;
	c->kind->make(fds);
	set_nonblocking(fds[1], c->is_nonblocking);
	if (c->kind->traits & TCP)
		reset_connection(fds[0]);
	must(close(fds[0]) == 0);
	ssize_t count = bide_sendfile(fds[1], in, &offset, 100);
	must(count < 0 && (errno == EPIPE || errno == ECONNRESET) && offset == 0);
	ck_fails(bide_sendfile(fds[1], in, &offset, 100), EPIPE);
	must(bide_close(fds[1]) == 0 && bide_close(in) == 0);
	return NULL;
}

/* Statement 169, scenario F16. */
START_TEST(a_file_to_nobody_is_epipe_and_no_signal)
{
	struct sigaction action;
	sigset_t mask;
	struct case_ c = { kind_with(STREAM, _i / 2), _i & 1, true };
	run_real(to_nobody, &c);
	ck_assert(sigaction(SIGPIPE, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
	ck_assert(sigprocmask(SIG_SETMASK, NULL, &mask) == 0 && !sigismember(&mask, SIGPIPE));
}
END_TEST

/* ---- what is not in memory -------------------------------------------------------------------------------------- */

static uint64_t jobs_given(void)
{
	bide_stats stats = { .size = sizeof stats };
	must(bide_stats_get(NULL, &stats) == 0);
	return stats.jobs;
}

/* Whether the file system, or an emulator, says of a read that it would have to wait. */
static bool tells(int fd)
{
	char byte;
	struct iovec iov = { &byte, 1 };
	return preadv2(fd, &iov, 1, 0, RWF_NOWAIT) >= 0 || errno == EAGAIN;
}

struct cold {
	int out, in;
	off_t offset;
	ssize_t count;
	int err;
};

static void *send_once(void *arg)
{
	struct cold *cold = arg;
	cold->count = bide_sendfile(cold->out, cold->in, &cold->offset, SIZE);
	cold->err = cold->count < 0 ? errno : 0;
	return NULL;
}

/* The first byte is asked for, then the last. */
static const char *const not_in_memory[] = { "read:EAGAIN@1", "read:EAGAIN@2" };

static void *cold_files(void *arg)
{
	const int *which = arg;
	int fds[2], in = make_file(20000);
	make_unix(fds);
	set_nonblocking(fds[1], *which & 1);
	struct cold warm = { fds[1], in, 0, -2, 0 }, cold = { fds[1], in, 100, -2, 0 }, canceled = cold;
	uint64_t before = jobs_given();
	must_end_well(must_spawn(send_once, &warm));
	must(warm.count > 0 && (jobs_given() == before || !tells(in)));
	before = jobs_given();
	must(bide_fault(not_in_memory[*which / 2]) == 0);
	must_end_well(must_spawn(send_once, &cold));
	must(cold.count > 0 && cold.offset == 100 + cold.count && jobs_given() == before + 1);
	must(drain(fds[0]) == (size_t)(warm.count + cold.count));
	must(bide_fault("read:EAGAIN") == 0); /* each time, since to give figures is to read, too */
	bide_task *task = must_spawn(send_once, &canceled);
	while (jobs_given() < before + 2)
		must(bide_yield() == 0);
	must(bide_cancel(task, NULL) == 0 || errno == ESRCH);
	must_join(task);
	must(bide_fault(NULL) == 0);
	must(canceled.err == ECANCELED && canceled.offset == 100 && bytes_waiting(fds[0]) == 0);
	close_pair(fds);
	must(bide_close(in) == 0);
	return NULL;
}

START_TEST(what_is_not_in_memory_is_read_on_a_thread)
{
	int in = make_file(1), can_ask_twice = tells(in);
	close(in);
	if (_i < 2 || can_ask_twice)
		run_real(cold_files, &_i);
}
END_TEST

/* How often a file that is in memory is asked whether it is: any further question would find it cold. */
static const struct question {
	size_t size, count; /* of the file, and asked for */
	off_t offset;
	const char *one_more;
} questions[] = {
	{ 5000, 4096, 0, "read:EAGAIN@2" },               /* a page */
	{ 5000, 10, 4090, "read:EAGAIN@3" },              /* over the edge of one */
	{ SIZE, SIZE, 4096, "read:EAGAIN@3" },            /* a piece of many */
	{ SIZE, 100000, SIZE - 100000, "read:EAGAIN@3" }, /* to the end */
	{ 4000, SIZE, 100, "read:EAGAIN@3" },             /* beyond the end, on one page */
	{ 20000, SIZE, 100, "read:EAGAIN@4" },            /* beyond the end */
	{ 20000, SIZE, 20000, "read:EAGAIN@2" },          /* at the end */
};

static void *asked(void *arg)
{
	const struct question *question = arg;
	int fds[2], in = make_file(question->size);
	off_t offset = question->offset;
	make_unix(fds);
	set_nonblocking(fds[1], true);
	uint64_t before = jobs_given();
	must(bide_fault(question->one_more) == 0);
	ssize_t sent = bide_sendfile(fds[1], in, &offset, question->count);
	must(bide_fault(NULL) == 0);
	must(sent >= 0 && (jobs_given() == before || !tells(in)));
	close_pair(fds);
	must(bide_close(in) == 0);
	return NULL;
}

START_TEST(what_is_in_memory_is_asked_about_no_more_than_needed)
{
	struct question question = questions[_i];
	run_real(asked, &question);
}
END_TEST

/* Some file systems do not tell whether one would have to wait. Those that are memory need not. */
static void *untold(void *arg)
{
	int fds[2], memory = memfd_create("untold", MFD_CLOEXEC), in = make_file(5000);
	off_t offset = 0;
	(void)arg;
	make_unix(fds);
	set_nonblocking(fds[1], true);
	must_write(memory, "in memory", 9);
	uint64_t before = jobs_given();
	must(bide_fault("read:EOPNOTSUPP@1") == 0);
	must(bide_sendfile(fds[1], memory, &offset, 9) == 9 && jobs_given() == before);
	offset = 0;
	must(bide_fault("read:EOPNOTSUPP@1,fstatfs:EIO") == 0); /* so that it is taken for no memory */
	must(bide_sendfile(fds[1], in, &offset, 5000) == 5000 && jobs_given() == before + 1);
	must(bide_fault(NULL) == 0 && drain(fds[0]) == 5009);
	close_pair(fds);
	must(bide_close(in) == 0 && bide_close(memory) == 0);
	return NULL;
}

START_TEST(what_may_be_on_a_disk_is_read_on_a_thread_where_nothing_tells)
{
	run_real(untold, NULL);
}
END_TEST

/* ---- bad input ------------------------------------------------------------------------------------------------ */

static void *refusals(void *arg)
{
	int fds[2], pipe_fds[2], in = make_file(10);
	off_t negative = -1, beyond = 50, last = INT64_MAX, none = 0;
	(void)arg;
	make_unix(fds);
	make_pipe(pipe_fds);
	for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
		set_nonblocking(fds[1], nonblocking);
		ck_fails(bide_sendfile(fds[1], -1, NULL, 1), EBADF);
		ck_fails(bide_sendfile(-1, in, NULL, 1), EBADF);
		ck_fails(bide_sendfile(fds[1], 99999, NULL, 1), EBADF);
		ck_fails(bide_sendfile(fds[1], in, &negative, 1), EINVAL);
		must(bide_sendfile(fds[1], in, &beyond, 1) == 0 && beyond == 50);
		must(bide_sendfile(fds[1], in, &last, 100) <= 0 && last == INT64_MAX);
		must(bide_sendfile(fds[1], in, &none, 0) == 0 && none == 0);
		must(bide_sendfile(fds[1], pipe_fds[0], &none, 1) < 0); /* no file: the errno is the system's */
		must(bide_sendfile(fds[1], pipe_fds[0], NULL, 1) < 0);
	}
	must(bytes_waiting(fds[0]) == 0 && lseek(in, 0, SEEK_CUR) == 0);
	must(bide_fault("fcntl:EIO@1") == 0);
	ck_fails(bide_sendfile(fds[1], in, NULL, 1), EIO);
	must(bide_fault("lseek:EIO@1") == 0);
	set_nonblocking(fds[1], false);
	ck_fails(bide_sendfile(fds[1], in, NULL, 1), EIO);
	must(bide_fault("read:EIO") == 0);
	ck_fails(bide_sendfile(fds[1], in, NULL, 1), EIO);
	must(bide_fault(NULL) == 0 && bytes_waiting(fds[0]) == 0 && lseek(in, 0, SEEK_CUR) == 0);
	close_pair(fds);
	close_pair(pipe_fds);
	must(bide_close(in) == 0);
	return NULL;
}

START_TEST(bad_input_is_answered_and_nothing_is_sent)
{
	run_real(refusals, NULL);
}
END_TEST

int main(void)
{
	return SUITE("io_sendfile", LOOP(a_file_arrives_whole_at_any_stream, 0, 4 * STREAMS),
	    LOOP(a_file_arrives_whole_whatever_is_interrupted_or_short, 0, 4 * STREAMS), TEST(a_file_is_copied_to_another),
	    LOOP(a_file_to_nobody_is_epipe_and_no_signal, 0, 2 * STREAMS),
	    LOOP(what_is_not_in_memory_is_read_on_a_thread, 0, 4),
	    TABLE(what_is_in_memory_is_asked_about_no_more_than_needed, questions),
	    TEST(what_may_be_on_a_disk_is_read_on_a_thread_where_nothing_tells), TEST(bad_input_is_answered_and_nothing_is_sent));
}
