/* SPDX-License-Identifier: MIT
 * bide_read(), bide_write(), bide_read_exact(), bide_write_all() on descriptors of every kind.
 * Statements 160, 162, 169, 172, 174, scenarios F6, F8, F10, F11, F22, F23. */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <termios.h>
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

static int temporary_file(void)
{
	char path[] = "/tmp/bide-test-XXXXXX";
	int fd = mkstemp(path);
	must(fd >= 0);
	unlink(path);
	return fd;
}

/* ---- data that is there --------------------------------------------------------------------------------- */

static void *no_wait(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	char buf[8];
	kind->make(fds);
	bide_fault(NULL); /* calls are counted */
	must_write(fds[1], "data", 4);
	struct pollfd poll_fd = { .fd = fds[0], .events = POLLIN };
	must(poll(&poll_fd, 1, 10000) == 1);
	undisturbed();
	uint64_t turn = loop_current->ready.turn;
	int epoll = counted.epoll_ctl + counted.epoll_wait;
	must(bide_read(fds[0], buf, sizeof buf) == 4 && memcmp(buf, "data", 4) == 0);
	must(bide_write(fds[1], "more", 4) == 4);
	must(loop_current->ready.turn == turn);
	must(counted.epoll_ctl + counted.epoll_wait == epoll);
	close_pair(fds);
	return NULL;
}

/* Statement 160: the naive loop waits before it tries. */
START_TEST(what_is_there_is_read_without_a_look_at_the_poller)
{
	run_real(no_wait, arg_of(&fd_kinds[_i]));
}
END_TEST

static void *one_registration(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	kind->make(fds);
	int added = counted.epoll_add;
	for (int i = 0; i < 200; i++) {
		struct io io = { .fd = fds[0] };
		bide_task *reader = io_start(io_read, &io);
		must(io.count == -2);
		must_write(fds[1], "x", 1);
		must(join_within(reader, LONG).err == 0 && io.count == 1);
	}
	must(counted.epoll_add == added + 1);
	close_pair(fds);
	return NULL;
}

/* Statement 163, and "no epoll_ctl per wait". */
START_TEST(a_descriptor_is_registered_once_in_its_life)
{
	counted.modify_is_mute = true;
	run_real(one_registration, arg_of(&fd_kinds[_i]));
}
END_TEST

static void *echo_costs(void *arg)
{
	enum { ROUNDS = 100 };
	int fds[2];
	char byte = 'x';
	(void)arg;
	make_tcp(fds);
	bide_fault(NULL); /* calls are counted */
	struct io io = { .fd = fds[0] };
	bide_task *reader = io_start(io_recv, &io); /* registered from here on */
	must_write(fds[1], &byte, 1);
	must(join_within(reader, LONG).err == 0);
	int recvs = counted.recv, sends = counted.send, controls = counted.epoll_add;
	for (int i = 0; i < ROUNDS; i++) {
		reader = io_start(io_recv, &io);
		must(io.count == -2); /* it did not even try: the last read was short */
		must_write(fds[1], &byte, 1);
		must(join_within(reader, LONG).err == 0);
		must(bide_send(fds[0], &byte, 1, 0) == 1);
		must(read(fds[1], &byte, 1) == 1);
	}
	must(counted.recv - recvs == ROUNDS && counted.send - sends == ROUNDS);
	must(counted.epoll_add == controls);
	close_pair(fds);
	return NULL;
}

/* performance.md: 2.0 system calls an echo, and the shared wait. */
START_TEST(an_echo_is_one_recv_and_one_send)
{
	run_real(echo_costs, NULL);
}
END_TEST

/* ---- ends ------------------------------------------------------------------------------------------------- */

