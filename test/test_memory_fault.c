/* SPDX-License-Identifier: MIT
 * The rest of base: the allocator hooks, fault injection, the generator, sums of times. */
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/system.h"
#include "death.h"
#include "resources.h"
#include "suite.h"

/* ---- memory ------------------------------------------------------------------------------------- */

static struct counting counting;
static struct memory memory;

static void begin(void)
{
	counting_init(&counting, false);
	memory = (struct memory){ counting.allocator.alloc, counting.allocator.free, &counting };
}

static bool is_filled(const char *block, size_t size, char with)
{
	for (size_t i = 0; i < size; i++)
		if (block[i] != with)
			return false;
	return true;
}

START_TEST(memory_is_zero_whatever_the_hook_returned)
{
	begin();
	char *block = memory_alloc(&memory, 1000);
	ck_assert(is_filled(block, 1000, 0));
	ck_assert_uint_eq(counting.bytes, 1000);
	memory_free(&memory, block, 1000); /* counting checks the size */
	ck_assert(counting_is_balanced(&counting));

	block = memory_alloc(&memory_default, 1000);
	ck_assert(is_filled(block, 1000, 0));
	memory_free(&memory_default, block, 1000);
}
END_TEST

START_TEST(freeing_nothing_asks_nobody)
{
	begin();
	memory.free = NULL;
	memory_free(&memory, NULL, 10);
}
END_TEST

START_TEST(a_hook_that_has_nothing_means_enomem)
{
	begin();
	counting.fail_at = 1;
	ck_fails_null(memory_alloc(&memory, 10), ENOMEM);
	if (suite_is_native()) /* a sanitizer takes it for a mistake */
		ck_fails_null(memory_alloc(&memory_default, SIZE_MAX / 2), ENOMEM);
}
END_TEST

START_TEST(resizing_copies_what_fits_and_frees_the_old_block)
{
	static const size_t sizes[] = { 10, 500, 3, 100 };
	begin();
	char *block = memory_resize(&memory, NULL, 0, 100);
	ck_assert(is_filled(block, 100, 0));
	memset(block, 'x', 100);
	block = memory_resize(&memory, block, 100, sizes[_i]);
	size_t common = sizes[_i] < 100 ? sizes[_i] : 100;
	ck_assert(is_filled(block, common, 'x'));
	ck_assert(is_filled(block + common, sizes[_i] - common, 0));
	ck_assert_uint_eq(counting.bytes, sizes[_i]);
	memory_free(&memory, block, sizes[_i]);
	ck_assert(counting_is_balanced(&counting));
}
END_TEST

START_TEST(a_block_that_cannot_be_resized_stays)
{
	begin();
	char *block = memory_alloc(&memory, 10);
	memset(block, 'x', 10);
	counting.fail_at = 2;
	ck_fails_null(memory_resize(&memory, block, 10, 20), ENOMEM);
	ck_assert(is_filled(block, 10, 'x'));
	memory_free(&memory, block, 10);
	ck_assert(counting_is_balanced(&counting));
}
END_TEST

/* ---- the generator ------------------------------------------------------------------------------ */

/* The first numbers of SplitMix64 with this seed, as its author's program prints them. */
START_TEST(the_generator_is_splitmix64)
{
	struct random random = { 1234567 };
	ck_assert(random_next(&random) == UINT64_C(6457827717110365317));
	ck_assert(random_next(&random) == UINT64_C(3203168211198807973));
	ck_assert(random_next(&random) == UINT64_C(9817491932198370423));
	ck_assert(random_next(&random) == UINT64_C(4593380528125082431));
	ck_assert(random_next(&random) == UINT64_C(16408922859458223821));
}
END_TEST

