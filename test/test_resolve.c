/* SPDX-License-Identifier: MIT
 * Dialing host names, with a resolver of our own: no test may depend on the network's. Statement 170, scenarios
 * C8, F20's neighbours. */
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "runs.h"
#include "sockets.h"
#include "suite.h"

/* ---- the resolver ------------------------------------------------------------------------------------- */

static atomic_bool stands;
static atomic_int begun;
static atomic_int lists; /* out now */

/* What the latest look-up asked for; read when it is over. */
static struct addrinfo asked;

static struct addrinfo *answer_v4(const char *text, struct addrinfo *next)
{
	struct addrinfo *info = calloc(1, sizeof *info);
	struct sockaddr_in *address = calloc(1, sizeof *address);
	address->sin_family = AF_INET;
	must(inet_pton(AF_INET, text, &address->sin_addr) == 1);
	*info = (struct addrinfo){ .ai_family = AF_INET, .ai_addrlen = sizeof *address,
		.ai_addr = (struct sockaddr *)address, .ai_next = next };
	return info;
}

static struct addrinfo *answer_v6(const char *text, struct addrinfo *next)
{
	struct addrinfo *info = calloc(1, sizeof *info);
	struct sockaddr_in6 *address = calloc(1, sizeof *address);
	address->sin6_family = AF_INET6;
	must(inet_pton(AF_INET6, text, &address->sin6_addr) == 1);
	*info = (struct addrinfo){ .ai_family = AF_INET6, .ai_addrlen = sizeof *address,
		.ai_addr = (struct sockaddr *)address, .ai_next = next };
	return info;
}

static const struct {
	const char *name;
	int code, err;   /* of the resolver */
	int dial_err;    /* of bide_dial() */
} refusals[] = {
	{ "unknown", EAI_NONAME, 0, ENXIO },      { "fails", EAI_FAIL, 0, ENXIO },
	{ "later", EAI_AGAIN, 0, EHOSTUNREACH },  { "memory", EAI_MEMORY, 0, ENOMEM },
	{ "system", EAI_SYSTEM, EIO, EIO },       { "again", EAI_SYSTEM, EAGAIN, ENOMEM },
};

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **list)
{
	must(!service && hints);
	asked = *hints;
	atomic_fetch_add(&begun, 1);
	while (atomic_load(&stands))
		usleep(100);
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
		if (strcmp(host, refusals[i].name) == 0) {
			errno = refusals[i].err;
			return refusals[i].code;
		}
	if (strcmp(host, "one") == 0)
		*list = answer_v4("127.0.0.1", NULL);
	else if (strcmp(host, "second") == 0) /* nobody listens at the first */
		*list = answer_v4("127.0.0.2", answer_v4("127.0.0.1", NULL));
	else if (strcmp(host, "mixed") == 0)
		*list = answer_v6("::1", answer_v4("127.0.0.1", NULL));
	else if (strcmp(host, "many") == 0)
		for (int i = 0; i < 100; i++)
			*list = answer_v4("127.0.0.1", i ? *list : NULL);
	else
		*list = NULL;
	atomic_fetch_add(&lists, *list != NULL);
	return 0;
}

void freeaddrinfo(struct addrinfo *list)
{
	atomic_fetch_sub(&lists, list != NULL);
	while (list) {
		struct addrinfo *next = list->ai_next;
		free(list->ai_addr);
		free(list);
		list = next;
	}
}

/* ---- dialing ------------------------------------------------------------------------------------------ */

/* A listener on 127.0.0.1 alone; `text` becomes "name:port". */
static int listen_as(const char *name, char text[64])
{
	char own[64];
	int listener = bide_listen("tcp4", "127.0.0.1:0", 16);
	must(listener >= 0);
	address_text(listener, own);
	snprintf(text, 64, "%s%s", name, strrchr(own, ':'));
	return listener;
}

static const char *const found[] = { "one", "second", "mixed", "many" };

REAL_TEST(a_name_is_dialed_at_the_first_address_that_answers)
{
	char text[64];
	int listener = listen_as(found[_i], text);
	int fd = bide_dial("tcp", text);
	must_msg(fd >= 0, "%s: %s", text, strerror(errno));
	int accepted = bide_accept(listener, NULL, NULL);
	must(accepted >= 0 && bide_close(accepted) == 0 && bide_close(fd) == 0 && bide_close(listener) == 0);
	must(atomic_load(&lists) == 0);
	must(asked.ai_family == AF_UNSPEC && asked.ai_socktype == SOCK_STREAM);
}

REAL_TEST(the_net_is_what_is_asked_for)
{
	char text[64];
	int listener = listen_as("one", text);
	int fd = bide_dial("tcp4", text);
	must(fd >= 0 && asked.ai_family == AF_INET && bide_close(fd) == 0);
	fd = bide_dial("udp4", text);
	must(fd >= 0 && asked.ai_socktype == SOCK_DGRAM && bide_close(fd) == 0);
	must(bide_close(listener) == 0);
}

REAL_TEST(a_name_that_is_not_found_is_told)
{
	char text[64];
	snprintf(text, sizeof text, "%s:80", refusals[_i].name);
	ck_fails(bide_dial("tcp", text), refusals[_i].dial_err);
	ck_fails(bide_dial("udp", text), refusals[_i].dial_err);
}

REAL_TEST(a_name_without_addresses_is_not_found)
{
	ck_fails(bide_dial("tcp", "nothing:80"), ENXIO);
}

static void *dials(void *arg)
{
	int fd = bide_dial("tcp", arg);
	return fd < 0 ? bide_fail(errno) : arg;
}

/* The look-up is left behind, its list freed when it comes, and the loop is not held up. */
REAL_TEST(a_dial_can_be_canceled_while_the_resolver_stands)
{
	char text[] = "one:80";
	int before = atomic_load(&begun);
	atomic_store(&stands, true);
	bide_task *task = must_spawn(dials, text);
	while (atomic_load(&begun) == before)
		pass(BIDE_MSEC);
	must(bide_cancel(task, NULL) == 0);
	must(must_join(task).err == ECANCELED);
	atomic_store(&stands, false);
}

REAL_TEST(a_deadline_ends_a_dial_while_the_resolver_stands)
{
	bide_scope scope = { { 0 } };
	atomic_store(&stands, true);
	must(bide_scope_enter(&scope, bide_after(5 * BIDE_MSEC), 0) == 0);
	ck_fails(bide_dial("tcp", "one:80"), ETIMEDOUT);
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	atomic_store(&stands, false);
}

/* After the runs above, whose ends have waited for the threads. */
START_TEST(no_list_is_left)
{
	must(atomic_load(&lists) == 0);
}
END_TEST

REAL_TEST(without_a_thread_names_are_refused)
{
	must(bide_fault("pthread_create:EAGAIN") == 0);
	ck_fails(bide_dial("tcp", "one:80"), ENOMEM);
	must(bide_fault(NULL) == 0);
}

int main(void)
{
	return SUITE("resolve",
	    TABLE(a_name_is_dialed_at_the_first_address_that_answers, found),
	    TEST(the_net_is_what_is_asked_for),
	    TABLE(a_name_that_is_not_found_is_told, refusals),
	    TEST(a_name_without_addresses_is_not_found),
	    TEST(a_dial_can_be_canceled_while_the_resolver_stands),
	    TEST(a_deadline_ends_a_dial_while_the_resolver_stands),
	    TEST(no_list_is_left),
	    TEST(without_a_thread_names_are_refused));
}
