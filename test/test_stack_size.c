/* SPDX-License-Identifier: MIT
 * Sizes of stacks: which are accepted, what fits on the default one, and what the least one has room
 * for. Everyday functions of the C library are measured on painted stacks; what they need is printed by
 *
 *     CK_VERBOSITY=silent BIDE_TABLE=1 build/test/test_stack_size
 *
 * as the table of docs/notes/stack.md. */
#include <float.h>
#include <locale.h>
#include <math.h>
#include <netdb.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "resources.h"
#include "runs.h"

#define KIB ((size_t)1024)

/* ---- scenario B9: any number at all --------------------------------------------------------------- */

static const size_t refused[] = { 1, 100, 4095, 4096, 4097, BIDE_STACK_MIN - 1, ((size_t)1 << 36) + 1,
	SIZE_MAX / 2, SIZE_MAX / 2 + 1, (size_t)-65536, (size_t)-4096, SIZE_MAX - 1, SIZE_MAX };

static bide_task *spawn_on(size_t size, void *stack)
{
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.stack_size = size;
	attr.stack = stack;
	return bide_spawn_with(nothing, &attr, &attr);
}

VIRTUAL_TEST(sizes_that_cannot_be_are_refused)
{
	char byte;
	ck_fails_null(spawn_on(refused[_i], NULL), EINVAL);
	ck_fails_null(spawn_on(refused[_i], &byte), EINVAL);
	ck_fails_null(bide_coro_new(nothing, NULL, refused[_i]), EINVAL);
}

START_TEST(a_run_refuses_them_too)
{
	bide_config config = BIDE_CONFIG_INIT;
	config.stack_size = refused[_i];
	ck_fails(bide_run(nothing, NULL, &config, NULL), EINVAL);
}
END_TEST

/* The end of the address space is no place for a stack. */
VIRTUAL_TEST(memory_that_wraps_around_is_refused)
{
	ck_fails_null(spawn_on(64 * KIB, (void *)(UINTPTR_MAX - 4096)), EINVAL);
}

VIRTUAL_TEST(each_size_around_the_least_works_or_is_refused)
{
	size_t least = bide_stack_min();
	ck_assert_uint_ge(least, BIDE_STACK_MIN);
	for (size_t size = least - 20; size < least + 20; size++) {
		if (size < least)
			ck_fails_null(spawn_on(size, NULL), EINVAL);
		else
			must_end_well(spawn_on(size, NULL));
	}
	for (size_t size = 2 * 4096; size < 4 * 4096; size += 511) {
		bide_task *task = spawn_on(size, NULL);
		must((task != NULL) == (size >= least));
		if (task)
			must_end_well(task);
	}
}

VIRTUAL_TEST(a_size_that_only_memory_limits_is_out_of_memory_or_works)
{
	bide_task *task = spawn_on((size_t)1 << 36, NULL);
	if (task)
		must_end_well(task);
	else
		ck_assert_int_eq(errno, ENOMEM);
}

static void find_size(const bide_stack_range *range, void *arg)
{
	if (range->task == bide_self())
		*(size_t *)arg = (size_t)((char *)range->high - (char *)range->low);
}

static void *own_size(void *arg)
{
	bide_stack_each(find_size, arg);
	return NULL;
}

/* As bide/task.h says: up to pages, in steps of an eighth of the next power of two. */
VIRTUAL_TEST(rounding_is_as_the_manual_says)
{
	static const size_t sizes[] = { 0, 8192, 8193, 65536, 65537, 70000, 100000, 131073, 1000000, 5000000 };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		size_t asked = sizes[i], given = 0, power = page;
		bide_task_attr attr = BIDE_TASK_ATTR_INIT;
		attr.stack_size = asked && asked < bide_stack_min() ? bide_stack_min() : asked;
		asked = attr.stack_size;
		must_end_well(bide_spawn_with(own_size, &given, &attr));
		ck_assert_uint_eq(given % page, 0);
		ck_assert_uint_ge(given, asked);
		while (power < asked)
			power *= 2;
		if (asked)
			ck_assert_uint_lt(given - asked, power / 8 < page ? page : power / 8);
	}
}

/* ---- scenario B17: the default grows with the frames ------------------------------------------------ */

VIRTUAL_TEST(the_default_size_is_that_of_the_build)
{
	size_t size = 0, space = 64 * KIB;
	if (suite_is_for("address") || suite_is_for("thread"))
		space = 256 * KIB;
#ifndef __OPTIMIZE__
	else
		space = 128 * KIB;
#endif
	must_end_well(bide_spawn(own_size, &size));
	ck_assert_uint_eq(size, space - 16 * KIB);
}

/* ---- scenario B7: everyday calls ---------------------------------------------------------------------- */

static char out[64 * 1024];
static FILE *unbuffered;

static void call_nothing(void) {}

static void call_snprintf_d(void)
{
	snprintf(out, sizeof out, "%d %s", 12345, "text");
}

