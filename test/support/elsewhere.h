/* SPDX-License-Identifier: MIT
 * Calls made from somewhere else than the running task. Each function returns the errno that call()
 * failed with, 0 if it succeeded. */
#ifndef SUPPORT_ELSEWHERE_H
#define SUPPORT_ELSEWHERE_H

#include <pthread.h>

/* From a callback of the loop; the caller is a task, and waits. */
int errno_in_callback(int (*call)(void));
/* From a thread that has no loop; the caller's own stands still meanwhile. */
int errno_on_plain_thread(int (*call)(void));
/* From a task of a loop on another thread; the caller's own stands still meanwhile. */
int errno_in_other_loop(int (*call)(void));

/* A thread, which must be had and must end. */
pthread_t thread_start(void *(*fn)(void *arg), void *arg);
void thread_finish(pthread_t thread);

#endif
