/* SPDX-License-Identifier: MIT
 * Demo: the command line. */
#ifndef DEMO_OPTIONS_H
#define DEMO_OPTIONS_H

struct options {
	unsigned connections, active;
	double seconds; /* of requests on each side, in all rounds */
};

/* Does not return if they are wrong, or only ask for help. */
void options_parse(struct options *options, int argc, char **argv);

#endif
