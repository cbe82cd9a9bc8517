/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: what a request costs an HTTP server: the example docs/examples/httpd against
 * nginx, which answers with the same text from its configuration, both loaded by wrk.
 *
 * Each server runs in a process of its own pinned to one CPU, wrk on another. The cost is the server's CPU
 * time over wrk's run divided by the answers wrk has counted. The servers are compared in turn, each with a
 * fresh process. What is not installed is told and left out. nginx does more with each request than the
 * example (variables, phases, log), and less than it can: it has one process here, and no files. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <bide/net.h>

#include "common/bench.h"
#include "common/echo_server.h"
#include "common/scripts.h"

static char directory[] = "/tmp/bide-http-XXXXXX"; /* nginx's, and the script for wrk */
static char httpd[4096];                           /* the example's path */

/* ---- the servers ---------------------------------------------------------------------------------------- */

static int port_of(int listener)
{
	struct sockaddr_in address = { 0 };
	socklen_t length = sizeof address;
	getsockname(listener, (struct sockaddr *)&address, &length);
	return ntohs(address.sin_port);
}

/* The servers listen by themselves: as soon as our own end of the port is closed, also in the parent. */
static int free_port(int listener)
{
	int port = port_of(listener);
	char address[32];
	snprintf(address, sizeof address, "127.0.0.1:%d", port);
	close(listener);
	while ((listener = bide_listen("tcp", address, 0)) < 0 && errno == EADDRINUSE)
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	close(listener);
	return port;
}

/* It serves until its input ends, which is a pipe that stays open. */
static void serve_httpd(int listener)
{
	char port[16];
	int input[2];
	snprintf(port, sizeof port, "%d", free_port(listener));
	if (pipe(input) == 0 && dup2(input[0], 0) == 0 && freopen("/dev/null", "w", stderr))
		execl(httpd, "httpd", port, (char *)NULL);
}

static void serve_nginx(int listener)
{
	char text[1024];
	snprintf(text, sizeof text,
	    "daemon off; master_process off; pid nginx.pid; error_log stderr crit;\n"
	    "events { worker_connections 4096; }\n"
	    "http { access_log off; keepalive_requests 1000000000; default_type text/plain;\n"
	    "client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;\n"
	    "server { listen 127.0.0.1:%d backlog=4096; location / { return 200 \"Hello, world!\\n\"; } } }\n",
	    free_port(listener));
	script_write(directory, "nginx.conf", text);
	execlp("nginx", "nginx", "-p", directory, "-c", "nginx.conf", "-e", "stderr", (char *)NULL);
}

static const char *missing_httpd(void)
{
	return access(httpd, X_OK) == 0 ? NULL : "it was not built, since there is no HTTP parser here";
}

static const char *missing_nginx(void)
{
	return script_works("nginx -v") ? NULL : "there is no nginx here";
}

/* The first one is what the other is compared with. */
static const echo_server servers[] = {
	{ .name = "nginx", .serve = serve_nginx, .missing = missing_nginx },
	{ .name = "bide httpd", .serve = serve_httpd, .missing = missing_httpd },
};
#define SERVERS (sizeof servers / sizeof *servers)

/* ---- the load ------------------------------------------------------------------------------------------- */

static const struct setting {
	const char *name;
	int connections;
	const char *script; /* for wrk */
	double quick;       /* also with --quick: the share of its time that is gone when it is done; 0: not */
} settings[] = {
	{ "1 connection", 1, NULL, 0 },
	{ "100 connections", 100, NULL, 1 },
	{ "1000 connections", 1000, NULL, 0 },
	{ "100 connections, 16 pipelined", 100,
	  "init = function(args)\n"
	  "  local all = {}\n"
	  "  for i = 1, 16 do all[i] = wrk.format() end\n"
	  "  together = table.concat(all)\n"
	  "end\n"
	  "request = function() return together end\n", 0 },
};
#define SETTINGS (sizeof settings / sizeof *settings)

struct contest {
	const echo_server *server;
	bench_row *cpu, *rate;
};

static void wait_until_it_listens(const echo_process *process)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)process->port) };
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (int tries = 0; tries < 2000; tries++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		bool answers = connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
		close(fd);
		if (answers)
			return;
		nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
	}
	bench_fail("a server does not listen");
}

