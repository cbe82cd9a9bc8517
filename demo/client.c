/* SPDX-License-Identifier: MIT
 * Demo: the client, one epoll loop over all connections of one server. It knows, for each
 * connection, the one echo and the one chat line that may come next, and compares every byte. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "client.h"
#include "latency.h"
#include "measure.h"
#include "process.h"
#include "protocol.h"

enum {
	PATIENCE = 20,             /* seconds without a byte after which something is lost */
	GREETINGS_AHEAD = 64,      /* connections begun and not yet greeted: less than any backlog */
	PER_SOURCE_ADDRESS = 4000  /* connections from one 127.0.0.x: its ports never run out */
};

struct connection {
	int fd;
	unsigned id;
	unsigned sequence;           /* of the latest request */
	bool greeted, refused;
	bool waiting;                /* for the echo of `request` */
	unsigned chats;              /* chat lines that have come */
	int64_t sent_at;
	char request[REQUEST_SIZE];
	struct lines in;
};

static struct {
	int control, poller;
	unsigned port;
	struct connection *connections;
	unsigned count;              /* of connections */
	unsigned active;             /* the first so many send requests */
	unsigned greetings, waiting; /* connections that expect a greeting, an echo */
	bool full;                   /* the server refused one, and why */
	char full_reason[64];
	int64_t talk_until;          /* an echo before this moment is answered by the next request */
	char chat[REQUEST_SIZE];     /* the chat line under way or last sent, as it must arrive */
	unsigned chats;              /* how many there were */
	unsigned chat_missing;       /* connections that do not have it yet */
	uint64_t replies_checked, chats_checked;
} self;

