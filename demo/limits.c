/* SPDX-License-Identifier: MIT
 * Demo: how many connections this machine allows. What cannot be known beforehand (RLIMIT_NPROC
 * counts all of a user's threads) shows when a thread cannot be created: main.c deals with that. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "limits.h"
#include "measure.h"
#include "process.h"

enum {
	OTHER_DESCRIPTORS = 128,         /* of a process, besides its connections */
	OTHER_THREADS = 200,             /* left to the rest of the machine */
	OTHER_MAPPINGS = 1000,
	MEMORY_PER_CONNECTION = 96 << 10 /* two servers, four sockets and their buffers, two clients */
};

struct fit {
	double connections;
	char *reason;
	size_t size;
};

/* `room` of something suffices for so many connections; `what` names the limit. */
static void limit(struct fit *fit, double room, const char *what)
{
	if (room >= fit->connections)
		return;
	fit->connections = room > 0 ? (double)(long)room : 0;
	snprintf(fit->reason, fit->size, "%s", what);
}

/* What the cgroup at `path` below `base`, and each one above it, still allows of processes. */
static void limit_by_cgroup(struct fit *fit, const char *base, char *path)
{
	for (;;) {
		char file[600];
		double max, current;
		snprintf(file, sizeof(file), "%s%s/pids.max", base, path);
		bool limited = number_in_file(file, NULL, &max); /* else it says "max" */
		snprintf(file, sizeof(file), "%s%s/pids.current", base, path);
		if (limited && number_in_file(file, NULL, &current))
			limit(fit, max - current - 8,
			      "the control group's limit of threads (pids.max)");
		char *slash = strrchr(path, '/');
		if (!slash)
			return;
		*slash = '\0';
	}
}

static void limit_by_cgroups(struct fit *fit)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[400];

	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) { /* "0::/path" in version 2, "8:pids:/path" in 1 */
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		if (strcmp(path, "/") == 0)
			*path = '\0';
		if (strcmp(controllers + 1, "") == 0)
			limit_by_cgroup(fit, "/sys/fs/cgroup", path);
		else if (strcmp(controllers + 1, "pids") == 0)
			limit_by_cgroup(fit, "/sys/fs/cgroup/pids", path);
	}
	fclose(file);
}

static void limit_by_threads(struct fit *fit)
{
	FILE *file = fopen("/proc/loadavg", "re");
	double max, threads = 0;

	if (file && fscanf(file, "%*f %*f %*f %*d/%lf", &threads) != 1)
		threads = 0;
	if (file)
		fclose(file);
	if (number_in_file("/proc/sys/kernel/threads-max", NULL, &max))
		limit(fit, max - threads - OTHER_THREADS, "the limit of threads (kernel.threads-max)");
	if (number_in_file("/proc/sys/kernel/pid_max", NULL, &max))
		limit(fit, max - threads - OTHER_THREADS, "the limit of threads (kernel.pid_max)");
	if (number_in_file("/proc/sys/vm/max_map_count", NULL, &max))
		limit(fit, (max - OTHER_MAPPINGS) / 2,
		      "vm.max_map_count: a thread's stack and its guard are two mappings");
}

unsigned limits_connections(unsigned wanted, char *reason, size_t size)
{
	struct fit fit = { wanted, reason, size };
	struct rlimit files;
	double available;

	*reason = '\0';
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max != RLIM_INFINITY)
		limit(&fit, (double)files.rlim_max - OTHER_DESCRIPTORS,
		      "the hard limit of descriptors (ulimit -Hn)");
	limit_by_threads(&fit);
	limit_by_cgroups(&fit);
	if (number_in_file("/proc/meminfo", "MemAvailable:", &available))
		limit(&fit, available * 1024 / MEMORY_PER_CONNECTION, "free memory");
	return (unsigned)fit.connections;
}

unsigned limits_set_descriptors(unsigned connections)
{
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = connections + OTHER_DESCRIPTORS;
	if (setrlimit(RLIMIT_NOFILE, &files) < 0)
		die("cannot have %u descriptors", connections + OTHER_DESCRIPTORS);
	return (unsigned)files.rlim_cur;
}
