/* SPDX-License-Identifier: MIT */
#include "suite.h"

#include <locale.h>
#include <stdlib.h>

#include "resources.h"
#include "sched/loop.h"
#include "trace.h"

static int fds_before;

/* What no caller may notice, now and then. With other seeds not: a short read is believed only where no fault is
 * armed. */
static const char interruptions[] = "accept:EINTR%3,recv:EINTR%4,send:EINTR%4,read:EINTR%4,write:EINTR%4,"
	"epoll_wait:EINTR%5,poll:EINTR%2";
static bool is_interrupted;

static void before_each(void)
{
	loop_current = NULL; /* a test that failed inside a task, without libcheck's forking, left it */
	forget_notes();
	fds_before = count_fds();
	if (is_interrupted)
		bide_fault(interruptions);
}

static void after_each(void)
{
	bide_fault(NULL);
	ck_assert_msg(!bide_loop_self(), "a loop is left behind");
	ck_assert_int_eq(count_fds(), fds_before);
}

int suite_run(const char *name, bool is_exact, const struct suite_test *tests)
{
	is_interrupted = suite_is_hostile() && !is_exact && suite_seed() % 2;
	Suite *suite = suite_create(name);
	TCase *tcase = tcase_create(name);
	tcase_add_checked_fixture(tcase, before_each, after_each);
	for (; tests->test; tests++)
		tcase_add_loop_test(tcase, tests->test, tests->from, tests->to);
	suite_add_tcase(suite, tcase);
	if (suite_is_hostile())
		printf("%s: SEED=%llu\n", name, (unsigned long long)suite_seed());
	fflush(stdout);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int suite_scale(void)
{
	const char *text = getenv("BIDE_TEST_SCALE");
	int scale = text ? atoi(text) : 1;
	return scale > 0 ? scale : 1;
}

bool suite_is_hostile(void)
{
	return IS_HOSTILE;
}

uint64_t suite_seed(void)
{
	const char *text = getenv("SEED");
	uint64_t seed = text ? strtoull(text, NULL, 10) : 1;
	return seed ? seed : 1;
}

static bool is_set(const char *name)
{
	const char *text = getenv(name);
	return text && *text;
}

bool suite_is_native(void)
{
	return !is_set("RUNNER") && !is_set("SAN");
}

bool suite_is_for(const char *sanitizer)
{
	const char *all = getenv("SAN");
	return all && strstr(all, sanitizer);
}

bool suite_is_under(const char *runner)
{
	const char *text = getenv("RUNNER");
	return text && strstr(text, runner);
}

int suite_scaled_down(int count, int least)
{
	int scaled = count / suite_scale();
	return scaled > least ? scaled : least;
}

void suite_use_decimal_comma(void)
{
	static const char *const with_comma[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE" };
	for (size_t i = 0; i < sizeof with_comma / sizeof *with_comma; i++)
		if (setlocale(LC_NUMERIC, with_comma[i]))
			return;
}

void suite_use_c_locale(void)
{
	setlocale(LC_NUMERIC, "C");
}

void fails_(int line, const char *call, bool failed, int err, int expected)
{
	must_msg(failed, "line %d: %s succeeded, and should fail with %s", line, call, strerror(expected));
	must_msg(err == expected, "line %d: %s failed with %s, and should with %s", line, call,
	    strerror(err), strerror(expected));
}
