/* SPDX-License-Identifier: MIT
 * bide_dial() to hosts with several addresses (RFC 8305), in the library's own terms and through "localhost".
 * Statement 170, scenario E6. What dial and connect have in common: test_net_connect.c. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>

#include "io/dial.h"
#include "resources.h"
#include "runs.h"
#include "sockets.h"
#include "suite.h"

/* ---- addresses that answer, refuse, and say nothing -------------------------------------------------------- */

/* A listener whose backlog is full lets a further attempt wait: nothing is said, as by a host that is gone. */
struct silent {
	int listener, filler;
	struct sockaddr_in address;
};

static void silence(struct silent *silent)
{
	silent->listener = plain_listener(0, &silent->address);
	silent->filler = plain_connection(&silent->address);
}

static void unsilence(struct silent *silent)
{
	close(silent->listener);
	close(silent->filler);
}

static struct address from_v4(const struct sockaddr_in *v4)
{
	struct address address = { .type = SOCK_STREAM };
	address_set_v4(&address, v4->sin_addr.s_addr, v4->sin_port);
	return address;
}

/* A port that was ours a moment ago. */
static struct address refusing(void)
{
	struct sockaddr_in address;
	close(plain_listener(1, &address));
	return from_v4(&address);
}

static int port_of_peer(int fd)
{
	struct sockaddr_in peer = { 0 };
	socklen_t length = sizeof peer;
	must(getpeername(fd, (void *)&peer, &length) == 0);
	return peer.sin_port;
}

/* ---- the race ------------------------------------------------------------------------------------------------ */

static void *first_that_connects(void *arg)
{
	struct silent silent;
	struct sockaddr_in good, late;
	(void)arg;
	silence(&silent);
	int listeners[2] = { plain_listener(4, &good), plain_listener(4, &late) };
	struct address addresses[4] = { from_v4(&silent.address), from_v4(&silent.address), from_v4(&good), from_v4(&late) };
	int before = count_fds();
	bide_time begin = bide_now();
	int fd = dial_any(addresses, 4);
	must(fd >= 0 && port_of_peer(fd) == good.sin_port);
	/* The third one began after two staggers, on a clock that does not run by itself. */
	must(bide_now() - begin >= 2 * DIAL_STAGGER && bide_now() - begin < 3 * DIAL_STAGGER);
	must(is_nonblocking(fd) && is_cloexec(fd) && count_fds() == before + 1);
	set_nonblocking(listeners[1], true);
	must(accept(listeners[1], NULL, NULL) < 0 && errno == EAGAIN); /* the fourth one was never tried */
	must(bide_close(fd) == 0);
	close(listeners[0]);
	close(listeners[1]);
	unsilence(&silent);
	return NULL;
}

START_TEST(the_first_address_that_connects_wins_and_the_others_are_closed)
{
	run_virtual(first_that_connects, NULL);
}
END_TEST

static void *failures_do_not_wait(void *arg)
{
	struct sockaddr_in good;
	(void)arg;
	int listener = plain_listener(4, &good);
	struct address addresses[4] = { refusing(), refusing(), refusing(), from_v4(&good) };
	int before = count_fds();
	bide_time begin = bide_now();
	int fd = dial_any(addresses, 4);
	must(fd >= 0 && port_of_peer(fd) == good.sin_port && count_fds() == before + 1);
	must(bide_now() - begin < DIAL_STAGGER);
	must(bide_close(fd) == 0);
	close(listener);
	return NULL;
}

START_TEST(after_a_failure_the_next_attempt_begins_at_once)
{
	run_virtual(failures_do_not_wait, NULL);
}
END_TEST

static void *a_slow_one_may_win(void *arg)
{
	struct silent silent;
	(void)arg;
	silence(&silent);
	struct address addresses[2] = { from_v4(&silent.address), refusing() };
	int before = count_fds();
	bide_scope scope = { { 0 } };
	must(bide_scope_enter(&scope, bide_after(BIDE_SEC), 0) == 0);
	ck_fails(dial_any(addresses, 2), ETIMEDOUT); /* it is still on its way, also after the other has failed */
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	must(count_fds() == before);
	unsilence(&silent);
	return NULL;
}

START_TEST(an_attempt_goes_on_when_later_ones_fail)
{
	run_virtual(a_slow_one_may_win, NULL);
}
END_TEST

static void *all_fail(void *arg)
{
	struct address addresses[ADDRESSES_MAX];
	(void)arg;
	for (int i = 0; i < ADDRESSES_MAX; i++)
		addresses[i] = refusing();
	int before = count_fds();
	ck_fails(dial_any(addresses, ADDRESSES_MAX), ECONNREFUSED);
	must(bide_fault("socket:EMFILE") == 0);
	ck_fails(dial_any(addresses, ADDRESSES_MAX), EMFILE);
	must(bide_fault("setsockopt:ENOBUFS") == 0);
	ck_fails(dial_any(addresses, 3), ENOBUFS);
	must(bide_fault(NULL) == 0 && count_fds() == before);
	return NULL;
}

