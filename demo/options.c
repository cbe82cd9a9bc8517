/* SPDX-License-Identifier: MIT
 * Demo: the command line. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "options.h"

static const char usage[] =
	"usage: demo [--quick] [--connections N] [--active N] [--seconds S]\n"
	"\n"
	"A chat server on the loopback interface, once with bide and once with a thread for each\n"
	"connection, and a client that checks every byte. Prints what each costs.\n"
	"\n"
	"  --connections N   hold N connections (10000)\n"
	"  --active N        N of them send requests, the others wait (100)\n"
	"  --seconds S       measure requests for S seconds on each side, in 5 rounds (6)\n"
	"  --quick           1000 connections, 1.5 seconds\n"
	"  --help            this text\n"
	"\n"
	"Exits with 0 if every byte was right and no connection was lost, else with 1.\n";

static _Noreturn void wrong_usage(void)
{
	fputs("Try: demo --help\n", stderr);
	exit(2);
}

static double number_option(const char *name, double lowest, double highest)
{
	char *end;
	double number = strtod(optarg, &end);

	if (end == optarg || *end != '\0' || !(number >= lowest && number <= highest)) {
		fprintf(stderr, "demo: %s wants a number from %g to %g, not \"%s\"\n", name, lowest,
			highest, optarg);
		wrong_usage();
	}
	return number;
}

void options_parse(struct options *options, int argc, char **argv)
{
	static const struct option known[] = {
		{ "connections", required_argument, NULL, 'c' }, { "active", required_argument, NULL, 'a' },
		{ "seconds", required_argument, NULL, 's' },     { "quick", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },              { 0 }
	};
	int option;

	*options = (struct options){ .connections = 10000, .active = 100, .seconds = 6 };
	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (option) {
		case 'c':
			options->connections = (unsigned)number_option("--connections", 1, 100000);
			break;
		case 'a':
			options->active = (unsigned)number_option("--active", 1, 100000);
			break;
		case 's':
			options->seconds = number_option("--seconds", 0.1, 3600);
			break;
		case 'q':
			options->connections = 1000;
			options->seconds = 1.5;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			wrong_usage(); /* getopt_long() has said what is wrong */
		}
	}
	if (optind < argc) {
		fprintf(stderr, "demo: \"%s\" is not an option\n", argv[optind]);
		wrong_usage();
	}
}