static void *all_before_the_end(void *arg)
{
	enum { SIZE = 100000 };
	const struct fd_kind *kind = arg;
	static char data[SIZE];
	int fds[2];
	kind->make(fds);
	pattern_fill(1, 0, data, SIZE);
	/* Written, and the end told, in one go by a child of the system's: the reader sees IN and the
	 * hang-up together. A pipe holds 64 KiB, so the rest goes in while we read. */
	struct io writes = { .fd = fds[1] };
	size_t sent = 0, total = 0;
	char buf[7];
	set_nonblocking(fds[1], true);
	(void)writes;
	for (;;) {
		while (sent < SIZE) {
			ssize_t count = write(fds[1], data + sent, SIZE - sent);
			if (count < 0)
				break;
			sent += (size_t)count;
		}
		if (sent == SIZE && fds[1] >= 0) {
			close(fds[1]);
			fds[1] = -1;
		}
		ssize_t count = bide_read(fds[0], buf, sizeof buf);
		must(count >= 0);
		if (count == 0)
			break;
		pattern_check(1, total, buf, (size_t)count);
		total += (size_t)count;
		if (total % 700 == 0)
			must(bide_sleep(1) == 0);
	}
	must(total == SIZE);
	must(bide_read(fds[0], buf, sizeof buf) == 0); /* and again */
	close_pair(fds);
	return NULL;
}

/* Scenario F11. */
START_TEST(everything_written_before_the_end_is_read)
{
	counted.modify_is_mute = true;
	run_real(all_before_the_end, arg_of(kind_with(STREAM, _i)));
}
END_TEST

static void *one_byte_at_a_time(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	char buf[64];
	kind->make(fds);
	struct io io = { .fd = fds[0], .size = 64 };
	for (size_t i = 0; i < 300; i++) {
		char byte = (char)pattern(2, i);
		bide_task *reader = i % 3 ? io_start(io_read, &io) : NULL;
		must_write(fds[1], &byte, 1);
		if (i == 299) {
			close(fds[1]);
			fds[1] = -1;
		}
		if (reader) {
			must(join_within(reader, LONG).err == 0 && io.count == 1 && io.buf[0] == byte);
		} else {
			must(bide_read(fds[0], buf, sizeof buf) == 1 && buf[0] == byte);
		}
	}
	must(bide_read(fds[0], buf, sizeof buf) == 0);
	close_pair(fds);
	return NULL;
}

START_TEST(a_peer_that_sends_one_byte_at_a_time_is_understood)
{
	counted.modify_is_mute = true;
	run_real(one_byte_at_a_time, arg_of(kind_with(STREAM, _i)));
}
END_TEST

/* The end of the input at each moment around a read: before it, while it waits, after it was woken by
 * data, together with data. */
static void *ends_at(void *arg)
{
	const struct fd_kind *kind = arg;
	for (int moment = 0; moment < 5; moment++) {
		int fds[2];
		char byte = 'x';
		kind->make(fds);
		struct io io = { .fd = fds[0] };
		if (moment == 0)
			close(fds[1]);
		if (moment == 4) { /* the read before was short, and remembers that nothing is there */
			bide_task *first = io_start(io_read, &io);
			must_write(fds[1], &byte, 1);
			must(join_within(first, LONG).err == 0);
			close(fds[1]);
		}
		bide_task *reader = io_start(io_read, &io);
		if (moment == 1)
			close(fds[1]);
		if (moment == 2 || moment == 3) {
			must_write(fds[1], &byte, 1);
			if (moment == 2)
				close(fds[1]);
			must(join_within(reader, LONG).err == 0 && io.count == 1);
			if (moment == 3)
				close(fds[1]);
			reader = io_start(io_read, &io);
		}
		must(join_within(reader, LONG).err == 0 && io.count == 0);
		must(bide_close(fds[0]) == 0);
	}
	return NULL;
}

START_TEST(the_end_is_noticed_whenever_it_comes)
{
	counted.modify_is_mute = true;
	run_real(ends_at, arg_of(kind_with(STREAM, _i)));
}
END_TEST

static void *half_close(void *arg)
{
	enum { SIZE = 4 << 20 };
	const struct fd_kind *kind = arg;
	static char data[SIZE], buf[65536];
	int fds[2];
	kind->make(fds);
	pattern_fill(3, 0, data, SIZE);
	shutdown(fds[1], SHUT_WR);
	struct io reads = { .fd = fds[0] };
	bide_task *reader = io_start(io_read, &reads);
	must(join_within(reader, LONG).err == 0 && reads.count == 0);
	struct io writes = { .fd = fds[0], .data = data, .size = SIZE };
	size_t total = 0, sent = 0;
	int waits = counted.epoll_wait;
	while (total < SIZE) {
		writes.data = data + sent;
		writes.size = SIZE - sent;
		bide_task *writer = writes.size ? io_start(io_write, &writes) : NULL;
		if (total % 3 == 0)
			must(bide_sleep(BIDE_MSEC / 10) == 0);
		ssize_t count = bide_read(fds[1], buf, sizeof buf);
		must(count > 0);
		pattern_check(3, total, buf, (size_t)count);
		total += (size_t)count;
		if (writer) {
			must(join_within(writer, LONG).err == 0);
			sent += (size_t)writes.count;
		}
	}
	must(sent == SIZE);
	must(counted.epoll_wait - waits < 20000); /* it did not spin on RDHUP */
	must(bide_read(fds[0], buf, 1) == 0);
	close_pair(fds);
	return NULL;
}

