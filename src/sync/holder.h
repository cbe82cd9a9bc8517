/* SPDX-License-Identifier: MIT
 * Layer sync: who holds what, for reports. */
#ifndef SYNC_HOLDER_H
#define SYNC_HOLDER_H

#include "await/record.h"

extern const struct lock_hooks lock_hooks;

void mutexes_abandoned(struct await_task *owner);
void os_mutexes_check(struct await_task *task);
void os_mutexes_forget(struct run *run);
/* Its holder, if that is a task of this run. On any thread. */
const struct await_task *mutex_holder(const struct run *run, const void *mutex);
const struct await_task *rwlock_holder(const struct run *run, const void *rwlock);
const struct await_task *once_holder(const struct run *run, const void *once);

/* Fails with `err`; in debug it says first that the running task, or a callback, did (`verb`) that to the
 * object, and who holds it. Returns -1. */
int sync_misuse(int err, const char *verb, enum wait_kind kind, const void *object);

#endif
