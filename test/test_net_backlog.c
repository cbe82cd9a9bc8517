/* SPDX-License-Identifier: MIT
 * Whether there is a connection to accept: how a listener is asked, and what is believed of it. Statements 165, 173. */
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "counted_calls.h"
#include "runs.h"
#include "sched/loop.h"
#include "sockets.h"
#include "suite.h"

static int polls;     /* how often poll() was asked */
static int mute = -1; /* of this one it tells nothing, as of a socket of AF_ALG, which always accepts */

COUNTED_API int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	struct timespec limit = { timeout / 1000, timeout % 1000 * 1000000L };
	int ready = ppoll(fds, count, timeout < 0 ? NULL : &limit, NULL);
	polls++;
	return count == 1 && fds->fd == mute ? 0 : ready;
}

static void must_close(int fd)
{
	must(fd >= 0 && bide_close(fd) == 0);
}

/* A connection comes, and is what `task` waited for in io_accept(). */
static void end_wait(bide_task *task, const struct io *io, const struct sockaddr_in *address)
{
	int client = plain_connection(address);
	must(join_within(task, LONG).err == 0);
	must_close((int)io->count);
	close(client);
}

/* An accept() that finds nothing makes a socket first, and is no way to ask: who has waited once asks otherwise, and
 * who was woken need not ask. */
static void *accepts_counted(void *arg)
{
	struct sockaddr_in address;
	int clients[4], peers[4];
	(void)arg;
	must(bide_fault(NULL) == 0); /* calls are counted */
	int listener = plain_listener(4, &address);
	struct io io = { .fd = listener };
	bide_task *waits = io_start(io_accept, &io);
	must(io.count == -2 && counted.accept == 1);
	for (int i = 0; i < 3; i++)
		clients[i] = plain_connection(&address);
	must(join_within(waits, LONG).err == 0);
	peers[0] = (int)io.count;
	for (int i = 1; i < 3; i++)
		peers[i] = bide_accept(listener, NULL, NULL);
	must(counted.accept == 4 && polls == 2);
	waits = io_start(io_accept, &io);
	must(counted.accept == 4 && polls == 3);
	clients[3] = plain_connection(&address);
	must(join_within(waits, LONG).err == 0 && counted.accept == 5 && polls == 3);
	peers[3] = (int)io.count;
	for (int i = 0; i < 4; i++) {
		must(peers[i] >= 0 && bide_close(peers[i]) == 0);
		close(clients[i]);
	}
	must(bide_close(listener) == 0);
	return NULL;
}

START_TEST(as_many_connections_are_accepted_as_are_there_and_no_more_is_tried)
{
	run_real(accepts_counted, NULL);
}
END_TEST

/* The number of a listener that code without bide has closed: what was known of it is not believed for good,
 * whether it was waited for before or not. */
static void *no_listener_any_more(void *arg)
{
	struct sockaddr_in address;
	bool waits = *(int *)arg;
	int listener = plain_listener(4, &address);
	struct io io = { .fd = listener };
	bide_task *task = waits ? io_start(io_accept, &io) : NULL;
	int client = plain_connection(&address);
	if (!waits)
		task = io_start(io_accept, &io);
	must(join_within(task, LONG).err == 0);
	must(bide_close((int)io.count) == 0);
	close(client);
	int other = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	must(dup2(other, listener) == listener);
	must(join_within(io_start(io_accept, &io), LONG).err == EOPNOTSUPP);
	must(bide_close(listener) == 0);
	close(other);
	return NULL;
}

START_TEST(a_number_that_was_a_listener_is_found_not_to_be_one)
{
	run_real(no_listener_any_more, &_i);
}
END_TEST

/* ---- listeners of any kind ----------------------------------------------------------------------------- */

static const struct {
	int family, type;
} families[] = {
	{ AF_INET, SOCK_STREAM }, { AF_INET6, SOCK_STREAM }, { AF_UNIX, SOCK_STREAM }, { AF_UNIX, SOCK_SEQPACKET },
};

struct place_to_listen {
	int type;
	struct sockaddr_storage address;
	socklen_t length;
};

