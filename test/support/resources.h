/* SPDX-License-Identifier: MIT
 * What a test counts to see that nothing leaked. */
#ifndef SUPPORT_RESOURCES_H
#define SUPPORT_RESOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bide/loop.h>

int count_fds(void);
int count_mappings(void);
int count_threads(void);
long resident_kib(void);
/* Nanoseconds that the calling thread has computed. */
int64_t cpu_time(void);
/* How often the calling thread has given the processor up of its own accord: by going to sleep. */
long voluntary_switches(void);

/* An allocator that counts, checks the sizes given to free and that nothing was written behind a block,
 * fills with rubbish what it hands out and gets back, and fails on demand. */
struct counting {
	bide_allocator allocator; /* to put into bide_config */
	size_t blocks, bytes;     /* out now */
	size_t stacks, stack_bytes;
	size_t allocs;            /* so many calls of alloc */
	size_t fail_at;           /* this one fails, counted from 1; 0: none */
	size_t stack_allocs, stack_fail_at;
	bool is_wrong;            /* something was freed that was not allocated so */
};

/* Heap hooks only, or stack hooks too. */
void counting_init(struct counting *counting, bool stacks_too);
bool counting_is_balanced(const struct counting *counting);

#endif
