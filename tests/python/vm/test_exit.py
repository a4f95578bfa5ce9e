"""How a process that used isolates ends: with its own exit code, nothing on stderr, whoever holds what."""

from __future__ import annotations

from textwrap import dedent

import pytest
from commands import run_python

from walle_rt.vm import VM

ROUNDS = 5  # the ends of isolates and of Python race; each of these scripts aborted in most rounds


def end(script: str) -> str:
    """Stdout of a process that runs the script; any other end than its own fails."""
    return run_python(script).stdout


@pytest.mark.parametrize("round_", range(ROUNDS))
@pytest.mark.parametrize("close", ["", "isolate.close()", "del isolate"])
def test_a_log_callback(vm: VM, close: str, round_: int) -> None:
    script = f"""
        from walle_rt.vm import Isolate
        isolate = Isolate(log=lambda level, line: print(line))
        isolate.run("def main(): print('hello')")
        isolate.call("main")
        {close}
    """
    assert end(script) == "hello\n"


@pytest.mark.parametrize("round_", range(ROUNDS))
@pytest.mark.parametrize("lines", [0, 1])
def test_a_pool_with_a_log_callback(vm: VM, lines: int, round_: int) -> None:
    script = f"""
        from walle_rt.vm import TaskBundle
        from walle_rt.vm.pool import Pool
        pool = Pool(size=4, log=lambda level, line: print(line))
        bundle = TaskBundle.from_source({{"main": "def main(): print('hello')"}})
        for _ in range({lines}):
            with pool.isolate() as isolate:
                isolate.load(bundle)
                isolate.call("main")
    """
    assert end(script) == "hello\n" * lines


def test_a_callback_is_dropped_before_python_ends(vm: VM) -> None:
    script = """
        import weakref
        from walle_rt.vm import Isolate
        class Log:
            def __call__(self, level, line): pass
        log = Log()
        weakref.finalize(log, print, "dropped")
        Isolate(log=log).close()
        del log
    """
    assert end(script) == "dropped\n"


# Threads that Python does not wait for, in and out of isolates all the time while Python ends.
STRANGERS = {
    "calls": """
        isolate = Isolate()
        isolate.run("def main():\\n  for i in range(20000): pass")
        while True: isolate.call("main")
    """,
    "lines": """
        isolate = Isolate(log=lambda level, line: time.sleep(0.001))
        isolate.run("def main():\\n  for i in range(20000): print(i)")
        while True: isolate.call("main")
    """,
    "arrays": """
        while True:
            isolate = Isolate()
            isolate.run("keep = []\\ndef main(x): keep.append(x)")
            for _ in range(50): isolate.call("main", np.zeros(100))
            isolate.close()
    """,
    "pools": """
        bundle = TaskBundle.from_source({"main": "def main():\\n  for i in range(2000): print(i)"})
        pool = Pool(size=2, log=lambda level, line: time.sleep(0.001))
        while True:
            with pool.isolate() as isolate:
                isolate.load(bundle)
                isolate.call("main")
    """,
}


@pytest.mark.parametrize("round_", range(ROUNDS))
@pytest.mark.parametrize("body", STRANGERS.values(), ids=STRANGERS)
def test_daemon_threads(vm: VM, body: str, round_: int) -> None:
    script = f"""
import threading, time
import numpy as np
from walle_rt.vm import Isolate, TaskBundle
from walle_rt.vm.pool import Pool
def run():
    {dedent(body).strip().replace(chr(10), chr(10) + "    ")}
for _ in range(4): threading.Thread(target=run, daemon=True).start()
time.sleep(0.3)
"""
    assert end(script) == ""


def test_exit_handlers_still_log(vm: VM) -> None:
    """One that was registered before walle_rt was imported runs after ours."""
    script = """
        import atexit
        @atexit.register
        def last():
            isolate.call("main")
            print(lines)
        from walle_rt.vm import Isolate
        lines = []
        isolate = Isolate(log=lambda level, line: lines.append(line))
        isolate.run("def main(): print('hello')")
    """
    assert end(script) == "['hello']\n"


def test_a_stuck_callback_does_not_hold_the_process(vm: VM) -> None:
    """For five seconds it may finish; the bound of end() is the one that counts."""
    script = """
        import threading, time
        from walle_rt.vm import Isolate
        entered = threading.Event()
        def log(level, line):
            entered.set()
            threading.Event().wait()
        isolate = Isolate(log=log)
        isolate.run("def main(): print('hello')")
        threading.Thread(target=isolate.call, args=("main",), daemon=True).start()
        entered.wait()
        print("end")
    """
    assert end(script) == "end\n"


def test_a_forked_child(vm: VM) -> None:
    """The child has none of the parent's threads to wait for."""
    script = """
        import os, sys, time, warnings
        from walle_rt.vm import Isolate
        # Since 3.12 Python warns of threads beside a fork; here they are what is tested.
        warnings.simplefilter("ignore", DeprecationWarning)
        isolate = Isolate(log=lambda level, line: print(line))
        isolate.run("def main(): print('hello')")
        isolate.call("main")
        sys.stdout.flush()
        started = time.monotonic()
        child = os.fork()
        if child == 0:
            isolate.close()
            sys.exit(3)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), time.monotonic() - started < 4)
    """
    assert end(script) == "hello\n3 True\n"