START_TEST(random_below_stays_below_and_reaches_everything)
{
	static const uint64_t bounds[] = { 1, 2, 3, 7, 64, 1000 };
	struct random random = { 42 };
	for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
		int seen[1000] = { 0 };
		int rounds = (int)bounds[i] * 100;
		for (int round = 0; round < rounds; round++) {
			uint64_t n = random_below(&random, bounds[i]);
			must(n < bounds[i]);
			seen[n]++;
		}
		for (uint64_t n = 0; n < bounds[i]; n++)
			must_msg(seen[n] > 50 && seen[n] < 200, "%d of 100 times", seen[n]);
	}
	for (int i = 0; i < 1000; i++)
		must(random_below(&random, UINT64_MAX) < UINT64_MAX);
}
END_TEST

START_TEST(the_same_seed_gives_the_same_numbers)
{
	struct random a = { 5 }, b = { 5 }, c = { 6 };
	int same = 0;
	for (int i = 0; i < 1000; i++) {
		uint64_t n = random_next(&a);
		must(n == random_next(&b));
		same += n == random_next(&c);
	}
	ck_assert_int_eq(same, 0);
}
END_TEST

/* ---- time --------------------------------------------------------------------------------------- */

/* semantics 88; scenarios D1, D2 */
static const struct {
	bide_time moment, delay, sum;
} sums[] = {
	{ 5, 7, 12 },
	{ 5, 0, 5 },
	{ 5, -1, 5 },
	{ 5, INT64_MIN, 5 },
	{ 0, BIDE_NEVER, BIDE_NEVER },
	{ 1, BIDE_NEVER, BIDE_NEVER },
	{ BIDE_NEVER, 1, BIDE_NEVER },
	{ BIDE_NEVER, BIDE_NEVER, BIDE_NEVER },
	{ BIDE_NEVER - 1, 1, BIDE_NEVER },
	{ BIDE_NEVER - 2, 1, BIDE_NEVER - 1 },
	{ -10, 3, -7 },
};

START_TEST(a_moment_and_a_delay_add_up_or_saturate)
{
	ck_assert(time_add(sums[_i].moment, sums[_i].delay) == sums[_i].sum);
}
END_TEST

START_TEST(a_clock_is_the_monotonic_one_or_stands_still)
{
	struct clock real = { .is_virtual = false }, virtual = { .is_virtual = true, .now = 77 };
	struct timespec before, after;
	clock_gettime(CLOCK_MONOTONIC, &before);
	bide_time now = clock_now(&real);
	clock_gettime(CLOCK_MONOTONIC, &after);
	ck_assert(now >= before.tv_sec * BIDE_SEC + before.tv_nsec);
	ck_assert(now <= after.tv_sec * BIDE_SEC + after.tv_nsec);
	ck_assert(clock_now(&virtual) == 77);
	ck_assert(clock_now(&virtual) == 77);
}
END_TEST

/* ---- faults: the grammar of bide_fault() --------------------------------------------------------- */

static int times_hit(enum fault_point point, int calls)
{
	int hits = 0;
	for (int i = 0; i < calls; i++)
		hits += fault_hits(point);
	return hits;
}

static const char *const bad_specs[] = {
	"read", "read:", ":EIO", "read:EWHAT", "read:5", "read:eio", "READ:EIO", "rea:EIO", "readv:EIO",
	"read:EIO@", "read:EIO%", "read:EIO@0", "read:EIO%0", "read:EIO@-1", "read:EIO@ 1", "read:EIO@x",
	"read:EIO@1x", "read:EIO@1000000001", "read:EIO@99999999999999999999999", "read:EIO@1@2",
	"read:EIO@1%2", "read:EIO write:EIO", "read:EIO;write:EIO", ",read:EIO", "read:EIO,", "read:EIO,,write:EIO",
	"read:EIO,write", "read:EIO,write:EWHAT", " read:EIO", "read :EIO", "read: EIO", ",", "accept:short",
	"malloc:short", "poll:short@1", "read:short@", "read:SHORT",
};

