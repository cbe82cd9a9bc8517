/* SPDX-License-Identifier: MIT
 * bide_recv() and bide_send(): flags, urgent data, boundaries, datagrams, and what a short read may be
 * taken for. Statements 39, 160, 173, 175, 176, scenarios F8, F12, F22. */
#include <fcntl.h>
#include <linux/errqueue.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "counted_calls.h"
#include "runs.h"
#include "sched/loop.h"
#include "sockets.h"
#include "suite.h"

static void *arg_of(const void *constant)
{
	return (void *)(uintptr_t)constant;
}

static void make_tcp_pair(int fds[2])
{
	make_tcp(fds);
	int on = 1;
	must(setsockopt(fds[1], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0);
}

/* Reads with a buffer larger than anything there is, so that each read is short. */
static void must_recv(int fd, const char *text)
{
	struct io io = { .fd = fd };
	must(join_within(io_start(io_recv, &io), LONG).err == 0);
	must_msg(io.count == (ssize_t)strlen(text) && memcmp(io.buf, text, strlen(text)) == 0,
	    "got %zd bytes \"%.*s\" instead of \"%s\"", io.count, (int)io.count, io.buf, text);
}

/* ---- MSG_DONTWAIT ------------------------------------------------------------------------------------------ */

static void *dont_wait(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	char buf[8];
	kind->make(fds);
	undisturbed();
	uint64_t turn = loop_current->ready.turn;
	for (int i = 0; i < 5; i++)
		ck_fails(bide_recv(fds[0], buf, 8, MSG_DONTWAIT), EAGAIN); /* each time, not only the first */
	must(loop_current->ready.turn == turn);
	for (int i = 0; i < 3; i++) {
		must_write(fds[1], "ab", 2);
		must(bide_recv(fds[0], buf, 8, MSG_DONTWAIT) == 2); /* whatever was remembered */
		ck_fails(bide_recv(fds[0], buf, 8, MSG_DONTWAIT), EAGAIN);
	}
	/* Somebody waits: what comes is the other's. */
	struct io io = { .fd = fds[0] };
	bide_task *reader = io_start(io_recv, &io);
	must_write(fds[1], "cd", 2);
	ck_fails(bide_recv(fds[0], buf, 8, MSG_DONTWAIT), EAGAIN);
	must(join_within(reader, LONG).err == 0 && io.count == 2);
	/* And it spoiled nothing for those who do wait. */
	reader = io_start(io_recv, &io);
	ck_fails(bide_recv(fds[0], buf, 8, MSG_DONTWAIT), EAGAIN);
	must_write(fds[1], "ef", 2);
	must(join_within(reader, LONG).err == 0 && io.count == 2);
	if (kind->traits & STREAM) {
		fill(fds[1]);
		for (int i = 0; i < 3; i++)
			ck_fails(bide_send(fds[1], "x", 1, MSG_DONTWAIT), EAGAIN);
		drain(fds[0]);
		struct pollfd poll_fd = { .fd = fds[1], .events = POLLOUT };
		must(poll(&poll_fd, 1, 10000) == 1);
		must(bide_send(fds[1], "x", 1, MSG_DONTWAIT) == 1);
	}
	close_pair(fds);
	return NULL;
}

/* "MSG_DONTWAIT is allowed and then EAGAIN reaches the caller." */
START_TEST(with_dontwait_it_never_parks)
{
	counted.modify_is_mute = true;
	run_real(dont_wait, arg_of(kind_with(SOCKET, _i)));
}
END_TEST

/* ---- MSG_PEEK ------------------------------------------------------------------------------------------------ */

static void *peeking(void *arg)
{
	struct io *io = arg;
	io->count = bide_recv(io->fd, io->buf, sizeof io->buf, MSG_PEEK);
	return NULL;
}

static void *peek(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	kind->make(fds);
	struct io peeks = { .fd = fds[0] }, reads = { .fd = fds[0] };
	for (int i = 0; i < 3; i++) {
		bide_task *peeker = io_start(peeking, &peeks);
		bide_task *reader = io_start(io_recv, &reads);
		must_write(fds[1], "ab", 2);
		join_within(peeker, LONG);
		must(peeks.count == 2);
		must(join_within(reader, LONG).err == 0 && reads.count == 2);
		must_write(fds[1], "c", 1);
		join_within(io_start(peeking, &peeks), LONG);
		must(peeks.count == 1);
		must_recv(fds[0], "c");
	}
	close_pair(fds);
	return NULL;
}

START_TEST(a_peek_leaves_the_data_to_the_next_in_line)
{
	counted.modify_is_mute = true;
	run_real(peek, arg_of(kind_with(SOCKET, _i)));
}
END_TEST

/* ---- short reads that do not mean drained --------------------------------------------------------------------- */

/* The reader may have waited (and the poller told of the urgent data), or come when all was there. */
static void *urgent(void *arg)
{
	const int *moment = arg;
	int fds[2];
	char byte = 0;
	make_tcp_pair(fds);
	if (*moment > 0) { /* registered, and drained */
		struct io io = { .fd = fds[0] };
		bide_task *reader = io_start(io_recv, &io);
		must_write(fds[1], "start", 5);
		must(join_within(reader, LONG).err == 0 && io.count == 5);
	}
	struct io io = { .fd = fds[0] };
	bide_task *reader = *moment == 2 ? io_start(io_recv, &io) : NULL;
	must_write(fds[1], "before", 6);
	must(send(fds[1], "!", 1, MSG_OOB) == 1);
	must_write(fds[1], "after", 5);
	if (*moment == 3)
		must(bide_sleep(2 * BIDE_MSEC) == 0);
	if (reader)
		must(join_within(reader, LONG).err == 0 && io.count == 6);
	else
		must_recv(fds[0], "before"); /* it stops at the mark */
	must(bide_recv(fds[0], &byte, 1, MSG_OOB) == 1 && byte == '!');
	must_recv(fds[0], "after");
	ck_fails(bide_recv(fds[0], &byte, 1, MSG_OOB), EINVAL);
	/* Without looking at the urgent byte, too. */
	for (int i = 0; i < 3; i++) {
		must_write(fds[1], "one", 3);
		must(send(fds[1], "!", 1, MSG_OOB) == 1);
		must_write(fds[1], "two", 3);
		must_recv(fds[0], "one");
		must_recv(fds[0], "two");
	}
	close_pair(fds);
	return NULL;
}

START_TEST(urgent_data_in_the_middle_loses_no_wake_up)
{
	int moment = _i;
	counted.modify_is_mute = true;
	run_real(urgent, &moment);
}
END_TEST

static void *inline_urgent(void *arg)
{
	int fds[2], on = 1;
	(void)arg;
	make_tcp_pair(fds);
	must(setsockopt(fds[0], SOL_SOCKET, SO_OOBINLINE, &on, sizeof on) == 0);
	struct io io = { .fd = fds[0] };
	for (int i = 0; i < 3; i++) {
		bide_task *reader = io_start(io_recv, &io);
		must_write(fds[1], "ab", 2);
		must(send(fds[1], "!", 1, MSG_OOB) == 1);
		must_write(fds[1], "cd", 2);
		must(join_within(reader, LONG).err == 0);
		char all[8];
		size_t total = (size_t)io.count;
		memcpy(all, io.buf, total);
		while (total < 5) {
			must(join_within(io_start(io_recv, &io), LONG).err == 0);
			memcpy(all + total, io.buf, (size_t)io.count);
			total += (size_t)io.count;
		}
		must(total == 5 && memcmp(all, "ab!cd", 5) == 0);
	}
	close_pair(fds);
	return NULL;
}

START_TEST(urgent_data_in_line_loses_no_wake_up)
{
	counted.modify_is_mute = true;
	run_real(inline_urgent, NULL);
}
END_TEST

static void *urgent_reader(void *arg)
{
	struct io *io = arg;
	io->count = bide_recv(io->fd, io->buf, 1, MSG_OOB);
	io->err = errno;
	return NULL;
}

/* The peer announces urgent data that its closed window does not let it send: MSG_OOB would block,
 * although there is ordinary data. Injected, since the window is the kernel's. */
static void *urgent_would_block(void *arg)
{
	int fds[2];
	(void)arg;
	make_tcp_pair(fds);
	struct io ordinary = { .fd = fds[0] }, urgent_io = { .fd = fds[0], .count = -2 };
	bide_task *first = io_start(io_recv, &ordinary);
	must_write(fds[1], "start", 5);
	must(join_within(first, LONG).err == 0);
	must_write(fds[1], "there", 5);
	must(bide_fd_wait(fds[0], POLLIN) & POLLIN);
	must(bide_sleep(BIDE_MSEC) == 0); /* the event of that is fetched */
	must(bide_fault("recv:EAGAIN@1") == 0);
	bide_task *reader = io_start(urgent_reader, &urgent_io);
	must(urgent_io.count == -2);
	must(bide_fault(NULL) == 0);
	must_recv(fds[0], "there"); /* at once: it was ready, and still is */
	must(send(fds[1], "!", 1, MSG_OOB) == 1);
	join_within(reader, LONG);
	must(urgent_io.count == 1 && urgent_io.buf[0] == '!');
	close_pair(fds);
	return NULL;
}

START_TEST(that_there_is_no_urgent_data_says_nothing_of_the_input)
{
	counted.modify_is_mute = true;
	run_real(urgent_would_block, NULL);
}
END_TEST

static void *error_queue(void *arg)
{
	int fds[2];
	char buf[8];
	(void)arg;
	make_udp(fds);
	must_write(fds[1], "data", 4);
	ck_fails(bide_recv(fds[0], buf, 8, MSG_ERRQUEUE | MSG_DONTWAIT), EAGAIN);
	must_recv(fds[0], "data");
	must_write(fds[1], "more", 4);
	must(bide_fault("recv:EAGAIN@1") == 0);
	bide_scope scope;
	must(bide_scope_enter(&scope, bide_after(10 * BIDE_MSEC), 0) == 0);
	ck_fails(bide_recv(fds[0], buf, 8, MSG_ERRQUEUE), ETIMEDOUT);
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	must(bide_fault(NULL) == 0);
	must_recv(fds[0], "more");
	close_pair(fds);
	return NULL;
}

START_TEST(an_empty_error_queue_says_nothing_of_the_input)
{
	counted.modify_is_mute = true;
	run_real(error_queue, NULL);
}
END_TEST

/* A unix stream read stops where credentials or descriptors change, however large the buffer. */
static void send_with_fd(int fd, const char *text, int passed)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec iov = { (void *)(uintptr_t)text, strlen(text) };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = sizeof control };
	control.header = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(&control.header), &passed, sizeof passed);
	must(sendmsg(fd, &message, 0) == (ssize_t)strlen(text));
}

