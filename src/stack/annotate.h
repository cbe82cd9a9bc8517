/* SPDX-License-Identifier: MIT
 * Layer stack: what sanitizers and valgrind must be told. Empty in an ordinary build. */
#ifndef STACK_ANNOTATE_H
#define STACK_ANNOTATE_H

#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ANNOTATE_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define ANNOTATE_TSAN 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define ANNOTATE_ASAN 1
#endif
#ifdef __SANITIZE_THREAD__
#define ANNOTATE_TSAN 1
#endif

/* For functions that read or write whole stacks, whatever lies on them. */
#define ANNOTATE_UNCHECKED __attribute__((noinline, no_sanitize("address"), no_sanitize("thread")))

#ifdef ANNOTATE_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif

#ifdef ANNOTATE_TSAN
#include <sanitizer/tsan_interface.h>
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#endif

#ifdef BIDE_VALGRIND
#include <valgrind/memcheck.h>
#endif

/* A stack's own note: 0, or in use. */
#if defined(ANNOTATE_ASAN) || defined(BIDE_VALGRIND)
#define ANNOTATE_FIELD unsigned annotation;
#define ANNOTATE_ID(holder) (&(holder)->annotation)
#else
#define ANNOTATE_FIELD
#define ANNOTATE_ID(holder) ((void)(holder), (unsigned *)0)
#endif

/* A stack begins to be used: it may be written to, and a leak check searches it for pointers. `is_ours`
 * tells the pool's memory from the caller's, of which nothing else is known. Frames that were left
 * without returning (by bide_exit, by a closed coroutine) stay poisoned, so memory of the caller's
 * may come that way too. */
static inline void annotate_stack_begins(char *low, char *high, int is_ours, unsigned *id)
{
	(void)low, (void)high, (void)is_ours, (void)id;
#ifdef ANNOTATE_ASAN
	__asan_unpoison_memory_region(low, (size_t)(high - low));
	__lsan_register_root_region(low, (size_t)(high - low));
	*id = 1;
#endif
#ifdef BIDE_VALGRIND
	if (is_ours)
		VALGRIND_MAKE_MEM_UNDEFINED(low, high - low);
	*id = VALGRIND_STACK_REGISTER(low, high - 1) + 1;
#endif
}

/* It is used no more, if it ever was: the caller's memory may be touched again, the pool's must not. */
static inline void annotate_stack_ends(char *low, char *high, int is_ours, const unsigned *id)
{
	(void)low, (void)high, (void)is_ours, (void)id;
#ifdef ANNOTATE_ASAN
	if (*id) {
		__lsan_unregister_root_region(low, (size_t)(high - low));
		__asan_unpoison_memory_region(low, (size_t)(high - low));
	}
	if (is_ours)
		__asan_poison_memory_region(low, (size_t)(high - low));
#endif
#ifdef BIDE_VALGRIND
	if (*id)
		VALGRIND_STACK_DEREGISTER(*id - 1);
	if (is_ours)
		VALGRIND_MAKE_MEM_NOACCESS(low, high - low);
	else if (*id)
		VALGRIND_MAKE_MEM_DEFINED(low, high - low);
#endif
}

/* Address space that is unmapped must not leave a mark on what is mapped there next. */
static inline void annotate_unmapped(char *start, size_t size)
{
	(void)start, (void)size;
#ifdef ANNOTATE_ASAN
	__asan_unpoison_memory_region(start, size);
#endif
}

/* Around what a handler does for a fault that may have come in the middle of ThreadSanitizer itself, while it
 * held a lock: what looks like a race would be reported, and wait for that lock for ever. */
static inline void annotate_fault_begins(void)
{
#ifdef ANNOTATE_TSAN
	AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
	AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
}

static inline void annotate_fault_ends(void)
{
#ifdef ANNOTATE_TSAN
	AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
	AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#endif
}

/* For a look at what a stack holds below its frames. */
static inline void annotate_readable(char *low, char *high)
{
	(void)low, (void)high;
#ifdef BIDE_VALGRIND
	VALGRIND_MAKE_MEM_DEFINED(low, high - low);
#endif
}

#endif