static int listen_to(int family, int type, struct place_to_listen *place)
{
	*place = (struct place_to_listen){ .type = type, .length = sizeof(struct sockaddr_in6) };
	place->address.ss_family = (sa_family_t)family;
	if (family == AF_UNIX)
		place->length = abstract_address("kind", (struct sockaddr_un *)&place->address);
	if (family == AF_INET)
		place->length = sizeof(struct sockaddr_in);
	int fd = socket(family, type | SOCK_CLOEXEC, 0);
	must(fd >= 0 && bind(fd, (void *)&place->address, place->length) == 0 && listen(fd, 8) == 0);
	must(getsockname(fd, (void *)&place->address, &place->length) == 0);
	return fd;
}

static int connect_to(const struct place_to_listen *place)
{
	int fd = socket(place->address.ss_family, place->type | SOCK_CLOEXEC, 0);
	must(fd >= 0 && connect(fd, (const void *)&place->address, place->length) == 0);
	return fd;
}

/* Waits, is there, is there no more, waits. */
static void *any_listener(void *arg)
{
	struct place_to_listen place;
	int clients[4], kind = *(int *)arg;
	int listener = listen_to(families[kind].family, families[kind].type, &place);
	struct io io = { .fd = listener };
	bide_task *task = io_start(io_accept, &io);
	for (int i = 0; i < 3; i++)
		clients[i] = connect_to(&place);
	must(join_within(task, LONG).err == 0);
	must_close((int)io.count);
	for (int i = 0; i < 2; i++)
		must_close(bide_accept(listener, NULL, NULL));
	task = io_start(io_accept, &io);
	must(io.count == -2);
	clients[3] = connect_to(&place);
	must(join_within(task, LONG).err == 0);
	must_close((int)io.count);
	must_close(listener);
	for (int i = 0; i < 4; i++)
		close(clients[i]);
	return NULL;
}

START_TEST(a_listener_of_any_kind_is_accepted_from)
{
	counted.modify_is_mute = true;
	run_real(any_listener, &_i);
}
END_TEST

/* Under those who wait, of whom there are two, and before anybody does. */
static void *shut_down(void *arg)
{
	struct place_to_listen place;
	int kind = *(int *)arg / 2, how = *(int *)arg % 2 ? SHUT_RD : SHUT_RDWR;
	for (int waits = 0; waits < 2; waits++) {
		int listener = listen_to(families[kind].family, families[kind].type, &place);
		struct io io[2] = { { .fd = listener }, { .fd = listener } };
		bide_task *tasks[2] = { NULL };
		for (int i = 0; waits && i < 2; i++)
			tasks[i] = io_start(io_accept, &io[i]);
		must(bide_shutdown(listener, how) == 0);
		for (int i = 0; i < 2; i++)
			must(join_within(waits ? tasks[i] : io_start(io_accept, &io[i]), LONG).err == EINVAL);
		must(join_within(io_start(io_accept, &io[0]), LONG).err == EINVAL);
		must_close(listener);
	}
	return NULL;
}

START_TEST(who_waits_at_a_listener_that_is_shut_down_is_told)
{
	counted.modify_is_mute = true;
	run_real(shut_down, &_i);
}
END_TEST

/* Until somebody has been told of a connection: what is known of the listener is what events have told. */
static int warm_listener(struct sockaddr_in *address)
{
	int listener = plain_listener(8, address);
	struct io io = { .fd = listener };
	end_wait(io_start(io_accept, &io), &io, address);
	return listener;
}

/* The flag belongs to all who share the listener, and one of them takes the connection first. */
static void *made_blocking(void *arg)
{
	struct sockaddr_in address;
	struct heartbeat heartbeat;
	struct poller_event events[POLLER_BATCH];
	(void)arg;
	int listener = warm_listener(&address);
	struct io io = { .fd = listener };
	set_nonblocking(listener, false);
	heartbeat_start(&heartbeat, BIDE_MSEC);
	bide_task *task = io_start(io_accept, &io);
	must(io.count == -2);
	int client = plain_connection(&address);
	while (bide_task_state(task) != BIDE_TASK_READY)
		descriptors_fire(loop_current, events, poller_wait(&loop_current->poller, events, POLLER_BATCH, 0, 0));
	set_nonblocking(listener, false);
	close(accept(listener, NULL, NULL));
	for (int beats = heartbeat.beats; heartbeat.beats < beats + 5;)
		must(bide_sleep(BIDE_MSEC) == 0);
	must(io.count == -2);
	end_wait(task, &io, &address);
	heartbeat_stop(&heartbeat);
	must_close(listener);
	close(client);
	return NULL;
}

