/* SPDX-License-Identifier: MIT
 * recvfrom, sendto, recvmsg, sendmsg, recvmmsg, sendmmsg: addresses, boundaries, control data, batches.
 * Statement 176, scenario F22. What they have in common with other calls: test_io_calls.c. */
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "counted_calls.h"
#include "runs.h"
#include "sockets.h"
#include "suite.h"

/* ---- addresses ------------------------------------------------------------------------------------------- */

static bool is_same(const struct sockaddr_in *a, const struct sockaddr_in *b)
{
	return a->sin_family == AF_INET && a->sin_port == b->sin_port && a->sin_addr.s_addr == b->sin_addr.s_addr;
}

static void *who_sent(void *arg)
{
	char buf[8];
	struct sockaddr_in from = { 0 };
	socklen_t length = sizeof from;
	(void)arg;
	int server = bide_listen("udp", "127.0.0.1:0", 0);
	int clients[2] = { bide_listen("udp", "127.0.0.1:0", 0), bide_listen("udp4", "127.0.0.1:0", 0) };
	must(server >= 0 && clients[0] >= 0 && clients[1] >= 0);
	struct sockaddr_in address = local_address(server);
	for (int i = 0; i < 2; i++) {
		struct sockaddr_in expected = local_address(clients[i]);
		must(bide_sendto(clients[i], "hello", 5, 0, (void *)&address, sizeof address) == 5);
		must(bide_recvfrom(server, buf, sizeof buf, 0, (void *)&from, &length) == 5);
		must(length == sizeof from && is_same(&from, &expected) && memcmp(buf, "hello", 5) == 0);
		must(bide_sendto(server, buf, 1, 0, (void *)&from, length) == 1);
		must(bide_recvfrom(clients[i], buf, sizeof buf, 0, NULL, NULL) == 1);
	}
	/* Nothing is sent without an address, and the address is not touched by a call that fails. */
	ck_fails(bide_sendto(server, "x", 1, 0, NULL, 0), EDESTADDRREQ);
	length = 77;
	ck_fails(bide_recvfrom(server, buf, 1, MSG_DONTWAIT, (void *)&from, &length), EAGAIN);
	must(length == 77);
	/* Too little room: cut, and told. */
	length = 4;
	must(bide_sendto(clients[0], "x", 1, 0, (void *)&address, sizeof address) == 1);
	must(bide_recvfrom(server, buf, 1, 0, (void *)&from, &length) == 1 && length == sizeof from);
	must(bide_close(server) == 0 && bide_close(clients[0]) == 0 && bide_close(clients[1]) == 0);
	return NULL;
}

START_TEST(a_datagram_brings_the_address_of_its_sender)
{
	run_real(who_sent, NULL);
}
END_TEST

/* ---- boundaries ------------------------------------------------------------------------------------------- */

static void *cut_and_empty(void *arg)
{
	char a[2], b[2];
	struct iovec iov[2] = { { a, 2 }, { b, 2 } };
	struct sockaddr_in from = { 0 };
	struct msghdr message = { .msg_iov = iov, .msg_iovlen = 2, .msg_name = &from, .msg_namelen = sizeof from };
	int fds[2];
	(void)arg;
	make_udp(fds);
	struct sockaddr_in sender = local_address(fds[1]);
	must(send(fds[1], "123456", 6, 0) == 6 && send(fds[1], "", 0, 0) == 0 && send(fds[1], "abc", 3, 0) == 3);
	must(bide_recvmsg(fds[0], &message, 0) == 4 && (message.msg_flags & MSG_TRUNC));
	must(memcmp(a, "12", 2) == 0 && memcmp(b, "34", 2) == 0 && is_same(&from, &sender));
	from = (struct sockaddr_in){ 0 };
	must(bide_recvmsg(fds[0], &message, 0) == 0 && !(message.msg_flags & MSG_TRUNC));
	must(message.msg_namelen == sizeof from && is_same(&from, &sender));
	must(bide_recvmsg(fds[0], &message, MSG_TRUNC) == 3 && message.msg_iov == iov && message.msg_iovlen == 2);
	close_pair(fds);
	return NULL;
}

/* Statement 176, scenario F22. */
START_TEST(a_long_message_is_cut_and_told_and_an_empty_one_has_an_address)
{
	run_real(cut_and_empty, NULL);
}
END_TEST

struct error_reader {
	int fd;
	ssize_t count;
	int flags;
	bool has_control;
};

