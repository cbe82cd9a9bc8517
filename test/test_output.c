/* SPDX-License-Identifier: MIT
 * base/output.h: text to a descriptor that nobody reads; and runs whose reports go there. Statement 188. */
#include "base/output.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "death.h"
#include "runs.h"

#define LARGE ((size_t)300000)

static char sent[LARGE], received[LARGE];

/* ---- readers -------------------------------------------------------------------------------------------- */

static int open_terminal(int fds[2])
{
	struct termios settings;
	fds[0] = posix_openpt(O_RDWR | O_NOCTTY);
	must(fds[0] >= 0 && grantpt(fds[0]) == 0 && unlockpt(fds[0]) == 0);
	fds[1] = open(ptsname(fds[0]), O_RDWR | O_NOCTTY);
	must(fds[1] >= 0 && tcgetattr(fds[1], &settings) == 0);
	settings.c_lflag &= ~(tcflag_t)ECHO;
	settings.c_oflag &= ~(tcflag_t)OPOST;
	return tcsetattr(fds[1], TCSANOW, &settings);
}

static int open_socket(int fds[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
}

static int open_pipe_that_does_not_block(int fds[2])
{
	return pipe2(fds, O_NONBLOCK) < 0 ? -1 : fcntl(fds[0], F_SETFL, 0);
}

static int (*const kinds[])(int fds[2]) = { pipe, open_socket, open_terminal, open_pipe_that_does_not_block };

static void begin(int kind, int fds[2])
{
	for (size_t i = 0; i < LARGE; i++)
		sent[i] = (char)('a' + i % 26);
	must(kinds[kind](fds) == 0);
}

static void end(const int fds[2])
{
	close(fds[0]);
	close(fds[1]);
}

static int write_in(bide_time patience, int fd, const char *from, size_t size)
{
	struct output output;
	output_begin(&output, fd, patience);
	return output_write(&output, from, size);
}

/* ---- nobody reads ----------------------------------------------------------------------------------------- */

START_TEST(what_nobody_reads_is_given_up_and_was_written_as_far_as_it_went)
{
	int fds[2];
	begin(_i, fds);
	int flags = fcntl(fds[1], F_GETFL);
	ck_fails(write_in(20 * BIDE_MSEC, fds[1], sent, LARGE), EAGAIN);
	ck_fails(write_in(20 * BIDE_MSEC, fds[1], sent, LARGE), EAGAIN); /* full from the beginning */
	ck_assert_int_eq(fcntl(fds[1], F_GETFL), flags);
	must(fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0);
	ssize_t count = read(fds[0], received, sizeof received);
	must(count > 0 && memcmp(received, sent, (size_t)count) == 0);
	end(fds);
}
END_TEST

START_TEST(a_reader_that_is_gone_is_told)
{
	int fds[2];
	begin(_i, fds);
	signal(SIGPIPE, SIG_IGN);
	close(fds[0]);
	ck_fails(write_in(BIDE_NEVER, fds[1], sent, LARGE), _i == 2 ? EIO : EPIPE);
	close(fds[1]);
}
END_TEST

/* ---- somebody does ---------------------------------------------------------------------------------------- */

static size_t total;

static void *read_bit_by_bit(void *fd)
{
	ssize_t count = 1;
	for (total = 0; total < LARGE && count > 0; total += (size_t)count) {
		size_t most = LARGE - total < 7777 ? LARGE - total : 7777;
		count = read(*(int *)fd, received + total, most);
		must(count > 0);
	}
	return NULL;
}

START_TEST(what_is_read_arrives_in_full)
{
	int fds[2];
	pthread_t reader;
	begin(_i, fds);
	must(pthread_create(&reader, NULL, read_bit_by_bit, &fds[0]) == 0);
	must(write_in(BIDE_NEVER, fds[1], sent, LARGE) == 0);
	must(pthread_join(reader, NULL) == 0);
	must(memcmp(sent, received, LARGE) == 0);
	end(fds);
}
END_TEST

START_TEST(a_file_takes_it_at_its_position)
{
	char name[] = "/tmp/bide-output.XXXXXX";
	int fd = mkstemp(name);
	must(fd >= 0 && unlink(name) == 0);
	for (int i = 0; i < 2; i++)
		must(write_in(BIDE_NEVER, fd, "text\n", 5) == 0);
	ck_assert_int_eq(pread(fd, received, sizeof received, 0), 10);
	must(memcmp(received, "text\ntext\n", 10) == 0);
	close(fd);
}
END_TEST

/* ---- faults ----------------------------------------------------------------------------------------------- */

/* At a pipe with room. A call that fails for ever is given up as a reader that reads nothing is. */
START_TEST(an_error_is_told_and_an_interruption_is_none)
{
	static const struct {
		const char *spec;
		int err;
	} faults[] = { { "write:EIO", EIO }, { "poll:EINVAL", EINVAL }, { "write:EINTR%2", 0 }, { "write:EAGAIN@1", 0 },
		{ "poll:EINTR%2", 0 }, { "fstat:EIO", 0 }, { "write:short%2", 0 }, { "write:EOPNOTSUPP@1", 0 },
		{ "write:ENOSYS@1", 0 }, { "write:EAGAIN", EAGAIN }, { "write:EINTR", EAGAIN }, { "poll:EINTR", EAGAIN } };
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		int fds[2];
		begin(0, fds);
		must(bide_fault(faults[i].spec) == 0);
		bide_time patience = faults[i].err == EAGAIN ? 10 * BIDE_MSEC : BIDE_NEVER;
		int err = write_in(patience, fds[1], sent, 5000) < 0 ? errno : 0;
		must(bide_fault(NULL) == 0);
		must_msg(err == faults[i].err, "%s: %d", faults[i].spec, err);
		must(err != 0 || (read(fds[0], received, sizeof received) == 5000 && memcmp(sent, received, 5000) == 0));
		end(fds);
	}
}
END_TEST

