"""object_fuzz.py SECONDS [SEED]: objects that nobody initialised, and their methods with odd arguments.

Every built-in type of the VM, made in ways it does not expect, gets random calls from a task with limits,
in one process after another. A process that does not end by itself is a finding: the seed that made it is
printed, and `object_fuzz.py --only SEED` runs it again.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time

from walle_rt.vm import VM, Isolate, Limits, TaskBundle, TaskFailed

# Calls of one process; more find the same in the same time, and a finding is harder to read.
ROUNDS = 40
TASK = """
import _abc, _bisect, _codecs, _collections, _contextvars, _datetime, _functools, _heapq, _json, _md5
import _operator, _random, _sha1, _sha2, _sre, _statistics, _struct, _thread, _typing, _weakref, array
import binascii, builtins, collections, enum, fractions, functools, gc, itertools, json, math, queue, random
import re, string, struct, sys, threading, time, types, typing, walle, weakref

LEFT_ALONE = {'__class__', '__init_subclass__', '__subclasshook__', '__reduce__', '__reduce_ex__'}
# Waiting is no finding, and neither is what ends the task's own modules.
SKIPPED = {'acquire', 'acquire_lock', 'wait', 'join', 'sleep', 'get', 'clear', 'settrace', 'setprofile'}

def types_of(root, seen):
    for each in type.__subclasses__(root) if root is not type else type.__subclasses__(type):
        if each not in seen:
            seen.add(each)
            types_of(each, seen)
    return seen

TYPES = sorted(types_of(object, {object}),
               key=lambda t: (t.__module__, t.__qualname__))

def odd(r, made):
    return r.choice((
        None, 0, 1, -1, 2**31, 2**63 - 1, -2**63, 2**64, 0.0, float('nan'), '', 'a', 'a\\0\\ud800', b'',
        b'abc', bytearray(3), (), (1, 2), [], [1], {}, {'a': 1}, set(), int, type, len, object(),
        slice(None), iter(()),
        Ellipsis, NotImplemented, range(3), memoryview(b'abc'), lambda *a: a, r.choice(TYPES), *made[-3:],
    ))

def make(r, t, made):
    way = r.randrange(4)
    args = [odd(r, made) for i in range(r.randrange(3))]
    if way == 0: return t.__new__(t)
    if way == 1: return t.__new__(t, *args)
    if way == 2: return t(*args)
    return object.__new__(t)

def poke(seed, rounds):
    r = random.Random(seed)
    for i in range(rounds):
        t = r.choice(TYPES)
        made = []
        try: made.append(make(r, t, made))
        except Exception: continue
        x = made[0]
        names = [n for n in dir(t) if n not in LEFT_ALONE and n not in SKIPPED]
        for j in range(20):
            try: m = getattr(x, r.choice(names))
            except Exception: continue
            try: made.append(m(*(odd(r, made) for k in range(r.randrange(4)))))
            except Exception: pass
        del made[:], x
    gc.collect()
"""


def one(bundle: TaskBundle, vm: VM, seed: int) -> None:
    """What a child process does."""
    for step in range(ROUNDS):
        # Each on its own: what it did to the task's modules is gone with its isolate.
        with Isolate(vm, limits=Limits(heap_bytes=64 << 20, wall_ms=1000)) as isolate:
            isolate.load(bundle)
            with contextlib.suppress(TaskFailed):
                isolate.call("poke", seed * ROUNDS + step, 40)


def in_child(seed: int) -> str:
    """How the process ended, empty where well."""
    pid = os.fork()
    if pid == 0:
        vm = VM("full")
        one(TaskBundle.from_source({"main": TASK}, vm), vm, seed)
        os._exit(0)
    end = time.monotonic() + 120
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return "" if status == 0 else f"status {status}"
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "no end after 120 s"


def main() -> int:
    """The command."""
    if sys.argv[1] == "--only":
        print(in_child(int(sys.argv[2])) or "ended well")
        return 0
    seconds = float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    seed = seed or time.time_ns() & 0xFFFFFF
    first, end = seed, time.monotonic() + seconds
    while time.monotonic() < end:
        fault = in_child(seed)
        if fault:
            print(f"object_fuzz: seed {seed}: {fault}; again: python {sys.argv[0]} --only {seed}")
            return 1
        seed += 1
    print(f"object_fuzz, {seconds:.0f} s, seed {first}: {(seed - first) * ROUNDS} isolates")
    return 0


if __name__ == "__main__":
    sys.exit(main())