START_TEST(a_spec_that_does_not_parse_changes_nothing)
{
	ck_assert_int_eq(bide_fault("write:EPIPE@2"), 0);
	ck_fails(bide_fault(bad_specs[_i]), EINVAL);
	ck_assert(!fault_hits(FAULT_READ));
	ck_assert(!fault_hits(FAULT_WRITE));
	ck_assert(fault_hits(FAULT_WRITE));
	ck_assert_int_eq(errno, EPIPE);
}
END_TEST

START_TEST(without_a_fault_nothing_fails)
{
	for (int point = 0; point < FAULT_COUNT; point++)
		must(times_hit((enum fault_point)point, 10) == 0);
	ck_assert_int_eq(bide_fault("read:EIO"), 0);
	ck_assert_int_eq(bide_fault(NULL), 0);
	ck_assert_int_eq(times_hit(FAULT_READ, 10), 0);
	ck_assert_int_eq(bide_fault("read:EIO"), 0);
	ck_assert_int_eq(bide_fault(""), 0);
	ck_assert_int_eq(times_hit(FAULT_READ, 10), 0);
	ck_assert(!fault_armed);
}
END_TEST

START_TEST(a_plain_fault_strikes_each_time)
{
	ck_assert_int_eq(bide_fault("read:EIO"), 0);
	for (int i = 0; i < 10; i++) {
		errno = 0;
		ck_assert(fault_hits(FAULT_READ));
		ck_assert_int_eq(errno, EIO);
	}
	ck_assert_int_eq(times_hit(FAULT_WRITE, 10), 0);
}
END_TEST

START_TEST(a_fault_at_n_strikes_the_nth_call_once)
{
	static const int at[] = { 1, 2, 5 };
	char spec[32];
	snprintf(spec, sizeof spec, "read:EIO@%d", at[_i]);
	ck_assert_int_eq(bide_fault(spec), 0);
	for (int call = 1; call <= 20; call++)
		must(fault_hits(FAULT_READ) == (call == at[_i]));
	ck_assert_int_eq(bide_fault(spec), 0); /* "from now": it counts anew */
	for (int call = 1; call <= 20; call++)
		must(fault_hits(FAULT_READ) == (call == at[_i]));
}
END_TEST

START_TEST(a_fault_every_n_strikes_every_nth_call)
{
	static const int every[] = { 1, 2, 5 };
	char spec[32];
	snprintf(spec, sizeof spec, "read:EIO%%%d", every[_i]);
	ck_assert_int_eq(bide_fault(spec), 0);
	for (int call = 1; call <= 20; call++)
		must(fault_hits(FAULT_READ) == (call % every[_i] == 0));
}
END_TEST

START_TEST(a_list_has_several_faults_and_a_new_one_replaces_it)
{
	ck_assert_int_eq(bide_fault("read:EIO@1,write:EPIPE%2,malloc:ENOMEM"), 0);
	ck_assert(fault_hits(FAULT_READ) && errno == EIO);
	ck_assert(!fault_hits(FAULT_WRITE));
	ck_assert(fault_hits(FAULT_WRITE) && errno == EPIPE);
	ck_assert_int_eq(times_hit(FAULT_MALLOC, 3), 3);
	ck_assert_int_eq(errno, ENOMEM);
	ck_assert_int_eq(times_hit(FAULT_POLL, 5), 0);
	ck_assert_int_eq(bide_fault("poll:EINTR"), 0);
	ck_assert_int_eq(times_hit(FAULT_WRITE, 4) + times_hit(FAULT_MALLOC, 4), 0);
	ck_assert(fault_hits(FAULT_POLL) && errno == EINTR);
}
END_TEST

