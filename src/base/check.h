/* SPDX-License-Identifier: MIT
 * Layer base: assertions about our own invariants. Bad input never ends here: that is an errno. */
#ifndef BASE_CHECK_H
#define BASE_CHECK_H

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Ends the process if a rule of the library itself is broken. `rule` is a string that says what
 * should have held. Always compiled in: use it where it costs next to nothing. */
#define CHECK(condition, rule)                                                                     \
	(likely(condition) ? (void)0 : check_failed(__FILE__, __LINE__, rule))

__attribute__((cold)) _Noreturn void check_failed(const char *file, int line, const char *rule);

#endif
