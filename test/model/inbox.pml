/* SPDX-License-Identifier: MIT
 * A model of src/sched/inbox.c: POSTERS threads put posts in, the loop takes them out, sleeps, and ends at any
 * time; the descriptor that wakes it is closed then. Each line that touches shared state is one seq_cst
 * operation of the code. test/test_model.sh checks it with spin, and that it fails with each of
 *     NO_RECHECK         the loop sleeps without looking into the inbox once more
 *     NO_WAIT            the end does not wait for those that are about to write
 *     SLEEP_IS_FORGOTTEN the loop says "asleep" only after it has looked
 */
#ifndef POSTERS
#define POSTERS 3
#endif

mtype = { awake, asleep, closed };

byte inside;              /* posts in the inbox */
bool is_open = true;      /* the generation is the handle's */
mtype sleep_state = awake;
byte wakers;
bool flag;                /* the eventfd; an edge */
bool fd_is_open = true;
byte accepted, refused, ran;

proctype poster()
{
	bool is_in;
	atomic {                          /* compare-and-swap of the head */
		if
		:: is_open -> inside++; accepted++; is_in = true
		:: else -> refused++; is_in = false
		fi
	}
	if
	:: !is_in -> goto end
	:: else
	fi;
	if
	:: sleep_state != asleep -> goto end
	:: else
	fi;
	wakers++;
	bool won;
	atomic {                          /* compare-and-swap of the sleep */
		won = (sleep_state == asleep);
		if
		:: won -> sleep_state = awake
		:: else
		fi
	}
	if
	:: won ->
		assert(fd_is_open);
		flag = true
	:: else
	fi;
	wakers--;
end:
	skip
}

inline take()
{
	atomic { ran = ran + inside; inside = 0 }
}

proctype loop()
{
	bool may_sleep;
	do
	:: true -> break                  /* main has ended */
	:: true ->
		take();
#ifdef SLEEP_IS_FORGOTTEN
		may_sleep = (inside == 0);
		sleep_state = asleep;
#else
		sleep_state = asleep;
#ifdef NO_RECHECK
		may_sleep = true;
#else
		may_sleep = (inside == 0);
#endif
#endif
		if
		:: may_sleep ->
			/* It may sleep for ever only if nobody is on the way to wake it. */
			do
			:: flag -> break
			:: timeout -> assert(inside == 0); break
			od;
			flag = false
		:: else
		fi;
		sleep_state = awake
	od;
	atomic { is_open = false; ran = ran + inside; inside = 0 }
	sleep_state = closed;
#ifndef NO_WAIT
	(wakers == 0);
#endif
	fd_is_open = false
}

init {
	byte i;
	atomic {
		run loop();
		for (i : 1 .. POSTERS) { run poster() }
	}
	(_nr_pr == 1);
	assert(ran == accepted && accepted + refused == POSTERS && inside == 0)
}