/* Statement 175, scenario F10. */
START_TEST(after_the_end_of_input_the_other_direction_still_flows)
{
	counted.modify_is_mute = true;
	run_real(half_close, arg_of(kind_with(TWO_WAY | STREAM, _i)));
}
END_TEST

static void *blocked_in_half_close(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	kind->make(fds);
	shutdown(fds[1], SHUT_WR);
	fill(fds[0]);
	struct io io = { .fd = fds[0], .data = "x", .size = 1 };
	bide_task *writer = io_start(io_write, &io);
	int waits = counted.epoll_wait, sends = counted.send;
	must(bide_sleep(30 * BIDE_MSEC) == 0);
	must(io.count == -2);
	must(counted.epoll_wait - waits <= 4 && counted.send - sends <= 1);
	must(drain(fds[1]) > 0);
	must(join_within(writer, LONG).err == 0);
	close_pair(fds);
	return NULL;
}

/* Scenario F10: CPU low while blocked. */
START_TEST(a_writer_blocked_after_the_end_of_input_does_not_spin)
{
	run_real(blocked_in_half_close, arg_of(kind_with(TWO_WAY | STREAM, _i)));
}
END_TEST

/* ---- exact and all ------------------------------------------------------------------------------------------ */

static void *exact(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	char buf[16];
	size_t done = 99;
	kind->make(fds);
	must(bide_write_all(fds[1], "0123456789", 10, &done) == 10 && done == 10);
	must(bide_read_exact(fds[0], buf, 4, &done) == 4 && done == 4);
	must(bide_read_exact(fds[0], buf + 4, 6, NULL) == 6);
	must(memcmp(buf, "0123456789", 10) == 0);
	must(bide_read_exact(fds[0], buf, 0, &done) == 0 && done == 0);
	must(bide_write_all(fds[1], buf, 0, &done) == 0 && done == 0);
	must_write(fds[1], "end", 3);
	close(fds[1]);
	fds[1] = -1;
	must(bide_read_exact(fds[0], buf, 10, &done) == 3 && done == 3); /* short only at the end */
	must(bide_read_exact(fds[0], buf, 10, &done) == 0 && done == 0);
	close_pair(fds);
	return NULL;
}

START_TEST(exact_reads_go_on_until_the_size_or_the_end)
{
	run_real(exact, arg_of(kind_with(STREAM, _i)));
}
END_TEST

struct big_write {
	int fd;
	const char *data;
	size_t size, done;
	ssize_t result;
	int err;
};

static void *write_big(void *arg)
{
	struct big_write *job = arg;
	job->done = 12345;
	job->result = bide_write_all(job->fd, job->data, job->size, &job->done);
	job->err = job->result < 0 ? errno : 0;
	return NULL;
}

static void *partial_write(void *arg)
{
	enum { SIZE = 1 << 23, READ = 100 * 1024 };
	const struct fd_kind *kind = arg;
	static char data[SIZE], buf[READ];
	int fds[2];
	kind->make(fds);
	pattern_fill(4, 0, data, SIZE);
	struct big_write job = { .fd = fds[1], .data = data, .size = SIZE };
	bide_task *writer = must_spawn(write_big, &job);
	must(bide_read_exact(fds[0], buf, READ, NULL) == READ);
	pattern_check(4, 0, buf, READ);
	must(bide_sleep(20 * BIDE_MSEC) == 0);
	must(bide_cancel(writer, NULL) == 0);
	must_join(writer);
	must(job.result == -1 && job.err == ECANCELED && job.done >= READ && job.done < SIZE);
	/* The count is what the peer gets; going on from there gives the exact data. */
	struct big_write rest = { .fd = fds[1], .data = data + job.done, .size = SIZE - job.done };
	writer = must_spawn(write_big, &rest);
	for (size_t total = READ; total < SIZE;) {
		ssize_t count = bide_read(fds[0], buf, sizeof buf);
		must(count > 0);
		pattern_check(4, total, buf, (size_t)count);
		total += (size_t)count;
	}
	must_join(writer);
	must(rest.result == (ssize_t)rest.size && rest.done == rest.size);
	close_pair(fds);
	return NULL;
}

