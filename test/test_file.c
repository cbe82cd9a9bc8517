/* SPDX-License-Identifier: MIT
 * Files and names on threads. Statement 174, scenarios B8, C8, H8. */
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "resources.h"
#include "runs.h"
#include "sockets.h"
#include "suite.h"

/* ---- a directory of our own --------------------------------------------------------------------------- */

static char directory[64];

static void set_up(void)
{
	strcpy(directory, "/tmp/bide-file.XXXXXX");
	must(mkdtemp(directory));
}

static const char *path_of(const char *name, char path[128])
{
	snprintf(path, 128, "%s/%s", directory, name);
	return path;
}

static void tear_down(const char *name)
{
	char path[128];
	unlink(path_of(name, path));
	must(rmdir(directory) == 0);
}

/* ---- a resolver that answers when it is told to ------------------------------------------------------- */

static atomic_bool resolver_stands;
static atomic_int resolvers_begun, lists_freed;
static struct addrinfo an_answer;

/* As modules of the real one do. */
static __attribute__((noinline)) void use_much_stack(void)
{
	volatile char much[256 * 1024];
	for (size_t i = 0; i < sizeof much; i += 1024)
		much[i] = 1;
}

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **list)
{
	(void)service;
	use_much_stack();
	atomic_fetch_add(&resolvers_begun, 1);
	while (atomic_load(&resolver_stands))
		usleep(100);
	if (!host || strcmp(host, "known") != 0 || (hints && hints->ai_family == AF_INET6))
		return EAI_NONAME;
	*list = &an_answer;
	return 0;
}

void freeaddrinfo(struct addrinfo *list)
{
	must(list == &an_answer);
	atomic_fetch_add(&lists_freed, 1);
}

/* ---- files -------------------------------------------------------------------------------------------- */

REAL_TEST(a_file_is_written_synced_and_read_back)
{
	char path[128], back[6] = "";
	struct stat status;
	set_up();
	int fd = bide_open(path_of("a", path), O_RDWR | O_CREAT | O_EXCL, 0600);
	must(fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC));
	must(bide_pwrite(fd, "hello", 5, 3) == 5);
	must(bide_fdatasync(fd) == 0 && bide_fsync(fd) == 0);
	must(bide_pread(fd, back, 5, 3) == 5);
	ck_assert_str_eq(back, "hello");
	must(bide_pread(fd, back, 5, 8) == 0);
	must(bide_stat(path, &status) == 0 && status.st_size == 8 && S_ISREG(status.st_mode));
	must(bide_close(fd) == 0);
	tear_down("a");
}

/* Statement 174: bide_read and bide_write too; the position moves on. */
REAL_TEST(read_and_write_of_a_regular_file_move_its_position)
{
	char path[128], back[16] = "";
	set_up();
	int fd = bide_open(path_of("b", path), O_RDWR | O_CREAT, 0600);
	must(bide_write(fd, "one", 3) == 3 && bide_write(fd, "two", 3) == 3);
	must(lseek(fd, 0, SEEK_CUR) == 6 && lseek(fd, 1, SEEK_SET) == 1);
	must(bide_read(fd, back, 2) == 2 && bide_read(fd, back + 2, 10) == 3 && bide_read(fd, back, 1) == 0);
	ck_assert_str_eq(back, "netwo");
	must(bide_close(fd) == 0);
	tear_down("b");
}

static void *ticks(void *arg)
{
	while (bide_yield() == 0)
		++*(long *)arg;
	return NULL;
}

/* Large reads and all writes leave the loop to the others meanwhile. */
REAL_TEST(others_run_while_a_file_is_written_and_read)
{
	static char big[4 << 20];
	char path[128];
	long turns = 0;
	set_up();
	bide_task *other = must_spawn(ticks, &turns);
	int fd = bide_open(path_of("c", path), O_RDWR | O_CREAT, 0600);
	must(bide_write_all(fd, big, sizeof big, NULL) == sizeof big);
	long written = turns;
	must(written > 0);
	must(bide_pread(fd, big, sizeof big, 0) == sizeof big);
	must(turns > written);
	must(bide_close(fd) == 0 && bide_cancel(other, NULL) == 0);
	must_join(other);
	tear_down("c");
}

/* What the system has in memory needs no thread. */
REAL_TEST(a_small_read_of_a_warm_file_makes_no_thread)
{
	char path[128], c;
	set_up();
	int plain = open(path_of("d", path), O_RDWR | O_CREAT, 0600);
	must(write(plain, "x", 1) == 1);
	int threads = count_threads();
	must(bide_pread(plain, &c, 1, 0) == 1 && c == 'x');
	int made = count_threads() - threads;
	must(made == 0 || made == 1); /* 1: a file system that does not know how */
	must(close(plain) == 0);
	tear_down("d");
}

