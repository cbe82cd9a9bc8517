/* SPDX-License-Identifier: MIT
 * Cancellation of I/O, and two golden traces. Statements 39, 40, 43, 46, 59, scenario E8. */
#include <fcntl.h>
#include <unistd.h>

#include "counted_calls.h"
#include "runs.h"
#include "sched/loop.h"
#include "sockets.h"
#include "suite.h"
#include "trace.h"

static void *arg_of(const void *constant)
{
	return (void *)(uintptr_t)constant;
}

/* ---- on entry ---------------------------------------------------------------------------------------- */

static void *every_call(void *arg)
{
	struct sockaddr_in address;
	int fds[2], fresh = socket(AF_INET, SOCK_STREAM, 0), listener = plain_listener(4, &address);
	char buf[8], text[32];
	size_t done = 99;
	(void)arg;
	make_unix(fds);
	must_write(fds[1], "data", 4);
	int client = plain_connection(&address);
	address_text(listener, text);
	uint64_t turn = loop_current->ready.turn;
	int epoll = counted.epoll_ctl;
	must(bide_cancel(bide_self(), "on entry") == 0);
	for (int i = 0; i < 3; i++) { /* each time */
		ck_fails(bide_read(fds[0], buf, 8), ECANCELED);
		ck_fails(bide_read(fds[0], buf, 0), ECANCELED);
		ck_fails(bide_write(fds[0], buf, 8), ECANCELED);
		ck_fails(bide_write(fds[0], buf, 0), ECANCELED);
		ck_fails(bide_read_exact(fds[0], buf, 4, &done), ECANCELED);
		must(done == 0);
		ck_fails(bide_write_all(fds[0], buf, 4, &done), ECANCELED);
		must(done == 0);
		ck_fails(bide_recv(fds[0], buf, 8, 0), ECANCELED);
		ck_fails(bide_recv(fds[0], buf, 8, MSG_PEEK), ECANCELED);
		ck_fails(bide_send(fds[0], buf, 8, 0), ECANCELED);
		ck_fails(bide_fd_wait(fds[0], POLLIN), ECANCELED);
		ck_fails(bide_accept(listener, NULL, NULL), ECANCELED);
		ck_fails(bide_connect(fresh, (void *)&address, sizeof address), ECANCELED);
		ck_fails(bide_dial("tcp", text), ECANCELED);
	}
	must(loop_current->ready.turn == turn && counted.epoll_ctl == epoll);
	must(bide_uncancel() == 0);
	must(bytes_waiting(fds[0]) == 4 && bytes_waiting(fds[1]) == 0);
	int accepted = bide_accept(listener, NULL, NULL);
	must(accepted >= 0 && bide_recv(fds[0], buf, 8, 0) == 4);
	must(bide_close(accepted) == 0);
	close_pair(fds);
	close(client);
	close(fresh);
	close(listener);
	return NULL;
}

/* Statements 39, 40, 46: asyncio would return the data. */
START_TEST(with_a_cancel_pending_no_call_has_an_effect)
{
	run_real(every_call, NULL);
}
END_TEST

/* ---- while parked ------------------------------------------------------------------------------------- */

static void *parked(void *arg)
{
	static bide_fn *const bodies[] = { io_read, io_recv, io_wait, io_write, io_send };
	const struct fd_kind *kind = arg;
	for (int i = 0; i < 5; i++) {
		int fds[2];
		kind->make(fds);
		bool writes = i >= 3;
		size_t filled = 0;
		struct io io = { .fd = fds[writes], .events = POLLIN, .data = "x", .size = 1 };
		bide_task *task = io_start_parked(bodies[i], &io, writes ? &filled : NULL);
		must(io.count == -2);
		must(bide_cancel(task, NULL) == 0);
		/* It is gone from the line before it runs. */
		struct descriptor *descriptor = descriptor_find(&loop_current->descriptors, io.fd);
		must(list_is_empty(&descriptor->waiters[0]) && list_is_empty(&descriptor->waiters[1]));
		must(io.count == -2);
		must(join_within(task, LONG).err == ECANCELED);
		must(loop_current->descriptors.waiting == 0 && loop_current->descriptors.fired == 0);
		if (writes)
			must(drain(fds[0]) == filled);
		close_pair(fds);
	}
	return NULL;
}