/* Statement 162, scenario E9. */
START_TEST(a_canceled_write_all_tells_what_the_peer_will_get)
{
	run_real(partial_write, arg_of(kind_with(STREAM, _i)));
}
END_TEST

static void *write_into_nothing(void *arg)
{
	enum { SIZE = 1 << 26 };
	const struct fd_kind *kind = arg;
	static char data[SIZE];
	int fds[2];
	kind->make(fds);
	struct big_write job = { .fd = fds[1], .data = data, .size = SIZE };
	bide_task *writer = must_spawn(write_big, &job);
	turns(3);
	size_t got = drain(fds[0]);
	must(bide_sleep(5 * BIDE_MSEC) == 0);
	got += drain(fds[0]);
	close(fds[0]);
	fds[0] = -1;
	join_within(writer, LONG);
	must(job.result == -1 && (job.err == EPIPE || job.err == ECONNRESET));
	must(job.done >= got && job.done < SIZE);
	close_pair(fds);
	return NULL;
}

/* Statement 162. */
START_TEST(a_write_all_that_fails_midway_tells_how_far_it_came)
{
	run_real(write_into_nothing, arg_of(kind_with(STREAM, _i)));
}
END_TEST

static void *exact_canceled(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	char buf[8];
	size_t done = 99;
	kind->make(fds);
	bide_scope scope;
	must_write(fds[1], "abc", 3);
	must(bide_scope_enter(&scope, bide_after(20 * BIDE_MSEC), 0) == 0);
	ck_fails(bide_read_exact(fds[0], buf, 8, &done), ETIMEDOUT);
	must(done == 3 && memcmp(buf, "abc", 3) == 0);
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	close_pair(fds);
	return NULL;
}

/* Scenario E9. */
START_TEST(a_read_exact_that_times_out_has_what_came)
{
	run_virtual(exact_canceled, arg_of(kind_with(STREAM, _i)));
}
END_TEST

/* ---- other files ---------------------------------------------------------------------------------------------- */

static void *regular_file(void *arg)
{
	char buf[16];
	struct heartbeat heartbeat;
	(void)arg;
	int fd = temporary_file();
	must(bide_write_all(fd, "0123456789", 10, NULL) == 10);
	must(bide_read(fd, buf, sizeof buf) == 0);
	must(lseek(fd, 0, SEEK_SET) == 0);
	must(bide_read(fd, buf, 4) == 4 && bide_read_exact(fd, buf + 4, 12, NULL) == 6);
	must(memcmp(buf, "0123456789", 10) == 0);
	must(bide_fd_wait(fd, POLLIN | POLLOUT) == (POLLIN | POLLOUT));
	/* Reading without end, it still lets others run. */
	heartbeat_start(&heartbeat, BIDE_MSEC);
	while (heartbeat.beats < 5) {
		must(lseek(fd, 0, SEEK_SET) == 0);
		must(bide_read(fd, buf, 10) == 10);
	}
	heartbeat_stop(&heartbeat);
	must(bide_close(fd) == 0);
	return NULL;
}

/* Statement 174, scenario F6. */
START_TEST(a_regular_file_is_read_and_written)
{
	run_real(regular_file, NULL);
}
END_TEST

