/* SPDX-License-Identifier: MIT
 * Demo: the table of both sides, and what is to be said below it. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "results.h"
#include "table.h"

static double median(const double values[ROUNDS])
{
	double sorted[ROUNDS];

	memcpy(sorted, values, sizeof(sorted));
	for (int i = 1; i < ROUNDS; i++)
		for (int j = i; j > 0 && sorted[j] < sorted[j - 1]; j--) {
			double swapped = sorted[j];
			sorted[j] = sorted[j - 1];
			sorted[j - 1] = swapped;
		}
	return sorted[ROUNDS / 2];
}

static void print_memory(const struct memory *bide, const struct memory *threads,
			 double kernel_stack, double connections)
{
	struct { const char *name; double bide, threads; } rows[] = {
		{ "  resident (VmRSS)", bide->resident, threads->resident },
		{ "  page tables (VmPTE)", bide->page_tables, threads->page_tables },
		{ "  kernel stacks", bide->threads * kernel_stack, threads->threads * kernel_stack },
		{ "  all three", 0, 0 },
		{ "  address space (VmSize)", bide->address_space, threads->address_space },
	};

	for (int i = 0; i < 3; i++) {
		rows[3].bide += rows[i].bide;
		rows[3].threads += rows[i].threads;
	}
	for (int i = 0; i < 5; i++)
		table_row(rows[i].name, UNIT_BYTES, rows[i].bide / connections,
			  rows[i].threads / connections, "less", "more");
}

static struct memory difference(const struct memory *held, const struct memory *empty)
{
	return (struct memory){ held->address_space - empty->address_space,
				held->resident - empty->resident,
				held->page_tables - empty->page_tables,
				held->threads - empty->threads };
}

void results_print(const struct side *bide, const struct side *threads, double kernel_stack,
		   unsigned active)
{
	double count = bide->last.count;
	struct memory bide_added = difference(&bide->held, &bide->empty);
	struct memory threads_added = difference(&threads->held, &threads->empty);
	char title[80];

	table_head("bide", "threads");
	table_row("connections held", UNIT_COUNT, count, count, NULL, NULL);
	table_row("threads in the server", UNIT_COUNT, bide->held.threads, threads->held.threads,
		  "fewer", "more");
	table_row("time to connect them all", UNIT_SECONDS, bide->connect_seconds,
		  threads->connect_seconds, "faster", "slower");

	table_title("memory of the server, for each connection");
	print_memory(&bide_added, &threads_added, kernel_stack, count);
	table_title("memory of the server, in total");
	print_memory(&bide->held, &threads->held, kernel_stack, 1);

	snprintf(title, sizeof(title), "%s of them send requests, the others wait",
		 count_text(active < count ? active : count));
	table_title(title);
	table_row("  requests a second", UNIT_COUNT, median(bide->rate), median(threads->rate),
		  "fewer", "more");
	table_row("  time to reply, median", UNIT_SECONDS, median(bide->p50), median(threads->p50),
		  "faster", "slower");
	table_row("  time to reply, 99 of 100 within", UNIT_SECONDS, median(bide->p99),
		  median(threads->p99), "faster", "slower");
	table_row("  server's CPU for a request", UNIT_SECONDS, median(bide->cpu),
		  median(threads->cpu), "less", "more");
	table_row("  context switches a second", UNIT_COUNT, median(bide->switches),
		  median(threads->switches), "fewer", "more");

	table_title("one of them says something to all");
	table_row("  until the last one has it", UNIT_SECONDS, median(bide->chat),
		  median(threads->chat), "faster", "slower");
}

static void print_machine(void)
{
#ifdef __clang__
	const char *compiler = "clang";
	int major = __clang_major__, minor = __clang_minor__;
#else
	const char *compiler = "gcc";
	int major = __GNUC__, minor = __GNUC_MINOR__;
#endif
	struct utsname name;

	if (uname(&name) == 0)
		printf("%ld processors, %s %s, %s, %s %d.%d", sysconf(_SC_NPROCESSORS_ONLN), name.sysname,
		       name.release, name.machine, compiler, major, minor);
}

void results_print_summary(const struct side *bide, const struct side *threads, double seconds)
{
	double measured = bide->measured_seconds + threads->measured_seconds;
	double others = (bide->others_seconds + threads->others_seconds) /
			(measured * (double)sysconf(_SC_NPROCESSORS_ONLN));

	putchar('\n');
	if (others > 0.1)
		printf("Other programs used %.0f %% of the processors meanwhile. That blurs all speeds, and\n"
		       "slows one thread more than many; the figures of memory hold.\n\n",
		       others * 100);
	printf("%s replies and %s chat lines, all bytes right; no connection was lost.\n",
	       count_text((double)(bide->last.replies + threads->last.replies)),
	       count_text((double)(bide->last.chats + threads->last.chats)));
	print_machine();
	printf("; %.0f s\n", seconds);
}
