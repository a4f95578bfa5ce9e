"""Damage task bundles, give them right checksums, and run what the verifier lets through.

    python -m tests.fault.bundles --cases 10000 [--seed N]

Each hundred cases have a process of their own, forked from one that has not used the VM. A process that
does not end by itself is a failure, and the seed that made it is printed. With WALLE_VM_LIBRARY naming an
instrumented library (presets asan and ubsan) the same cases run under sanitizers.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import sys
import time
import zlib

from walle_rt.errors import TaskError
from walle_rt.vm import VM, Isolate, Limits, TaskBundle, TaskFailed

BATCH = 100
HEADER = 60  # magic, VM id, checksum and counts; damage there is found before any code is looked at
GIVE_UP_SECONDS = 300
LIMITS = Limits(heap_bytes=64 << 20, wall_ms=500)
SOURCE = """
import functools
from dataclasses import dataclass
@dataclass
class Point:
    x: int = 1
    y: int = 2
def plain(a=1, *b, c=2, **d):
    total = [i * a for i in range(5) if i]
    seen = {k: v for k, v in zip("ab", total)}
    return {*total, c}, seen, f"{a!r:>5}{seen}", b, d
def closure(n=3):
    def inner(m):
        nonlocal n
        n += m
        return lambda: n
    return [inner(i)() for i in range(3)]
def handlers():
    out = []
    for kind in (ValueError, KeyError, ZeroDivisionError):
        try:
            with Guard() as g:
                raise kind(1)
        except (ValueError, KeyError) as error:
            out.append(error)
        except Exception:
            out.append(None)
        finally:
            out.append(0)
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
    except* ValueError as group:
        out.append(len(group.exceptions))
    except* TypeError:
        pass
    return out
class Guard:
    def __enter__(self): return self
    def __exit__(self, *a): return False
def numbers():
    x = yield 1
    yield from range(3)
    return x
async def later():
    async def other(): return 3
    return await other() + sum([i async for i in ticks()])
async def ticks():
    for i in range(3): yield i
def match(v):
    match v:
        case {"a": x, **rest}: return x, rest
        case [1, *others]: return others
        case Point(x=1, y=q): return q
        case _: return None
def drive():
    coroutine = later()
    try:
        while True: coroutine.send(None)
    except StopIteration as end:
        return end.value
def generic[T: int](x: T) -> T: return x
def main():
    return repr([plain(1, 2, c=3, z=4), closure(), handlers(), list(numbers()), drive(), generic(1),
                 match({"a": 1, "b": 2}), match([1, 2]), match(Point()),
                 functools.reduce(max, (i for i in "abc"))])
"""


def resealed(data: bytes) -> bytes:
    """The same bytes with a checksum that fits them."""
    return data[:40] + zlib.crc32(data[44:]).to_bytes(4, "little") + data[44:]


def damaged(good: bytes, rng: random.Random) -> bytes:
    """One to four bytes are others, most of them by a little."""
    data = bytearray(good)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(HEADER, len(data))
        data[at] = rng.choice(
            (rng.randrange(256), data[at] ^ 1 << rng.randrange(8), data[rng.randrange(len(data))])
        )
    return resealed(bytes(data))


def batch(seed: int) -> tuple[int, int]:
    """How many bundles were refused, how many ran."""
    vm = VM("full")
    good = TaskBundle.from_source({"main": SOURCE}, vm).data
    rng = random.Random(seed)
    refused = ran = 0
    for _ in range(BATCH):
        try:
            bundle = TaskBundle(damaged(good, rng), vm)
        except TaskError:
            refused += 1
            continue
        with (
            Isolate(vm, limits=LIMITS) as isolate,
            contextlib.suppress(TaskFailed),
        ):
            isolate.load(bundle)
            isolate.call("main")
        ran += 1
    return refused, ran


def in_child(seed: int) -> tuple[str, int, int]:
    """What went wrong, and the counts of the batch."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write, " ".join(map(str, batch(seed))).encode())
        os._exit(0)
    os.close(write)
    end = time.monotonic() + GIVE_UP_SECONDS
    done, status = 0, 0
    while not done and time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        time.sleep(0.005)
    if not done:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    text = os.read(read, 100) if done and status == 0 else b""
    os.close(read)
    if not text:
        return (f"status {status}" if done else f"no end after {GIVE_UP_SECONDS} s"), 0, 0
    refused, ran = map(int, text.split())
    return "", refused, ran


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.fault.bundles", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    refused = ran = failed = 0
    for number in range(-(-options.cases // BATCH)):
        fault, more_refused, more_ran = in_child(options.seed + number)
        refused += more_refused
        ran += more_ran
        failed += bool(fault)
        if fault:
            print(f"seed {options.seed + number}: {fault}")
    print(
        f"{options.cases} damaged bundles: {refused} refused, {ran} ran, "
        f"{failed} processes did not end by themselves"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
