/* SPDX-License-Identifier: MIT
 * Layer stack: guards. MADV_GUARD_INSTALL (Linux 6.13) marks pages without splitting the mapping,
 * so a hundred thousand guarded stacks cost no mappings; elsewhere mprotect, two mappings each. */
#include <errno.h>
#include <pthread.h>

#include "base/check.h"
#include "base/system.h"
#include "stack/stack.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

static pthread_once_t probe_once = PTHREAD_ONCE_INIT;
static enum stack_guard guard_kind;

/* True if the kernel refuses to read a path from there: tells without a fault whether a page can be
 * read. An emulator may accept the advice and do nothing. */
static bool is_unreadable(const char *page)
{
	return access(page, F_OK) < 0 && errno == EFAULT;
}

static void probe(void)
{
	int saved = errno;
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	guard_kind = STACK_GUARD_PROTECT;
	char *page = mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page != MAP_FAILED) {
		if (madvise(page, page_size, MADV_GUARD_INSTALL) == 0 && is_unreadable(page))
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

int stack_guard_install(char *start, size_t size)
{
	if (stack_guard_kind() == STACK_GUARD_ADVICE && system_madvise(start, size, MADV_GUARD_INSTALL) == 0)
		return 0;
	return system_mprotect(start, size, PROT_NONE);
}