__attribute__((format(printf, 1, 2))) static _Noreturn void fail(const char *format, ...)
{
	char text[sizeof(((struct report *)0)->text)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	_exit(report_failure(self.control, "%s", text));
}

/* LINES */

static char *write_decimal(char *out, int digits, unsigned number)
{
	for (int i = digits - 1; i >= 0; i--, number /= 10)
		out[i] = (char)('0' + number % 10);
	return out + digits;
}

/* "<mark> <id> <sequence> <letters>\n": no two are equal, and the letters differ from one to the
 * next, so that bytes of another line are seen wherever they land. */
static void write_line(char line[REQUEST_SIZE], const char *mark, unsigned id, unsigned sequence)
{
	char *out = line;

	memcpy(out, mark, PREFIX_SIZE);
	out = write_decimal(out + PREFIX_SIZE, 7, id);
	*out++ = ' ';
	out = write_decimal(out, 10, sequence);
	*out++ = ' ';
	for (unsigned letter = id + sequence; out < line + REQUEST_SIZE - 1; letter++)
		*out++ = (char)('a' + letter % 26);
	*out = '\n';
}

static void send_line(struct connection *connection, const char *line)
{
	ssize_t sent = send(connection->fd, line, REQUEST_SIZE, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (sent != REQUEST_SIZE)
		fail("connection %u: cannot send: %s", connection->id,
		     sent < 0 ? strerror(errno) : "its buffer is full");
}

static void ask(struct connection *connection)
{
	write_line(connection->request, "line ", connection->id, ++connection->sequence);
	connection->sent_at = now_ns();
	connection->waiting = true;
	self.waiting++;
	send_line(connection, connection->request);
}

static void say_to_all(void)
{
	char line[REQUEST_SIZE];

	write_line(line, TO_ALL, 0, ++self.chats);
	memcpy(self.chat, line, REQUEST_SIZE);
	memcpy(self.chat, CHAT, PREFIX_SIZE);
	self.chat_missing = self.count;
	send_line(&self.connections[0], line);
}

/* WHAT ARRIVES */

static _Noreturn void fail_line(const struct connection *connection, const char *line, size_t size)
{
	char prefix[2 * PREFIX_SIZE + REQUEST_SIZE] = "no line at all";

	if (connection->waiting)
		snprintf(prefix, sizeof(prefix), ECHO "%.*s", REQUEST_SIZE - 1, connection->request);
	fail("connection %u: wrong bytes: \"%.*s\", expected \"%s\"", connection->id,
	     size > 70 ? 70 : (int)size - 1, line, prefix);
}

static void take_echo(struct connection *connection)
{
	int64_t now = now_ns();

	connection->waiting = false;
	self.waiting--;
	self.replies_checked++;
	if (!latency_add(now - connection->sent_at))
		fail("no memory for latencies");
	if (now < self.talk_until)
		ask(connection);
}

static void take_refusal(struct connection *connection, const char *line, size_t size)
{
	connection->refused = true;
	self.greetings--;
	self.full = true;
	snprintf(self.full_reason, sizeof(self.full_reason), "%.*s",
		 (int)(size - PREFIX_SIZE - 1), line + PREFIX_SIZE);
}

static bool is_echo(const struct connection *connection, const char *line, size_t size)
{
	return connection->waiting && size == PREFIX_SIZE + REQUEST_SIZE &&
	       has_prefix(line, size, ECHO) &&
	       memcmp(line + PREFIX_SIZE, connection->request, REQUEST_SIZE) == 0;
}

static bool is_chat(const struct connection *connection, const char *line, size_t size)
{
	return connection->chats + 1 == self.chats && size == REQUEST_SIZE &&
	       memcmp(line, self.chat, size) == 0;
}

static void take_line(struct connection *connection, const char *line, size_t size)
{
	if (!connection->greeted && has_prefix(line, size, FULL)) {
		take_refusal(connection, line, size);
	} else if (!connection->greeted && size == strlen(WELCOME) &&
		   memcmp(line, WELCOME, size) == 0) {
		connection->greeted = true;
		self.greetings--;
	} else if (is_echo(connection, line, size)) {
		take_echo(connection);
	} else if (is_chat(connection, line, size)) {
		connection->chats++;
		self.chats_checked++;
		self.chat_missing--;
	} else {
		fail_line(connection, line, size);
	}
}

static void receive(struct connection *connection)
{
	size_t space, size;
	char *end = lines_space(&connection->in, &space);
	char *line;

	if (!end)
		fail_line(connection, connection->in.text, LINE_SIZE_MAX);
	ssize_t got = recv(connection->fd, end, space, MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0 && connection->refused) {
		epoll_ctl(self.poller, EPOLL_CTL_DEL, connection->fd, NULL);
		return;
	}
	if (got <= 0)
		fail("connection %u was lost: %s", connection->id,
		     got < 0 ? strerror(errno) : "closed by the server");
	connection->in.end += (size_t)got;
	while ((line = lines_next(&connection->in, &size)))
		take_line(connection, line, size);
}

/* Waits at most `seconds` for bytes; false if none came. */
static bool pump(int seconds)
{
	struct epoll_event events[256];
	int count = epoll_wait(self.poller, events, 256, seconds * 1000);

	if (count < 0 && errno != EINTR)
		fail("epoll_wait: %s", strerror(errno));
	for (int i = 0; i < count; i++)
		receive(&self.connections[events[i].data.u32]);
	return count != 0;
}

/* CONNECTING */

static void watch(struct connection *connection, int operation)
{
	struct epoll_event event = { .events = EPOLLIN,
				     .data.u32 = (uint32_t)(connection - self.connections) };

	if (epoll_ctl(self.poller, operation, connection->fd, &event) < 0)
		fail("epoll_ctl: %s", strerror(errno));
}

/* The kernel may choose the port at connect(), among those free towards this server
 * (IP_BIND_ADDRESS_NO_PORT). SO_SNDTIMEO bounds connect(). */
static void connect_one(struct connection *connection)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)self.port) };
	struct sockaddr_in from = { .sin_family = AF_INET };
	struct timeval patience = { .tv_sec = PATIENCE };
	int yes = 1;

	inet_pton(AF_INET, ADDRESS, &to.sin_addr);
	from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + connection->id / PER_SOURCE_ADDRESS);
	int fd = connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof(yes)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0 ||
	    bind(fd, (struct sockaddr *)&from, sizeof(from)) < 0 ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		fail("connection %u: cannot connect: %s", connection->id, strerror(errno));
	self.greetings++;
	watch(connection, EPOLL_CTL_ADD);
}