static void *devices(void *arg)
{
	char buf[16] = "x";
	(void)arg;
	int fd = open("/dev/null", O_RDWR);
	must(bide_read(fd, buf, sizeof buf) == 0);
	must(bide_write(fd, buf, sizeof buf) == sizeof buf);
	must(bide_write_all(fd, buf, sizeof buf, NULL) == sizeof buf);
	must(bide_close(fd) == 0);
	fd = open("/dev/zero", O_RDWR);
	must(bide_read_exact(fd, buf, sizeof buf, NULL) == sizeof buf && buf[0] == 0);
	must(bide_close(fd) == 0);
	fd = open("/dev/urandom", O_RDONLY);
	must(bide_read_exact(fd, buf, sizeof buf, NULL) == sizeof buf);
	must(bide_close(fd) == 0);
	fd = open("/", O_RDONLY | O_DIRECTORY);
	ck_fails(bide_read(fd, buf, sizeof buf), EISDIR);
	ck_fails(bide_write(fd, buf, sizeof buf), EBADF);
	must(bide_close(fd) == 0);
	fd = open("/dev/full", O_WRONLY);
	if (fd >= 0) {
		ck_fails(bide_write(fd, buf, 1), ENOSPC);
		must(bide_close(fd) == 0);
	}
	return NULL;
}

/* Scenarios F6, F13. */
START_TEST(devices_and_directories_answer_as_they_do_to_read_and_write)
{
	run_virtual(devices, NULL);
}
END_TEST

static void *event_counter(void *arg)
{
	uint64_t value = 5, got = 0;
	(void)arg;
	int fd = eventfd(0, 0);
	struct io io = { .fd = fd };
	for (int i = 0; i < 5; i++) {
		bide_task *reader = io_start(io_read, &io);
		must(io.count == -2);
		must(bide_write(fd, &value, sizeof value) == sizeof value);
		must(join_within(reader, LONG).err == 0 && io.count == 8);
		memcpy(&got, io.buf, sizeof got);
		must(got == 5);
	}
	/* Full: a writer waits until somebody reads. */
	value = UINT64_MAX - 1;
	must(bide_write(fd, &value, sizeof value) == sizeof value);
	value = 1;
	struct io writes = { .fd = fd, .data = &value, .size = sizeof value };
	bide_task *writer = io_start(io_write, &writes);
	turns(3);
	must(writes.count == -2);
	must(bide_read(fd, &got, sizeof got) == sizeof got && got == UINT64_MAX - 1);
	must(join_within(writer, LONG).err == 0);
	ck_fails(bide_read(fd, &got, 4), EINVAL);
	must(bide_close(fd) == 0);
	return NULL;
}

START_TEST(an_eventfd_is_read_and_written)
{
	counted.modify_is_mute = true;
	run_real(event_counter, NULL);
}
END_TEST

static void *terminal(void *arg)
{
	struct termios settings;
	struct heartbeat heartbeat;
	int fds[2];
	(void)arg;
	make_pty(fds);
	must(tcgetattr(fds[0], &settings) == 0);
	settings.c_lflag |= ICANON;
	must(tcsetattr(fds[0], TCSANOW, &settings) == 0);
	struct io io = { .fd = fds[0] };
	bide_task *reader = io_start(io_read, &io);
	heartbeat_start(&heartbeat, BIDE_MSEC);
	must_write(fds[1], "half a li", 9);
	while (heartbeat.beats < 5)
		must(bide_sleep(BIDE_MSEC) == 0);
	must(io.count == -2);
	must_write(fds[1], "ne\nnext", 7);
	must(join_within(reader, LONG).err == 0);
	must(io.count == 12 && memcmp(io.buf, "half a line\n", 12) == 0);
	must(bide_write(fds[0], "answer", 6) == 6);
	must(bide_read_exact(fds[1], io.buf, 6, NULL) == 6 && memcmp(io.buf, "answer", 6) == 0);
	heartbeat_stop(&heartbeat);
	must(!is_nonblocking(fds[0]) && !is_nonblocking(fds[1]));
	close_pair(fds);
	return NULL;
}

START_TEST(a_terminal_gives_lines_and_its_reader_stops_nobody)
{
	run_real(terminal, NULL);
}
END_TEST

/* ---- standard input and output ------------------------------------------------------------------------------------- */

#define COPY_SIZE 3000

/* Descriptors that a shell may give a program: fds[0] gives the program COPY_SIZE bytes and then ends,
 * fds[1] takes what it writes; `collect` fetches that afterwards. */
struct stdio_kind {
	const char *name;
	make_pair *make;   /* NULL: a file */
	const char *path;  /* or such a device */
};

