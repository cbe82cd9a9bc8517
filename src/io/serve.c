/* SPDX-License-Identifier: MIT
 * Layer io: serve: a task for each connection that comes, and what becomes of all of them at the end.
 *
 * The handlers are children of a group that the serving task is in; it counts those that live by
 * itself, because it waits for them in three ways: for one to end when there are as many as may be, for
 * one to give its descriptor back when there are no more, and for all of them when it drains. */
#include <bide/net.h>

#include <errno.h>
#include <string.h>

#include <bide/group.h>
#include <bide/io.h>

#include "await/record.h"
#include "base/fail.h"
#include "base/system.h"
#include "io/call.h"

#define ACCEPTS_AT_ONCE 16 /* then others run */
#define BACK_OFF BIDE_SEC  /* as long as nothing tells that there is a descriptor again */

struct server {
	struct loop *loop;
	struct task *task;         /* in bide_serve() */
	int listener;
	uint32_t generation;       /* of the listener: it is still the one that was given */
	void (*handler)(int fd, void *arg);
	void *arg;
	bide_serve_opts opts;
	bide_group group;
	unsigned alive;            /* connections */
	int held;                  /* one that was accepted and has no task yet; -1: none */
	bool waits_for_end;        /* of one of them */
	bide_time next_report;     /* in real time */
};

struct connection {
	struct server *server;
	int fd;
	uint32_t generation; /* of fd, when it was accepted: it is another one when it is not ours any more */
};

static uint32_t generation_of(struct loop *loop, int fd)
{
	const struct descriptor *descriptor = descriptor_find(&loop->descriptors, fd);
	return descriptor ? descriptor->generation : 0;
}

static void report(struct server *server, const char *what)
{
	int saved = errno;
	bide_time now = clock_monotonic();
	if (now < server->next_report)
		return;
	server->next_report = now + BIDE_SEC;
	run_report(run_of(server->loop), BIDE_REPORT_LIMIT, "bide_serve: %s: %s", what, strerror(saved));
	errno = saved;
}

/* ---- a connection ------------------------------------------------------------------------------- */

/* The handler has ended, or was never entered. */
static void end_connection(void *arg)
{
	struct connection *connection = arg;
	struct server *server = connection->server;
	if (generation_of(server->loop, connection->fd) == connection->generation)
		bide_close(connection->fd);
	memory_free(server->loop->memory, connection, sizeof *connection);
	server->alive--;
	if (server->waits_for_end)
		task_wake(server->task, 0);
}

static void *handle(void *arg)
{
	struct connection *connection = arg;
	struct server *server = connection->server;
	if (bide_defer(end_connection, connection) == 0) {
		server->handler(connection->fd, server->arg);
	} else {
		report(server, "a connection is closed");
		end_connection(connection);
	}
	return NULL;
}

/* False if the loop has as many tasks as may be, or cannot have more since it ends. */
static bool start_task(struct server *server, struct connection *connection)
{
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.drop = end_connection;
	server->alive++;
	if (bide_group_spawn(&server->group, handle, connection, &attr))
		return true;
	if (errno != EAGAIN) {
		report(server, "a connection is closed");
		end_connection(connection);
		return true;
	}
	server->alive--;
	return false;
}

static void start_connection(struct server *server, int fd)
{
	struct connection *connection = memory_alloc(server->loop->memory, sizeof *connection);
	if (!connection) {
		report(server, "a connection is closed");
		bide_close(fd);
		return;
	}
	*connection = (struct connection){ server, fd, generation_of(server->loop, fd) };
	if (!start_task(server, connection)) {
		memory_free(server->loop->memory, connection, sizeof *connection);
		server->held = fd;
	}
}

/* Parks until a connection has ended, or until `deadline`. -1 with an interrupt's errno. */
static int wait_for_end(struct server *server, bide_time deadline)
{
	unsigned alive = server->alive;
	struct task *task = checkpoint();
	if (!task)
		return -1;
	if (server->alive < alive) /* while the checkpoint let others run: nobody will wake us for that one */
		return 0;
	wait_begin(task, NULL, WAIT_GROUP, NULL);
	server->waits_for_end = true;
	int status = park(task, deadline);
	server->waits_for_end = false;
	return status ? fail_with(status) : 0;
}

