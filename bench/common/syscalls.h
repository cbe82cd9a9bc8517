/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: how many system calls a process makes, where the kernel tells (the
 * tracepoint raw_syscalls:sys_enter; as a rule that needs root). */
#ifndef BENCH_SYSCALLS_H
#define BENCH_SYSCALLS_H

#include <stdint.h>
#include <sys/types.h>

/* A counter, standing still, for the calls of `pid` and of the threads that it makes from now on.
 * -1: the kernel does not tell. */
int syscalls_open(pid_t pid);

/* All three do nothing with a counter of -1. */
void syscalls_start(int counter);
int64_t syscalls_stop(int counter); /* what it counted so far */
void syscalls_close(int counter);

#endif
