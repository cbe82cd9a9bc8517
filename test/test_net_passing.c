/* SPDX-License-Identifier: MIT
 * Descriptors over unix sockets, and who the peer is. Statement 177; the receiver who has no number left;
 * what a stranger sends along. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counted_calls.h"
#include "resources.h"
#include "runs.h"
#include "sockets.h"
#include "suite.h"

/* ---- there and back ----------------------------------------------------------------------------------- */

static void *round_trip(void *arg)
{
	int fds[2], pipe_fds[2];
	char buf[4];
	((make_pair *)arg)(fds);
	make_pipe(pipe_fds);
	must(bide_send_fd(fds[0], pipe_fds[1]) == 0 && bide_close(pipe_fds[1]) == 0); /* at once */
	int got = bide_recv_fd(fds[1]);
	must(got >= 0 && is_cloexec(got) && !is_nonblocking(got));
	must(bide_write(got, "abc", 3) == 3 && bide_read(pipe_fds[0], buf, 4) == 3);
	must(bide_close(got) == 0 && bide_read(pipe_fds[0], buf, 4) == 0); /* it was the last one */
	must(bide_close(pipe_fds[0]) == 0);
	close_pair(fds);
	return NULL;
}

/* Statement 177. */
START_TEST(a_descriptor_arrives_usable_and_close_on_exec)
{
	static make_pair *const kinds[] = { make_unix, make_seqpacket, make_unix_datagram };
	run_real(round_trip, (void *)kinds[_i]);
}
END_TEST

static void *in_order(void *arg)
{
	int fds[2], sent[20];
	struct stat is, was;
	(void)arg;
	make_unix(fds);
	for (int i = 0; i < 20; i++) {
		char path[] = "/tmp/bide-test-XXXXXX";
		sent[i] = mkstemp(path);
		must(sent[i] >= 0 && unlink(path) == 0 && bide_send_fd(fds[0], sent[i]) == 0);
	}
	for (int i = 0; i < 20; i++) {
		int got = bide_recv_fd(fds[1]);
		must(got >= 0 && fstat(got, &is) == 0 && fstat(sent[i], &was) == 0 && is.st_ino == was.st_ino);
		must(bide_close(got) == 0 && bide_close(sent[i]) == 0);
	}
	close_pair(fds);
	return NULL;
}

START_TEST(descriptors_arrive_in_order_one_a_call)
{
	run_real(in_order, NULL);
}
END_TEST

