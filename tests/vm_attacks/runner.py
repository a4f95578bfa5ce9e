"""One attack in a process of its own: what it did to the process, to its limits and to its sibling.

The process is forked from one that has imported walle_rt and not used the VM: an import takes longer than
most attacks.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from walle_rt.vm import VM, Isolate, Limits, TaskBundle, TaskFailed

HEAP_BYTES = 32 << 20
WALL_SECONDS = 1.0
# A limit that is met three times over is not one: in processor time, as others may have the processor
# meanwhile. What waits uses none, and has longer.
HANG_SECONDS = 3 * WALL_SECONDS
WAIT_SECONDS = 15 * WALL_SECONDS
GIVE_UP_SECONDS = 60.0
STILL_SECONDS = 10.0
MEMORY_BYTES = 2 * HEAP_BYTES + (16 << 20)
_SIBLING = "def tick(n): return sum(range(n))\n"


@dataclass(frozen=True)
class Report:
    """How an attack ended. `fault` is empty where it did no harm."""

    name: str
    fault: str
    seconds: float = 0.0  # of the processor
    waited: float = 0.0  # on the wall
    grown: int = 0
    ended: str = ""


def _resident(field: str) -> int:
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return int(text.split(field + ":")[1].split()[0]) << 10


class _Sibling:
    """An isolate that works all the while, on a thread of its own."""

    def __init__(self, vm: VM) -> None:
        self._isolate = Isolate(vm)
        self._isolate.load(TaskBundle.from_source({"main": _SIBLING}, vm))
        self._stop = False
        self.calls = 0
        self.fault = ""
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        while not self._stop and not self.fault:
            try:
                if self._isolate.call("tick", 100) != 4950:
                    self.fault = "the sibling gave a wrong answer"
            except TaskFailed as error:
                self.fault = f"the sibling failed: {error}"
            self.calls += 1
            time.sleep(0.001)

    def end(self) -> str:
        """What was wrong with it."""
        before = self.calls
        until = time.monotonic() + STILL_SECONDS
        while self.calls == before and time.monotonic() < until:
            time.sleep(0.001)
        stuck = "" if self.calls > before else "the sibling stood still"
        self._stop = True
        self._thread.join()
        return self.fault or stuck


def _attack(source: str, vm: VM) -> dict[str, Any]:
    sibling = _Sibling(vm)
    # Stays for the process's life: its end is not what is measured.
    isolate = Isolate(vm, limits=Limits(heap_bytes=HEAP_BYTES, wall_ms=int(WALL_SECONDS * 1000)))
    bundle = TaskBundle.from_source({"main": source, "again": "def f(): return 7\n"}, vm)
    isolate.load(bundle)
    isolate.call("f", module="again")
    before = _resident("VmRSS")
    start, used = time.monotonic(), time.thread_time()
    try:
        isolate.call("f")
        ended = "returned"
    except TaskFailed as error:
        ended = error.limit or error.type
    seconds, waited = time.thread_time() - used, time.monotonic() - start
    grown = _resident("VmHWM") - before
    fault = sibling.end()
    isolate.reset()
    if not fault and isolate.call("f", module="again") != 7:
        fault = "the isolate cannot be used again"
    isolate.close()
    return {"seconds": seconds, "waited": waited, "grown": grown, "ended": ended, "fault": fault}


def _child(source: str, out: int) -> None:
    report = _attack(source, VM("full"))
    os.write(out, json.dumps(report).encode())
    # As any program ends: modules, isolates and the reaper included.
    sys.exit(0)


def _status_text(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"the process was ended by {signal.Signals(os.WTERMSIG(status)).name}"
    return f"the process ended with {os.WEXITSTATUS(status)}"


def run(name: str, source: str) -> Report:
    """Run one attack; the calling process must not have used the VM."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        code = 1
        try:
            _child(source, write)
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            sys.stderr.flush()
            os._exit(code)
    os.close(write)
    ready, _, _ = select.select([read], [], [], GIVE_UP_SECONDS)
    text = os.read(read, 1 << 16) if ready else b""
    os.close(read)
    if not ready:
        os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    if not ready:
        return Report(name, f"still running after {GIVE_UP_SECONDS:.0f} s", GIVE_UP_SECONDS)
    if status != 0 or not text:
        return Report(name, _status_text(status))
    report = Report(name, **json.loads(text))
    if report.fault:
        return report
    if report.seconds > HANG_SECONDS:
        return replace(report, fault=f"took {report.seconds:.1f} s of the processor")
    if report.waited > WAIT_SECONDS:
        return replace(report, fault=f"took {report.waited:.1f} s")
    if report.grown > MEMORY_BYTES:
        return replace(report, fault=f"grew by {report.grown >> 20} MB")
    return report
