/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: the load on an echo server: a closed loop, one request at a time on
 * each connection, driven by one edge-triggered epoll set.
 *
 * Each message is a piece of a random text that depends on the connection and on how many requests
 * came before, so an answer that was meant for another one is told from the right one.
 *
 * Connections come from several addresses of 127.0.0.0/8, and closing is an ordinary close: under
 * churn thousands of ports stay in TIME_WAIT, more than one address has. */
#include "echo_load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "random.h"

#define EVENTS 256
#define SOURCES 8             /* addresses to connect from */
#define OPENED_AT_ONCE 256    /* fewer than any backlog */
#define PATIENCE_MS 5000      /* without any answer */
#define TEXT_SIZE (1024 * 1024)

struct connection {
	int fd;
	uint32_t requests;   /* made so far */
	uint32_t last;       /* no request follows this one in this run; 0: not said */
	const char *message; /* being sent and echoed; NULL: nothing is */
	int sent;
	int received;
	int64_t since; /* when the request began */
};

struct load {
	load_plan plan;
	struct sockaddr_in server;
	int epoll_fd;
	struct connection *connections;

	int busy;         /* connections with a request under way */
	bool stopping;    /* let no new request follow an answer */
	bool broken;      /* a connection or an answer failed */
	uint64_t answers;
	bench_row *latency;
};

static char text[TEXT_SIZE + LOAD_LARGEST];

static void make_text(void)
{
	bench_random random = { 7 };
	if (text[0])
		return;
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = (char)(1 + bench_random_below(&random, 255));
}

static const char *pick_message(const struct load *load, const struct connection *connection)
{
	bench_random random = { (uint64_t)(connection - load->connections) << 32 | connection->requests };
	return text + bench_random_below(&random, TEXT_SIZE);
}

static void break_off(struct load *load)
{
	load->broken = true;
	load->stopping = true;
}

static bool bind_source(int fd, int number)
{
	struct sockaddr_in source = { .sin_family = AF_INET };
	int on = 1;
	source.sin_addr.s_addr = htonl(INADDR_LOOPBACK + (unsigned)(number % SOURCES));
	/* The port is chosen by connect(), which knows the other end and so may share ports. */
	return setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on) == 0 &&
	       bind(fd, (struct sockaddr *)&source, sizeof source) == 0;
}