/* Statement 170. */
START_TEST(when_all_fail_it_is_told_and_nothing_is_left)
{
	run_virtual(all_fail, NULL);
}
END_TEST

/* ---- canceled ------------------------------------------------------------------------------------------------- */

static void *dial_silence(void *arg)
{
	struct silent *silent = arg;
	struct address addresses[3] = { from_v4(&silent->address), from_v4(&silent->address), from_v4(&silent->address) };
	ck_fails(dial_any(addresses, 3), ECANCELED);
	return NULL;
}

static void *cancels(void *arg)
{
	struct silent silent;
	(void)arg;
	silence(&silent);
	int before = count_fds();
	for (int i = 0; i < 8; i++) { /* before its first run, with one, two and three attempts under way */
		bide_task *task = must_spawn(dial_silence, &silent);
		if (i > 0)
			must(bide_sleep(i * DIAL_STAGGER / 2) == 0);
		must(bide_cancel(task, NULL) == 0);
		bide_result result = must_join(task);
		must(result.err == ECANCELED);
		must(count_fds() == before);
	}
	unsilence(&silent);
	return NULL;
}

/* Scenario E6. */
START_TEST(a_canceled_dial_leaves_nothing_open)
{
	run_virtual(cancels, NULL);
}
END_TEST

/* Unix listeners whose backlog is full are asked again and again, in the end every 16 ms. So the first attempt and
 * the ninth, which begins 8 * 250 ms later, ask in the same instants of a virtual clock. */
#define TIED 8

struct tie {
	int listeners[TIED + 1], fillers[TIED + 1];
};

static struct address from_unix(int number)
{
	char name[16];
	struct address address = { .type = SOCK_STREAM };
	snprintf(name, sizeof name, "tie-%d", number);
	address.length = abstract_address(name, &address.socket.path);
	return address;
}

static void *free_both(void *arg)
{
	const struct tie *tie = arg;
	must(bide_sleep((TIED + 1) * DIAL_STAGGER) == 0);
	close(accept(tie->listeners[0], NULL, NULL));
	close(accept(tie->listeners[TIED], NULL, NULL));
	return NULL;
}

/* Has somebody come to the listener, and gone again? */
static bool was_left(int listener)
{
	char byte;
	int peer = accept(listener, NULL, NULL);
	must(peer >= 0);
	bool is_gone = recv(peer, &byte, 1, MSG_DONTWAIT) == 0;
	close(peer);
	return is_gone;
}

static void *two_winners(void *arg)
{
	struct tie tie;
	struct address addresses[TIED + 1];
	(void)arg;
	for (int i = 0; i <= TIED; i++) {
		addresses[i] = from_unix(i);
		tie.listeners[i] = socket(AF_UNIX, SOCK_STREAM, 0);
		tie.fillers[i] = socket(AF_UNIX, SOCK_STREAM, 0);
		must(bind(tie.listeners[i], &addresses[i].socket.any, addresses[i].length) == 0);
		must(listen(tie.listeners[i], 0) == 0);
		must(connect(tie.fillers[i], &addresses[i].socket.any, addresses[i].length) == 0);
		set_nonblocking(tie.listeners[i], true);
	}
	int before = count_fds();
	bide_task *helper = must_spawn(free_both, &tie);
	int fd = dial_any(addresses, TIED + 1);
	must(fd >= 0 && count_fds() == before + 1);
	must_end_well(helper);
	must(was_left(tie.listeners[0]) + was_left(tie.listeners[TIED]) == 1);
	for (int i = 0; i <= TIED; i++) {
		close(tie.listeners[i]);
		close(tie.fillers[i]);
	}
	must(bide_close(fd) == 0);
	return NULL;
}

START_TEST(of_two_that_connect_in_one_turn_the_loser_is_closed)
{
	run_virtual(two_winners, NULL);
}
END_TEST

static void *meets_failures(void *arg)
{
	struct sockaddr_in good;
	(void)arg;
	int listener = plain_listener(64, &good);
	int before = count_fds();
	struct address addresses[2] = { from_v4(&good), from_v4(&good) };
	for (int i = 0; i < 10; i++) {
		must(bide_fault(i % 2 ? "epoll_ctl:ENOMEM@1" : "connect:EINTR@1") == 0);
		int fd = dial_any(addresses, 2);
		must(bide_fault(NULL) == 0);
		must(fd < 0 || bide_close(fd) == 0);
		must(count_fds() == before);
	}
	must(bide_cancel(bide_self(), NULL) == 0);
	ck_fails(dial_any(addresses, 2), ECANCELED);
	must(bide_uncancel() == 0 && count_fds() == before);
	close(listener);
	return NULL;
}