static void *read_error(void *arg)
{
	struct error_reader *reader = arg;
	char in[8], control[256];
	struct iovec iov = { in, sizeof in };
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control
	};
	reader->count = bide_recvmsg(reader->fd, &message, MSG_ERRQUEUE);
	reader->flags = message.msg_flags;
	reader->has_control = message.msg_controllen > 0;
	return NULL;
}

static void *error_queue(void *arg)
{
	int fds[2], on = 1;
	(void)arg;
	make_udp(fds);
	must(setsockopt(fds[0], IPPROTO_IP, IP_RECVERR, &on, sizeof on) == 0);
	must(bide_close(fds[1]) == 0); /* nobody has the port now */
	struct error_reader reader = { .fd = fds[0], .count = -2 };
	bide_task *task = must_spawn(read_error, &reader);
	turns(2);
	must(reader.count == -2 && send(fds[0], "who?", 4, 0) == 4);
	must(join_within(task, LONG).err == 0);
	must(reader.count == 4 && (reader.flags & MSG_ERRQUEUE) && reader.has_control); /* what was sent, and why not */
	must(bide_close(fds[0]) == 0);
	return NULL;
}

START_TEST(the_error_queue_is_waited_for_and_read)
{
	counted.modify_is_mute = true;
	run_real(error_queue, NULL);
}
END_TEST

/* ---- batches ------------------------------------------------------------------------------------------------ */

#define BATCH 8

struct batch {
	struct mmsghdr messages[BATCH];
	struct iovec iov[BATCH];
	char bytes[BATCH][16];
};

static struct mmsghdr *prepare(struct batch *batch)
{
	for (int i = 0; i < BATCH; i++) {
		batch->iov[i] = (struct iovec){ batch->bytes[i], sizeof batch->bytes[i] };
		batch->messages[i] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &batch->iov[i], .msg_iovlen = 1 } };
	}
	return batch->messages;
}

static void *batches(void *arg)
{
	struct batch in, out;
	int fds[2];
	(void)arg;
	make_udp(fds);
	for (int count = 1; count <= BATCH; count++) {
		prepare(&out);
		for (int i = 0; i < BATCH; i++)
			out.iov[i].iov_len = (size_t)snprintf(out.bytes[i], 16, "%d of %d", i, count);
		must(bide_sendmmsg(fds[1], out.messages, (unsigned)count, 0) == count);
		must(bide_recvmmsg(fds[0], prepare(&in), BATCH, 0) == count); /* those that are there, and waits for none */
		for (int i = 0; i < count; i++)
			must(in.messages[i].msg_len == out.iov[i].iov_len && out.messages[i].msg_len == in.messages[i].msg_len &&
			    memcmp(in.bytes[i], out.bytes[i], in.messages[i].msg_len) == 0);
	}
	must(bide_recvmmsg(fds[0], in.messages, 0, 0) == 0 && bide_sendmmsg(fds[1], out.messages, 0, 0) == 0);
	ck_fails(bide_recvmmsg(fds[0], in.messages, BATCH, MSG_DONTWAIT), EAGAIN);
	close_pair(fds);
	return NULL;
}

START_TEST(a_batch_is_what_is_there)
{
	run_real(batches, NULL);
}
END_TEST

struct batch_reader {
	int fd, count;
	struct batch batch;
};

static void *read_batch(void *arg)
{
	struct batch_reader *reader = arg;
	reader->count = bide_recvmmsg(reader->fd, prepare(&reader->batch), BATCH, 0);
	return NULL;
}

static void *waits_for_the_first(void *arg)
{
	struct batch_reader reader = { .count = -2 };
	int fds[2];
	(void)arg;
	make_udp(fds);
	reader.fd = fds[0];
	bide_task *task = must_spawn(read_batch, &reader);
	turns(2);
	must(reader.count == -2 && send(fds[1], "a", 1, 0) == 1 && send(fds[1], "bc", 2, 0) == 2);
	must(join_within(task, LONG).err == 0 && reader.count == 2 && reader.batch.messages[1].msg_len == 2);
	close_pair(fds);
	return NULL;
}

START_TEST(a_batch_waits_for_its_first_message_only)
{
	counted.modify_is_mute = true;
	run_real(waits_for_the_first, NULL);
}
END_TEST