static void call_snprintf_f(void)
{
	snprintf(out, sizeof out, "%f %g %e", 12345.678, 1e300, 1e-300);
}

static void call_snprintf_positional(void)
{
	snprintf(out, sizeof out, "%3$s %1$d %2$f", 7, 1.5, "text");
}

static void call_snprintf_wide(void)
{
	snprintf(out, sizeof out, "%ls %lc", L"wide text", (wint_t)L'x');
}

static void call_fprintf_unbuffered(void)
{
	fprintf(unbuffered, "%d %s %f\n", 12345, "text", 1.5);
}

static void call_sscanf(void)
{
	int number;
	double real;
	char word[16];
	must(sscanf("12 text 1.5", "%d %15s %lf", &number, word, &real) == 3);
}

static void call_strtod(void)
{
	must(strtod("123456789.123456789e-300", NULL) > 0);
	must(strtod("2.2250738585072014e-308", NULL) > 0);
}

static void call_strftime(void)
{
	time_t now = 1700000000;
	struct tm parts;
	strftime(out, sizeof out, "%c %x %Z", localtime_r(&now, &parts));
}

static void call_setlocale(void)
{
	setlocale(LC_ALL, "C.UTF-8");
	setlocale(LC_ALL, "C");
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void call_qsort(void)
{
	static int numbers[5000];
	for (int i = 0; i < 5000; i++)
		numbers[i] = (i * 7919) % 5000;
	qsort(numbers, 5000, sizeof *numbers, compare);
}

static void call_malloc(void)
{
	for (size_t size = 16; size < 4 * 1024 * KIB; size *= 4)
		free(malloc(size));
}

static void call_strerror(void)
{
	strerror_r(ENOENT, out, sizeof out);
	strsignal(SIGSEGV);
}

static void look_up(const char *name, int flags)
{
	struct addrinfo hints = { .ai_flags = flags, .ai_socktype = SOCK_STREAM }, *found = NULL;
	if (getaddrinfo(name, "80", &hints, &found) == 0)
		freeaddrinfo(found);
}

static void call_getaddrinfo_number(void)
{
	look_up("127.0.0.1", AI_NUMERICHOST);
}

static void call_getaddrinfo_localhost(void)
{
	look_up("localhost", 0);
}

static void call_getaddrinfo_unknown(void)
{
	look_up("no-such-host.invalid", 0);
}

static void call_syslog(void)
{
	syslog(LOG_DEBUG, "%d %s", 1, "text");
}

static void call_getenv(void)
{
	setenv("BIDE_TEST_OF_SIZES", "1", 1);
	unsetenv("BIDE_TEST_OF_SIZES");
}

static void call_math(void)
{
	volatile double x = 0.7;
	x = sin(x) + pow(x, 3.3) + exp(x) + (double)fabsl((long double)x);
}

static void call_huge_precision(void)
{
	snprintf(out, sizeof out, "%.3000Lf", LDBL_MAX / 3);
}

static const struct call {
	const char *name;
	void (*fn)(void);
	bool is_outlier; /* needs a size of its own: it is measured only */
} calls[] = {
	{ "nothing at all", call_nothing, false },
	{ "snprintf %d %s", call_snprintf_d, false },
	{ "snprintf %f %g %e", call_snprintf_f, false },
	{ "snprintf %1$d %2$f", call_snprintf_positional, false },
	{ "snprintf %ls", call_snprintf_wide, false },
	{ "fprintf to an unbuffered FILE", call_fprintf_unbuffered, false },
	{ "sscanf %d %s %lf", call_sscanf, false },
	{ "strtod", call_strtod, false },
	{ "strftime, localtime_r", call_strftime, false },
	{ "setlocale", call_setlocale, false },
	{ "qsort of 5,000", call_qsort, false },
	{ "malloc and free, 16 B to 1 MiB", call_malloc, false },
	{ "strerror_r, strsignal", call_strerror, false },
	{ "getaddrinfo, a number", call_getaddrinfo_number, false },
	{ "getaddrinfo, localhost", call_getaddrinfo_localhost, false },
	{ "getaddrinfo, a name that fails", call_getaddrinfo_unknown, false },
	{ "syslog", call_syslog, false },
	{ "setenv", call_getenv, false },
	{ "sin, pow, exp", call_math, false },
	{ "snprintf %.3000Lf", call_huge_precision, true },
};

#define CALLS (sizeof calls / sizeof *calls)

static void *make_call(void *arg)
{
	((const struct call *)arg)->fn();
	return NULL;
}

/* What the task used of its stack. The first time includes what the dynamic linker needs. */
static size_t depth_of(const struct call *call)
{
	size_t used = 0;
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.stack_size = call->is_outlier ? 512 * KIB : 0;
	bide_task *task = bide_spawn_with(make_call, (void *)(uintptr_t)call, &attr);
	must(task && bide_task_ref(task));
	must_end_well(task);
	must(bide_stack_used(task, &used) == 0);
	bide_task_unref(task);
	return used;
}

static void *measure(void *arg)
{
	const struct call *call = arg;
	size_t stack_size = 0, first, again;
	must_end_well(bide_spawn(own_size, &stack_size));
	first = depth_of(call);
	again = depth_of(call);
	if (getenv("BIDE_TABLE"))
		printf("| %-30s | %6.1f | %6.1f |\n", call->name, (double)first / 1024, (double)again / 1024);
	size_t most = first > again ? first : again;
	if (!call->is_outlier)
		ck_assert_msg(most <= stack_size * 75 / 100, "%s needs %zu of %zu bytes", call->name, most, stack_size);
	return NULL;
}

START_TEST(everyday_calls_fit_the_default_stack_with_a_quarter_to_spare)
{
	unbuffered = fopen("/dev/null", "w");
	setvbuf(unbuffered, NULL, _IONBF, 0);
	run_with(BIDE_PAINT_STACKS | BIDE_VIRTUAL_CLOCK, measure, (void *)(uintptr_t)&calls[_i]);
	fclose(unbuffered);
}
END_TEST

/* ---- the least size is honest ---------------------------------------------------------------------------- */

static volatile sig_atomic_t signals_seen;

static void on_signal(int number)
{
	(void)number;
	signals_seen++;
}

/* What a small task does: it parks in every way there is. */
static void *parks(void *arg)
{
	int *fds = arg;
	char byte = 'x';
	bide_sleep(1);
	bide_yield();
	must_end_well(bide_spawn(nothing, NULL));
	must(bide_write(fds[1], &byte, 1) == 1 && bide_read(fds[0], &byte, 1) == 1);
	raise(SIGUSR1);
	return NULL;
}

/* On memory with a fence below: a canary that is looked at, and a guard that kills. */
static void *with_the_least(void *arg)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = bide_stack_min();
	size_t whole = (size + 2 * page - 1) / page * page;
	int fds[2];
	must(pipe(fds) == 0);
	char *memory = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(memory != MAP_FAILED && mprotect(memory, page, PROT_NONE) == 0);
	char *stack = memory + whole - size;
	for (int i = 0; i < 20; i++) {
		bide_task_attr attr = BIDE_TASK_ATTR_INIT;
		attr.stack_size = size;
		attr.stack = i % 2 ? stack : NULL;
		must_end_well(bide_spawn_with(parks, fds, &attr));
	}
	munmap(memory, whole);
	bide_close(fds[0]);
	bide_close(fds[1]);
	return arg;
}

