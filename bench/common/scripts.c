/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: the same work in Go and in Python. */
#include "scripts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

static const char go_source[] =
	"package main\n"
	"import (\"fmt\"; \"os\"; \"strconv\"; \"strings\"; \"sync\"; \"syscall\"; \"time\")\n"
	"func field(path, name string) float64 {\n"
	"	text, _ := os.ReadFile(path)\n"
	"	for _, line := range strings.Split(string(text), \"\\n\") {\n"
	"		if strings.HasPrefix(line, name) {\n"
	"			value, _ := strconv.ParseFloat(strings.Fields(line)[1], 64)\n"
	"			return value * 1024\n"
	"		}\n"
	"	}\n"
	"	return 0\n"
	"}\n"
	"func cpu() float64 {\n"
	"	var usage syscall.Rusage\n"
	"	syscall.Getrusage(0, &usage)\n"
	"	return float64(usage.Utime.Nano() + usage.Stime.Nano())\n"
	"}\n"
	"func main() {\n"
	"	count, _ := strconv.Atoi(os.Args[1])\n"
	"	var parked, ended sync.WaitGroup\n"
	"	gate := make(chan struct{})\n"
	"	parked.Add(count); ended.Add(count)\n"
	"	rss, pte := field(\"/proc/self/smaps_rollup\", \"Rss:\"), field(\"/proc/self/status\", \"VmPTE:\")\n"
	"	start := cpu()\n"
	"	for i := 0; i < count; i++ {\n"
	"		go func() {\n"
	"			parked.Done()\n"
	"			select { case <-gate: case <-time.After(time.Hour): }\n"
	"			ended.Done()\n"
	"		}()\n"
	"	}\n"
	"	parked.Wait(); time.Sleep(100 * time.Millisecond)\n"
	"	park := cpu() - start\n"
	"	rss = field(\"/proc/self/smaps_rollup\", \"Rss:\") - rss\n"
	"	pte = field(\"/proc/self/status\", \"VmPTE:\") - pte\n"
	"	start = cpu()\n"
	"	close(gate); ended.Wait()\n"
	"	n := float64(count)\n"
	"	fmt.Println(rss / n, pte / n, park / n, (cpu() - start) / n)\n"
	"}\n";

static const char asyncio_source[] =
	"import asyncio, sys, time\n"
	"def field(path, name):\n"
	"    for line in open(path):\n"
	"        if line.startswith(name):\n"
	"            return float(line.split()[1]) * 1024\n"
	"async def main(count):\n"
	"    tasks = [None] * count\n"
	"    async def park():\n"
	"        try:\n"
	"            await asyncio.sleep(3600)\n"
	"        except asyncio.CancelledError:\n"
	"            pass\n"
	"    rss, pte = field('/proc/self/smaps_rollup', 'Rss:'), field('/proc/self/status', 'VmPTE:')\n"
	"    start = time.process_time()\n"
	"    for i in range(count):\n"
	"        tasks[i] = asyncio.create_task(park())\n"
	"    await asyncio.sleep(0)\n"
	"    await asyncio.sleep(0)\n"
	"    park_time = time.process_time() - start\n"
	"    rss = field('/proc/self/smaps_rollup', 'Rss:') - rss\n"
	"    pte = field('/proc/self/status', 'VmPTE:') - pte\n"
	"    start = time.process_time()\n"
	"    for task in tasks:\n"
	"        task.cancel()\n"
	"    for task in tasks:\n"
	"        await task\n"
	"    wake_time = time.process_time() - start\n"
	"    print(rss / count, pte / count, park_time * 1e9 / count, wake_time * 1e9 / count)\n"
	"asyncio.run(main(int(sys.argv[1])))\n";

bool script_works(const char *command)
{
	char line[256];
	snprintf(line, sizeof line, "%s >/dev/null 2>&1", command);
	return system(line) == 0;
}

const char *script_missing_go(void)
{
	return script_works("go version") ? NULL : "there is no go here";
}

const char *script_missing_asyncio(void)
{
	return script_works("python3 -c 'import asyncio; asyncio.run'") ? NULL : "there is no python3 with asyncio here";
}

void script_write(const char *directory, const char *name, const char *text)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", directory, name);
	FILE *file = fopen(path, "we");
	if (!file || fputs(text, file) < 0 || fclose(file) != 0)
		bench_fail("cannot write %s", path);
}

/* Runs `command`, a format with the directory, in it, and with the count; reads the figures it prints. */
static script_result run(const char *name, const char *source, const char *command, long count)
{
	char directory[] = "/tmp/bide-parked-XXXXXX", line[1024];
	script_result result;
	if (!mkdtemp(directory))
		bench_fail("cannot make a temporary directory");
	script_write(directory, name, source);
	int length = snprintf(line, sizeof line, "cd %s && ", directory);
	snprintf(line + length, sizeof line - (size_t)length, command, count);
	FILE *output = popen(line, "re");
	int read = output ? fscanf(output, "%lf %lf %lf %lf", &result.resident, &result.page_tables,
		&result.park, &result.wake) : 0;
	int status = output ? pclose(output) : -1;
	snprintf(line, sizeof line, "rm -rf %s", directory);
	if (system(line) != 0 || read != 4 || status != 0)
		bench_fail("%s failed", name);
	return result;
}

script_result script_go(long count)
{
	return run("parked.go", go_source, "GOFLAGS=-mod=mod GO111MODULE=off go build -o parked parked.go && ./parked %ld",
		   count);
}

script_result script_asyncio(long count)
{
	return run("parked.py", asyncio_source, "python3 parked.py %ld", count);
}