/* A number that the loop remembers: a file was closed behind its back. */
static void *remembered_number(void *arg)
{
	int fds[2], other[2], old[2];
	char byte;
	(void)arg;
	make_unix(fds);
	make_unix(other);
	must(bide_send_fd(fds[0], other[0]) == 0);
	make_unix(old);
	struct io io = { .fd = old[0] };
	bide_task *reader = io_start(io_recv, &io); /* registers it */
	must_write(old[1], "x", 1);
	must(join_within(reader, LONG).err == 0);
	ck_fails(bide_recv(old[0], &byte, 1, MSG_DONTWAIT), EAGAIN); /* nothing is there, as far as is known */
	must(close(old[0]) == 0);
	int got = bide_recv_fd(fds[1]);
	must(got == old[0]);
	must_write(other[1], "x", 1);
	int looks = counted.epoll_wait;
	must(bide_recv(got, &byte, 1, 0) == 1 && byte == 'x' && counted.epoll_wait == looks);
	io = (struct io){ .fd = got };
	reader = io_start(io_recv, &io);
	must(io.count == -2);
	must_write(other[1], "y", 1);
	must(join_within(reader, LONG).err == 0 && io.count == 1 && io.buf[0] == 'y');
	must(bide_recv(got, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
	must(bide_close(got) == 0 && close(old[1]) == 0);
	close_pair(fds);
	close_pair(other);
	return NULL;
}

START_TEST(under_a_number_of_before_a_descriptor_is_a_new_file)
{
	run_real(remembered_number, NULL);
}
END_TEST

/* ---- what strangers send --------------------------------------------------------------------------------- */

static void send_many(int socket, int fd, size_t count)
{
	struct iovec iov = { (char[]){ 'x' }, 1 };
	static union {
		struct cmsghdr header;
		char room[CMSG_SPACE(253 * sizeof(int))];
	} control;
	control.header = (struct cmsghdr){ CMSG_LEN(count * sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = CMSG_SPACE(count * sizeof(int)) };
	for (size_t i = 0; i < count; i++)
		memcpy(CMSG_DATA(&control.header) + i * sizeof fd, &fd, sizeof fd);
	must(sendmsg(socket, &message, 0) == 1);
}

static void *extra_ones(void *arg)
{
	static const size_t counts[] = { 2, 3, 4, 100, 253 };
	int fds[2], null = open("/dev/null", O_RDONLY);
	(void)arg;
	make_unix(fds);
	for (int i = 0; i < 5; i++) {
		send_many(fds[0], null, counts[i]);
		int before = count_fds();
		int got = bide_recv_fd(fds[1]);
		must(got >= 0 && is_cloexec(got) && count_fds() == before + 1);
		must(bide_close(got) == 0);
	}
	close_pair(fds);
	must(bide_close(null) == 0);
	return NULL;
}

/* Statement 177. */
START_TEST(descriptors_that_come_beside_the_first_are_closed)
{
	run_real(extra_ones, NULL);
}
END_TEST

static void *truncated(void *arg)
{
	char byte, room[CMSG_SPACE(2 * sizeof(int))];
	struct iovec iov = { &byte, 1 };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fds[2], null = open("/dev/null", O_RDONLY), got[2];
	(void)arg;
	make_unix(fds);
	int before = count_fds();
	for (int i = 0; i < 2; i++) { /* without any room, and with room for two of four */
		send_many(fds[0], null, 4);
		message.msg_control = i ? room : NULL;
		message.msg_controllen = i ? sizeof room : 0;
		must(bide_recvmsg(fds[1], &message, 0) == 1 && (message.msg_flags & MSG_CTRUNC));
		must(count_fds() == before + 2 * i);
	}
	memcpy(got, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof got);
	for (int i = 0; i < 2; i++)
		must(is_cloexec(got[i]) && bide_close(got[i]) == 0);
	close_pair(fds);
	must(bide_close(null) == 0 && count_fds() == before - 3);
	return NULL;
}

START_TEST(descriptors_beyond_the_room_of_a_message_leak_nowhere)
{
	if (suite_is_under("qemu")) /* it gives the kernel twice the room */
		return;
	run_real(truncated, NULL);
}
END_TEST

static void *no_number_left(void *arg)
{
	static int taken[256];
	struct rlimit limit, low;
	int fds[2], count = 0, fd;
	(void)arg;
	make_unix(fds);
	must(bide_send_fd(fds[0], fds[0]) == 0);
	send_many(fds[0], fds[0], 3);
	must(bide_send_fd(fds[0], fds[0]) == 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0);
	low = limit;
	low.rlim_cur = 200;
	must(setrlimit(RLIMIT_NOFILE, &low) == 0);
	while ((fd = dup(fds[0])) >= 0)
		taken[count++] = fd;
	ck_fails(bide_recv_fd(fds[1]), EMFILE);
	close(taken[--count]); /* one of three fits */
	int got = bide_recv_fd(fds[1]);
	must(got == taken[count] && is_cloexec(got));
	must((fd = bide_recv_fd(fds[1])) < 0 && errno == EMFILE);
	must(bide_close(got) == 0);
	while (count > 0)
		close(taken[--count]);
	must(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	must(bide_send_fd(fds[0], fds[0]) == 0 && (got = bide_recv_fd(fds[1])) >= 0 && bide_close(got) == 0);
	close_pair(fds);
	return NULL;
}

START_TEST(without_a_free_number_the_receiver_is_told_and_nothing_leaks)
{
	if (suite_is_under("valgrind")) /* it has a limit of its own */
		return;
	run_real(no_number_left, NULL);
}
END_TEST

static void *no_descriptor(void *arg)
{
	int fds[2];
	(void)arg;
	make_unix(fds);
	must_write(fds[0], "ab", 2);
	ck_fails(bide_recv_fd(fds[1]), ENOMSG);
	ck_fails(bide_recv_fd(fds[1]), ENOMSG);
	must(bide_send_fd(fds[0], fds[0]) == 0);
	must(close(fds[0]) == 0);
	int got = bide_recv_fd(fds[1]); /* sent before the end */
	must(got >= 0 && bide_close(got) == 0);
	ck_fails(bide_recv_fd(fds[1]), EPIPE);
	ck_fails(bide_send_fd(fds[1], fds[1]), EPIPE);
	must(bide_close(fds[1]) == 0);
	return NULL;
}

START_TEST(data_without_a_descriptor_and_the_end_are_told)
{
	run_real(no_descriptor, NULL);
}
END_TEST

static void *refusals(void *arg)
{
	int tcp[2], pipe_fds[2], fds[2];
	(void)arg;
	make_tcp(tcp);
	make_pipe(pipe_fds);
	make_unix(fds);
	ck_fails(bide_send_fd(fds[0], -1), EBADF);
	ck_fails(bide_send_fd(fds[0], 99999), EBADF);
	must(bytes_waiting(fds[1]) == 0);
	ck_fails(bide_send_fd(pipe_fds[1], 0), ENOTSOCK);
	ck_fails(bide_recv_fd(pipe_fds[0]), ENOTSOCK);
	must_write(tcp[0], "x", 1);
	ck_fails(bide_recv_fd(tcp[1]), ENOMSG);
	close_pair(tcp);
	close_pair(pipe_fds);
	close_pair(fds);
	return NULL;
}

START_TEST(bad_input_is_answered_with_the_errno_of_the_manual)
{
	run_real(refusals, NULL);
}
END_TEST

/* ---- between processes -------------------------------------------------------------------------------------- */

static void *from_a_child(void *arg)
{
	int fds[2], pipe_fds[2], status;
	char buf[8];
	pid_t pid = -1;
	uid_t uid = 77;
	gid_t gid = 77;
	(void)arg;
	make_unix(fds);
	make_pipe(pipe_fds);
	pid_t child = fork();
	if (child == 0) {
		send_many(fds[0], pipe_fds[1], 1);
		raise(SIGKILL); /* no exit status, of which memcheck would have its own idea */
	}
	must(close(pipe_fds[1]) == 0);
	int got = bide_recv_fd(fds[1]);
	must(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
	must(got >= 0 && bide_write(got, "hi", 2) == 2 && bide_read(pipe_fds[0], buf, 8) == 2);
	must(bide_peer_credentials(fds[1], &pid, &uid, &gid) == 0);
	must(pid == getpid() && uid == geteuid() && gid == getegid()); /* who made the pair */
	must(bide_peer_credentials(fds[1], NULL, NULL, NULL) == 0);
	must(bide_close(got) == 0 && bide_close(pipe_fds[0]) == 0);
	close_pair(fds);
	return NULL;
}

START_TEST(a_descriptor_crosses_processes)
{
	run_real(from_a_child, NULL);
}
END_TEST

START_TEST(a_child_that_connects_is_known)
{
	char text[64];
	struct sockaddr_un address;
	int status;
	socklen_t length = abstract_address("who", &address);
	int listener = bide_listen("unix", abstract_text("who", text), 1);
	ck_assert_int_ge(listener, 0);
	pid_t child = fork();
	if (child == 0) {
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);
		if (connect(fd, (void *)&address, length) == 0)
			raise(SIGKILL);
		_exit(1);
	}
	ck_assert(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
	int fd = accept(listener, NULL, NULL);
	pid_t pid = -1;
	ck_assert(bide_peer_credentials(fd, &pid, NULL, NULL) == 0 && pid == child);
	close(fd);
	bide_close(listener);
}
END_TEST

START_TEST(who_has_no_credentials_is_told)
{
	int tcp[2], pipe_fds[2], fd = socket(AF_UNIX, SOCK_STREAM, 0);
	pid_t pid = 77;
	make_tcp(tcp);
	make_pipe(pipe_fds);
	ck_fails(bide_peer_credentials(tcp[0], &pid, NULL, NULL), ENOTCONN);
	ck_fails(bide_peer_credentials(fd, &pid, NULL, NULL), ENOTCONN);
	ck_fails(bide_peer_credentials(pipe_fds[0], &pid, NULL, NULL), ENOTSOCK);
	ck_fails(bide_peer_credentials(-1, &pid, NULL, NULL), EBADF);
	ck_assert_int_eq(bide_fault("getsockopt:ENOMEM@1"), 0);
	ck_fails(bide_peer_credentials(fd, &pid, NULL, NULL), ENOMEM);
	ck_assert_int_eq(bide_fault(NULL), 0);
	ck_assert_int_eq(pid, 77);
	close_pair(tcp);
	close_pair(pipe_fds);
	close(fd);
}
END_TEST

int main(void)
{
	return SUITE("net_passing", LOOP(a_descriptor_arrives_usable_and_close_on_exec, 0, 3),
	    TEST(descriptors_arrive_in_order_one_a_call), TEST(under_a_number_of_before_a_descriptor_is_a_new_file),
	    TEST(descriptors_that_come_beside_the_first_are_closed),
	    TEST(descriptors_beyond_the_room_of_a_message_leak_nowhere),
	    TEST(without_a_free_number_the_receiver_is_told_and_nothing_leaks),
	    TEST(data_without_a_descriptor_and_the_end_are_told), TEST(bad_input_is_answered_with_the_errno_of_the_manual),
	    TEST(a_descriptor_crosses_processes), TEST(a_child_that_connects_is_known),
	    TEST(who_has_no_credentials_is_told));
}