/* Statement 40. */
START_TEST(a_parked_call_that_is_canceled_had_no_effect)
{
	run_virtual(parked, arg_of(kind_with(STREAM | SOCKET, _i)));
}
END_TEST

static void *goodbye(void *arg)
{
	struct io *io = arg;
	ssize_t count = bide_recv(io->fd, io->buf, sizeof io->buf, 0);
	io->err = errno;
	io->count = count;
	return NULL;
}

static void say_goodbye(void *arg)
{
	must(bide_send(*(int *)arg, "bye", 3, 0) == 3);
}

static void *deferred_goodbye(void *arg)
{
	struct io *io = arg;
	must(bide_defer(say_goodbye, &io->fd) == 0);
	return goodbye(io);
}

static void *goodbye_main(void *arg)
{
	int fds[2];
	char buf[8];
	(void)arg;
	make_unix(fds);
	struct io io = { .fd = fds[0] };
	bide_task *task = io_start(deferred_goodbye, &io);
	must(bide_cancel(task, NULL) == 0);
	must_join(task);
	must(io.count == -1 && io.err == ECANCELED);
	must(bide_recv(fds[1], buf, 8, 0) == 3);
	close_pair(fds);
	return NULL;
}

/* Statement 59. */
START_TEST(a_deferred_call_says_goodbye_on_the_socket)
{
	run_virtual(goodbye_main, NULL);
}
END_TEST

/* ---- no byte is lost ------------------------------------------------------------------------------------ */

struct numbered {
	int fd;
	size_t size, total; /* read so far, checked on the way */
};

static void *numbered_reader(void *arg)
{
	struct numbered *stream = arg;
	unsigned char buf[64];
	for (;;) {
		ssize_t count = bide_read(stream->fd, buf, stream->size);
		if (count < 0)
			return bide_fail(errno);
		pattern_check(6, stream->total, buf, (size_t)count);
		stream->total += (size_t)count;
	}
}

static unsigned next_random(unsigned *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

static void *cancel_and_replace(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2], cancels = suite_scaled_down(100000, 2000);
	unsigned seed = 1;
	size_t written = 0;
	kind->make(fds);
	struct numbered stream = { .fd = fds[0] };
	for (int i = 0; i < cancels; i++) {
		unsigned char bytes[32];
		stream.size = 1 + next_random(&seed) % 64;
		bide_task *reader = must_spawn(numbered_reader, &stream);
		for (unsigned steps = next_random(&seed) % 4; steps > 0; steps--)
			switch (next_random(&seed) % 3) {
			case 0:
				turns(1);
				break;
			case 1: {
				size_t size = 1 + next_random(&seed) % 32;
				if (written - stream.total > 4096)
					break;
				pattern_fill(6, written, bytes, size);
				must_write(fds[1], bytes, size);
				written += size;
				break;
			}
			default: {
				struct poller_event events[POLLER_BATCH];
				descriptors_fire(loop_current, events,
				    poller_wait(&loop_current->poller, events, POLLER_BATCH, 0, 0));
			}
			}
		must(bide_cancel(reader, NULL) == 0);
		must(must_join(reader).err == ECANCELED);
	}
	bide_task *last = must_spawn(numbered_reader, &stream);
	for (int i = 0; i < 1000 && stream.total < written; i++)
		must(bide_sleep(BIDE_MSEC / 10) == 0);
	must(stream.total == written);
	must(bide_cancel(last, NULL) == 0);
	must_join(last);
	close_pair(fds);
	return NULL;
}

/* Scenario E8: 100,000 cancels. */
START_TEST(readers_canceled_at_random_lose_no_byte)
{
	run_with(_i % 2 ? BIDE_RANDOM_ORDER : 0, cancel_and_replace, arg_of(kind_with(STREAM, _i / 2)));
}
END_TEST

/* ---- golden trace: echo server, one client ---------------------------------------------------------------- */

static struct sockaddr_in server_address;
static int client, step;

