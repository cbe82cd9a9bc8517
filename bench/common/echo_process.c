/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: a server's process, from its start to its end, seen from outside. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bide/net.h>

#include "echo_server.h"

static int port_of(int listener)
{
	struct sockaddr_in address;
	socklen_t length = sizeof address;
	if (getsockname(listener, (struct sockaddr *)&address, &length) != 0)
		bench_fail("getsockname: %s", strerror(errno));
	return ntohs(address.sin_port);
}

static _Noreturn void be_server(const echo_server *server, int listener, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	bench_pin(bench_options.cpu[0]);
	server->serve(listener);
	fprintf(stderr, "%s: %s\n", server->name, strerror(errno));
	_exit(1);
}

/* All servers listen on a socket made by one call before the fork, so with the same options, and
 * connections can be made at once. */
echo_process echo_start(const echo_server *server)
{
	bide_listen_opts opts = BIDE_LISTEN_OPTS_INIT;
	opts.flags = server->shares_port ? BIDE_LISTEN_REUSEPORT : 0;
	int listener = bide_listen_with("tcp", "127.0.0.1:0", &opts);
	if (listener < 0)
		bench_fail("bide_listen: %s", strerror(errno));
	echo_process process = { .port = port_of(listener) };
	pid_t parent = getpid();
	fflush(NULL);
	process.pid = fork();
	if (process.pid < 0)
		bench_fail("fork: %s", strerror(errno));
	if (process.pid == 0)
		be_server(server, listener, parent);
	close(listener);
	if (clock_getcpuclockid(process.pid, &process.cpu_clock) != 0)
		bench_fail("%s: no clock of its process", server->name);
	return process;
}

void echo_stop(const echo_process *process)
{
	kill(process->pid, SIGKILL);
	waitpid(process->pid, NULL, 0);
}

static int64_t cpu_so_far(const echo_process *process)
{
	struct timespec used;
	if (clock_gettime(process->cpu_clock, &used) != 0)
		bench_fail("a server's CPU clock: %s", strerror(errno));
	return used.tv_sec * INT64_C(1000000000) + used.tv_nsec;
}

/* Its first thread, that is; the letter of its state stands behind the name in parentheses. */
static bool is_asleep(pid_t pid)
{
	char path[64], line[256];
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	FILE *file = fopen(path, "re");
	const char *name_end = file && fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
	bool asleep = !name_end || strncmp(name_end, ") S", 3) == 0;
	if (file)
		fclose(file);
	return asleep;
}

/* A clock that stands still may also mean that the CPU is another process's. */
int64_t echo_cpu_when_idle(const echo_process *process)
{
	struct timespec pause = { 0, 500 * 1000 };
	int64_t used = -1, before;
	do {
		before = used;
		nanosleep(&pause, NULL);
		used = cpu_so_far(process);
	} while (used != before || !is_asleep(process->pid));
	return used;
}

static int64_t time_on_cpu(pid_t pid, const char *thread)
{
	char path[300];
	long long used = -1;
	snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", (int)pid, thread);
	FILE *file = fopen(path, "re");
	if (!file)
		return -1;
	if (fscanf(file, "%lld", &used) != 1)
		used = -1;
	fclose(file);
	return used;
}

int echo_threads_cpu(const echo_process *process, int64_t ns[], int most)
{
	char path[64];
	int count = 0;
	snprintf(path, sizeof path, "/proc/%d/task", (int)process->pid);
	DIR *threads = opendir(path);
	if (!threads)
		return 0;
	for (struct dirent *entry; count < most && (entry = readdir(threads));) {
		int64_t used = entry->d_name[0] == '.' ? -1 : time_on_cpu(process->pid, entry->d_name);
		if (used >= 0)
			ns[count++] = used;
	}
	closedir(threads);
	return count;
}

/* The number after `key` in a file of the process's; 0 if it is not there. */
static double kibibytes(pid_t pid, const char *file_name, const char *key)
{
	char path[64], line[256];
	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file_name);
	FILE *file = fopen(path, "re");
	double size = 0;
	while (file && size == 0 && fgets(line, sizeof line, file))
		if (strncmp(line, key, strlen(key)) == 0)
			sscanf(line + strlen(key), "%lf", &size);
	if (file)
		fclose(file);
	return size;
}

/* smaps_rollup counts; VmRSS lags behind by some pages a CPU. */
double echo_memory(const echo_process *process)
{
	double resident = kibibytes(process->pid, "smaps_rollup", "Rss:");
	if (resident == 0)
		resident = kibibytes(process->pid, "status", "VmRSS:");
	return resident + kibibytes(process->pid, "status", "VmPTE:");
}
