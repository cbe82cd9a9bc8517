# SPDX-License-Identifier: MIT
"""bide in gdb: the tasks of a process or of a core, and where each of them stands.

    (gdb) source /usr/local/share/bide/gdb/bide-gdb.py
    (gdb) bide tasks        every task that has not ended
    (gdb) bide bt 7         the backtrace of task 7
    (gdb) bide bt all       of every task
    (gdb) bide enter 7      `bt`, `frame`, `info locals` are those of task 7 from now on, below frame 0,
    (gdb) bide leave        and of the thread again

A core that the kernel wrote has all of this. One that gdb wrote (generate-core-file, gcore) lacks stacks where
guards are marks in the page tables, as on Linux 6.13 and later: gdb gives a mapping up at the first page that it
cannot read.

Memory is only read, and nothing of the program is called: cores and live processes are the same. The library needs
no debug information and no symbols: what is to be known of its records stands in its section bide_debug (see
src/inspect/debugger.c)."""

import re
import struct

import gdb
from gdb.unwinder import Unwinder, register_unwinder

MAGIC = b"bide debugger 1\0"
HEAD = struct.Struct("<16sQQQQQQ")
FRAMES_MAX = 200
TASKS_MAX = 10_000_000  # a list that is longer is broken


# ---- memory


def memory(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def number(address, size):
    return int.from_bytes(memory(address, size), "little")


def pointer(address):
    return number(address, 8)


def string(address, size=64):
    """A text that ends with a zero, or after `size` bytes. By bytes, since the next ones may not be there."""
    text = bytearray()
    while len(text) < size and (byte := number(address + len(text), 1)):
        text.append(byte)
    return text.decode("utf-8", "replace")


# ---- the library


class Library:
    """One copy of the library in the program: a dictionary of numbers, and the list of its runs."""

    def __init__(self, address):
        head = HEAD.unpack(memory(address, HEAD.size))
        _, self.watches, self.states, self.waits, coro, names, names_size = head
        words = memory(names, names_size).decode().split()
        values = struct.unpack("<%dI" % len(words), memory(address + HEAD.size, 4 * len(words)))
        self.of = dict(zip(words, values))
        self.of["coro_below"], self.of["coro_resumer"] = struct.unpack("<2I", memory(coro, 8))

    def runs(self):
        link = pointer(self.watches)
        while link not in (0, self.watches):
            yield Run(self, link - self.of["watch_link"])
            link = pointer(link)


def libraries():
    """Where the section is: of the program itself, and of each shared library."""
    listed = gdb.execute("info files", to_string=True)
    places = {int(start, 16) for start in re.findall(r"(0x[0-9a-f]+) - 0x[0-9a-f]+ is bide_debug\b", listed)}
    found = []
    for place in sorted(places):
        try:
            if memory(place, len(MAGIC)) == MAGIC:
                found.append(Library(place))
        except gdb.MemoryError:
            continue
    return found


class Run:
    def __init__(self, library, watch):
        self.library = library
        self.of = library.of
        self.address = pointer(watch + self.of["watch_run"])
        self.thread_id = number(watch + self.of["watch_thread_id"], 4)
        self.serial = number(self.address + self.of["run_serial"], 8)
        self.running = pointer(self.address + self.of["loop_running"])

    def tasks(self):
        chunk = pointer(self.address + self.of["loop_chunks"])
        size = number(self.address + self.of["loop_record_size"], 8)
        while chunk:
            records = pointer(chunk + self.of["chunk_records"])
            count = number(chunk + self.of["chunk_count"], 8)
            if count > TASKS_MAX:
                raise gdb.GdbError("the records of the loop are overwritten")
            for index in range(count):
                task = Task(self, records + index * size)
                if task.is_alive():
                    yield task
            chunk = pointer(chunk + self.of["chunk_next"])

    def thread(self):
        """gdb's thread that the run is on."""
        threads = gdb.selected_inferior().threads()
        for thread in threads:
            if thread.ptid[1] == self.thread_id or thread.ptid[2] == self.thread_id:
                return thread
        return threads[0] if len(threads) == 1 else None


class Task:
    def __init__(self, run, address):
        self.run = run
        self.of = run.of
        self.address = address
        self.state = self.field("task_state", 1)
        if address == run.running:
            self.state = self.of["state_running"]

    def field(self, name, size=8):
        return number(self.address + self.of[name], size)

    def is_alive(self):
        states = ("state_created", "state_ready", "state_running", "state_suspended")
        return self.field("task_loop") != 0 and self.state in [self.of[state] for state in states]

    def is_in(self, state):
        return self.state == self.of["state_" + state]

    def has_flag(self, flag):
        return self.field("task_flags", 2) & self.of[flag] != 0

    def id(self):
        return self.field("task_id")

    def name(self):
        if not self.has_flag("flag_has_annex"):
            return ""
        return string(self.field("task_annex") + self.of["annex_name"], self.of["annex_name_size"])

    def label(self):
        name = self.name()
        return '%d "%s"' % (self.id(), name) if name else "%d" % self.id()

    def state_name(self):
        return string(pointer(self.run.library.states + 8 * self.state))

    def waits_for(self):
        kind = self.field("task_wait_kind", 1)
        if kind >= self.of["wait_kinds"]:
            return "?"
        text = string(pointer(self.run.library.waits + 8 * kind))
        target = self.field("task_wait_object")
        if kind == self.of["wait_fd"]:
            return "%s %d" % (text, self.field("task_wait_detail", 4))
        if target and kind in (self.of["wait_join"], self.of["wait_start"]):
            return "%s %s" % (text, Task(self.run, target).label())
        return "%s 0x%x" % (text, target) if target else text

    def contexts(self):
        """Where its stacks were left, the innermost first: coroutines that it has resumed, then its own."""
        contexts = [Context(self.of, self.address + self.of["task_context"])]
        coro = self.field("task_coro") if self.has_flag("flag_is_entered") else 0
        while coro:
            contexts.append(Context(self.of, coro + self.of["coro_resumer"]))
            coro = pointer(coro + self.of["coro_below"])
        return contexts


class Context:
    def __init__(self, of, address):
        self.sp = pointer(address + of["context_sp"])
        self.fp = pointer(address + of["context_fp"])
        self.pc = pointer(address + of["context_resume"])


def all_tasks():
    found = libraries()
    if not found:
        raise gdb.GdbError("there is no bide in this program, or it has not been started")
    return [(run, list(run.tasks())) for library in found for run in library.runs()]


# ---- unwinding


# Of each processor: program counter, stack pointer, frame pointer.
REGISTERS = {"i386:x86-64": ("rip", "rsp", "rbp"), "aarch64": ("pc", "sp", "x29")}


class FrameId:
    """gdb looks at two fields."""

    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


class TaskUnwinder(Unwinder):
    """Says that the caller of the thread's innermost frame is the place where a context was left. On a core no
    register can be set, but every frame's may be unwound to anything."""

    def __init__(self):
        super().__init__("bide task")
        self.context = None
        self.at = None  # pc and sp of the innermost frame

    def choose(self, context):
        self.context = None
        gdb.invalidate_cached_frames()
        if context:
            frame = gdb.newest_frame()
            names = REGISTERS.get(frame.architecture().name())
            if not names:
                raise gdb.GdbError("not a processor that bide runs on: " + frame.architecture().name())
            self.at = [int(frame.read_register(name)) & (2**64 - 1) for name in names[:2]]
            self.context = context
            gdb.invalidate_cached_frames()

    def __call__(self, pending):
        if not self.context:
            return None
        names = REGISTERS[pending.architecture().name()]
        values = [pending.read_register(name) for name in names]
        if [int(value) & (2**64 - 1) for value in values[:2]] != self.at:
            return None
        # Its frame lies below the context's, as a callee's must.
        info = pending.create_unwind_info(FrameId(gdb.Value(self.context.sp - 16).cast(values[1].type), values[0]))
        for name, value, target in zip(names, values, (self.context.pc, self.context.sp, self.context.fp)):
            info.add_saved_register(name, gdb.Value(target).cast(value.type))
        return info


unwinder = TaskUnwinder()
register_unwinder(None, unwinder, replace=True)


# ---- showing


def arguments(frame):
    """As gdb shows them; nothing without debug information."""
    try:
        block = frame.block()
        while not block.function:
            block = block.superblock
        return ", ".join("%s=%s" % (symbol.print_name, symbol.value(frame).format_string(max_elements=40))
                         for symbol in block if symbol.is_argument)
    except (RuntimeError, AttributeError):
        return ""


def place(frame):
    line = frame.find_sal()
    if line.symtab:
        return " at %s:%d" % (line.symtab.filename, line.line)
    file = gdb.solib_name(frame.pc())
    return " from " + file if file else ""


def show_frame(level, frame):
    print("#%-3d 0x%016x in %s (%s)%s" % (level, frame.pc(), frame.name() or "??", arguments(frame), place(frame)))


def show_frames(frame, level, end):
    """Returns the number of the next frame. What a core lacks ends one stack, not the command."""
    try:
        while frame and frame.pc() != 0 and level < end:
            show_frame(level, frame)
            level += 1
            frame = frame.older()
    except gdb.error as error:
        print("the rest cannot be read: %s" % error)
    return level


def show_contexts(contexts, level):
    for context in contexts:
        try:
            unwinder.choose(context)
            level = show_frames(gdb.newest_frame().older(), level, level + FRAMES_MAX)
        finally:
            unwinder.choose(None)


def symbol_at(address):
    """A function and, with debug information, its line."""
    text = gdb.execute("info symbol 0x%x" % address, to_string=True).strip()
    name = text.split(" in section ")[0] if " in section " in text else "0x%x" % address
    line = gdb.find_pc_line(address)
    return "%s (%s:%d)" % (name.split(" + ")[0], line.symtab.filename, line.line) if line.symtab else name


def show_running(task):
    thread = task.run.thread()
    if not thread:
        print("it runs on thread %d, which is not here" % task.run.thread_id)
        return
    before = gdb.selected_thread()
    thread.switch()
    try:
        level = show_frames(gdb.newest_frame(), 0, FRAMES_MAX)
    finally:
        before.switch()
    show_contexts(task.contexts()[1:], level)


def show_backtrace(task):
    print("task %s %s" % (task.label(), description(task)))
    if task.is_in("created"):
        print("it has not begun: %s" % symbol_at(task.field("task_fn")))
    elif task.is_in("running"):
        show_running(task)
    else:
        show_contexts(task.contexts(), 0)


def description(task):
    waits = ", waits for " + task.waits_for() if task.is_in("suspended") else ""
    return "%s%s, spawned at %s" % (task.state_name(), waits, symbol_at(task.field("task_spawn_site") - 1))


def find(text):
    """The tasks of this number; of several loops each may have one."""
    try:
        wanted = int(text, 0)
    except ValueError:
        raise gdb.GdbError("a task's number, or all: not " + repr(text)) from None
    tasks = [task for _, tasks in all_tasks() for task in tasks if task.id() == wanted]
    if not tasks:
        raise gdb.GdbError("there is no task %d" % wanted)
    return tasks


# ---- commands


class Bide(gdb.Command):
    """Tasks of bide: bide tasks; bide bt ID; bide bt all; bide enter ID; bide leave."""

    def __init__(self):
        super().__init__("bide", gdb.COMMAND_STACK, prefix=True)


class BideTasks(gdb.Command):
    """bide tasks: every task that has not ended, what it waits for, and where it was spawned."""

    def __init__(self):
        super().__init__("bide tasks", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        for run, tasks in all_tasks():
            print("loop on thread %d: %d task%s" % (run.thread_id, len(tasks), "" if len(tasks) == 1 else "s"))
            for task in tasks:
                print("  task %s %s" % (task.label(), description(task)))


class BideBacktrace(gdb.Command):
    """bide bt ID, or bide bt all: where tasks stand."""

    def __init__(self):
        super().__init__("bide bt", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        unwinder.choose(None)
        if not argument:
            raise gdb.GdbError("which task? bide bt ID, or bide bt all")
        tasks = [task for _, tasks in all_tasks() for task in tasks] if argument == "all" else find(argument)
        for index, task in enumerate(tasks):
            if index > 0:
                print()
            show_backtrace(task)


class BideEnter(gdb.Command):
    """bide enter ID: frames from 1 on are those of the task, until bide leave, or until the program goes on."""

    def __init__(self):
        super().__init__("bide enter", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        task = find(argument)[0]
        if task.is_in("created") or task.is_in("running"):
            raise gdb.GdbError("task %s is %s: it has no stack of its own to enter" % (task.label(), task.state_name()))
        unwinder.choose(task.contexts()[0])
        gdb.execute("frame 1")


class BideLeave(gdb.Command):
    """bide leave: frames are those of the thread again."""

    def __init__(self):
        super().__init__("bide leave", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        unwinder.choose(None)
        gdb.execute("frame 0")


for command in (Bide, BideTasks, BideBacktrace, BideEnter, BideLeave):
    command()
gdb.events.cont.connect(lambda event: unwinder.choose(None))