static void *full(void *arg)
{
	struct batch out = { .bytes = { "" } };
	int fds[2], total = 0;
	(void)arg;
	make_unix_datagram(fds); /* whose receiver's queue is bounded */
	prepare(&out);
	for (int count = BATCH; count == BATCH; total += count > 0 ? count : 0)
		count = bide_sendmmsg(fds[1], out.messages, BATCH, MSG_DONTWAIT);
	must(total > 0 && bide_sendmmsg(fds[1], out.messages, BATCH, MSG_DONTWAIT) < 0 && errno == EAGAIN);
	struct batch in;
	for (int count = 0; total > 0; total -= count) {
		count = bide_recvmmsg(fds[0], prepare(&in), BATCH, 0);
		must(count == (total < BATCH ? total : BATCH));
	}
	must(bide_sendmmsg(fds[1], out.messages, 1, 0) == 1);
	close_pair(fds);
	return NULL;
}

START_TEST(a_batch_that_does_not_fit_is_sent_in_part)
{
	run_real(full, NULL);
}
END_TEST

/* ---- bad input ---------------------------------------------------------------------------------------------- */

static void *refusals(void *arg)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	char buf[4] = "buf";
	struct iovec iov = { buf, sizeof buf };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct mmsghdr messages = { .msg_hdr = message };
	socklen_t length = sizeof address, huge = UINT32_MAX;
	int fds[2];
	(void)arg;
	make_unix(fds);
	must_write(fds[1], "x", 1);
	ck_fails(bide_recvfrom(fds[0], NULL, 1, 0, NULL, NULL), EINVAL);
	ck_fails(bide_recvfrom(fds[0], buf, 1, 0, (void *)&address, NULL), EINVAL);
	ck_fails(bide_recvfrom(fds[0], buf, 1, 0, (void *)&address, &huge), EINVAL);
	ck_fails(bide_recvfrom(fds[0], buf, 1, MSG_WAITALL, (void *)&address, &length), EINVAL);
	ck_fails(bide_sendto(fds[0], NULL, 1, 0, NULL, 0), EINVAL);
	ck_fails(bide_sendto(fds[0], buf, 1, 0, NULL, 16), EINVAL);
	ck_fails(bide_sendto(fds[0], buf, 1, MSG_WAITALL, NULL, 0), EINVAL);
	ck_fails(bide_recvmsg(fds[0], NULL, 0), EINVAL);
	ck_fails(bide_recvmsg(fds[0], &message, MSG_WAITALL), EINVAL);
	ck_fails(bide_sendmsg(fds[0], NULL, 0), EINVAL);
	ck_fails(bide_recvmmsg(fds[0], NULL, 1, 0), EINVAL);
	ck_fails(bide_recvmmsg(fds[0], &messages, 1, MSG_WAITALL), EINVAL);
	ck_fails(bide_sendmmsg(fds[0], NULL, 1, 0), EINVAL);
	must(bytes_waiting(fds[0]) == 1 && bytes_waiting(fds[1]) == 0);
	int pipe_fds[2];
	make_pipe(pipe_fds);
	ck_fails(bide_recvfrom(pipe_fds[0], buf, 1, 0, NULL, NULL), ENOTSOCK);
	ck_fails(bide_recvmsg(pipe_fds[0], &message, 0), ENOTSOCK);
	ck_fails(bide_sendto(pipe_fds[1], buf, 1, 0, NULL, 0), ENOTSOCK);
	ck_fails(bide_sendmsg(pipe_fds[1], &message, 0), ENOTSOCK);
	ck_fails(bide_recvmmsg(pipe_fds[0], &messages, 1, 0), ENOTSOCK);
	ck_fails(bide_sendmmsg(pipe_fds[1], &messages, 1, 0), ENOTSOCK);
	close_pair(pipe_fds);
	close_pair(fds);
	return NULL;
}

START_TEST(bad_input_is_answered_and_has_no_effect)
{
	run_virtual(refusals, NULL);
}
END_TEST

int main(void)
{
	return SUITE("net_message", TEST(a_datagram_brings_the_address_of_its_sender),
	    TEST(a_long_message_is_cut_and_told_and_an_empty_one_has_an_address), TEST(the_error_queue_is_waited_for_and_read),
	    TEST(a_batch_is_what_is_there), TEST(a_batch_waits_for_its_first_message_only),
	    TEST(a_batch_that_does_not_fit_is_sent_in_part), TEST(bad_input_is_answered_and_has_no_effect));
}