static const struct stdio_kind stdio_kinds[] = {
	{ "file", NULL, NULL }, { "null", NULL, "/dev/null" }, { "pipe", make_pipe, NULL },
	{ "fifo", make_fifo, NULL }, { "unix", make_unix, NULL }, { "tcp", make_tcp, NULL },
	{ "pty", make_pty, NULL },
};
#define STDIO_KINDS ((int)(sizeof stdio_kinds / sizeof *stdio_kinds))

/* fds[0] for the program to read; fds[1] is -1, or to be closed behind it. */
static void open_input(const struct stdio_kind *kind, int fds[2])
{
	static char data[COPY_SIZE];
	pattern_fill(9, 0, data, COPY_SIZE);
	fds[1] = -1;
	if (!kind->make) {
		fds[0] = kind->path ? open(kind->path, O_RDONLY) : temporary_file();
		if (!kind->path) {
			must_write(fds[0], data, COPY_SIZE);
			must(lseek(fds[0], 0, SEEK_SET) == 0);
		}
		return;
	}
	kind->make(fds);
	must_write(fds[1], data, COPY_SIZE);
	if (kind->make == make_pty) /* its master stays open until all is read: closing drops the rest */
		return;
	close(fds[1]);
	fds[1] = -1;
}

/* fds[1] for the program to write; fds[0] is where it arrives, or -1. */
static void open_output(const struct stdio_kind *kind, int fds[2])
{
	if (kind->make) {
		kind->make(fds);
		return;
	}
	fds[0] = -1;
	fds[1] = kind->path ? open(kind->path, O_WRONLY) : temporary_file();
}

static void *copy(void *arg)
{
	const struct stdio_kind *from = &stdio_kinds[*(int *)arg % STDIO_KINDS];
	const struct stdio_kind *to = &stdio_kinds[*(int *)arg / STDIO_KINDS];
	int in[2], out[2];
	char buf[700];
	size_t total = 0, wanted = from->path ? 0 : COPY_SIZE;
	open_input(from, in);
	open_output(to, out);
	for (;;) {
		ssize_t count = bide_read(in[0], buf, sizeof buf);
		if (count < 0 && from->make == make_pty && errno == EIO) /* how its end is told */
			break;
		must_msg(count >= 0, "read from %s: %s", from->name, strerror(errno));
		if (count == 0)
			break;
		must_msg(bide_write_all(out[1], buf, (size_t)count, NULL) == count, "write to %s: %s", to->name,
		    strerror(errno));
		total += (size_t)count;
		if (total == wanted && in[1] >= 0) {
			close(in[1]);
			in[1] = -1;
		}
	}
	must(total == wanted);
	int back = out[0] >= 0 ? out[0] : out[1];
	if (out[0] < 0 && !to->path)
		must(lseek(back, 0, SEEK_SET) == 0);
	for (size_t got = 0; got < total && !to->path;) {
		ssize_t count = bide_read(back, buf, sizeof buf);
		must(count > 0);
		pattern_check(9, got, buf, (size_t)count);
		got += (size_t)count;
	}
	close_pair(in);
	close_pair(out);
	return NULL;
}

/* Scenario F6. */
START_TEST(a_copy_from_any_standard_input_to_any_standard_output_is_exact)
{
	run_real(copy, &_i);
}
END_TEST

/* ---- numbers ------------------------------------------------------------------------------------------------------ */

/* Statement 172: a select() loop ends at 1023. Scenario F23: sparse numbers cost by use. */
static const int high_numbers[] = { 1023, 1024, 5000, 65536, 900000 };

static void *high_number(void *arg)
{
	const int *number = arg;
	int fds[2];
	make_tcp(fds);
	must(dup2(fds[0], *number) == *number);
	close(fds[0]);
	fds[0] = *number;
	long resident = resident_kib();
	struct io io = { .fd = fds[0] };
	for (int i = 0; i < 3; i++) {
		bide_task *reader = io_start(io_recv, &io);
		must_write(fds[1], "x", 1);
		must(join_within(reader, LONG).err == 0);
		must(bide_send(fds[0], "y", 1, 0) == 1);
	}
	must(resident_kib() - resident < 32 * 1024);
	close_pair(fds);
	return NULL;
}

