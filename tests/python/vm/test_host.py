"""What a task, or the host around it, cannot do to the process: each script in a process of its own."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from commands import run_python

from walle_rt.errors import ArgumentError
from walle_rt.vm import VM, Isolate, Limits, TaskBundle
from walle_rt.vm.pool import Pool

pytestmark = pytest.mark.usefixtures("vm")

SETUP = """
import multiprocessing, os, signal, sys, threading, time
from walle_rt import errors
from walle_rt.vm import Isolate, Limits, TaskBundle, TaskFailed
from walle_rt.vm.pool import Pool
def task(source, **options):
    made = Isolate(**options)
    made.load(TaskBundle.from_source({"main": source}))
    return made
def press(seconds=0.2):
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.daemon = True
    timer.start()
"""


def after(script: str) -> str:
    """Stdout of SETUP and the script; anything but a clean end fails."""
    return run_python(SETUP + script).stdout


def test_a_log_callback_may_use_other_isolates() -> None:
    script = """
inner = task("def f(n): return n + 1")
seen = []
def log(level, line):
    seen.append(inner.call("f", int(line)))
    with Isolate() as fresh:
        fresh.run("x = 1")
    TaskBundle.from_source({"main": "x = 1"})
outer = task("def f():\\n    for i in range(20): print(i)\\n    return 'done'", log=log)
print(outer.call("f"), seen == list(range(1, 21)), outer.call("f"))
"""
    assert after(script) == "done True done\n"


def test_isolates_that_call_each_other_through_callbacks() -> None:
    script = """
depth = 0
def log(level, line):
    global depth
    depth += 1
    if depth < 20:
        task("def f(): print('x'); return 1", log=log).call("f")
print(task("def f(): print('x'); return 2", log=log).call("f"), depth)
"""
    assert after(script) == "2 20\n"


def test_a_callback_that_calls_its_own_isolate_is_told_so() -> None:
    script = """
def log(level, line):
    try:
        isolate.call("f")
    except TaskFailed as error:
        print(error.type)
isolate = task("def f(): print('x'); return 1", log=log)
print(isolate.call("f"))
"""
    assert after(script) == "Busy\n1\n"


def test_limits_hold_around_a_nested_call() -> None:
    script = """
inner = task("def f():\\n    while True: pass", limits=Limits(wall_ms=50))
def log(level, line):
    try:
        inner.call("f")
    except TaskFailed as error:
        print(error.limit)
outer = task("def f():\\n    print('x')\\n    while True: pass", log=log, limits=Limits(wall_ms=300))
try:
    outer.call("f")
except TaskFailed as error:
    print(error.limit)
"""
    assert after(script) == "wall\nwall\n"


USES = {
    "call": "isolate.call('f')",
    "run": "isolate.run('x = 1')",
    "reset": "isolate.reset()",
    "load": "isolate.load(bundle)",
    "create": "Isolate()",
    "compile": "TaskBundle.from_source({'main': 'x = 1'})",
    "pool": "Pool()",
    "take": "pool.take()",
}


@pytest.mark.parametrize("use", USES)
def test_a_forked_child_is_told_to_spawn(use: str) -> None:
    script = f"""
bundle = TaskBundle.from_source({{"main": "def f(): return 1"}})
isolate = Isolate(limits=Limits(wall_ms=100))
isolate.load(bundle)
pool = Pool(size=2)
pool.wait_until_full()
child = os.fork()
if child == 0:
    try:
        {USES[use]}
    except errors.ResourceError as error:
        print("fork" in str(error) and "spawn" in str(error))
    sys.exit(0)
taken = pool.take()
taken.load(bundle)
print(os.waitpid(child, 0)[1], isolate.call("f"), taken.call("f"))
"""
    assert after(script) == "True\n0 1 1\n"


def test_a_fork_while_others_create_isolates() -> None:
    script = """
stop = False
def create():
    while not stop:
        Isolate().close()
threads = [threading.Thread(target=create) for i in range(2)]
for thread in threads: thread.start()
ended = []
for i in range(8):
    child = os.fork()
    if child == 0:
        try:
            Isolate()
        except errors.ResourceError:
            os._exit(7)
        os._exit(1)
    ended.append(os.WEXITSTATUS(os.waitpid(child, 0)[1]))
stop = True
for thread in threads: thread.join()
print(ended == [7] * 8)
"""
    assert after(script) == "True\n"


def test_a_child_that_forks_first_has_a_vm_of_its_own() -> None:
    script = """
child = os.fork()
if child == 0:
    print(task("def f(): return 1").call("f"))
    sys.exit(0)
print(os.waitpid(child, 0)[1])
"""
    assert after(script) == "1\n0\n"


SLOW = {
    "a loop": "while True: pass",
    "a loop that catches all": (
        "while True:\n        try:\n            while True: pass\n        except BaseException: pass"
    ),
    "a sleep": "import time; time.sleep(1e6)",
    "a lock": "import threading\n    l = threading.Lock()\n    l.acquire()\n    l.acquire()",
    "a search": "return ('a' * 10_000_000).rfind('ab' + 'a' * 4_000_000)",
    "prints": "while True: print('x')",
}


@pytest.mark.parametrize("log", ["None", "lambda level, line: [0 for i in range(100)]"])
@pytest.mark.parametrize("body", SLOW)
def test_ctrl_c_ends_a_call_without_limits(body: str, log: str) -> None:
    script = f"""