static bool open_connection(struct load *load, struct connection *connection)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1;
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = connection };
	connection->fd = fd;
	if (fd < 0 || !bind_source(fd, (int)(connection - load->connections)))
		return false;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (connect(fd, (struct sockaddr *)&load->server, sizeof load->server) != 0 && errno != EINPROGRESS)
		return false;
	return epoll_ctl(load->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void close_connection(struct connection *connection)
{
	if (connection->fd >= 0)
		close(connection->fd);
	connection->fd = -1;
}

static void send_more(struct load *load, struct connection *connection)
{
	int left = load->plan.size - connection->sent;
	ssize_t sent = send(connection->fd, connection->message + connection->sent, (size_t)left,
			    MSG_NOSIGNAL);
	if (sent >= 0)
		connection->sent += (int)sent;
	else if (errno != EAGAIN && errno != ENOTCONN)
		break_off(load);
}

/* A new connection sends when it is told that it is connected. */
static void begin_request(struct load *load, struct connection *connection)
{
	bool fresh = connection->fd < 0;
	connection->message = pick_message(load, connection);
	connection->requests++;
	connection->sent = connection->received = 0;
	connection->since = bench_now(BENCH_WALL);
	load->busy++;
	if (!fresh)
		send_more(load, connection);
	else if (!open_connection(load, connection))
		break_off(load);
}

static void end_request(struct load *load, struct connection *connection)
{
	connection->message = NULL;
	load->busy--;
	load->answers++;
	if (load->latency)
		bench_row_add(load->latency, (double)(bench_now(BENCH_WALL) - connection->since) / 1e3);
	if (load->plan.churn)
		close_connection(connection);
	if (!load->stopping && connection->requests != connection->last)
		begin_request(load, connection);
}

static void check(const struct load *load, const struct connection *connection, const char *bytes, int size)
{
	if (connection->received + size > load->plan.size ||
	    memcmp(connection->message + connection->received, bytes, (size_t)size) != 0)
		bench_fail("the server sent wrong bytes");
}

/* One message is the most that can be there, and the buffer is larger, so one read takes all. */
static void receive(struct load *load, struct connection *connection)
{
	static char bytes[2 * LOAD_LARGEST];
	ssize_t got = recv(connection->fd, bytes, sizeof bytes, 0);
	if (got < 0 && errno == EAGAIN)
		return;
	if (got <= 0) {
		break_off(load);
		return;
	}
	check(load, connection, bytes, (int)got);
	connection->received += (int)got;
	if (connection->received == load->plan.size)
		end_request(load, connection);
}

static void serve_event(struct load *load, struct connection *connection, unsigned events)
{
	if (!connection->message) /* between two requests: only the news that it can send */
		return;
	if ((events & EPOLLOUT) && connection->sent < load->plan.size)
		send_more(load, connection);
	if (events & (EPOLLIN | EPOLLERR | EPOLLHUP))
		receive(load, connection);
}

static void wait_and_serve(struct load *load)
{
	struct epoll_event events[EVENTS];
	int count = epoll_wait(load->epoll_fd, events, EVENTS, PATIENCE_MS);
	if (count == 0 || (count < 0 && errno != EINTR))
		break_off(load);
	for (int i = 0; i < count && !load->broken; i++)
		serve_event(load, events[i].data.ptr, events[i].events);
}

/* One request on each of the connections from `first` to before `end`. */
static bool ask_once(struct load *load, int first, int end)
{
	load->stopping = true;
	for (int i = first; i < end && !load->broken; i++)
		begin_request(load, &load->connections[i]);
	while (load->busy > 0 && !load->broken)
		wait_and_serve(load);
	return !load->broken;
}

static struct load *new_load(int port, const load_plan *plan)
{
	struct load *load = calloc(1, sizeof *load);
	struct connection *connections = calloc((size_t)plan->connections, sizeof *connections);
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!load || !connections || epoll_fd < 0)
		bench_fail("no memory or descriptors for the load");
	load->plan = *plan;
	load->server.sin_family = AF_INET;
	load->server.sin_port = htons((uint16_t)port);
	load->server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	load->epoll_fd = epoll_fd;
	load->connections = connections;
	for (int i = 0; i < plan->connections; i++)
		connections[i].fd = -1;
	return load;
}

struct load *load_open(int port, const load_plan *plan)
{
	make_text();
	struct load *load = new_load(port, plan);
	for (int first = 0; first < plan->connections; first += OPENED_AT_ONCE) {
		int left = plan->connections - first;
		if (ask_once(load, first, first + (left < OPENED_AT_ONCE ? left : OPENED_AT_ONCE)))
			continue;
		load_close(load);
		return NULL;
	}
	return load;
}

uint64_t load_run(struct load *load, int64_t duration, bench_row *latency)
{
	int64_t until = bench_now(BENCH_WALL) + duration;
	load->stopping = false;
	load->answers = 0;
	load->latency = latency;
	for (int i = 0; i < load->plan.active && !load->broken; i++) {
		struct connection *connection = &load->connections[i];
		connection->last = load->plan.each ? connection->requests + (uint32_t)load->plan.each : 0;
		begin_request(load, connection);
	}
	while (load->busy > 0 && !load->broken) {
		wait_and_serve(load);
		load->stopping |= !load->plan.each && bench_now(BENCH_WALL) >= until;
	}
	if (load->broken)
		bench_fail("the server closed a connection, or did not answer for %d ms", PATIENCE_MS);
	return load->answers;
}

void load_close(struct load *load)
{
	for (int i = 0; i < load->plan.connections; i++)
		close_connection(&load->connections[i]);
	close(load->epoll_fd);
	free(load->connections);
	free(load);
}