struct slow_write {
	int fd;
	ssize_t result;
	int err;
};

/* More than is written without a thread, which it is where /tmp is memory. */
static const char much[256 * 1024];

static void *writes_slowly(void *arg)
{
	struct slow_write *slow = arg;
	slow->result = bide_pwrite(slow->fd, much, sizeof(much), 0);
	slow->err = errno;
	return NULL;
}

static void *blocks_the_pool(void *arg)
{
	atomic_bool *is_open = arg;
	while (!atomic_load(is_open))
		usleep(100);
	return arg;
}

static void *offloads(void *arg)
{
	must(bide_offload(blocks_the_pool, arg, 0, NULL) == 0);
	return NULL;
}

static void *main_of_close(void *arg)
{
	char path[128];
	atomic_bool is_open = false;
	struct slow_write slow = { 0 };
	(void)arg;
	slow.fd = open(path_of("e", path), O_RDWR | O_CREAT, 0600);
	bide_task *blocker = must_spawn(offloads, &is_open);
	must(bide_yield() == 0);
	bide_task *writer = must_spawn(writes_slowly, &slow);
	must(bide_yield() == 0 && bide_yield() == 0);
	must(bide_close(slow.fd) == 0);
	int next = open("/dev/null", O_RDONLY);
	must(next >= 0 && next != slow.fd); /* its number is still taken */
	atomic_store(&is_open, true);
	must_end_well(blocker);
	must_end_well(writer);
	must(slow.result == (ssize_t)sizeof(much));
	must(fcntl(slow.fd, F_GETFD) < 0 && errno == EBADF); /* now it is closed */
	must(close(next) == 0);
	must(open(path, O_RDONLY) == slow.fd);
	must(close(slow.fd) == 0);
	return NULL;
}

/* A descriptor that a job is going to use is not closed under it, nor its number given to another file. */
START_TEST(a_descriptor_is_closed_when_the_threads_are_done_with_it)
{
	bide_config config = BIDE_CONFIG_INIT;
	bide_result result;
	config.offload_threads = 1;
	set_up();
	must(bide_run(main_of_close, NULL, &config, &result) == 0 && result.err == 0);
	tear_down("e");
}
END_TEST

static void *opens(void *path)
{
	int fd = bide_open(path, O_RDONLY, 0);
	return fd < 0 ? bide_fail(errno) : path;
}

/* A FIFO without a writer: open(2) waits for ever. The descriptor that comes too late is closed. */
REAL_TEST(an_open_that_does_not_return_can_be_canceled)
{
	char path[128];
	set_up();
	must(mkfifo(path_of("f", path), 0600) == 0);
	int fds = count_fds();
	bide_task *task = must_spawn(opens, path);
	pass(5 * BIDE_MSEC);
	must(bide_cancel(task, NULL) == 0);
	must(must_join(task).err == ECANCELED);
	int writer = open(path, O_RDWR); /* lets the thread go on, if it has begun */
	must(writer >= 0 && close(writer) == 0);
	while (count_fds() > fds)
		pass(BIDE_MSEC);
	tear_down("f");
}

REAL_TEST(errors_of_files_are_those_of_the_system)
{
	char path[128], c = 0;
	struct stat status;
	set_up();
	ck_fails(bide_open(path_of("none", path), O_RDONLY, 0), ENOENT);
	ck_fails(bide_open(directory, O_RDWR, 0), EISDIR);
	ck_fails(bide_stat(path, &status), ENOENT);
	ck_fails(bide_pread(-1, &c, 1, 0), EBADF);
	ck_fails(bide_pwrite(-1, &c, 1, 0), EBADF);
	ck_fails(bide_fsync(-1), EBADF);
	ck_fails(bide_open(NULL, O_RDONLY, 0), EINVAL);
	ck_fails(bide_stat(NULL, &status), EINVAL);
	ck_fails(bide_stat(directory, NULL), EINVAL);
	ck_fails(bide_pread(0, NULL, 1, 0), EINVAL);
	ck_fails(bide_pwrite(0, NULL, 1, 0), EINVAL);
	ck_fails(bide_pread(0, &c, 1, -1), EINVAL);
	int fd = bide_open(directory, O_RDONLY | O_DIRECTORY, 0);
	must(fd >= 0);
	ck_fails(bide_pread(fd, &c, 1, 0), EISDIR);
	ck_fails(bide_read(fd, &c, 1), EISDIR);
	must(bide_close(fd) == 0);
	must(rmdir(directory) == 0);
}

