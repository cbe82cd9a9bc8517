/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: the echo server in Go, a goroutine a connection on one processor, and on
 * Python's asyncio, a Protocol. Each takes the place of the server's process, with the listener as 3. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/echo_server.h"
#include "common/scripts.h"

static const char go_source[] =
	"package main\n"
	"import (\"net\"; \"os\"; \"runtime\")\n"
	"func main() {\n"
	"	runtime.GOMAXPROCS(1)\n"
	"	listener, err := net.FileListener(os.NewFile(3, \"listener\"))\n"
	"	if err != nil { panic(err) }\n"
	"	for {\n"
	"		connection, err := listener.Accept()\n"
	"		if err != nil { panic(err) }\n"
	"		go func() {\n"
	"			defer connection.Close()\n"
	"			buffer := make([]byte, 16 * 1024)\n"
	"			for {\n"
	"				count, err := connection.Read(buffer)\n"
	"				if err != nil { return }\n"
	"				if _, err := connection.Write(buffer[:count]); err != nil { return }\n"
	"			}\n"
	"		}()\n"
	"	}\n"
	"}\n";

static const char asyncio_source[] =
	"import asyncio, socket\n"
	"class Echo(asyncio.Protocol):\n"
	"    def connection_made(self, transport):\n"
	"        self.write = transport.write\n"
	"    def data_received(self, data):\n"
	"        self.write(data)\n"
	"async def main():\n"
	"    listener = socket.socket(fileno=3)\n"
	"    server = await asyncio.get_running_loop().create_server(Echo, sock=listener, backlog=4096)\n"
	"    await server.serve_forever()\n"
	"asyncio.run(main())\n";

static char directory[] = "/tmp/bide-echo-XXXXXX";
static pid_t owner; /* who made it */

static void remove_directory(void)
{
	char command[64];
	snprintf(command, sizeof command, "rm -rf %s", directory);
	if (getpid() == owner)
		(void)!system(command);
}

static void make_directory(void)
{
	if (owner)
		return;
	if (!mkdtemp(directory))
		bench_fail("cannot make a temporary directory");
	owner = getpid();
	atexit(remove_directory);
	script_write(directory, "echo.go", go_source);
	script_write(directory, "echo.py", asyncio_source);
}

/* Compiles it too, once. */
static const char *missing_go(void)
{
	static const char *why = "?";
	char command[256];
	if (!why || *why != '?')
		return why;
	why = script_missing_go();
	if (why)
		return why;
	make_directory();
	snprintf(command, sizeof command, "cd %s && GO111MODULE=off go build -o echo echo.go", directory);
	return why = script_works(command) ? NULL : "go does not compile it";
}

static const char *missing_asyncio(void)
{
	static const char *why = "?";
	if (why && *why == '?')
		why = script_missing_asyncio();
	if (!why)
		make_directory();
	return why;
}

/* The listener is close-on-exec, which a copy is not. */
static bool enter(int listener)
{
	int copied = listener == 3 ? fcntl(3, F_SETFD, 0) : dup2(listener, 3);
	return chdir(directory) == 0 && copied >= 0;
}

static void serve_go(int listener)
{
	if (enter(listener))
		execl("./echo", "echo", (char *)NULL);
}

static void serve_asyncio(int listener)
{
	if (enter(listener))
		execlp("python3", "python3", "echo.py", (char *)NULL);
}

const echo_server echo_go = { .name = "Go", .serve = serve_go, .missing = missing_go };
const echo_server echo_asyncio = { .name = "asyncio", .serve = serve_asyncio, .missing = missing_asyncio };
