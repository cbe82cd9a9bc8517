/* SPDX-License-Identifier: MIT
 * bide_readv() and bide_writev(): pieces of memory on descriptors of every kind. Statement 169, scenarios
 * F6, F16, F22. */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runs.h"
#include "sockets.h"
#include "suite.h"

static void *kind_arg(int i)
{
	return (void *)(uintptr_t)&fd_kinds[i];
}

/* ---- order ---------------------------------------------------------------------------------------------- */

/* Cuts size bytes into pieces of odd sizes, some of them empty; how many. */
static int cut(void *bytes, size_t size, struct iovec *iov, int most)
{
	static const size_t sizes[] = { 1, 0, 7, 64, 0, 333, 2, 1000 };
	size_t done = 0;
	int count = 0;
	while (done < size && count < most) {
		size_t piece = sizes[count % 8];
		if (count == most - 1 || piece > size - done)
			piece = size - done;
		iov[count++] = (struct iovec){ piece ? (char *)bytes + done : NULL, piece };
		done += piece;
	}
	return count;
}

#define SIZE 200000

struct stream {
	int fd;
	const struct fd_kind *kind;
};

static void *write_pieces(void *arg)
{
	const struct stream *stream = arg;
	static unsigned char bytes[SIZE];
	struct iovec iov[50];
	pattern_fill(7, 0, bytes, SIZE);
	for (size_t done = 0; done < SIZE;) {
		int pieces = cut(bytes + done, SIZE - done < 5000 ? SIZE - done : 5000, iov, 50);
		ssize_t count = bide_writev(stream->fd, iov, pieces);
		must_msg(count > 0, "%s: %s", stream->kind->name, strerror(errno));
		done += (size_t)count;
	}
	return NULL;
}

static void *stream_of_pieces(void *arg)
{
	const struct fd_kind *kind = arg;
	unsigned char bytes[3000];
	struct iovec iov[20];
	int fds[2];
	kind->make(fds);
	struct stream out = { fds[1], kind };
	bide_task *writer = must_spawn(write_pieces, &out);
	for (size_t done = 0; done < SIZE;) {
		size_t most = SIZE - done < sizeof bytes ? SIZE - done : sizeof bytes;
		ssize_t count = bide_readv(fds[0], iov, cut(bytes, most, iov, 20));
		must_msg(count > 0, "%s: %s", kind->name, strerror(errno));
		pattern_check(7, done, bytes, (size_t)count);
		done += (size_t)count;
	}
	must_end_well(writer);
	close_pair(fds);
	return NULL;
}

/* A terminal, too, which takes no pieces: one at a time then. */
START_TEST(pieces_arrive_in_their_order)
{
	if ((fd_kinds[_i].traits & STREAM) || fd_kinds[_i].make == make_pty)
		run_real(stream_of_pieces, kind_arg(_i));
}
END_TEST

START_TEST(pieces_arrive_in_their_order_one_byte_at_a_time)
{
	if (!(fd_kinds[_i].traits & STREAM))
		return;
	ck_assert_int_eq(bide_fault("recv:short%2,read:short%3,send:short%2,write:short%3"), 0);
	run_real(stream_of_pieces, kind_arg(_i));
	ck_assert_int_eq(bide_fault(NULL), 0);
}
END_TEST

static void *one_message(void *arg)
{
	const struct fd_kind *kind = arg;
	char in[16] = { 0 };
	int fds[2];
	struct iovec out[3] = { { (char[]){ "abc" }, 3 }, { NULL, 0 }, { (char[]){ "de" }, 2 } };
	struct iovec into[3] = { { in, 2 }, { in + 8, 0 }, { in + 4, 8 } };
	kind->make(fds);
	must(bide_writev(fds[1], out, 3) == 5 && bide_writev(fds[1], out, 1) == 3);
	must(bide_readv(fds[0], into, 3) == 5);
	must(memcmp(in, "ab", 2) == 0 && memcmp(in + 4, "cde", 3) == 0);
	must(bide_readv(fds[0], into, 3) == 3);
	close_pair(fds);
	return NULL;
}

START_TEST(pieces_are_one_message_where_there_are_messages)
{
	if (!(fd_kinds[_i].traits & STREAM) && fd_kinds[_i].make != make_pty)
		run_real(one_message, kind_arg(_i));
}
END_TEST

/* ---- files ------------------------------------------------------------------------------------------------ */

