/* SPDX-License-Identifier: MIT
 * Layer stack: what sanitizers and valgrind must be told. Empty in an ordinary build. */
#ifndef STACK_ANNOTATE_H
#define STACK_ANNOTATE_H

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

#ifdef ANNOTATE_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
/* Frames left without returning (bide_exit, a closed coroutine) stay poisoned. */
#define annotate_stack_reuse(low, high) __asan_unpoison_memory_region(low, (size_t)((high) - (low)))
#else
#define annotate_stack_reuse(low, high) ((void)(low), (void)(high))
#endif

#ifdef ANNOTATE_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#ifdef BIDE_VALGRIND
#include <valgrind/valgrind.h>
#define annotate_stack_register(low, high) VALGRIND_STACK_REGISTER(low, (high) - 1)
#define annotate_stack_deregister(id) VALGRIND_STACK_DEREGISTER(id)
#else
#define annotate_stack_register(low, high) ((void)(low), (void)(high), 0u)
#define annotate_stack_deregister(id) ((void)(id))
#endif

#endif