static void *boundaries(void *arg)
{
	int fds[2];
	(void)arg;
	make_unix(fds);
	for (int i = 0; i < 3; i++) {
		struct io io = { .fd = fds[0] };
		bide_task *reader = io_start(io_recv, &io);
		must_write(fds[1], "one", 3);
		send_with_fd(fds[1], "two", fds[1]);
		must_write(fds[1], "three", 5);
		must(join_within(reader, LONG).err == 0);
		size_t total = (size_t)io.count;
		while (total < 11) {
			must(join_within(io_start(io_recv, &io), LONG).err == 0 && io.count > 0);
			total += (size_t)io.count;
		}
	}
	close_pair(fds);
	return NULL;
}

START_TEST(boundaries_in_a_unix_stream_lose_no_wake_up)
{
	counted.modify_is_mute = true;
	run_real(boundaries, NULL);
}
END_TEST

/* Messages shorter than the buffer, several at a time, on everything that has boundaries. */
static void *messages(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	kind->make(fds);
	for (int i = 0; i < 10; i++) {
		struct io io = { .fd = fds[0] };
		bide_task *reader = i % 2 ? io_start(io_recv, &io) : NULL;
		must_write(fds[1], "one", 3);
		must_write(fds[1], "two", 3);
		must_write(fds[1], "three", 5);
		if (reader)
			must(join_within(reader, LONG).err == 0 && io.count == 3);
		else
			must_recv(fds[0], "one");
		must_recv(fds[0], "two");
		must_recv(fds[0], "three");
	}
	close_pair(fds);
	return NULL;
}

