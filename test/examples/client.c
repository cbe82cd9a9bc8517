/* SPDX-License-Identifier: MIT
 * The other end of the example servers' tests: a plain blocking client that follows a script.
 *
 *     client PORT WORD...      exit 0 if everything came as expected
 *
 *     use N         go on with connection N; the first use connects it
 *     send TEXT     \n stands for a newline
 *     expect TEXT   these bytes come next
 *     long SIZE     sends a line of that size and checks its echo meanwhile
 *     flood COUNT   sends so many lines of 150 bytes
 *     stuff         sends one line, reading nothing, until both directions are full
 *     drain         reads the echo of what was stuffed
 *     half          no more will be sent
 *     end           the peer's end of file comes next
 *     gone          whatever comes, the connection ends
 *     reset         closes with a reset
 *     close         closes
 *     mark FILE     creates the file: what was before has happened
 *     await FILE    waits until somebody has created the file
 *     print         prints what comes, until the peer's end of file
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS 64
static const char prefix[] = "you said: ";

struct connection {
	int fd; /* 0: not connected */
	size_t stuffed;
};

static void fail(const char *what, const char *detail)
{
	fprintf(stderr, "client: %s: %s\n", what, detail);
	exit(1);
}

static void need(int good, const char *what)
{
	if (!good)
		fail(what, strerror(errno));
}

static int dial(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((unsigned short)port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), small = 16384; /* bytes: so that `stuff` is soon done */

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	need(fd >= 0, "socket");
	need(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small) == 0, "SO_RCVBUF");
	need(connect(fd, (struct sockaddr *)&address, sizeof address) == 0, "connect");
	return fd;
}