START_TEST(a_descriptor_that_is_closed_is_told)
{
	int closed = dup(0);
	must(close(closed) == 0);
	ck_fails(write_in(BIDE_NEVER, closed, "x", 1), EBADF);
}
END_TEST

/* ---- stderr ----------------------------------------------------------------------------------------------- */

static void fill(int fd)
{
	static const char filling[4096];
	must(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	while (write(fd, filling, sizeof filling) > 0)
		continue;
	must(fcntl(fd, F_SETFL, 0) == 0);
}

static void say(const char *text)
{
	errno = ENOTTY;
	output_to_stderr(text, strlen(text));
	must(errno == ENOTTY);
}

/* Each of them would take a second if it waited. */
START_TEST(after_one_text_nobody_waits_until_there_is_room_and_then_it_is_said)
{
	int fds[2], before = dup(STDERR_FILENO);
	must(pipe(fds) == 0 && dup2(fds[1], STDERR_FILENO) == STDERR_FILENO);
	fill(STDERR_FILENO);
	for (int i = 0; i < 1000; i++)
		say("nobody hears this\n");
	must(fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0);
	while (read(fds[0], received, sizeof received) > 0)
		continue;
	say("somebody hears this\n");
	say("and this\n");
	ssize_t count = read(fds[0], received, sizeof received - 1);
	received[count > 0 ? count : 0] = '\0';
	must(dup2(before, STDERR_FILENO) == STDERR_FILENO);
	ck_assert_str_eq(received, "\nbide: the text before this line was cut, since nobody read it\n"
	    "somebody hears this\nand this\n");
	close(before);
	end(fds);
}
END_TEST

/* ---- runs ------------------------------------------------------------------------------------------------- */

/* Stuck, asked for a dump, and leaves tasks that are told of. */
static void *be_told_of(void *arg)
{
	bide_yield();
	kill(getpid(), SIGQUIT);
	compute(200 * BIDE_MSEC);
	bide_spawn(nothing, NULL);
	bide_yield();
	return arg;
}

static void run_where_nobody_reads(void *arg)
{
	int fds[2];
	bide_config config = BIDE_CONFIG_INIT;
	config.flags = BIDE_DEBUG;
	config.stall = config.slow_slice = 40 * BIDE_MSEC;
	signal(SIGQUIT, SIG_DFL);
	alarm(60);
	if (pipe(fds) < 0 || dup2(fds[1], STDERR_FILENO) < 0)
		_exit(1);
	fill(STDERR_FILENO);
	if (bide_run(be_told_of, arg, &config, NULL) < 0)
		_exit(2);
}

/* With the watchdog's report and dump, that of SIGQUIT, and the loop's own reports. */
START_TEST(a_run_ends_although_nobody_reads_stderr)
{
	if (suite_is_for("thread"))
		return; /* a child of it cannot have threads */
	struct death death = death_of(run_where_nobody_reads, NULL);
	ck_assert_int_eq(death.signal, 0);
	ck_assert_int_eq(death.exit_status, 0);
}
END_TEST

int main(void)
{
	return SUITE_EXACT("output", TABLE(what_nobody_reads_is_given_up_and_was_written_as_far_as_it_went, kinds),
	    TABLE(a_reader_that_is_gone_is_told, kinds), TABLE(what_is_read_arrives_in_full, kinds),
	    TEST(a_file_takes_it_at_its_position), TEST(an_error_is_told_and_an_interruption_is_none),
	    TEST(a_descriptor_that_is_closed_is_told),
	    TEST(after_one_text_nobody_waits_until_there_is_room_and_then_it_is_said),
	    TEST(a_run_ends_although_nobody_reads_stderr));
}