static const struct {
	const char *name;
	int err;
} errors[] = {
	{ "EACCES", EACCES }, { "EADDRINUSE", EADDRINUSE }, { "EAGAIN", EAGAIN }, { "EBADF", EBADF },
	{ "ECONNABORTED", ECONNABORTED }, { "ECONNREFUSED", ECONNREFUSED }, { "ECONNRESET", ECONNRESET },
	{ "EINTR", EINTR }, { "EINVAL", EINVAL }, { "EIO", EIO }, { "EMFILE", EMFILE }, { "ENFILE", ENFILE },
	{ "ENOBUFS", ENOBUFS }, { "ENOENT", ENOENT }, { "ENOMEM", ENOMEM }, { "ENOSPC", ENOSPC },
	{ "ENOSYS", ENOSYS }, { "EOPNOTSUPP", EOPNOTSUPP }, { "EPERM", EPERM }, { "EPIPE", EPIPE },
	{ "EPROTO", EPROTO }, { "ETIMEDOUT", ETIMEDOUT },
};

START_TEST(an_errno_is_called_by_its_name)
{
	char spec[64];
	snprintf(spec, sizeof spec, "socket:%s", errors[_i].name);
	ck_assert_int_eq(bide_fault(spec), 0);
	errno = 0;
	ck_assert(fault_hits(FAULT_SOCKET));
	ck_assert_int_eq(errno, errors[_i].err);
}
END_TEST

/* Each call of the list in bide/testing.h, with arguments that would make the real one fail with
 * something else, or succeed. */
static int call_accept(void) { return system_accept(-1, NULL, NULL); }
static int call_bind(void) { return system_bind(-1, NULL, 0); }
static int call_connect(void) { return system_connect(-1, NULL, 0); }
static int call_epoll_ctl(void) { return system_epoll_ctl(-1, EPOLL_CTL_ADD, -1, &(struct epoll_event){ 0 }); }
static int call_epoll_create(void) { return system_epoll_create(); }
static int call_eventfd(void) { return system_eventfd(); }
static int call_fcntl(void) { return system_fcntl(-1, F_GETFL, 0); }
static int call_fstat(void) { return system_fstat(-1, &(struct stat){ 0 }); }
static int call_eventfd_raise(void) { return system_eventfd_raise(-1); }
static int call_fstatfs(void) { struct statfs status; return system_fstatfs(-1, &status); }
static int call_fsync(void) { return system_fsync(-1); }
static int call_fdatasync(void) { return system_fdatasync(-1); }
static int call_stat(void) { struct stat status; return system_stat("", &status); }
static int call_open_file(void) { return system_open_file("", 0, 0); }
static int call_getaddrinfo(void) { return system_getaddrinfo(NULL, NULL, NULL, NULL) == EAI_SYSTEM ? -1 : 0; }
static void *no_thread(void *arg) { return arg; }
static int call_thread_create(void)
{
	pthread_t thread;
	return system_thread_create(&thread, no_thread, NULL) == 0 ? pthread_join(thread, NULL) : -1;
}
static int call_getsockopt(void) { return system_getsockopt(-1, 0, 0, NULL, NULL); }
static int call_listen(void) { return system_listen(-1, 1); }
static int call_madvise(void) { return system_madvise(NULL, 0, 0); }
static int call_malloc(void) { return memory_alloc(&memory_default, 8) ? 0 : -1; }
static int call_mmap(void) { return system_mmap(4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS) == MAP_FAILED ? -1 : 0; }
static int call_mprotect(void) { return system_mprotect(NULL, 0, PROT_NONE); }
static int call_poll(void) { return system_poll(NULL, 0, 0); }
static int call_preadv2(void) { return (int)system_preadv2(-1, NULL, 0, -1, 0); }
static int call_pwritev2(void) { return (int)system_pwritev2(-1, NULL, 0, -1, 0); }
static int call_read(void) { return (int)system_read(-1, NULL, 0); }
static int call_recv(void) { return (int)system_recv(-1, NULL, 0, 0); }
static int call_send(void) { return (int)system_send(-1, NULL, 0, 0); }
static int call_setsockopt(void) { return system_setsockopt(-1, 0, 0, NULL, 0); }
static int call_socket(void) { return system_socket(-1, -1, -1); }
static int call_write(void) { return (int)system_write(-1, NULL, 0); }

