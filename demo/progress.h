/* SPDX-License-Identifier: MIT
 * Demo: telling on stderr what goes on: on a terminal one line that is rewritten, elsewhere a line for
 * each step, and nothing for what happens within one. */
#ifndef DEMO_PROGRESS_H
#define DEMO_PROGRESS_H

__attribute__((format(printf, 1, 2))) void progress_step(const char *format, ...);
__attribute__((format(printf, 1, 2))) void progress_within(const char *format, ...);
void progress_end(void); /* before anything else is written */

#endif