START_TEST(a_listener_that_others_make_blocking_stops_nobody)
{
	counted.modify_is_mute = true;
	run_real(made_blocking, NULL);
}
END_TEST

static void *looks(void *arg)
{
	struct io *io = arg;
	bide_case c = { .op = BIDE_CASE_FD, .fd = io->fd, .events = POLLIN };
	must(bide_select(&c, 1, 0) == 0 && c.err == 0 && c.revents == POLLIN);
	io->count = c.revents;
	return NULL;
}

/* By bide_fd_wait(), or by bide_select(): the connection is left to who accepts it, and then there is none. */
static void *told_of_a_connection(void *arg)
{
	struct sockaddr_in address;
	(void)arg;
	must(bide_fault(NULL) == 0); /* calls are counted */
	int listener = warm_listener(&address);
	for (int i = 0; i < 2; i++) {
		struct io look = { .fd = listener, .events = POLLIN }, io = { .fd = listener };
		bide_task *observer = io_start(i ? looks : io_wait, &look);
		must(look.count == -2);
		int client = plain_connection(&address), accepted = counted.accept;
		must(join_within(observer, LONG).err == 0 && look.count == POLLIN);
		must_close(bide_accept(listener, NULL, NULL));
		bide_task *task = io_start(io_accept, &io);
		must(io.count == -2 && counted.accept == accepted + 1);
		close(client);
		end_wait(task, &io, &address);
		must(counted.accept == accepted + 2);
	}
	must_close(listener);
	return NULL;
}

START_TEST(who_looks_at_a_listener_leaves_the_connection_to_who_accepts)
{
	run_real(told_of_a_connection, NULL);
}
END_TEST

static void *mute_listener(void *arg)
{
	struct sockaddr_in address;
	(void)arg;
	int listener = plain_listener(8, &address);
	struct io look = { .fd = listener, .events = POLLIN }, io = { .fd = listener };
	bide_task *observer = io_start(io_wait, &look); /* in vain, but it is registered now */
	must(look.count == -2 && bide_cancel(observer, NULL) == 0 && must_join(observer).err == ECANCELED);
	mute = listener;
	for (int i = 0; i < 3; i++) {
		int client = plain_connection(&address);
		bide_task *task = io_start(io_accept, &io);
		must(io.count >= 0);
		must_end_well(task);
		must_close((int)io.count);
		close(client);
	}
	mute = -1;
	must_close(listener);
	return NULL;
}

START_TEST(what_accepts_but_is_never_told_of_is_tried)
{
	run_real(mute_listener, NULL);
}
END_TEST

/* poll() is interrupted, or fails: that it could not be asked is nobody's trouble. */
static void *cannot_be_asked(void *arg)
{
	static const char *const faults[] = { "poll:EINTR@1", "poll:ENOMEM" };
	struct sockaddr_in address;
	(void)arg;
	int listener = warm_listener(&address);
	for (int i = 0; i < 2; i++) {
		struct io io = { .fd = listener };
		must(bide_fault(faults[i]) == 0);
		bide_task *task = io_start(io_accept, &io);
		must(io.count == -2);
		end_wait(task, &io, &address);
		int client = plain_connection(&address);
		must(bide_fault(faults[i]) == 0);
		task = io_start(io_accept, &io);
		must(io.count >= 0 && bide_fault(NULL) == 0);
		must_end_well(task);
		must_close((int)io.count);
		close(client);
	}
	must_close(listener);
	return NULL;
}

START_TEST(a_listener_that_cannot_be_asked_is_tried)
{
	run_real(cannot_be_asked, NULL);
}
END_TEST

int main(void)
{
	return SUITE("net_backlog", TEST(as_many_connections_are_accepted_as_are_there_and_no_more_is_tried),
	    LOOP(a_number_that_was_a_listener_is_found_not_to_be_one, 0, 2),
	    TABLE(a_listener_of_any_kind_is_accepted_from, families),
	    LOOP(who_waits_at_a_listener_that_is_shut_down_is_told, 0, 8),
	    TEST(a_listener_that_others_make_blocking_stops_nobody),
	    TEST(who_looks_at_a_listener_leaves_the_connection_to_who_accepts),
	    TEST(what_accepts_but_is_never_told_of_is_tried), TEST(a_listener_that_cannot_be_asked_is_tried));
}