START_TEST(a_task_that_does_little_and_a_signal_fit_the_least_size)
{
	struct sigaction action = { .sa_handler = on_signal }, old;
	if (getenv("SAN") && *getenv("SAN"))
		return; /* whose frames are not the library's */
	sigaction(SIGUSR1, &action, &old);
	signals_seen = 0;
	run_real(with_the_least, NULL);
	ck_assert_int_eq(signals_seen, 20);
	sigaction(SIGUSR1, &old, NULL);
}
END_TEST

/* The parts that src/stack/size.c adds up: what the library needs itself, measured warm, so that the
 * dynamic linker is not in it. */
static void *parks_quietly(void *arg)
{
	bide_sleep(1);
	must_end_well(bide_spawn(nothing, NULL));
	return arg;
}

static void *measure_own_need(void *arg)
{
	size_t used = 0;
	for (int i = 0; i < 3; i++) {
		bide_task_attr attr = BIDE_TASK_ATTR_INIT;
		attr.stack_size = bide_stack_min();
		bide_task *task = bide_spawn_with(parks_quietly, NULL, &attr);
		bide_task_ref(task);
		must_end_well(task);
		must(bide_stack_used(task, &used) == 0);
		bide_task_unref(task);
	}
	*(size_t *)arg = used;
	return NULL;
}

START_TEST(the_library_itself_needs_less_than_it_reckons_with)
{
	size_t used = 0;
	if (!suite_is_native())
		return;
	run_with(BIDE_PAINT_STACKS | BIDE_VIRTUAL_CLOCK, measure_own_need, &used);
#ifdef __OPTIMIZE__
	ck_assert_uint_le(used, 1024 + 256); /* NEED_OWN, and what colours take of it */
#endif
	ck_assert_uint_gt(used, 0);
}
END_TEST

int main(void)
{
	return SUITE("stack_size",
	    TABLE(sizes_that_cannot_be_are_refused, refused),
	    TABLE(a_run_refuses_them_too, refused),
	    TEST(memory_that_wraps_around_is_refused),
	    TEST(each_size_around_the_least_works_or_is_refused),
	    TEST(a_size_that_only_memory_limits_is_out_of_memory_or_works),
	    TEST(rounding_is_as_the_manual_says),
	    TEST(the_default_size_is_that_of_the_build),
	    LOOP(everyday_calls_fit_the_default_stack_with_a_quarter_to_spare, 0, (int)CALLS),
	    TEST(a_task_that_does_little_and_a_signal_fit_the_least_size),
	    TEST(the_library_itself_needs_less_than_it_reckons_with));
}