START_TEST(each_message_is_received_although_each_read_is_short)
{
	static make_pair *const makes[] = { make_udp, make_unix_datagram, make_seqpacket };
	struct fd_kind kind = { "messages", makes[_i], SOCKET };
	counted.modify_is_mute = true;
	run_real(messages, &kind);
}
END_TEST

/* A short read of a TCP socket whose end, or reset, is known already. */
static void *short_then_end(void *arg)
{
	const int *how = arg;
	int fds[2];
	char buf[64];
	make_tcp_pair(fds);
	struct io io = { .fd = fds[0], .size = 4 };
	bide_task *reader = io_start(io_recv, &io); /* registered */
	must_write(fds[1], "start", 5);
	must(join_within(reader, LONG).err == 0);
	if (*how == 0) {
		must_write(fds[1], "rest", 4);
		shutdown(fds[1], SHUT_WR);
	} else {
		must_write(fds[1], "rest", 4);
		close(fds[1]);
		fds[1] = -1;
	}
	/* Both events are fetched before the read that takes the rest, and is short. */
	struct io wait_io = { .fd = fds[0], .events = POLLRDHUP };
	must(join_within(io_start(io_wait, &wait_io), LONG).err == 0);
	must(bide_sleep(BIDE_MSEC) == 0);
	size_t total = 0;
	while (total < 5) {
		ssize_t count = bide_recv(fds[0], buf, sizeof buf, 0);
		must(count > 0);
		total += (size_t)count;
	}
	must(join_within(io_start(io_recv, &io), LONG).err == 0 && io.count == 0);
	close_pair(fds);
	return NULL;
}

