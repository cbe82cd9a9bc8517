/* SPDX-License-Identifier: MIT
 * What a service manager passes in and is told: bide_listen_fds(), bide_notify(). Each test is a child of its
 * own, in which the descriptors from 3 on are as after an exec. The examples' tests do it with a real one. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bide/net.h>
#include <bide/testing.h>

#include "death.h"
#include "sockets.h"
#include "suite.h"

#define PASSED 2

/* What the child does not expect ends it with the line's number. */
#define WANT(condition)                                                                                \
	do {                                                                                               \
		if (!(condition)) {                                                                            \
			fprintf(stderr, "%d: %s\n", __LINE__, #condition);                                         \
			_exit(1);                                                                                  \
		}                                                                                              \
	} while (0)

static void set_number(const char *name, long number)
{
	char text[24];
	snprintf(text, sizeof text, "%ld", number);
	WANT(setenv(name, text, 1) == 0);
}

/* Two listeners as 3 and 4, open over an exec, and nothing as 5. */
static void pass_two(void)
{
	struct sockaddr_in address;
	int fds[PASSED];
	for (int i = 0; i < PASSED; i++)
		fds[i] = fcntl(plain_listener(4, &address), F_DUPFD, 10);
	for (int i = 0; i < PASSED; i++)
		WANT(dup2(fds[i], BIDE_LISTEN_FDS_FIRST + i) >= 0 && !is_cloexec(BIDE_LISTEN_FDS_FIRST + i));
	close(BIDE_LISTEN_FDS_FIRST + PASSED);
	set_number("LISTEN_PID", getpid());
	set_number("LISTEN_FDS", PASSED);
}

static void must_go_well(void (*fn)(void *))
{
	struct death death = death_of(fn, NULL);
	ck_assert_msg(!death.signal && !death.exit_status, "%s", death.text);
}

static void handle(int fd, void *arg)
{
	(void)arg;
	WANT(bide_send(fd, "hello", 5, 0) == 5);
	bide_stop();
}

static void *serve_first(void *arg)
{
	struct sockaddr_in address = local_address(BIDE_LISTEN_FDS_FIRST);
	int client = plain_connection(&address);
	char buf[5];
	bide_serve_opts opts = BIDE_SERVE_OPTS_INIT;
	opts.drain = BIDE_SEC;
	WANT(bide_serve(BIDE_LISTEN_FDS_FIRST, handle, NULL, &opts) < 0 && errno == ECANCELED);
	WANT(read(client, buf, 5) == 5);
	return arg;
}

static void take_two(void *arg)
{
	(void)arg;
	pass_two();
	for (int round = 0; round < 2; round++) {
		errno = EDOM;
		WANT(bide_listen_fds() == PASSED && errno == EDOM);
	}
	for (int i = 0; i < PASSED; i++)
		WANT(is_cloexec(BIDE_LISTEN_FDS_FIRST + i));
	WANT(getenv("LISTEN_FDS"));
	WANT(bide_run(serve_first, "done", NULL, NULL) == 0);
}

START_TEST(sockets_that_were_passed_are_counted_kept_from_children_and_served)
{
	must_go_well(take_two);
}
END_TEST

static void take_none(void *arg)
{
	(void)arg;
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_PID");
	WANT(bide_listen_fds() == 0);
	pass_two();
	set_number("LISTEN_PID", getppid());
	WANT(bide_listen_fds() == 0 && !is_cloexec(BIDE_LISTEN_FDS_FIRST));
	unsetenv("LISTEN_PID");
	WANT(bide_listen_fds() == 0);
	set_number("LISTEN_PID", getpid());
	set_number("LISTEN_FDS", 0);
	WANT(bide_listen_fds() == 0 && !is_cloexec(BIDE_LISTEN_FDS_FIRST));
}

START_TEST(those_of_another_process_are_left_alone)
{
	must_go_well(take_none);
}
END_TEST

static void refuse(void *arg)
{
	static const char *const bad[] = { "", "-1", "x", "1x", " 1", "+1", "99999999999999999999", "2147483647" };
	(void)arg;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		pass_two();
		WANT(setenv("LISTEN_FDS", bad[i], 1) == 0 && bide_listen_fds() == -1 && errno == EINVAL);
		pass_two();
		WANT(i == 7 || (setenv("LISTEN_PID", bad[i], 1) == 0 && bide_listen_fds() == -1 && errno == EINVAL));
	}
	pass_two();
	set_number("LISTEN_FDS", PASSED + 1);
	WANT(bide_listen_fds() == -1 && errno == EBADF);
	set_number("LISTEN_FDS", PASSED);
	WANT(bide_fault("fcntl:EIO") == 0 && bide_listen_fds() == -1 && errno == EIO && bide_fault(NULL) == 0);
	WANT(bide_listen_fds() == PASSED);
}