isolate = task("def f():\\n    " + {SLOW[body]!r} + "\\ndef g(): return 1", log={log})
press()
start = time.monotonic()
try:
    isolate.call("f")
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - start < 30, isolate.call("g"))
"""
    assert after(script) == "interrupted True 1\n"


def test_ctrl_c_ends_run() -> None:
    script = """
press()
try:
    Isolate().run("while True: pass")
except KeyboardInterrupt:
    print("run")
"""
    assert after(script) == "run\n"


def test_handlers_run_during_a_call_and_it_goes_on() -> None:
    script = """
seen = []
signal.signal(signal.SIGUSR1, lambda *a: seen.append(inner.call("f")))
inner = task("def f(): return 7")
isolate = task("import time\\ndef f(end):\\n    while time.monotonic() < end: pass\\n    return 1")
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1)).start()
print(isolate.call("f", time.monotonic() + 3), seen)
"""
    assert after(script) == "1 [7]\n"


@pytest.mark.parametrize("size", [-1, 1025, 2**40, 2**70])
def test_a_pool_has_a_size_that_can_be(size: int) -> None:
    with pytest.raises(ArgumentError, match="size="):
        Pool(size=size)


@pytest.mark.parametrize("names", ["json", b"json", [b"json"], [3]])
@pytest.mark.parametrize("limit", ["imports", "host_calls"])
def test_names_come_in_a_list(limit: str, names: object) -> None:
    with pytest.raises(ArgumentError, match=limit):
        Isolate(limits=Limits(**{limit: names}))  # type: ignore[arg-type]


def test_a_bundle_that_is_cut_short_while_it_is_used() -> None:
    script = """
import tempfile, pathlib
path = pathlib.Path(tempfile.mkdtemp()) / "x.wtask"
parts = {"small": b"s" * 1000, "large": b"l" * (3 << 20)}
source = {"main": "import other\\ndef f(): return other.x", "other": "x = 5"}
TaskBundle.from_source({**source, "main": source["main"]}, resources=parts).save(path)
bundle = TaskBundle.load(path)
os.truncate(path, 0)
isolate = Isolate()
isolate.load(bundle)
print(isolate.call("f"), bundle.resources, len(isolate.call("read", "small", module="walle.engine")))
"""
    assert after(script) == "5 {'large': 3145728, 'small': 1000} 1000\n"


def test_damaged_state_is_set_aside_and_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    state = tmp_path / "task.kv"
    state.write_bytes(b"WALKV001 and then something else")
    source = "import walle\ndef f():\n    walle.kv.put('a', 1)\n    return walle.kv.keys()"
    with caplog.at_level(logging.WARNING, "walle_rt"), Isolate(state=state) as isolate:
        isolate.run(source)
        assert isolate.call("f") == ["a"]
    assert (tmp_path / "task.kv.damaged").read_bytes() == b"WALKV001 and then something else"
    assert "task.kv.damaged" in caplog.text


def test_lines_beyond_the_quota_are_dropped_and_counted() -> None:
    lines: list[tuple[int, str]] = []
    limits = Limits(log_bytes=10_000)
    with Isolate(limits=limits, log=lambda level, line: lines.append((level, line))) as isolate:
        isolate.run("def f(n, m):\n    for i in range(n): print('é' * m)\n    return n")
        for _ in range(2):  # each call has the whole quota
            lines.clear()
            assert isolate.call("f", 1000, 18) == 1000
            assert len(lines) == 101
            assert lines[-1][0] == 2
            assert "900 lines of this call" in lines[-1][1]
        lines.clear()
        isolate.call("f", 1, 1_000_000)
        assert [len(line.encode()) for _, line in lines[:1]] == [10_000 - 64]
        assert "1 line of this call" in lines[1][1]


def test_only_verified_bundles_are_opened(vm: VM, tmp_path: Path) -> None:
    import hashlib
    import hmac

    from walle_rt.errors import TaskError

    bundle = TaskBundle.from_source({"main": "def f(): return 1"}, vm)
    bundle.save(tmp_path / "x.wtask")
    signature = hmac.digest(b"key", bundle.data, "sha256")

    def verify(data: bytes) -> bool:
        return hmac.compare_digest(hmac.digest(b"key", data, hashlib.sha256), signature)

    for opened in (
        TaskBundle.load(tmp_path / "x.wtask", vm, verify=verify),
        TaskBundle(bundle.data, vm, verify=verify),
    ):
        with Isolate(vm) as isolate:
            isolate.load(opened)
            assert isolate.call("f") == 1
    other = TaskBundle.from_source({"main": "def f(): return 2"}, vm)
    with pytest.raises(TaskError, match="verify"):
        TaskBundle(other.data, vm, verify=verify)
    other.save(tmp_path / "x.wtask")
    with pytest.raises(TaskError, match="verify"):
        TaskBundle.load(tmp_path / "x.wtask", vm, verify=verify)
    with pytest.raises(TaskError, match="verify"):
        TaskBundle(other.data, vm, verify=lambda data: None)  # type: ignore[arg-type, return-value]
