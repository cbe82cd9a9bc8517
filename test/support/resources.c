/* SPDX-License-Identifier: MIT */
#include "resources.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

static int count_entries(const char *path)
{
	DIR *directory = opendir(path);
	int count = 0;
	if (!directory)
		return -1;
	for (struct dirent *entry; (entry = readdir(directory));)
		count += entry->d_name[0] != '.';
	closedir(directory);
	return count;
}

int count_fds(void)
{
	return count_entries("/proc/self/fd");
}

int count_threads(void)
{
	return count_entries("/proc/self/task");
}

int count_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	int count = 0;
	if (!maps)
		return -1;
	for (int c; (c = getc(maps)) != EOF;)
		count += c == '\n';
	fclose(maps);
	return count;
}

/* The number behind `name` in a file of "name: number" lines. */
static long field_of(const char *path, const char *name)
{
	FILE *file = fopen(path, "r");
	char line[256];
	long value = -1;
	if (!file)
		return -1;
	while (value < 0 && fgets(line, sizeof line, file))
		if (strncmp(line, name, strlen(name)) == 0)
			value = atol(line + strlen(name));
	fclose(file);
	return value;
}

long resident_kib(void)
{
	return field_of("/proc/self/status", "VmRSS:");
}

int64_t cpu_time(void)
{
	struct timespec used;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return used.tv_sec * BIDE_SEC + used.tv_nsec;
}

long voluntary_switches(void)
{
	struct rusage usage;
	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

/* ---- the counting allocator -------------------------------------------------------------------- */

#define GUARD 0x5eed5eed5eed5eedu

/* Before and behind each block. */
struct header {
	size_t size;
	size_t guard;
};

static const size_t tail_guard = GUARD;

static void *counted_alloc(size_t size, void *ctx)
{
	struct counting *counting = ctx;
	if (++counting->allocs == counting->fail_at)
		return NULL;
	struct header *header = malloc(sizeof *header + size + sizeof tail_guard);
	if (!header)
		return NULL;
	*header = (struct header){ size, GUARD };
	memset(header + 1, 0xa5, size);
	memcpy((char *)(header + 1) + size, &tail_guard, sizeof tail_guard);
	counting->blocks++;
	counting->bytes += size;
	return header + 1;
}

static void counted_free(void *memory, size_t size, void *ctx)
{
	struct counting *counting = ctx;
	struct header *header = (struct header *)memory - 1;
	if (header->guard != GUARD || header->size != size ||
	    memcmp((char *)memory + size, &tail_guard, sizeof tail_guard) != 0) {
		counting->is_wrong = true;
		return;
	}
	header->guard = 0;
	memset(memory, 0x5a, size);
	counting->blocks--;
	counting->bytes -= size;
	free(header);
}

static void *counted_stack_alloc(size_t size, void *ctx)
{
	struct counting *counting = ctx;
	if (++counting->stack_allocs == counting->stack_fail_at)
		return NULL;
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	counting->stacks++;
	counting->stack_bytes += size;
	return memory;
}

static void counted_stack_free(void *memory, size_t size, void *ctx)
{
	struct counting *counting = ctx;
	if (munmap(memory, size) < 0)
		counting->is_wrong = true;
	counting->stacks--;
	counting->stack_bytes -= size;
}

void counting_init(struct counting *counting, bool stacks_too)
{
	*counting = (struct counting){ .allocator = { .alloc = counted_alloc, .free = counted_free } };
	if (stacks_too) {
		counting->allocator.stack_alloc = counted_stack_alloc;
		counting->allocator.stack_free = counted_stack_free;
	}
	counting->allocator.ctx = counting;
}

bool counting_is_balanced(const struct counting *counting)
{
	return !counting->is_wrong && counting->blocks == 0 && counting->bytes == 0 &&
	    counting->stacks == 0 && counting->stack_bytes == 0;
}
