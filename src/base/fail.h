/* SPDX-License-Identifier: MIT
 * Layer base: how a public call fails. */
#ifndef BASE_FAIL_H
#define BASE_FAIL_H

#include <errno.h>
#include <stddef.h>

/* -1 with errno, so that a call can end in it. */
static inline int fail_with(int err)
{
	errno = err;
	return -1;
}

/* The same for calls that return a pointer. */
static inline void *fail_null(int err)
{
	errno = err;
	return NULL;
}

#endif