static void close_from(unsigned count)
{
	for (unsigned i = count; i < self.count; i++)
		close(self.connections[i].fd);
	self.count = count;
}

/* Moves the connections that the server refused behind the others and closes them. */
static void drop_refused(void)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < self.count; i++) {
		struct connection moved = self.connections[i];
		if (moved.refused)
			continue;
		self.connections[i] = self.connections[kept];
		self.connections[kept] = moved;
		watch(&self.connections[kept++], EPOLL_CTL_MOD);
	}
	close_from(kept);
}

static void report_progress(void)
{
	static int64_t next;
	struct report report = { .kind = REPORT_PROGRESS, .count = self.count };

	if (now_ns() < next)
		return;
	next = now_ns() + 100000000;
	report_send(self.control, &report);
}

/* Until `count` connections are greeted, or the server is full. */
static void connect_all(unsigned count)
{
	self.connections = calloc(count, sizeof(*self.connections));
	if (!self.connections)
		fail("no memory for %u connections", count);
	while ((self.count < count && !self.full) || self.greetings > 0) {
		bool ahead = self.greetings == GREETINGS_AHEAD;
		if (self.count < count && !self.full && !ahead) {
			self.connections[self.count].id = self.count;
			connect_one(&self.connections[self.count++]);
		} else if (!pump(PATIENCE)) {
			fail("%u connections got no greeting in %d s", self.greetings, PATIENCE);
		}
		report_progress();
	}
	drop_refused();
}

/* STEPS */

static void talk(double seconds, bool chat, struct report *report)
{
	int64_t start = now_ns();
	bool told = !chat;

	latency_clear();
	self.talk_until = start + (int64_t)(seconds * 1e9);
	for (unsigned i = 0; seconds > 0 && i < self.active && i < self.count; i++)
		ask(&self.connections[i]);
	if (chat)
		say_to_all();
	while (self.waiting > 0 || self.chat_missing > 0) {
		if (!pump(PATIENCE))
			fail("%u replies and %u chat lines did not come in %d s", self.waiting,
			     self.chat_missing, PATIENCE);
		if (!told && self.chat_missing == 0) {
			report->chat_seconds = (double)(now_ns() - start) * 1e-9;
			told = true;
		}
	}
	report->seconds = (double)(now_ns() - start) * 1e-9;
}

static void carry_out(const struct order *order)
{
	struct report report = { .kind = REPORT_DONE };
	int64_t start = now_ns();

	if (self.count == 0) {
		connect_all(order->connections);
		report.seconds = (double)(now_ns() - start) * 1e-9;
	} else if (order->connections < self.count) {
		close_from(order->connections);
	}
	if (order->seconds > 0 || order->chat)
		talk(order->seconds, order->chat, &report);
	report.p50 = latency_percentile(0.50);
	report.p99 = latency_percentile(0.99);
	report.count = self.count;
	report.requests = latency_count();
	report.replies = self.replies_checked;
	report.chats = self.chats_checked;
	memcpy(report.text, self.full_reason, sizeof(self.full_reason));
	report_send(self.control, &report);
}

/* Nothing may have come after the last line that was expected. */
static void check_silence(void)
{
	while (pump(0))
		;
	for (unsigned i = 0; i < self.count; i++)
		if (self.connections[i].in.start != self.connections[i].in.end)
			fail("connection %u: half a line at the end", self.connections[i].id);
}

int client(int control, const void *arg)
{
	const struct client_plan *plan = arg;
	struct order order;

	self.control = control;
	self.port = plan->port;
	self.active = plan->active;
	self.poller = epoll_create1(EPOLL_CLOEXEC);
	if (self.poller < 0)
		fail("epoll_create1: %s", strerror(errno));
	while (recv(control, &order, sizeof(order), 0) == sizeof(order))
		carry_out(&order);
	check_silence();
	return 0;
}
