/* SPDX-License-Identifier: MIT
 * What every libcheck program here begins and ends with. A program is
 *
 *     START_TEST(a_sentence_that_says_what_holds) { ... } END_TEST
 *     int main(void) { return SUITE("list", TEST(a_sentence_that_says_what_holds), LOOP(..., 0, 4)); }
 *
 * After each test nothing may be left: no fault armed, no loop, no descriptor more than before. */
#ifndef SUPPORT_SUITE_H
#define SUPPORT_SUITE_H

#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <bide.h>

struct suite_test {
	const TTest *test;
	int from, to; /* the range of _i in a loop test */
};

#define TEST(name) { name, 0, 1 }
#define LOOP(name, from, to) { name, from, to }
#define TABLE(name, table) { name, 0, (int)(sizeof(table) / sizeof *(table)) }
#define SUITE(name, ...)                                                                           \
	suite_run(name, false, (const struct suite_test[]){ __VA_ARGS__, { NULL, 0, 0 } })
/* For those that count system calls or make them in the library's place: in the hostile build none is
 * interrupted, as some are otherwise. A single test says bide_fault(NULL). */
#define SUITE_EXACT(name, ...)                                                                     \
	suite_run(name, true, (const struct suite_test[]){ __VA_ARGS__, { NULL, 0, 0 } })

/* Runs them and prints libcheck's summary; what main() returns. */
int suite_run(const char *name, bool is_exact, const struct suite_test *tests);

/* How much slower than a plain native build we run: limits in real time are multiplied by it. */
int suite_scale(void);

/* The library was made to give bugs a chance (base/hostile.h): a call that may suspend does, a stack is
 * gone when its task is. */
bool suite_is_hostile(void);

/* Of random choices, in the hostile build also of the order of ready tasks: SEED, or 1. */
uint64_t suite_seed(void);

/* False under an emulator, memcheck or a sanitizer: there limits of memory mean something else. */
bool suite_is_native(void);

/* Whether the build is for this sanitizer: "address", "thread", "undefined". */
bool suite_is_for(const char *sanitizer);

/* Whether programs are run by the emulator, or tool, of this name. */
bool suite_is_under(const char *runner);

/* Numbers have a decimal comma from now on, if a locale that has one is installed. suite_use_c_locale() ends it. */
void suite_use_decimal_comma(void);
void suite_use_c_locale(void);

/* Work that need not be done in full where everything is slow: count, or count / scale, at least
 * `least`. */
int suite_scaled_down(int count, int least);

/* For inner loops: ck_assert() tells libcheck of each success, which costs a write. */
#define must(condition)                                                                            \
	do {                                                                                           \
		if (!(condition))                                                                          \
			ck_abort_msg("%s:%d: '%s' does not hold", __FILE__, __LINE__, #condition);             \
	} while (0)

#define must_msg(condition, ...)                                                                   \
	do {                                                                                           \
		if (!(condition))                                                                          \
			ck_abort_msg(__VA_ARGS__);                                                             \
	} while (0)

/* The call fails, by -1 or NULL as the function does it, with this errno. */
#define ck_fails(call, expected) fails_with_(call, -1, expected)
#define ck_fails_null(call, expected) fails_with_(call, NULL, expected)
#define fails_with_(call, failure, expected)                                                       \
	do {                                                                                           \
		errno = 0;                                                                                 \
		bool failed_ = (call) == (failure);                                                        \
		fails_(__LINE__, #call, failed_, errno, expected);                                         \
	} while (0)
void fails_(int line, const char *call, bool failed, int err, int expected);

#endif
