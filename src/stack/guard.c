/* SPDX-License-Identifier: MIT
 * Layer stack: guards. */
#include "stack/guard.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/fail.h"
#include "base/system.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

/* ---- which kind --------------------------------------------------------------------------------- */

static pthread_once_t probe_once = PTHREAD_ONCE_INIT;
static enum stack_guard guard_kind;

/* True if the kernel refuses to make a page readable: told without a fault, and without a path or a
 * buffer there, which memcheck would look at itself. An emulator may accept either advice and do
 * nothing. */
static bool is_unreadable(char *page, size_t size)
{
	return madvise(page, size, MADV_POPULATE_READ) < 0 && errno == EFAULT;
}

static void probe(void)
{
	int saved = errno;
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	guard_kind = STACK_GUARD_PROTECT;
	char *page = mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page != MAP_FAILED) {
		if (madvise(page, page_size, MADV_GUARD_INSTALL) == 0 && is_unreadable(page, page_size))
			guard_kind = STACK_GUARD_ADVICE;
		munmap(page, page_size);
	}
	errno = saved;
}

enum stack_guard stack_guard_kind(void)
{
	pthread_once(&probe_once, probe);
	return guard_kind;
}

size_t stack_guard_size(void)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	return (STACK_GUARD_SIZE + page_size - 1) / page_size * page_size;
}

/* ---- how many mappings they may take -------------------------------------------------------------- */

#define LIMIT_DEFAULT 65530 /* DEFAULT_MAX_MAP_COUNT of the kernel, where /proc is not there to ask */
#define FOR_OTHERS 16       /* one of so many mappings is left to the rest of the program */

static atomic_long protected_guards; /* of all pools; each splits its mapping in two places */
static atomic_long known_limit;      /* 0: not asked yet */

/* Such a file gives its text to the first read only; one that is cut, without its newline, is not
 * believed. */
static long read_number(const char *path, long otherwise)
{
	char text[32];
	int fd = system_open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return otherwise;
	ssize_t length = system_read(fd, text, sizeof text - 1);
	system_close(fd);
	if (length <= 0 || text[length - 1] != '\n')
		return otherwise;
	text[length - 1] = '\0';
	long number = strtol(text, NULL, 10);
	return number > 0 ? number : otherwise;
}

long stack_mapping_limit(void)
{
	int saved = errno;
	long limit = read_number("/proc/sys/vm/max_map_count", LIMIT_DEFAULT);
	atomic_store_explicit(&known_limit, limit, memory_order_relaxed);
	errno = saved;
	return limit;
}

long stack_guard_mappings(void)
{
	return 2 * atomic_load_explicit(&protected_guards, memory_order_relaxed);
}

static bool fits(long guards, long limit)
{
	return 2 * guards <= limit - limit / FOR_OTHERS;
}

/* Whoever is at the limit asks for it anew: it can be raised while we run. */
static int claim_mappings(void)
{
	long guards = atomic_fetch_add_explicit(&protected_guards, 1, memory_order_relaxed) + 1;
	if (fits(guards, atomic_load_explicit(&known_limit, memory_order_relaxed)) ||
	    fits(guards, stack_mapping_limit()))
		return 0;
	stack_guards_gone(1);
	return fail_with(ENOMEM);
}

/* Whether the kernel would split so many pages off still, as somebody else may want to. Tried out, since it
 * tells how many mappings there are only by listing them all. */
#define SPLITS_FOR_OTHERS 32

static bool leaves_some_to_others(void)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE), size = 2 * SPLITS_FOR_OTHERS * page_size;
	char *pages = system_mmap(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
	if (pages == MAP_FAILED)
		return false;
	size_t at = page_size;
	while (at < size && system_mprotect(pages + at, page_size, PROT_NONE) == 0)
		at += 2 * page_size;
	int err = errno;
	munmap(pages, size);
	errno = err;
	return at >= size;
}

void stack_guards_gone(long count)
{
	atomic_fetch_sub_explicit(&protected_guards, count, memory_order_relaxed);
}

/* ---- putting them in place ------------------------------------------------------------------------ */

static bool advise(char *start, size_t size)
{
	return stack_guard_kind() == STACK_GUARD_ADVICE && system_madvise(start, size, MADV_GUARD_INSTALL) == 0;
}

int stack_guard_install(char *start, size_t size)
{
	return advise(start, size) ? 0 : system_mprotect(start, size, PROT_NONE);
}

static int protect(char *start, size_t size)
{
	if (claim_mappings() < 0)
		return -1;
	if (system_mprotect(start, size, PROT_NONE) == 0)
		return 0;
	stack_guards_gone(1);
	return -1;
}

/* Advice is tried for each: it is refused for locked memory, for instance. */
long stack_guards_install(char *start, size_t stride, size_t count, size_t size)
{
	long by_protection = 0;
	for (size_t i = 0; i < count; i++) {
		if (advise(start + i * stride, size))
			continue;
		if (protect(start + i * stride, size) < 0)
			goto undo;
		by_protection++;
	}
	if (by_protection == 0 || leaves_some_to_others())
		return by_protection;

undo:;
	int err = errno;
	if (by_protection > 0)
		mprotect(start, count * stride, PROT_READ | PROT_WRITE);
	stack_guards_gone(by_protection);
	return fail_with(err);
}