START_TEST(a_short_read_after_the_end_was_announced_finds_the_end)
{
	int how = _i;
	counted.modify_is_mute = true;
	run_real(short_then_end, &how);
}
END_TEST

/* ---- peers that misbehave ---------------------------------------------------------------------------------------- */

static void *hasty_peer(void *arg)
{
	int fd = *(int *)arg;
	unsigned seed = 12345;
	for (int i = 0; i < 200; i++) {
		(void)!write(fd, "x", 1);
		seed = seed * 1103515245 + 12345;
		if (seed >> 16 & 1)
			usleep(seed >> 24);
	}
	if (seed & 1 << 20)
		reset_connection(fd);
	close(fd);
	return NULL;
}

static void *hasty(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	pthread_t thread;
	kind->make(fds);
	must(pthread_create(&thread, NULL, hasty_peer, &fds[1]) == 0);
	struct io io = { .fd = fds[0] };
	size_t total = 0;
	do {
		join_within(io_start(io_recv, &io), LONG);
		total += io.count > 0 ? (size_t)io.count : 0;
	} while (io.count > 0);
	must(total == 200 || io.err == ECONNRESET);
	pthread_join(thread, NULL);
	must(bide_close(fds[0]) == 0);
	return NULL;
}

START_TEST(every_byte_of_a_peer_in_another_thread_arrives)
{
	counted.modify_is_mute = true;
	for (int i = 0; i < 5; i++)
		run_real(hasty, arg_of(kind_with(STREAM | SOCKET, _i)));
}
END_TEST

static void *reset_at(void *arg)
{
	for (int moment = 0; moment < 6; moment++) {
		int fds[2];
		char buf[8];
		make_tcp_pair(fds);
		struct io reads = { .fd = fds[0] }, writes = { .fd = fds[0], .data = "x", .size = 1 };
		bide_task *reader = NULL, *writer = NULL;
		if (moment & 1)
			reader = io_start(io_recv, &reads);
		if (moment == 2 || moment == 3) {
			fill(fds[0]);
			writer = io_start(io_send, &writes);
		}
		if (moment >= 4)
			must_write(fds[1], "data", 4);
		reset_connection(fds[1]);
		close(fds[1]);
		if (reader) {
			join_within(reader, LONG);
			must(reads.err == ECONNRESET || reads.count == 0 || reads.count == 4);
		}
		if (writer) {
			join_within(writer, LONG);
			must(writes.err == ECONNRESET || writes.err == EPIPE);
		}
		ssize_t count;
		do
			count = bide_recv(fds[0], buf, sizeof buf, 0);
		while (count > 0);
		must(count == 0 || errno == ECONNRESET);
		ck_fails(bide_send(fds[0], "x", 1, 0), EPIPE);
		must(bide_close(fds[0]) == 0);
	}
	(void)arg;
	return NULL;
}

/* Scenario F8. */
START_TEST(a_reset_at_any_moment_is_an_error_and_no_hang)
{
	counted.modify_is_mute = true;
	run_real(reset_at, NULL);
}
END_TEST

/* ---- datagrams ---------------------------------------------------------------------------------------------------- */