static const struct {
	const char *name;
	int (*fn)(void);
} calls[] = {
	{ "accept", call_accept }, { "bind", call_bind }, { "connect", call_connect },
	{ "epoll_ctl", call_epoll_ctl }, { "epoll_create", call_epoll_create }, { "eventfd", call_eventfd },
	{ "eventfd_write", call_eventfd_raise }, { "fcntl", call_fcntl }, { "fstat", call_fstat },
	{ "fstatfs", call_fstatfs }, { "fsync", call_fsync }, { "fsync", call_fdatasync },
	{ "getaddrinfo", call_getaddrinfo }, { "getsockopt", call_getsockopt }, { "open", call_open_file },
	{ "pthread_create", call_thread_create }, { "stat", call_stat },
	{ "listen", call_listen }, { "madvise", call_madvise }, { "malloc", call_malloc }, { "mmap", call_mmap },
	{ "mprotect", call_mprotect }, { "poll", call_poll }, { "read", call_preadv2 }, { "read", call_read },
	{ "recv", call_recv }, { "send", call_send }, { "setsockopt", call_setsockopt },
	{ "socket", call_socket }, { "write", call_pwritev2 }, { "write", call_write },
};

START_TEST(a_system_call_fails_by_its_name_and_no_other_does)
{
	char spec[64];
	snprintf(spec, sizeof spec, "%s:EPROTO", calls[_i].name);
	ck_assert_int_eq(bide_fault(spec), 0);
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		bool is_same = strcmp(calls[i].name, calls[_i].name) == 0;
		errno = 0;
		if (!is_same) {
			if (calls[i].fn == call_epoll_create || calls[i].fn == call_eventfd ||
			    calls[i].fn == call_malloc || calls[i].fn == call_mmap)
				continue; /* would succeed, and leak */
			calls[i].fn();
			must_msg(errno != EPROTO, "%s fails with %s", calls[i].name, calls[_i].name);
		} else {
			must(calls[i].fn() == -1);
			/* memory_alloc knows one errno only; fault_strikes sets it. */
			must_msg(errno == EPROTO, "%s: %s", calls[i].name, strerror(errno));
		}
	}
}
END_TEST

START_TEST(a_close_that_fails_on_purpose_closes_all_the_same)
{
	int fd = eventfd(0, EFD_CLOEXEC);
	ck_assert_int_eq(bide_fault("close:EIO"), 0);
	ck_fails(system_close(fd), EIO);
	ck_fails(fcntl(fd, F_GETFD), EBADF);
}
END_TEST

static const struct {
	const char *spec;
	enum fault_point point;
} shorts[] = {
	{ "read:short", FAULT_READ },
	{ "write:short", FAULT_WRITE },
	{ "recv:short", FAULT_RECV },
	{ "send:short", FAULT_SEND },
};

START_TEST(short_makes_a_transfer_one_byte_and_is_no_failure)
{
	enum fault_point point = shorts[_i].point, other = point == FAULT_READ ? FAULT_WRITE : FAULT_READ;
	ck_assert_int_eq(bide_fault(shorts[_i].spec), 0);
	for (int i = 0; i < 5; i++) {
		ck_assert_uint_eq(fault_transfer_size(point, 100), 1);
		ck_assert_uint_eq(fault_transfer_size(point, 1), 1);
		ck_assert_uint_eq(fault_transfer_size(point, 0), 0);
		ck_assert_uint_eq(fault_transfer_size(other, 100), 100);
		ck_assert(!fault_hits(point));
	}
}
END_TEST

START_TEST(short_counts_as_other_faults_do)
{
	ck_assert_int_eq(bide_fault("read:short@3"), 0);
	for (int call = 1; call <= 10; call++)
		ck_assert_uint_eq(fault_transfer_size(FAULT_READ, 9), call == 3 ? 1 : 9);
	ck_assert_int_eq(bide_fault("read:short%3"), 0);
	for (int call = 1; call <= 10; call++)
		ck_assert_uint_eq(fault_transfer_size(FAULT_READ, 9), call % 3 == 0 ? 1 : 9);
	ck_assert_int_eq(bide_fault("read:EIO"), 0); /* a failure shortens nothing */
	ck_assert_uint_eq(fault_transfer_size(FAULT_READ, 9), 9);
}
END_TEST

