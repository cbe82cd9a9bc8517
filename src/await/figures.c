/* SPDX-License-Identifier: MIT
 * Layer await: a loop's figures. See figures.h. */
#include "await/figures.h"

static void copy_tasks(const struct run *run, struct board *board)
{
	const struct counts *counts = &run->loop.counts;
	board_set(board, BOARD_tasks_alive, run->alive);
	board_set(board, BOARD_tasks_ended, run->ends);
	board_set(board, BOARD_begun, counts->begun);
	board_set(board, BOARD_parks, counts->parks);
	board_set(board, BOARD_wakes, counts->wakes);
}

static void copy_loop(const struct loop *loop, struct board *board)
{
	board_set(board, BOARD_turns, loop->ready.turn);
	board_set(board, BOARD_switches, loop->pace.switches);
	board_set(board, BOARD_timers_armed, loop->timers.heap.next_sequence);
	board_set(board, BOARD_timers_pending, loop->timers.heap.count);
	board_set(board, BOARD_descriptor_waits, loop->descriptors.waiting);
	board_set(board, BOARD_jobs_pending, loop->outside_work);
}

static void copy_stacks(const struct loop *loop, struct board *board)
{
	struct stack_figures stacks;
	stack_pool_count(&loop->stacks, &stacks);
	board_set(board, BOARD_stacks_in_use, stacks.in_use);
	board_set(board, BOARD_stacks_warm, stacks.warm);
	board_set(board, BOARD_stacks_cold, stacks.cold);
	board_set(board, BOARD_stack_bytes, stacks.mapped);
}

void figures_publish(struct loop *loop)
{
	copy_tasks(run_of(loop), loop->board);
	copy_loop(loop, loop->board);
	copy_stacks(loop, loop->board);
}