static char *unescape(char *text)
{
	char *from = text, *to = text;

	while (*from != '\0') {
		if (from[0] == '\\' && from[1] == 'n') {
			*to++ = '\n';
			from += 2;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
	return text;
}

static void send_all(int fd, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t n = send(fd, data, size, MSG_NOSIGNAL);

		need(n > 0, "send");
		data += n;
		size -= (size_t)n;
	}
}

static void expect(int fd, const char *text)
{
	char got[256] = "";
	size_t size = strlen(text), n = 0;

	while (n < size && n < sizeof got - 1) {
		ssize_t count = recv(fd, got + n, size - n, 0);

		need(count >= 0, "recv");
		if (count == 0)
			fail("the connection ended after", got);
		n += (size_t)count;
	}
	if (strcmp(got, text) != 0)
		fail("unexpected bytes", got);
}

/* Up to `limit` bytes, all of them x. */
static size_t expect_some(int fd, size_t limit)
{
	char data[65536];
	ssize_t n = recv(fd, data, limit < sizeof data ? limit : sizeof data, 0);

	need(n > 0, "recv of a long line");
	for (ssize_t i = 0; i < n; i++)
		if (data[i] != 'x')
			fail("a long line", "wrong bytes");
	return (size_t)n;
}

static void expect_repeated(int fd, size_t size)
{
	while (size > 0)
		size -= expect_some(fd, size);
}

/* Sends and receives by turns, in one thread: a server that echoes stops reading while nobody reads
 * its echo. */
static void long_line(int fd, size_t size)
{
	struct pollfd both = { .fd = fd, .events = POLLIN | POLLOUT };
	size_t unread = size;
	char data[65536];

	send_all(fd, "x", 1);
	expect(fd, prefix);
	memset(data, 'x', sizeof data);
	for (size--; size > 0 && poll(&both, 1, -1) == 1;) {
		if (both.revents & POLLOUT) {
			ssize_t n = send(fd, data, size < sizeof data ? size : sizeof data,
			                 MSG_NOSIGNAL | MSG_DONTWAIT);

			need(n > 0 || errno == EAGAIN, "send of a long line");
			size -= n > 0 ? (size_t)n : 0;
		}
		if (both.revents & POLLIN)
			unread -= expect_some(fd, unread);
	}
	send_all(fd, "\n", 1);
	expect_repeated(fd, unread);
	expect(fd, "\n");
}

static void do_send(struct connection *c, char *text)
{
	unescape(text);
	send_all(c->fd, text, strlen(text));
}

static void do_expect(struct connection *c, char *text)
{
	expect(c->fd, unescape(text));
}

static void do_long(struct connection *c, char *size)
{
	long_line(c->fd, strtoul(size, NULL, 10));
}

static void do_flood(struct connection *c, char *count)
{
	char line[151];

	memset(line, 'y', sizeof line);
	line[149] = '\n';
	for (unsigned long left = strtoul(count, NULL, 10); left > 0; left--)
		send_all(c->fd, line, 150);
}

static void do_stuff(struct connection *c, char *unused)
{
	struct pollfd poll_out = { .fd = c->fd, .events = POLLOUT };
	const char *scale = getenv("BIDE_TEST_SCALE");
	int patience = 100 * (scale != NULL && atoi(scale) > 0 ? atoi(scale) : 1); /* ms */
	char data[4096];

	(void)unused;
	memset(data, 'x', sizeof data);
	while (poll(&poll_out, 1, patience) == 1) {
		ssize_t n = send(c->fd, data, sizeof data, MSG_NOSIGNAL | MSG_DONTWAIT);

		need(n > 0 || errno == EAGAIN, "send");
		if (n > 0)
			c->stuffed += (size_t)n;
	}
}

static void do_drain(struct connection *c, char *unused)
{
	(void)unused;
	expect(c->fd, prefix);
	expect_repeated(c->fd, c->stuffed);
}

static void do_half(struct connection *c, char *unused)
{
	(void)unused;
	need(shutdown(c->fd, SHUT_WR) == 0, "shutdown");
}

static void do_end(struct connection *c, char *unused)
{
	char byte;
	ssize_t n = recv(c->fd, &byte, 1, 0);

	(void)unused;
	need(n >= 0, "recv at the end");
	if (n > 0)
		fail("instead of the end", "a byte");
}

static void do_gone(struct connection *c, char *unused)
{
	char data[4096];
	ssize_t n;

	(void)unused;
	while ((n = recv(c->fd, data, sizeof data, 0)) > 0)
		;
	need(n == 0 || errno == ECONNRESET, "recv");
}

static void do_close(struct connection *c, char *unused)
{
	(void)unused;
	need(close(c->fd) == 0, "close");
}

static void do_reset(struct connection *c, char *unused)
{
	struct linger at_once = { .l_onoff = 1, .l_linger = 0 };

	need(setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0, "SO_LINGER");
	do_close(c, unused);
}

static void do_mark(struct connection *c, char *file)
{
	int fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	(void)c;
	need(fd >= 0 && close(fd) == 0, file);
}

static void do_await(struct connection *c, char *file)
{
	struct timespec pause = { 0, 10000000 };

	(void)c;
	while (access(file, F_OK) != 0)
		nanosleep(&pause, NULL);
}

static void do_print(struct connection *c, char *unused)
{
	char data[4096];
	ssize_t n;

	(void)unused;
	while ((n = recv(c->fd, data, sizeof data, 0)) > 0)
		fwrite(data, 1, (size_t)n, stdout);
	need(n == 0 && fflush(stdout) == 0, "recv");
}

static const struct step {
	const char *word;
	int words; /* itself and its argument */
	void (*run)(struct connection *c, char *argument);
} steps[] = {
	{ "send", 2, do_send },   { "expect", 2, do_expect }, { "long", 2, do_long },
	{ "stuff", 1, do_stuff }, { "drain", 1, do_drain },   { "half", 1, do_half },
	{ "end", 1, do_end },     { "gone", 1, do_gone },     { "reset", 1, do_reset },
	{ "close", 1, do_close }, { "mark", 2, do_mark },     { "flood", 2, do_flood },
	{ "await", 2, do_await }, { "print", 1, do_print },
};

static const struct step *find_step(const char *word)
{
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
		if (strcmp(steps[i].word, word) == 0)
			return &steps[i];
	fail("no such word", word);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct connection connections[CONNECTIONS];
	struct connection *c = connections;

	for (int i = 2; i < argc;) {
		if (strcmp(argv[i], "use") == 0 && i + 1 < argc) {
			c = &connections[atoi(argv[i + 1]) % CONNECTIONS];
			if (c->fd == 0)
				c->fd = dial(atoi(argv[1]));
			i += 2;
		} else {
			const struct step *step = find_step(argv[i]);

			step->run(c, argv[i + 1]);
			i += step->words;
		}
	}
	return 0;
}