START_TEST(a_transfer_through_the_wrapper_is_short)
{
	int fds[2];
	char buf[8] = "";
	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(bide_fault("write:short@1,read:short@1"), 0);
	ck_assert_int_eq(system_write(fds[1], "abcdef", 6), 1);
	ck_assert_int_eq(system_write(fds[1], "bcdef", 5), 5);
	ck_assert_int_eq(system_read(fds[0], buf, 8), 1);
	ck_assert_int_eq(system_read(fds[0], buf + 1, 7), 5);
	ck_assert_str_eq(buf, "abcdef");
	close(fds[0]);
	close(fds[1]);
}
END_TEST

static void *hit_often(void *arg)
{
	*(int *)arg = times_hit(FAULT_READ, 1000);
	return NULL;
}

/* "For the whole process": one count for all threads. */
START_TEST(threads_count_together)
{
	pthread_t threads[4];
	int hits[4], sum = 0;
	ck_assert_int_eq(bide_fault("read:EIO%10"), 0);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, hit_often, &hits[i]), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		sum += hits[i];
	}
	ck_assert_int_eq(sum, 400);
}
END_TEST

/* ---- broken rules ------------------------------------------------------------------------------- */

static void break_a_rule(void *arg)
{
	CHECK(arg != NULL, "a rule that is broken on purpose");
}

START_TEST(a_broken_rule_is_named_with_its_place_and_ends_the_process)
{
	struct death death = death_of(break_a_rule, NULL);
	ck_assert_int_eq(death.signal, SIGABRT);
	ck_assert_ptr_nonnull(strstr(death.text, "bide: internal error: a rule that is broken on purpose"));
	ck_assert_ptr_nonnull(strstr(death.text, "test_memory_fault.c:"));
	death = death_of(break_a_rule, &death);
	ck_assert_int_eq(death.signal, 0);
	ck_assert_int_eq(death.exit_status, 0);
}
END_TEST

int main(void)
{
	return SUITE_EXACT("memory, faults, random numbers, time",
	    TEST(memory_is_zero_whatever_the_hook_returned),
	    TEST(freeing_nothing_asks_nobody),
	    TEST(a_hook_that_has_nothing_means_enomem),
	    LOOP(resizing_copies_what_fits_and_frees_the_old_block, 0, 4),
	    TEST(a_block_that_cannot_be_resized_stays),
	    TEST(the_generator_is_splitmix64),
	    TEST(random_below_stays_below_and_reaches_everything),
	    TEST(the_same_seed_gives_the_same_numbers),
	    TABLE(a_moment_and_a_delay_add_up_or_saturate, sums),
	    TEST(a_clock_is_the_monotonic_one_or_stands_still),
	    TABLE(a_spec_that_does_not_parse_changes_nothing, bad_specs),
	    TEST(without_a_fault_nothing_fails),
	    TEST(a_plain_fault_strikes_each_time),
	    LOOP(a_fault_at_n_strikes_the_nth_call_once, 0, 3),
	    LOOP(a_fault_every_n_strikes_every_nth_call, 0, 3),
	    TEST(a_list_has_several_faults_and_a_new_one_replaces_it),
	    TABLE(an_errno_is_called_by_its_name, errors),
	    TABLE(a_system_call_fails_by_its_name_and_no_other_does, calls),
	    TEST(a_close_that_fails_on_purpose_closes_all_the_same),
	    TABLE(short_makes_a_transfer_one_byte_and_is_no_failure, shorts),
	    TEST(short_counts_as_other_faults_do),
	    TEST(a_transfer_through_the_wrapper_is_short),
	    TEST(threads_count_together),
	    TEST(a_broken_rule_is_named_with_its_place_and_ends_the_process));
}