START_TEST(any_number_that_the_limit_allows_works)
{
	struct rlimit limit;
	int number = high_numbers[_i];
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	struct rlimit raised = limit;
	if ((rlim_t)number >= raised.rlim_cur)
		raised.rlim_cur = (rlim_t)number + 1;
	if (raised.rlim_cur > raised.rlim_max)
		raised.rlim_max = raised.rlim_cur;
	if (setrlimit(RLIMIT_NOFILE, &raised) < 0)
		return; /* not ours to raise: no such numbers here */
	run_real(high_number, &number);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}
END_TEST

/* ---- bad input, zero sizes -------------------------------------------------------------------------------------------- */

static void *zero_sizes(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	char buf[4];
	kind->make(fds);
	undisturbed();
	uint64_t turn = loop_current->ready.turn;
	must(bide_read(fds[0], buf, 0) == 0);   /* also with nothing to read */
	must(bide_read(fds[0], NULL, 0) == 0);
	must(bide_write(fds[1], NULL, 0) == 0);
	must(bide_read_exact(fds[0], NULL, 0, NULL) == 0);
	must(bide_write_all(fds[1], NULL, 0, NULL) == 0);
	must_write(fds[1], "abc", 3);
	must(bide_read(fds[0], buf, 0) == 0);   /* takes no datagram, and no byte */
	must(loop_current->ready.turn == turn);
	must(bide_read(fds[0], buf, sizeof buf) == 3);
	/* State is as it was: a reader still waits, and is woken. */
	struct io io = { .fd = fds[0] };
	bide_task *reader = io_start(io_read, &io);
	must(bide_read(fds[0], buf, 0) == 0);
	must(io.count == -2);
	must_write(fds[1], "d", 1);
	must(join_within(reader, LONG).err == 0);
	close_pair(fds);
	return NULL;
}

/* Scenario F22. */
START_TEST(a_zero_size_call_returns_at_once_and_touches_nothing)
{
	run_real(zero_sizes, arg_of(&fd_kinds[_i]));
}
END_TEST

static void *bad_input(void *arg)
{
	int fds[2], pipe_fds[2];
	char buf[4] = "abc";
	size_t done = 99;
	(void)arg;
	make_unix(fds);
	make_pipe(pipe_fds);
	ck_fails(bide_read(fds[0], NULL, 1), EINVAL);
	ck_fails(bide_write(fds[0], NULL, 1), EINVAL);
	ck_fails(bide_read_exact(fds[0], NULL, 1, &done), EINVAL);
	must(done == 0);
	ck_fails(bide_write_all(fds[0], NULL, 1, NULL), EINVAL);
	static const int numbers[] = { -1, INT_MIN, 9999, INT_MAX, INT_MAX - 64 };
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		ck_fails(bide_read(numbers[i], buf, 1), EBADF);
		ck_fails(bide_read(numbers[i], buf, 0), EBADF);
		ck_fails(bide_write(numbers[i], buf, 1), EBADF);
		ck_fails(bide_write(numbers[i], buf, 0), EBADF);
		ck_fails(bide_read_exact(numbers[i], buf, 1, NULL), EBADF);
		ck_fails(bide_write_all(numbers[i], buf, 1, NULL), EBADF);
	}
	/* An emulator without preadv2() cannot tell which end of a pipe it is; and it, and memcheck, get lost
	 * in huge sizes. */
	if (!suite_is_under("qemu")) {
		ck_fails(bide_read(pipe_fds[1], buf, 1), EBADF); /* its wrong end */
		ck_fails(bide_write(pipe_fds[0], buf, 1), EBADF);
	}
	/* Huge sizes: as much as there is, or EFAULT, as the kernel likes. */
	if (suite_is_native()) {
		must_write(fds[1], "abc", 3);
		ssize_t count = bide_read(fds[0], buf, SSIZE_MAX);
		must(count == 3 || (count == -1 && errno == EFAULT && drain(fds[0]) == 3));
		must_write(pipe_fds[1], "abc", 3);
		count = bide_read(pipe_fds[0], buf, SSIZE_MAX);
		must(count == 3 || (count == -1 && errno == EFAULT));
	}
	close_pair(pipe_fds);
	int number = fds[0];
	must(bide_close(number) == 0);
	ck_fails(bide_read(number, buf, 1), EBADF);
	ck_fails(bide_read(number, buf, 0), EBADF);
	ck_fails(bide_write(number, buf, 1), EBADF);
	must(bide_close(fds[1]) == 0);
	/* Numbers that mean nothing cost nothing. */
	must(loop_current->descriptors.page_count < 1000);
	return NULL;
}