START_TEST(outside_a_task_files_are_refused)
{
	char c = 0;
	struct stat status;
	ck_fails(bide_open("/dev/null", O_RDONLY, 0), EPERM);
	ck_fails(bide_stat("/", &status), EPERM);
	ck_fails(bide_pread(0, &c, 1, 0), EPERM);
	ck_fails(bide_pwrite(0, &c, 1, 0), EPERM);
	ck_fails(bide_fsync(0), EPERM);
}
END_TEST

/* Statement 39, and the table of what may fail. */
REAL_TEST(a_cancel_on_entry_touches_no_file)
{
	char path[128], c = 0;
	struct stat status;
	set_up();
	must(bide_cancel(bide_self(), NULL) == 0);
	ck_fails(bide_open(path_of("g", path), O_RDWR | O_CREAT, 0600), ECANCELED);
	ck_fails(bide_stat(directory, &status), ECANCELED);
	ck_fails(bide_pread(0, &c, 1, 0), ECANCELED);
	ck_fails(bide_pwrite(1, &c, 1, 0), ECANCELED);
	ck_fails(bide_fsync(1), ECANCELED);
	must(bide_getaddrinfo("known", NULL, NULL, &(struct addrinfo *){ NULL }) == EAI_SYSTEM && errno == ECANCELED);
	must(bide_uncancel() == 0);
	must(access(path, F_OK) < 0);
	must(rmdir(directory) == 0);
}

static const struct {
	const char *fault;
	int err;
} faults[] = {
	{ "open:EMFILE", EMFILE }, { "stat:EIO", EIO }, { "fsync:ENOSPC", ENOSPC }, { "write:ENOSPC", ENOSPC },
	{ "read:EIO", EIO }, { "pthread_create:EAGAIN", ENOMEM }, { "malloc:ENOMEM", ENOMEM },
};

/* Each call fails by the fault or does its work; nothing is left. */
REAL_TEST(injected_failures_of_files_are_told)
{
	char path[128], c = 0;
	struct stat status;
	int failures = 0;
	set_up();
	int fd = open(path_of("h", path), O_RDWR | O_CREAT, 0600);
	must(write(fd, "x", 1) == 1);
	int fds = count_fds();
	must(bide_fault(faults[_i].fault) == 0);
	int opened = bide_open(path, O_RDONLY, 0);
	failures += opened < 0 && errno == faults[_i].err;
	failures += bide_stat(path, &status) < 0 && errno == faults[_i].err;
	failures += bide_fsync(fd) < 0 && errno == faults[_i].err;
	failures += bide_pwrite(fd, "y", 1, 0) < 0 && errno == faults[_i].err;
	failures += bide_write(fd, "z", 1) < 0 && errno == faults[_i].err;
	failures += bide_pread(fd, &c, 1, 0) < 0 && errno == faults[_i].err;
	must(bide_fault(NULL) == 0);
	must(failures > 0);
	if (opened >= 0)
		must(bide_close(opened) == 0);
	must(count_fds() == fds);
	must(bide_pread(fd, &c, 1, 0) == 1); /* recovered */
	must(close(fd) == 0);
	tear_down("h");
}

/* ---- names -------------------------------------------------------------------------------------------- */

REAL_TEST(a_name_is_looked_up_with_hints)
{
	struct addrinfo hints = { .ai_family = AF_INET6 }, *list = NULL;
	must(bide_getaddrinfo("known", "http", NULL, &list) == 0 && list == &an_answer);
	must(bide_getaddrinfo("known", NULL, &hints, &list) == EAI_NONAME);
	must(bide_getaddrinfo("unknown", NULL, NULL, &list) == EAI_NONAME);
	must(bide_getaddrinfo(NULL, NULL, NULL, &list) == EAI_NONAME);
	must(bide_getaddrinfo("known", NULL, NULL, NULL) == EAI_SYSTEM && errno == EINVAL);
}

static void *looks_up(void *arg)
{
	struct addrinfo *list;
	char name[] = "known"; /* on the stack: it is copied */
	int status = bide_getaddrinfo(name, NULL, NULL, &list);
	*(int *)arg = status;
	return status == EAI_SYSTEM ? bide_fail(errno) : NULL;
}

static void *looks_up_on_little(void *arg)
{
	struct addrinfo *list = NULL;
	bide_scope scope = { { 0 } };
	int *answers = arg;
	answers[0] = bide_getaddrinfo("known", NULL, NULL, &list);
	answers[1] = bide_getaddrinfo("unknown", NULL, NULL, &list);
	atomic_store(&resolver_stands, true);
	must(bide_scope_enter(&scope, bide_after(50 * BIDE_MSEC), 0) == 0);
	answers[2] = bide_getaddrinfo("known", NULL, NULL, &list) == EAI_SYSTEM ? errno : 0;
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	atomic_store(&resolver_stands, false);
	return NULL;
}