START_TEST(attempts_that_meet_failures_leave_nothing_open)
{
	run_real(meets_failures, NULL);
}
END_TEST

static void *without_tasks(void *arg)
{
	struct sockaddr_in good;
	(void)arg;
	int listener = plain_listener(4, &good);
	struct address addresses[2] = { refusing(), from_v4(&good) };
	int fd = dial_any(addresses, 2);
	must(fd >= 0 && port_of_peer(fd) == good.sin_port && bide_close(fd) == 0);
	close(listener);
	return NULL;
}

START_TEST(without_a_task_for_them_attempts_are_made_in_turn)
{
	bide_config config = BIDE_CONFIG_INIT;
	config.max_tasks = 1; /* main */
	ck_assert_int_eq(bide_run(without_tasks, NULL, &config, NULL), 0);
}
END_TEST

/* ---- order ------------------------------------------------------------------------------------------------------ */

static void *order(void *arg)
{
	static const char *const orders[][2] = { { "4444", "4444" }, { "6644", "6464" }, { "4666", "4666" },
		{ "666444", "646464" }, { "446", "464" }, { "64", "64" }, { "6", "6" }, { "66664", "64666" } };
	const char *const *which = orders[*(int *)arg];
	struct address addresses[ADDRESSES_MAX];
	int count = (int)strlen(which[0]);
	for (int i = 0; i < count; i++) {
		addresses[i] = (struct address){ .type = SOCK_STREAM };
		if (which[0][i] == '4')
			address_set_v4(&addresses[i], htonl(INADDR_LOOPBACK), htons((uint16_t)i));
		else
			address_set_v6(&addresses[i], &in6addr_loopback, htons((uint16_t)i));
	}
	must(bide_fault("socket:EMFILE") == 0);
	ck_fails(dial_any(addresses, count), EMFILE);
	must(bide_fault(NULL) == 0);
	int last[2] = { -1, -1 };
	for (int i = 0; i < count; i++) {
		bool is_v6 = addresses[i].socket.any.sa_family == AF_INET6;
		int number = ntohs(is_v6 ? addresses[i].socket.v6.sin6_port : addresses[i].socket.v4.sin_port);
		must(is_v6 == (which[1][i] == '6') && number > last[is_v6]); /* within a family the order is kept */
		last[is_v6] = number;
	}
	return NULL;
}

START_TEST(the_families_take_turns)
{
	run_virtual(order, &_i);
}
END_TEST

/* ---- localhost --------------------------------------------------------------------------------------------------- */

static void *localhost(void *arg)
{
	static const char *const listens[][2] = { { "tcp4", "127.0.0.1:0" }, { "tcp6", "[::1]:0" } };
	const char *const *how = listens[*(int *)arg];
	char text[BIDE_ADDRESS_MAX], local[32], peer[BIDE_ADDRESS_MAX];
	int listener = bide_listen(how[0], how[1], 4);
	must(listener >= 0 && bide_local_address(listener, text, sizeof text) == 0);
	for (int i = 0; i < 2; i++) {
		snprintf(local, sizeof local, "%s%s", i ? "localhost" : "", strrchr(text, ':'));
		int before = count_fds(), fd = bide_dial("tcp", local);
		must(fd >= 0 && bide_peer_address(fd, peer, sizeof peer) == 0 && strcmp(peer, text) == 0);
		must(count_fds() == before + 1 && bide_close(fd) == 0);
		fd = bide_dial(how[0], local);
		must(fd >= 0 && bide_close(fd) == 0);
	}
	must(bide_close(listener) == 0);
	snprintf(local, sizeof local, "localhost%s", strrchr(text, ':'));
	ck_fails(bide_dial("tcp", local), ECONNREFUSED);
	return NULL;
}

START_TEST(localhost_is_reached_in_either_family)
{
	run_real(localhost, &_i);
}
END_TEST

int main(void)
{
	return SUITE("net_dial", TEST(the_first_address_that_connects_wins_and_the_others_are_closed),
	    TEST(after_a_failure_the_next_attempt_begins_at_once), TEST(an_attempt_goes_on_when_later_ones_fail),
	    TEST(when_all_fail_it_is_told_and_nothing_is_left), TEST(a_canceled_dial_leaves_nothing_open),
	    TEST(of_two_that_connect_in_one_turn_the_loser_is_closed),
	    TEST(attempts_that_meet_failures_leave_nothing_open), TEST(without_a_task_for_them_attempts_are_made_in_turn),
	    LOOP(the_families_take_turns, 0, 8), LOOP(localhost_is_reached_in_either_family, 0, 2));
}