static void *datagrams(void *arg)
{
	int fds[2];
	char buf[16];
	(void)arg;
	make_udp(fds);
	must_write(fds[1], "long datagram", 13);
	must(bide_recv(fds[0], buf, 4, MSG_TRUNC) == 13);       /* its real length */
	must_write(fds[1], "long datagram", 13);
	must(bide_recv(fds[0], buf, 4, 0) == 4);                /* the rest of it is gone */
	must(bide_send(fds[1], NULL, 0, 0) == 0);               /* empty, and yet a datagram */
	must_write(fds[1], "next", 4);
	struct io io = { .fd = fds[0] };
	must(join_within(io_start(io_recv, &io), LONG).err == 0 && io.count == 0);
	must_recv(fds[0], "next");
	/* The same through a wait. */
	bide_task *reader = io_start(io_recv, &io);
	must(send(fds[1], NULL, 0, 0) == 0);
	must(join_within(reader, LONG).err == 0 && io.count == 0);
	must(bide_send(fds[1], NULL, 0, 0) == 0);
	must(bide_read(fds[0], buf, 0) == 0);                   /* does not take it */
	must(bide_read(fds[0], buf, 4) == 0);
	static char large[70000];
	ck_fails(bide_send(fds[1], large, sizeof large, 0), EMSGSIZE);
	close_pair(fds);
	return NULL;
}

/* Statement 176, scenario F22. */
START_TEST(datagrams_are_cut_and_may_be_empty)
{
	counted.modify_is_mute = true;
	run_real(datagrams, NULL);
}
END_TEST

static void *port_unreachable(void *arg)
{
	int fds[2];
	struct io io[2] = { { 0 } };
	(void)arg;
	make_udp(fds);
	io[0].fd = io[1].fd = fds[0];
	struct sockaddr_in address = local_address(fds[1]);
	close(fds[1]);
	bide_task *readers[2] = { io_start(io_recv, &io[0]), io_start(io_recv, &io[1]) };
	must(bide_send(fds[0], "x", 1, 0) == 1);
	/* The answer is told to one call, and to one only. */
	must(join_within(readers[0], LONG).err == ECONNREFUSED);
	turns(3);
	must(io[1].count == -2);
	fds[1] = socket(AF_INET, SOCK_DGRAM, 0);
	must(bind(fds[1], (void *)&address, sizeof address) == 0);
	address = local_address(fds[0]);
	must(sendto(fds[1], "here", 4, 0, (void *)&address, sizeof address) == 4);
	must(join_within(readers[1], LONG).err == 0 && io[1].count == 4);
	close_pair(fds);
	return NULL;
}

/* Scenario F22. */
START_TEST(an_icmp_error_belongs_to_one_call)
{
	counted.modify_is_mute = true;
	run_real(port_unreachable, NULL);
}
END_TEST

/* Two ways to be full: the sender's own buffer, and the queue of a receiver that is not its peer. */
static void *full_receiver(void *arg)
{
	const bool *is_pair = arg;
	int fds[2], sent = 0;
	char buf[8];
	if (*is_pair) {
		make_unix_datagram(fds);
	} else {
		struct sockaddr_un address;
		socklen_t length = abstract_address("datagrams", &address);
		fds[0] = socket(AF_UNIX, SOCK_DGRAM, 0);
		fds[1] = socket(AF_UNIX, SOCK_DGRAM, 0);
		must(bind(fds[0], (void *)&address, length) == 0);
		must(connect(fds[1], (void *)&address, length) == 0);
	}
	for (int round = 0; round < 3; round++) {
		while (send(fds[1], "x", 1, MSG_DONTWAIT) == 1)
			sent++;
		struct io io = { .fd = fds[1], .data = "last", .size = 4 };
		bide_task *sender = io_start(io_send, &io);
		turns(2);
		must(io.count == -2);
		while (io.count == -2) { /* the kernel may want more room than one message */
			must(bide_recv(fds[0], buf, 8, MSG_DONTWAIT) > 0);
			sent--;
			must(bide_sleep(BIDE_MSEC / 10) == 0);
		}
		must(join_within(sender, LONG).err == 0 && io.count == 4);
		sent++;
	}
	while (sent-- > 0)
		must(bide_recv(fds[0], buf, 8, MSG_DONTWAIT) > 0);
	ck_fails(bide_recv(fds[0], buf, 8, MSG_DONTWAIT), EAGAIN);
	close_pair(fds);
	return NULL;
}