static void *file(void *arg)
{
	char path[] = "/tmp/bide-test-XXXXXX", in[8];
	struct iovec out[2] = { { (char[]){ "abc" }, 3 }, { (char[]){ "def" }, 3 } };
	struct iovec into[2] = { { in, 4 }, { in + 4, 4 } };
	int fd = mkstemp(path), null = open("/dev/null", O_RDWR);
	(void)arg;
	must(fd >= 0 && null >= 0 && unlink(path) == 0);
	must(bide_writev(fd, out, 2) == 6 && lseek(fd, 0, SEEK_SET) == 0);
	must(bide_readv(fd, into, 2) == 6 && memcmp(in, "abcdef", 6) == 0 && bide_readv(fd, into, 2) == 0);
	ssize_t count = bide_writev(null, out, 2);
	must((count == 6 || count == 3) && bide_readv(null, into, 2) == 0); /* it may stop at the end of a piece */
	must(bide_close(fd) == 0 && bide_close(null) == 0);
	return NULL;
}

/* Scenario F6. */
START_TEST(files_and_devices_take_pieces)
{
	run_real(file, NULL);
}
END_TEST

/* ---- nobody reads ------------------------------------------------------------------------------------------- */

static void *to_nobody(void *arg)
{
	const struct fd_kind *kind = arg;
	struct iovec iov[2] = { { (char[]){ "ab" }, 2 }, { (char[]){ "cd" }, 2 } };
	int fds[2];
	kind->make(fds);
	if (kind->traits & TCP)
		reset_connection(fds[0]);
	must(close(fds[0]) == 0);
	ssize_t count = bide_writev(fds[1], iov, 2);
	must(count < 0 && (errno == EPIPE || errno == ECONNRESET));
	ck_fails(bide_writev(fds[1], iov, 2), EPIPE);
	must(bide_close(fds[1]) == 0);
	return NULL;
}

/* Statement 169, scenario F16: SIGPIPE would end the process. */
START_TEST(pieces_to_nobody_are_epipe_and_no_signal)
{
	struct sigaction action;
	if (!(fd_kinds[_i].traits & STREAM))
		return;
	run_real(to_nobody, kind_arg(_i));
	ck_assert(sigaction(SIGPIPE, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
}
END_TEST

/* ---- bad input ------------------------------------------------------------------------------------------------ */

static char some[4];
static struct iovec many[IOV_MAX + 1];

static const struct bad {
	const struct iovec *iov;
	int count;
} bad[] = {
	{ NULL, 1 },
	{ many, -1 },
	{ many, INT_MIN },
	{ many, IOV_MAX + 1 },
	{ many, INT_MAX },
	{ (const struct iovec[]){ { NULL, 1 } }, 1 },
	{ (const struct iovec[]){ { some, 4 }, { NULL, 1 } }, 2 },
	{ (const struct iovec[]){ { some, SIZE_MAX } }, 1 },
	{ (const struct iovec[]){ { some, SSIZE_MAX }, { some, 1 } }, 2 },
	{ (const struct iovec[]){ { some, SIZE_MAX / 2 + 1 }, { some, SIZE_MAX / 2 + 1 } }, 2 },
};

static void *refuses(void *arg)
{
	const struct bad *entry = arg;
	int fds[2];
	make_unix(fds);
	must_write(fds[1], "x", 1);
	ck_fails(bide_readv(fds[0], entry->iov, entry->count), EINVAL);
	ck_fails(bide_writev(fds[0], entry->iov, entry->count), EINVAL);
	must(bytes_waiting(fds[0]) == 1 && bytes_waiting(fds[1]) == 0);
	close_pair(fds);
	return NULL;
}

START_TEST(bad_pieces_are_einval_and_nothing_is_transferred)
{
	run_virtual(refuses, (void *)(uintptr_t)&bad[_i]);
}
END_TEST

static void *nothing_to_do(void *arg)
{
	struct iovec empty[2] = { { NULL, 0 }, { some, 0 } };
	int fds[2];
	(void)arg;
	make_unix(fds);
	must(bide_readv(fds[0], NULL, 0) == 0 && bide_readv(fds[0], empty, 2) == 0); /* nothing is there */
	must(bide_writev(fds[0], NULL, 0) == 0 && bide_writev(fds[0], empty, 2) == 0);
	must(bide_readv(fds[0], many, IOV_MAX) == 0);
	ck_fails(bide_readv(-1, NULL, 0), EBADF);
	close_pair(fds);
	return NULL;
}

/* Scenario F22. */
START_TEST(no_pieces_are_nothing_to_do)
{
	run_virtual(nothing_to_do, NULL);
}
END_TEST

int main(void)
{
	return SUITE("io_vector", LOOP(pieces_arrive_in_their_order, 0, FD_KINDS),
	    LOOP(pieces_arrive_in_their_order_one_byte_at_a_time, 0, FD_KINDS),
	    LOOP(pieces_are_one_message_where_there_are_messages, 0, FD_KINDS), TEST(files_and_devices_take_pieces),
	    LOOP(pieces_to_nobody_are_epipe_and_no_signal, 0, FD_KINDS),
	    TABLE(bad_pieces_are_einval_and_nothing_is_transferred, bad), TEST(no_pieces_are_nothing_to_do));
}
