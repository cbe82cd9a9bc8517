/* SPDX-License-Identifier: MIT
 * Layer base: counted fault injection; the grammar is that of bide_fault() in bide/testing.h. */
#include "base/fault.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/locks.h"

#define SHORT_TRANSFER (-1) /* in place of an errno: not a failure, a short count */

struct fault {
	int err;       /* 0: none */
	unsigned at;   /* strikes when the count reaches it; 0: each time */
	bool every;    /* then again every `at` calls */
	unsigned count;
};

atomic_bool fault_armed;
__thread bool fault_spares_thread;

static struct fault faults[FAULT_COUNT];

static const char *const point_names[FAULT_COUNT] = {
#define X(name, text) text,
	FAULT_POINTS(X)
#undef X
};

static const struct {
	const char *name;
	int err;
} errors[] = {
	{ "EACCES", EACCES }, { "EADDRINUSE", EADDRINUSE }, { "EAGAIN", EAGAIN }, { "EBADF", EBADF },
	{ "ECONNABORTED", ECONNABORTED }, { "ECONNREFUSED", ECONNREFUSED }, { "ECONNRESET", ECONNRESET },
	{ "EINTR", EINTR }, { "EINVAL", EINVAL }, { "EIO", EIO }, { "EMFILE", EMFILE },
	{ "ENFILE", ENFILE }, { "ENOBUFS", ENOBUFS }, { "ENOENT", ENOENT }, { "ENOMEM", ENOMEM },
	{ "ENOSPC", ENOSPC }, { "ENOSYS", ENOSYS }, { "EOPNOTSUPP", EOPNOTSUPP }, { "EPERM", EPERM },
	{ "EPIPE", EPIPE }, { "EPROTO", EPROTO }, { "ETIMEDOUT", ETIMEDOUT }, { "short", SHORT_TRANSFER },
};

/* Counts the call if the point's fault is of the kind asked for (a failure, or a short transfer);
 * the err of the fault if it strikes now, else 0. */
static int count_call(enum fault_point point, bool short_transfer)
{
	if (fault_spares_thread)
		return 0;
	lock_take(LOCK_FAULTS);
	struct fault *fault = &faults[point];
	int err = 0;
	if (fault->err && (fault->err == SHORT_TRANSFER) == short_transfer) {
		fault->count++;
		if (fault->at == 0 || fault->count == fault->at) {
			err = fault->err;
			if (fault->every)
				fault->count = 0;
		}
	}
	lock_release(LOCK_FAULTS);
	return err;
}

bool fault_strikes(enum fault_point point)
{
	int err = count_call(point, false);
	if (err)
		errno = err;
	return err != 0;
}

size_t fault_shortened(enum fault_point point, size_t size)
{
	return size > 0 && count_call(point, true) ? 1 : size;
}

const struct iovec *fault_cut_pieces(enum fault_point point, const struct iovec *iov, int *count,
    struct iovec *one)
{
	int first = 0;
	while (first < *count && iov[first].iov_len == 0)
		first++;
	if (first >= *count || !count_call(point, true))
		return iov;
	*one = (struct iovec){ iov[first].iov_base, 1 };
	*count = 1;
	return one;
}

static bool word_is(const char *name, const char *word, size_t length)
{
	return strlen(name) == length && memcmp(name, word, length) == 0;
}

static int find_point(const char *word, size_t length)
{
	for (int i = 0; i < FAULT_COUNT; i++)
		if (word_is(point_names[i], word, length))
			return i;
	return -1;
}

static int find_error(const char *word, size_t length)
{
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (word_is(errors[i].name, word, length))
			return errors[i].err;
	return 0;
}

static bool takes_short(int point)
{
	return point == FAULT_READ || point == FAULT_WRITE || point == FAULT_RECV || point == FAULT_SEND ||
	    point == FAULT_SENDFILE;
}

/* "call:ERRNO", "call:ERRNO@N" or "call:ERRNO%N"; the end of it, or NULL if it does not parse. */
static const char *parse_one(const char *spec, struct fault *set)
{
	size_t length = strcspn(spec, ":,");
	int point = find_point(spec, length);
	if (point < 0 || spec[length] != ':')
		return NULL;
	spec += length + 1;
	length = strcspn(spec, "@%,");
	struct fault fault = { .err = find_error(spec, length) };
	if (!fault.err || (fault.err == SHORT_TRANSFER && !takes_short(point)))
		return NULL;
	spec += length;
	if (*spec == '@' || *spec == '%') {
		fault.every = *spec == '%';
		if (!isdigit((unsigned char)spec[1]))
			return NULL;
		char *end;
		unsigned long at = strtoul(spec + 1, &end, 10);
		if (at == 0 || at > 1000000000)
			return NULL;
		fault.at = (unsigned)at;
		spec = end;
	}
	set[point] = fault;
	if (*spec == '\0')
		return spec;
	return *spec == ',' && spec[1] != '\0' ? spec + 1 : NULL;
}

int fault_set(const char *spec)
{
	struct fault set[FAULT_COUNT] = { { 0 } };
	bool any = spec && *spec;
	for (const char *rest = spec; rest && *rest;) {
		rest = parse_one(rest, set);
		if (!rest)
			return fail_with(EINVAL);
	}
	lock_take(LOCK_FAULTS);
	memcpy(faults, set, sizeof faults);
	lock_release(LOCK_FAULTS);
	atomic_store_explicit(&fault_armed, any, memory_order_relaxed);
	return 0;
}
