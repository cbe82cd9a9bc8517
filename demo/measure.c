/* SPDX-License-Identifier: MIT
 * Demo: what a process uses, as the kernel counts it: proc(5), clock_getcpuclockid(3). */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"

/* The number after `label` at a line's head; with no label the first in the file. */
bool number_in_file(const char *path, const char *label, double *number)
{
	FILE *file = fopen(path, "re");
	char line[256];
	bool found = false;
	size_t length = label ? strlen(label) : 0;

	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		if (!label || strncmp(line, label, length) == 0)
			found = sscanf(line + length, "%lf", number) == 1;
	fclose(file);
	return found;
}

bool measure_memory(pid_t pid, struct memory *memory)
{
	char path[64];
	double threads;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (!number_in_file(path, "VmSize:", &memory->address_space) ||
	    !number_in_file(path, "VmRSS:", &memory->resident) ||
	    !number_in_file(path, "VmPTE:", &memory->page_tables) ||
	    !number_in_file(path, "Threads:", &threads))
		return false;
	memory->address_space *= 1024;
	memory->resident *= 1024;
	memory->page_tables *= 1024;
	memory->threads = (unsigned)threads;
	return true;
}

bool measure_cpu(pid_t pid, double *seconds)
{
	clockid_t clock;
	struct timespec used;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
		return false;
	*seconds = (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
	return true;
}

bool measure_switches(pid_t pid, double *switches)
{
	char path[400];
	struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *tasks = opendir(path);
	if (!tasks)
		return false;
	*switches = 0;
	while ((entry = readdir(tasks))) {
		double number;
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/status", (int)pid, entry->d_name);
		if (number_in_file(path, "voluntary_ctxt_switches:", &number))
			*switches += number;
		if (number_in_file(path, "nonvoluntary_ctxt_switches:", &number))
			*switches += number;
	}
	closedir(tasks);
	return true;
}

/* Without interrupts: the traffic between server and client causes most of them, and whether they
 * count for the process that they interrupt depends on the kernel's configuration. */
bool measure_machine(double *seconds)
{
	double user, nice, system, stolen, tick = (double)sysconf(_SC_CLK_TCK);
	FILE *file = fopen("/proc/stat", "re");

	if (!file)
		return false;
	bool found = fscanf(file, "cpu %lf %lf %lf %*f %*f %*f %*f %lf", &user, &nice, &system,
			    &stolen) == 4;
	fclose(file);
	if (found)
		*seconds = (user + nice + system + stolen) / tick;
	return found;
}

double measure_kernel_stacks(void)
{
	double kib;

	return number_in_file("/proc/meminfo", "KernelStack:", &kib) ? kib * 1024 : 0;
}