START_TEST(a_sender_to_a_full_datagram_queue_is_woken)
{
	bool is_pair = _i;
	counted.modify_is_mute = true;
	run_real(full_receiver, &is_pair);
}
END_TEST

/* ---- bad input ---------------------------------------------------------------------------------------------------- */

static void *bad_input(void *arg)
{
	int fds[2], pipe_fds[2];
	char buf[8] = "";
	(void)arg;
	make_unix(fds);
	make_pipe(pipe_fds);
	must_write(fds[1], "ab", 2);
	must_write(pipe_fds[1], "ab", 2);
	ck_fails(bide_recv(fds[0], NULL, 1, 0), EINVAL);
	ck_fails(bide_send(fds[0], NULL, 1, 0), EINVAL);
	ck_fails(bide_recv(fds[0], buf, 2, MSG_WAITALL), EINVAL);
	ck_fails(bide_recv(fds[0], buf, 2, MSG_WAITALL | MSG_DONTWAIT), EINVAL);
	ck_fails(bide_send(fds[0], buf, 2, MSG_WAITALL), EINVAL);
	static const int numbers[] = { -1, INT32_MIN, 9999, INT32_MAX };
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		ck_fails(bide_recv(numbers[i], buf, 1, 0), EBADF);
		ck_fails(bide_recv(numbers[i], buf, 0, MSG_DONTWAIT), EBADF);
		ck_fails(bide_send(numbers[i], buf, 1, 0), EBADF);
		ck_fails(bide_send(numbers[i], buf, 0, 0), EBADF);
	}
	ck_fails(bide_recv(pipe_fds[0], buf, 1, 0), ENOTSOCK);
	ck_fails(bide_send(pipe_fds[1], buf, 1, 0), ENOTSOCK);
	ck_fails(bide_recv(0, buf, 1, 0), ENOTSOCK);
	must(bytes_waiting(fds[0]) == 2 && bytes_waiting(pipe_fds[0]) == 2);
	must(bide_recv(fds[0], buf, sizeof buf, 0) == 2);
	must(bide_send(fds[0], NULL, 0, 0) == 0);
	must(bide_cancel(bide_self(), NULL) == 0);
	must_write(fds[1], "ab", 2);
	ck_fails(bide_recv(fds[0], buf, 2, 0), ECANCELED);
	ck_fails(bide_recv(fds[0], buf, 2, MSG_DONTWAIT), ECANCELED);
	ck_fails(bide_recv(fds[0], buf, 2, MSG_OOB), ECANCELED);
	ck_fails(bide_send(fds[0], buf, 2, 0), ECANCELED);
	must(bide_uncancel() == 0);
	must(bytes_waiting(fds[0]) == 2 && bytes_waiting(fds[1]) == 0);
	close_pair(pipe_fds);
	int number = fds[0];
	must(bide_close(number) == 0);
	ck_fails(bide_recv(number, buf, 1, 0), EBADF);
	ck_fails(bide_send(number, buf, 1, 0), EBADF);
	must(bide_close(fds[1]) == 0);
	return NULL;
}

START_TEST(bad_input_is_answered_with_the_errno_of_the_manual)
{
	run_virtual(bad_input, NULL);
}
END_TEST

int main(void)
{
	return SUITE("net_transfer", LOOP(with_dontwait_it_never_parks, 0, 6),
	    LOOP(a_peek_leaves_the_data_to_the_next_in_line, 0, 6),
	    LOOP(urgent_data_in_the_middle_loses_no_wake_up, 0, 4),
	    TEST(urgent_data_in_line_loses_no_wake_up),
	    TEST(that_there_is_no_urgent_data_says_nothing_of_the_input),
	    TEST(an_empty_error_queue_says_nothing_of_the_input),
	    TEST(boundaries_in_a_unix_stream_lose_no_wake_up),
	    LOOP(each_message_is_received_although_each_read_is_short, 0, 3),
	    LOOP(a_short_read_after_the_end_was_announced_finds_the_end, 0, 2),
	    LOOP(every_byte_of_a_peer_in_another_thread_arrives, 0, 3),
	    TEST(a_reset_at_any_moment_is_an_error_and_no_hang), TEST(datagrams_are_cut_and_may_be_empty),
	    TEST(an_icmp_error_belongs_to_one_call), LOOP(a_sender_to_a_full_datagram_queue_is_woken, 0, 2),
	    TEST(bad_input_is_answered_with_the_errno_of_the_manual));
}