START_TEST(nonsense_and_missing_descriptors_are_told)
{
	must_go_well(refuse);
}
END_TEST

/* ---- telling ---------------------------------------------------------------------------------------------- */

static int manager_at(const struct sockaddr_un *address, socklen_t length)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	WANT(bind(fd, (const void *)address, length) == 0);
	return fd;
}

static void must_be_told(int manager)
{
	char text[64] = "";
	int fds = dup(0);
	WANT(bide_fault("send:EINTR@1") == 0); /* an interrupted send is tried again */
	WANT(bide_notify("READY=1\nSTATUS=well") == 1);
	WANT(recv(manager, text, sizeof text, MSG_DONTWAIT) == 19 && strcmp(text, "READY=1\nSTATUS=well") == 0);
	WANT(close(fds) == 0 && dup(0) == fds && close(fds) == 0); /* nothing is left open */
}

static void *tell_in_a_task(void *manager)
{
	must_be_told(*(int *)manager);
	return manager;
}

static void tell(void *arg)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char directory[] = "/tmp/bide-test-XXXXXX";
	(void)arg;
	WANT(unsetenv("NOTIFY_SOCKET") == 0 && bide_notify("READY=1") == 0);
	WANT(mkdtemp(directory));
	snprintf(address.sun_path, sizeof address.sun_path, "%s/notify", directory);
	int manager = manager_at(&address, sizeof address);
	WANT(setenv("NOTIFY_SOCKET", address.sun_path, 1) == 0);
	must_be_told(manager);
	WANT(bide_run(tell_in_a_task, &manager, NULL, NULL) == 0);
	WANT(unlink(address.sun_path) == 0 && rmdir(directory) == 0);
	WANT(bide_notify("READY=1") == -1 && errno == ENOENT);

	char name[64];
	socklen_t length = abstract_address("manager", &address);
	manager = manager_at(&address, length);
	WANT(setenv("NOTIFY_SOCKET", abstract_text("manager", name), 1) == 0);
	must_be_told(manager);
	int sent = 0;
	while (bide_notify("STATUS=many") == 1)
		WANT(sent++ < 100000);
	WANT(errno == EAGAIN);
	WANT(close(manager) == 0 && bide_notify("READY=1") == -1 && errno == ECONNREFUSED);
}

START_TEST(a_manager_is_told_and_never_waited_for)
{
	must_go_well(tell);
}
END_TEST

static void tell_badly(void *arg)
{
	static const char *const bad[] = { "", "vsock:2:1234", "relative" };
	(void)arg;
	WANT(bide_notify(NULL) == -1 && errno == EINVAL);
	for (int i = 0; i < 3; i++)
		WANT(setenv("NOTIFY_SOCKET", bad[i], 1) == 0 && bide_notify("") == -1 && errno == EAFNOSUPPORT);
	char path[200] = "/";
	memset(path + 1, 'x', sizeof path - 2);
	WANT(setenv("NOTIFY_SOCKET", path, 1) == 0 && bide_notify("") == -1 && errno == ENAMETOOLONG);
	WANT(setenv("NOTIFY_SOCKET", "@nobody", 1) == 0 && bide_fault("socket:EMFILE") == 0);
	WANT(bide_notify("") == -1 && errno == EMFILE && bide_fault("send:ENOBUFS") == 0);
	WANT(bide_notify("") == -1 && errno == ENOBUFS && bide_fault(NULL) == 0);
}

START_TEST(a_manager_that_cannot_be_told_is_an_error)
{
	must_go_well(tell_badly);
}
END_TEST

int main(void)
{
	return SUITE("net_service", TEST(sockets_that_were_passed_are_counted_kept_from_children_and_served),
	    TEST(those_of_another_process_are_left_alone), TEST(nonsense_and_missing_descriptors_are_told),
	    TEST(a_manager_is_told_and_never_waited_for), TEST(a_manager_that_cannot_be_told_is_an_error));
}