START_TEST(bad_input_is_answered_with_the_errno_of_the_manual)
{
	run_virtual(bad_input, NULL);
}
END_TEST

static void outside(int fd)
{
	char buf[4];
	size_t done = 99;
	ck_fails(bide_read(fd, buf, 1), EPERM);
	ck_fails(bide_read(fd, buf, 0), EPERM);
	ck_fails(bide_write(fd, buf, 1), EPERM);
	ck_fails(bide_read_exact(fd, buf, 1, &done), EPERM);
	must(done == 0);
	ck_fails(bide_write_all(fd, buf, 1, &done), EPERM);
	ck_fails(bide_recv(fd, buf, 1, 0), EPERM);
	ck_fails(bide_send(fd, buf, 1, 0), EPERM);
	ck_fails(bide_fd_wait(fd, POLLIN), EPERM);
}

static void outside_in_callback(void *arg)
{
	outside(*(int *)arg);
	*(int *)arg = -1;
}

static void *outside_in_thread(void *arg)
{
	outside(*(int *)arg);
	return NULL;
}

static void *callback_and_thread(void *arg)
{
	int fds[2], fd;
	pthread_t thread;
	(void)arg;
	make_unix(fds);
	must_write(fds[1], "abc", 3);
	fd = fds[0];
	must(bide_call_soon(outside_in_callback, &fd) == 0);
	turns(2);
	must(fd == -1);
	must(pthread_create(&thread, NULL, outside_in_thread, &fds[0]) == 0);
	pthread_join(thread, NULL);
	must(bytes_waiting(fds[0]) == 3);
	close_pair(fds);
	return NULL;
}

/* Statement 12. */
START_TEST(outside_a_task_it_is_eperm_and_no_effect)
{
	int fds[2];
	make_unix(fds);
	must_write(fds[1], "abc", 3);
	outside(fds[0]);
	ck_assert_int_eq(bytes_waiting(fds[0]), 3);
	close_pair(fds);
	run_virtual(callback_and_thread, NULL);
}
END_TEST

int main(void)
{
	return SUITE("io_read_write", LOOP(what_is_there_is_read_without_a_look_at_the_poller, 0, FD_KINDS),
	    LOOP(a_descriptor_is_registered_once_in_its_life, 0, FD_KINDS),
	    TEST(an_echo_is_one_recv_and_one_send), LOOP(everything_written_before_the_end_is_read, 0, 5),
	    LOOP(a_peer_that_sends_one_byte_at_a_time_is_understood, 0, 5),
	    LOOP(the_end_is_noticed_whenever_it_comes, 0, 5),
	    LOOP(after_the_end_of_input_the_other_direction_still_flows, 0, 3),
	    LOOP(a_writer_blocked_after_the_end_of_input_does_not_spin, 0, 3),
	    LOOP(exact_reads_go_on_until_the_size_or_the_end, 0, 5),
	    LOOP(a_canceled_write_all_tells_what_the_peer_will_get, 0, 5),
	    LOOP(a_write_all_that_fails_midway_tells_how_far_it_came, 0, 5),
	    LOOP(a_read_exact_that_times_out_has_what_came, 0, 5),
	    TEST(a_regular_file_is_read_and_written),
	    TEST(devices_and_directories_answer_as_they_do_to_read_and_write),
	    TEST(an_eventfd_is_read_and_written), TEST(a_terminal_gives_lines_and_its_reader_stops_nobody),
	    LOOP(a_copy_from_any_standard_input_to_any_standard_output_is_exact, 0, STDIO_KINDS * STDIO_KINDS),
	    TABLE(any_number_that_the_limit_allows_works, high_numbers),
	    LOOP(a_zero_size_call_returns_at_once_and_touches_nothing, 0, FD_KINDS),
	    TEST(bad_input_is_answered_with_the_errno_of_the_manual),
	    TEST(outside_a_task_it_is_eperm_and_no_effect));
}
