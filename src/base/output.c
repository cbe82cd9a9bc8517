/* SPDX-License-Identifier: MIT
 * Layer base: bytes to a descriptor that somebody reads, or nobody. See output.h. */
#include "base/output.h"

#include <limits.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/system.h"

#define PATIENCE BIDE_SEC /* with who reads nothing */
#define FEW 64

static const char cut[] = "\nbide: the text before this line was cut, since nobody read it\n";

static atomic_bool stderr_is_stuck;

/* ---- room ---------------------------------------------------------------------------------------------- */

static enum output_kind kind_of(int fd)
{
	struct stat status;
	if (system_fstat(fd, &status) < 0)
		return OUTPUT_OTHER;
	switch (status.st_mode & S_IFMT) {
	case S_IFREG:
	case S_IFBLK:
		return OUTPUT_FILE;
	case S_IFIFO:
		return OUTPUT_PIPE;
	case S_IFSOCK:
		return OUTPUT_SOCKET;
	default:
		return OUTPUT_OTHER;
	}
}

static bool is_stuck(const struct output *output)
{
	return output->fd == STDERR_FILENO && atomic_load(&stderr_is_stuck);
}

/* When who has read nothing from now on has had its time. */
static bide_time limit(const struct output *output)
{
	bide_time until = time_add(clock_monotonic(), PATIENCE);
	return until < output->until ? until : output->until;
}

static int give_up(const struct output *output)
{
	if (output->fd == STDERR_FILENO)
		atomic_store(&stderr_is_stuck, true);
	return fail_with(EAGAIN);
}

/* 0: there is room, or an error to be found by writing. */
static int await_room(const struct output *output, bide_time until)
{
	struct pollfd full = { .fd = output->fd, .events = POLLOUT };
	bide_time left;
	do {
		left = until - clock_monotonic();
		int count = system_poll(&full, 1, left > 0 ? (int)(left / BIDE_MSEC) + 1 : 0);
		if (count > 0)
			return 0;
		if (count < 0 && errno != EINTR)
			return -1;
	} while (left > 0);
	return give_up(output);
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static ssize_t write_to_pipe(struct output *output, const char *from, size_t size)
{
	struct iovec piece = { (char *)(uintptr_t)from, size };
	ssize_t count = system_pwritev2(output->fd, &piece, 1, -1, RWF_NOWAIT);
	if (count >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS))
		return count;
	output->kind = OUTPUT_POLLED_PIPE;
	return system_write(output->fd, from, size);
}

static ssize_t write_some(struct output *output, const char *from, size_t size)
{
	switch (output->kind) {
	case OUTPUT_PIPE:
		return write_to_pipe(output, from, smaller(size, PIPE_BUF));
	case OUTPUT_POLLED_PIPE:
		return system_write(output->fd, from, smaller(size, PIPE_BUF));
	case OUTPUT_SOCKET:
		return system_send(output->fd, from, size, MSG_DONTWAIT);
	case OUTPUT_FILE:
		return system_write(output->fd, from, size);
	default:
		return system_write(output->fd, from, smaller(size, FEW));
	}
}

static int write_all(struct output *output, const char *from, size_t size)
{
	bide_time until = limit(output);
	while (size > 0) {
		if (output->kind != OUTPUT_FILE && await_room(output, until) < 0)
			return -1;
		ssize_t count = write_some(output, from, size);
		if (count < 0 && errno != EINTR && errno != EAGAIN)
			return -1;
		if (count > 0) {
			from += count;
			size -= (size_t)count;
			until = limit(output);
		} else if (clock_monotonic() >= until) {
			return give_up(output);
		}
	}
	return 0;
}

/* Of two threads that find room one says it. */
static int say_what_was_cut(struct output *output)
{
	if (!is_stuck(output))
		return 0;
	if (await_room(output, 0) < 0)
		return -1;
	return atomic_exchange(&stderr_is_stuck, false) ? write_all(output, cut, sizeof cut - 1) : 0;
}

int output_write(struct output *output, const char *from, size_t size)
{
	return say_what_was_cut(output) < 0 ? -1 : write_all(output, from, size);
}

/* ---- from its beginning -------------------------------------------------------------------------------- */

void output_begin(struct output *output, int fd, bide_time patience)
{
	*output = (struct output){ fd, kind_of(fd), time_add(clock_monotonic(), patience) };
}

void output_to_stderr(const char *text, size_t size)
{
	struct output output;
	int saved = errno;
	output_begin(&output, STDERR_FILENO, OUTPUT_PATIENCE);
	output_write(&output, text, size);
	errno = saved;
}
