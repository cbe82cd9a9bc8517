/* SPDX-License-Identifier: MIT
 * A text that a test appends to, to say in which order things happened. Empty at each test's start. */
#ifndef SUPPORT_TRACE_H
#define SUPPORT_TRACE_H

/* Appends a word; words are separated by one blank. */
__attribute__((format(printf, 1, 2))) void note(const char *format, ...);
/* The same as a callback: arg is the word. */
void note_arg(void *arg);
/* And with the loop's time in whole seconds: "word@3". */
void note_arg_at(void *arg);

/* Fails the test if the text is another. */
void expect_notes(const char *text);
const char *notes(void);
void forget_notes(void);

#endif