/* Runs wrk for a second: how many answers there were. */
static double load(const struct setting *setting, int port, double *rate)
{
	char command[256], line[256];
	double answers = 0;
	snprintf(command, sizeof command, "cd %s && wrk -t1 -c%d -d1s %s http://127.0.0.1:%d/ 2>&1", directory,
	    setting->connections, setting->script ? "-s script.lua" : "", port);
	FILE *output = popen(command, "re");
	if (!output)
		bench_fail("wrk: %s", strerror(errno));
	*rate = 0;
	while (fgets(line, sizeof line, output)) {
		if (strstr(line, "requests in"))
			sscanf(line, "%lf", &answers);
		if (strstr(line, "Non-2xx") || strstr(line, "Socket errors"))
			bench_fail("wrk: %s", line);
		sscanf(line, "Requests/sec: %lf", rate);
	}
	if (pclose(output) != 0 || answers == 0)
		bench_fail("wrk failed");
	return answers;
}

static void run_round(const struct contest *contest, const struct setting *setting)
{
	double rate;
	echo_process process = echo_start(contest->server);
	wait_until_it_listens(&process);
	int64_t before = echo_cpu_when_idle(&process);
	double answers = load(setting, process.port, &rate);
	int64_t used = echo_cpu_when_idle(&process) - before;
	echo_stop(&process);
	bench_row_add(contest->cpu, (double)used / 1e3 / answers);
	bench_row_add(contest->rate, rate / 1e3);
	bench_row_end_round(contest->cpu);
	bench_row_end_round(contest->rate);
}

static bench_row *new_row(const struct setting *setting, const char *server, const char *what,
			  const char *unit, bench_clock clock, bench_row *vs)
{
	char name[160];
	snprintf(name, sizeof name, "%s: %s%s", setting->name, server, what);
	return bench_row_new(name, unit, clock, vs);
}

static size_t choose(const struct setting *setting, struct contest *contests)
{
	size_t count = 0;
	for (size_t i = 0; i < SERVERS; i++) {
		const char *name = servers[i].name;
		const struct contest *first = count > 0 ? &contests[0] : NULL;
		if (servers[i].missing())
			continue;
		contests[count++] = (struct contest){
			.server = &servers[i],
			.cpu = new_row(setting, name, "", "us", BENCH_CPU, first ? first->cpu : NULL),
			.rate = new_row(setting, name, ", rate", "1000/s", BENCH_WALL, first ? first->rate : NULL),
		};
	}
	return count;
}

static void run_setting(const struct setting *setting)
{
	struct contest contests[SERVERS];
	size_t count = choose(setting, contests);
	if (setting->script)
		script_write(directory, "script.lua", setting->script);
	for (int round = 0; bench_more_rounds(round, setting->quick); round++)
		for (size_t i = 0; i < count; i++)
			run_round(&contests[i], setting);
	bench_table_head(setting->name);
	for (size_t i = 0; i < count; i++) {
		bench_row_print(contests[i].cpu);
		bench_row_print(contests[i].rate);
	}
}

/* ---- all ------------------------------------------------------------------------------------------------ */

static void find_httpd(void)
{
	ssize_t length = readlink("/proc/self/exe", httpd, sizeof httpd - 64);
	char *slash = length > 0 ? strrchr(httpd, '/') : NULL;
	if (slash)
		strcpy(slash, "/../examples/httpd");
}

static bool is_possible(void)
{
	bool any = false;
	for (size_t i = 0; i < SERVERS; i++) {
		const char *why = servers[i].missing();
		if (why)
			bench_note("  without %s: %s", servers[i].name, why);
		any = any || !why;
	}
	if (!script_works("command -v wrk"))
		bench_note("  nothing is measured: there is no wrk here");
	return any && script_works("command -v wrk");
}

int main(int argc, char **argv)
{
	bench_begin(argc, argv, "http", "what a request costs an HTTP server");
	bench_pin(bench_options.cpu[1]);
	find_httpd();
	if (!is_possible())
		return bench_end();
	if (!mkdtemp(directory))
		bench_fail("cannot make a temporary directory");
	for (size_t i = 0; i < SETTINGS; i++)
		if ((!bench_options.quick || settings[i].quick > 0) && bench_wants(settings[i].name))
			run_setting(&settings[i]);
	char command[64];
	snprintf(command, sizeof command, "rm -rf %s", directory);
	(void)!system(command);
	return bench_end();
}
