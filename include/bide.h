/* SPDX-License-Identifier: MIT
 * bide: stackful coroutines for servers. This header includes the whole interface; its parts are a
 * manual, to be read in this order. Start with bide/api.h, which has the conventions. */
#ifndef BIDE_H
#define BIDE_H

#define BIDE_VERSION_MAJOR 0
#define BIDE_VERSION_MINOR 1
#define BIDE_VERSION_PATCH 0

#include <bide/api.h>     /* conventions, common types */
#include <bide/loop.h>    /* bide_run and its settings */
#include <bide/task.h>    /* spawn, join, yield, defer, locals */
#include <bide/time.h>    /* sleep, timers, tickers */
#include <bide/cancel.h>  /* cancellation, deadlines, shields */
#include <bide/future.h>  /* a result to wait for */
#include <bide/post.h>    /* from other threads and signal handlers */
#include <bide/offload.h> /* threads for what blocks or computes */
#include <bide/combine.h> /* waiting for several things */
#include <bide/group.h>   /* children that never outlive their parent's block */
#include <bide/process.h> /* other programs */
#include <bide/signal.h>  /* signals to wait for */
#include <bide/many.h>    /* several loops */
#include <bide/sync.h>    /* mutex, rwlock, condition, semaphore, event, barrier, once */
#include <bide/chan.h>    /* channels */
#include <bide/io.h>      /* descriptors */
#include <bide/net.h>     /* sockets */
#include <bide/stream.h>  /* buffered streams */
#include <bide/file.h>    /* files and names */
#include <bide/coro.h>    /* the bare coroutine */
#include <bide/inspect.h> /* figures, stacks */
#include <bide/trace.h>   /* what happened, to be looked at in ui.perfetto.dev */
#include <bide/testing.h> /* virtual time, random order, faults */

#endif
