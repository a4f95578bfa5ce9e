"""Many scripts in one process of their own: what would end a process ends that one, and is named."""

from __future__ import annotations

import json
import subprocess
import sys

_PROGRAM = """
import json, sys, time
from walle_rt.vm import Isolate, Limits, TaskBundle, TaskFailed
given, limits = json.loads(sys.stdin.read())
for name, source in given.items():
    print(json.dumps([name]), flush=True)
    started = time.thread_time()
    with Isolate(limits=Limits(**limits)) as isolate:
        isolate.load(TaskBundle.from_source({"main": source, "again": "def f(): return 7"}))
        try:
            ended = repr(isolate.call("f"))
        except TaskFailed as error:
            ended = error.limit or error.type
        seconds = time.thread_time() - started
        if isolate.call("f", module="again") != 7:
            ended = "cannot be used again"
    print(json.dumps([name, ended, seconds]), flush=True)
"""


def endings(sources: dict[str, str], **limits: int) -> dict[str, tuple[str, float]]:
    """How f() of each source ends - what it returns, else the limit or the exception's class - and after how
    many seconds of the processor. Each has an isolate of its own with 32 MB and 1 s unless told otherwise.
    """
    given = {"heap_bytes": 32 << 20, "wall_ms": 1000, **limits}
    child = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        out, said = child.communicate(json.dumps([sources, given]), timeout=20 + 2.5 * len(sources))
    except subprocess.TimeoutExpired:
        child.kill()
        out, said = child.communicate()
    lines = [json.loads(line) for line in out.splitlines()]
    ended = {line[0]: (line[1], line[2]) for line in lines if len(line) == 3}
    unfinished = [line[0] for line in lines if len(line) == 1 and line[0] not in ended]
    assert not unfinished and len(ended) == len(sources), (unfinished, child.returncode, said[-2000:])
    assert said == ""
    return ended