/* ---- accepting ---------------------------------------------------------------------------------- */

static bool is_shortage(int err)
{
	return err == EMFILE || err == ENFILE || err == ENOBUFS || err == ENOMEM;
}

static int back_off(struct server *server)
{
	return wait_for_end(server, time_add(loop_now(server->loop), BACK_OFF));
}

/* Looked at before a connection is accepted, so that it stays in the backlog, where a server that shares the
 * listener may take it. */
static bool lacks_task(const struct server *server)
{
	const struct run *run = run_of(server->loop);
	return run->config.max_tasks && run->alive >= run->config.max_tasks;
}

static int wait_for_task(struct server *server)
{
	errno = EAGAIN;
	report(server, "connections wait for a task");
	return back_off(server);
}

/* The last task went to somebody else while a connection was waited for. */
static int start_held(struct server *server)
{
	int fd = server->held;
	server->held = -1;
	start_connection(server, fd);
	return server->held < 0 ? 0 : wait_for_task(server);
}

static int accept_next(struct server *server)
{
	if (generation_of(server->loop, server->listener) != server->generation)
		return fail_with(EBADF); /* closed while nothing was accepted; the number may be another's */
	int fd = bide_accept(server->listener, NULL, NULL);
	if (fd >= 0)
		start_connection(server, fd);
	else if (is_shortage(errno))
		report(server, "nothing can be accepted");
	else
		return -1;
	return fd >= 0 ? 0 : back_off(server);
}

static bool is_full(const struct server *server)
{
	return server->opts.max_conns && server->alive >= server->opts.max_conns;
}

/* Until it fails, by whatever ends the server: its errno. */
static int accept_all(struct server *server)
{
	int result = 0;
	for (unsigned count = 1; result == 0; count++) {
		if (is_full(server))
			result = wait_for_end(server, BIDE_NEVER);
		else if (lacks_task(server))
			result = wait_for_task(server);
		else if (server->held >= 0)
			result = start_held(server);
		else if (count % ACCEPTS_AT_ONCE == 0)
			result = bide_yield();
		else
			result = accept_next(server);
	}
	return errno;
}

/* ---- the end ------------------------------------------------------------------------------------ */

/* Shielded from the cancel that ends the server. */
static void drain(struct server *server)
{
	bide_scope scope = { { 0 } };
	if (bide_scope_enter(&scope, bide_after(server->opts.drain), BIDE_SHIELD) < 0)
		return;
	while (server->alive > 0 && wait_for_end(server, BIDE_NEVER) == 0)
		continue;
	bide_scope_leave(&scope);
}

static void end(struct server *server)
{
	if ((server->opts.flags & BIDE_SERVE_CLOSE) &&
	    generation_of(server->loop, server->listener) == server->generation)
		bide_close(server->listener);
	if (server->held >= 0)
		bide_close(server->held);
	if (server->opts.drain > 0)
		drain(server);
	bide_group_cancel(&server->group, "the server has ended");
	bide_group_leave(&server->group);
}

static int check_opts(const bide_serve_opts *opts)
{
	bool is_good = opts->size == sizeof *opts && !(opts->flags & ~BIDE_SERVE_CLOSE) && opts->drain >= 0;
	return is_good ? 0 : fail_with(EINVAL);
}

int bide_serve(int listener, void (*handler)(int fd, void *arg), void *arg, const bide_serve_opts *opts)
{
	static const bide_serve_opts defaults = BIDE_SERVE_OPTS_INIT;
	struct task *task = task_current();
	if (!task)
		return fail_with(EPERM);
	if (!handler || check_opts(opts ? opts : &defaults) < 0)
		return fail_with(EINVAL);
	struct server server = {
		.loop = task->loop, .task = task, .listener = listener, .handler = handler, .arg = arg,
		.opts = opts ? *opts : defaults, .held = -1,
	};
	if (!descriptor_get(task->loop, listener) || bide_group_enter(&server.group, 0, BIDE_KEEP_GOING) < 0)
		return -1;
	server.generation = generation_of(task->loop, listener);
	int err = accept_all(&server);
	end(&server);
	return fail_with(err);
}