/* Scenario B8: the resolver has a thread's stack, and the loop goes on beside it. */
REAL_TEST(a_task_on_the_smallest_stack_looks_names_up)
{
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	struct heartbeat heartbeat;
	int answers[3] = { -1, -1, -1 };
	attr.stack_size = BIDE_STACK_MIN;
	heartbeat_start(&heartbeat, BIDE_MSEC);
	bide_task *task = bide_spawn_with(looks_up_on_little, answers, &attr);
	must(task != NULL);
	must_end_well(task);
	heartbeat_stop(&heartbeat);
	must(answers[0] == 0 && answers[1] == EAI_NONAME && answers[2] == ETIMEDOUT);
	must(heartbeat.beats >= 2);
}

/* A resolver that does not answer: the look-up is left behind, its answer freed when it comes. */
REAL_TEST(a_look_up_can_be_canceled)
{
	int status = -1;
	int freed = atomic_load(&lists_freed), begun = atomic_load(&resolvers_begun);
	atomic_store(&resolver_stands, true);
	bide_task *task = must_spawn(looks_up, &status);
	while (atomic_load(&resolvers_begun) == begun)
		pass(BIDE_MSEC);
	must(bide_cancel(task, NULL) == 0);
	must(must_join(task).err == ECANCELED && status == EAI_SYSTEM);
	must(atomic_load(&lists_freed) == freed);
	atomic_store(&resolver_stands, false);
	while (atomic_load(&lists_freed) == freed)
		pass(BIDE_MSEC);
}

REAL_TEST(a_deadline_ends_a_look_up)
{
	struct addrinfo *list;
	bide_scope scope = { { 0 } };
	atomic_store(&resolver_stands, true);
	must(bide_scope_enter(&scope, bide_after(5 * BIDE_MSEC), 0) == 0);
	must(bide_getaddrinfo("known", NULL, NULL, &list) == EAI_SYSTEM && errno == ETIMEDOUT);
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	atomic_store(&resolver_stands, false);
}

/* Scenario H8: threads stuck in the resolver stop no file. */
REAL_TEST(stuck_look_ups_delay_no_file)
{
	int statuses[100];
	bide_task *tasks[100];
	char path[128];
	set_up();
	atomic_store(&resolver_stands, true);
	for (int i = 0; i < 100; i++)
		tasks[i] = must_spawn(looks_up, &statuses[i]);
	must(bide_yield() == 0);
	int fd = bide_open(path_of("i", path), O_RDWR | O_CREAT, 0600);
	must(fd >= 0 && bide_pwrite(fd, "x", 1, 0) == 1 && bide_close(fd) == 0);
	atomic_store(&resolver_stands, false);
	for (int i = 0; i < 100; i++) {
		must_end_well(tasks[i]);
		must(statuses[i] == 0);
	}
	tear_down("i");
}

REAL_TEST(injected_failures_of_names_are_told)
{
	struct addrinfo *list;
	must(bide_fault("getaddrinfo:EIO") == 0);
	must(bide_getaddrinfo("known", NULL, NULL, &list) == EAI_SYSTEM && errno == EIO);
	must(bide_fault("pthread_create:EAGAIN") == 0);
	pass(0);
	must(bide_fault("malloc:ENOMEM") == 0);
	must(bide_getaddrinfo("known", NULL, NULL, &list) == EAI_MEMORY);
	must(bide_fault(NULL) == 0);
}

START_TEST(outside_a_task_names_are_refused)
{
	struct addrinfo *list;
	must(bide_getaddrinfo("known", NULL, NULL, &list) == EAI_SYSTEM && errno == EPERM);
}
END_TEST

int main(void)
{
	return SUITE("file",
	    TEST(a_file_is_written_synced_and_read_back),
	    TEST(read_and_write_of_a_regular_file_move_its_position),
	    TEST(others_run_while_a_file_is_written_and_read),
	    TEST(a_small_read_of_a_warm_file_makes_no_thread),
	    TEST(a_descriptor_is_closed_when_the_threads_are_done_with_it),
	    TEST(an_open_that_does_not_return_can_be_canceled),
	    TEST(errors_of_files_are_those_of_the_system),
	    TEST(outside_a_task_files_are_refused),
	    TEST(a_cancel_on_entry_touches_no_file),
	    TABLE(injected_failures_of_files_are_told, faults),
	    TEST(a_name_is_looked_up_with_hints),
	    TEST(a_task_on_the_smallest_stack_looks_names_up),
	    TEST(a_look_up_can_be_canceled),
	    TEST(a_deadline_ends_a_look_up),
	    TEST(stuck_look_ups_delay_no_file),
	    TEST(injected_failures_of_names_are_told),
	    TEST(outside_a_task_names_are_refused));
}