/* The client acts when the loop goes to sleep: nothing else can be ready then. */
static void client_acts(void)
{
	char buf[8];
	note("sleep(%zu)", loop_current->descriptors.waiting);
	switch (step++) {
	case 0:
		note("connect");
		client = plain_connection(&server_address);
		break;
	case 1:
		note("client-send");
		must_write(client, "hello", 5);
		break;
	case 2:
		must(read(client, buf, 8) == 5);
		note("client-close");
		close(client);
		break;
	case 3:
		note("connect");
		client = plain_connection(&server_address);
		break;
	default:
		ck_abort_msg("the loop sleeps once too often: %s", notes());
	}
}

static void *handler(void *arg)
{
	char buf[64];
	int fd = (int)(intptr_t)arg;
	for (;;) {
		note("recv");
		ssize_t count = bide_recv(fd, buf, sizeof buf, 0);
		note("got%zd", count);
		if (count <= 0)
			break;
		must(bide_send(fd, buf, (size_t)count, 0) == count);
		note("sent");
	}
	must(bide_close(fd) == 0);
	note("end");
	return NULL;
}

static void *server(void *arg)
{
	int listener = *(int *)arg;
	for (int i = 0; i < 2; i++) {
		note("accept");
		int fd = bide_accept(listener, NULL, NULL);
		note("accepted");
		if (i == 1) {
			must(bide_close(fd) == 0);
			break;
		}
		bide_task *task = must_spawn(handler, (void *)(intptr_t)fd);
		must(bide_detach(task) == 0);
	}
	return NULL;
}

START_TEST(golden_trace_of_an_echo_server_with_one_client)
{
	int listener = plain_listener(4, &server_address);
	step = 0;
	counted.before_sleep = client_acts;
	run_real(server, &listener);
	counted.before_sleep = NULL;
	expect_notes(
	    "accept sleep(1) connect accepted accept recv sleep(2) client-send got5 sent recv "
	    "sleep(2) client-close got0 end sleep(1) connect accepted");
	close(client);
	close(listener);
}
END_TEST

/* ---- golden trace: cancel of a stalled read ----------------------------------------------------------------- */

static bide_task *stalled;

static void *stalled_reader(void *arg)
{
	char buf[8];
	note("recv");
	ssize_t count = bide_recv(*(int *)arg, buf, sizeof buf, 0);
	must(count == -1 && errno == ECANCELED);
	note("ECANCELED@%d", (int)(bide_now() / BIDE_MSEC));
	return NULL;
}

static void *timeout_task(void *arg)
{
	(void)arg;
	note("sleep");
	must(bide_sleep(2 * BIDE_SEC) == 0);
	note("fired");
	must(bide_cancel(stalled, NULL) == 0);
	note("%s", bide_task_state(stalled) == BIDE_TASK_DONE ? "done" : "accepted");
	note("waiting(%d)", !list_is_empty(&descriptor_find(&loop_current->descriptors, *(int *)arg)->waiters[0]));
	return NULL;
}

static void *stalled_main(void *arg)
{
	stalled = must_spawn(stalled_reader, arg);
	bide_task *timeout = must_spawn(timeout_task, arg);
	bide_result result = must_join(stalled);
	must(result.err == ECANCELED);
	must_join(timeout);
	must(loop_current->descriptors.waiting == 0 && timers_next(&loop_current->timers) == BIDE_NEVER);
	return NULL;
}

START_TEST(golden_trace_of_the_cancel_of_a_stalled_read)
{
	int fds[2];
	make_tcp(fds);
	run_virtual(stalled_main, &fds[0]);
	expect_notes("recv sleep fired accepted waiting(0) ECANCELED@2000");
	close_pair(fds);
}
END_TEST

int main(void)
{
	return SUITE("io_cancel", TEST(with_a_cancel_pending_no_call_has_an_effect),
	    LOOP(a_parked_call_that_is_canceled_had_no_effect, 0, 3),
	    TEST(a_deferred_call_says_goodbye_on_the_socket),
	    LOOP(readers_canceled_at_random_lose_no_byte, 0, 10),
	    TEST(golden_trace_of_an_echo_server_with_one_client),
	    TEST(golden_trace_of_the_cancel_of_a_stalled_read));
}
