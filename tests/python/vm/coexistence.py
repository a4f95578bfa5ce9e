"""What a host process must not notice of the VM, checked with nothing but ctypes,
so that it runs under any Python.

    coexistence.py FULL DEVICE         every check in a process of its own; prints "ok" or "FAIL" and its name
    coexistence.py FULL DEVICE NAME    one check

The structures mirror src/cpp/vm/abi.h; the boundary's version is compared first.
"""

from __future__ import annotations

import atexit
import ctypes
import locale
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from ctypes import CFUNCTYPE, POINTER, byref, c_char, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path

ABI = 6
INT = 2


class Value(ctypes.Structure):
    """wvm_value; integers only."""

    _fields_ = (("kind", c_uint64), ("size", c_uint64), ("integer", ctypes.c_int64))


class Failure(ctypes.Structure):
    """wvm_failure."""

    _fields_ = (
        ("relation", c_uint32),
        ("type", c_char_p),
        ("message", c_char_p),
        ("frames", c_void_p),
        ("frame_count", c_size_t),
        ("notes", c_void_p),
        ("note_count", c_size_t),
        ("related", c_void_p),
        ("related_count", c_size_t),
    )


class Result(ctypes.Structure):
    """wvm_result."""

    _fields_ = (
        ("ok", c_int),
        ("value", Value),
        ("reason", c_int),
        ("failure", Failure),
        ("arena", c_void_p),
    )


class Source(ctypes.Structure):
    """wvm_source."""

    _fields_ = (
        ("name", c_char_p),
        ("file", c_char_p),
        ("text", c_char_p),
        ("size", c_size_t),
        ("is_package", c_int),
    )


class Blob(ctypes.Structure):
    """wvm_blob."""

    _fields_ = (("data", c_void_p), ("size", c_size_t), ("arena", c_void_p))


LOG = CFUNCTYPE(None, c_void_p, c_int, POINTER(c_char), c_size_t)


class Host(ctypes.Structure):
    """wvm_host without functions."""

    _fields_ = (
        ("log", LOG),
        ("allocate_tensor", c_void_p),
        ("arrays", c_void_p),
        ("must_stop", c_void_p),
        ("functions", c_void_p),
        ("function_count", c_size_t),
    )


class Api(ctypes.Structure):
    """wvm_api."""

    _fields_ = (
        ("abi", c_uint32),
        ("id", c_char_p),
        ("flavour", c_char_p),
        ("python", c_char_p),
        ("start", CFUNCTYPE(c_int, POINTER(Host), c_char_p, c_size_t)),
        ("create", CFUNCTYPE(c_void_p, c_void_p, POINTER(Result))),
        ("destroy", CFUNCTYPE(None, c_void_p)),
        ("limit", c_void_p),
        ("attach", CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(Result))),
        (
            "call",
            CFUNCTYPE(None, c_void_p, c_char_p, c_char_p, POINTER(Value), c_size_t, POINTER(Result)),
        ),
        ("run_source", c_void_p),
        ("cancel", CFUNCTYPE(None, c_void_p, c_int)),
        ("nudge", CFUNCTYPE(None, c_void_p)),
        ("stats", c_void_p),
        ("release_result", CFUNCTYPE(None, POINTER(Result))),
        ("bundle_open", CFUNCTYPE(c_void_p, c_void_p, c_size_t, c_char_p, c_size_t)),
        ("bundle_release", CFUNCTYPE(None, c_void_p)),
        ("bundle_modules", c_void_p),
        ("library_modules", c_void_p),
        ("compile", CFUNCTYPE(c_int, POINTER(Source), c_size_t, c_void_p, POINTER(Blob), POINTER(Result))),
        ("release_blob", CFUNCTYPE(None, POINTER(Blob))),
    )


def check(condition: bool, what: object) -> None:
    """An assertion that -O keeps."""
    if not condition:
        raise AssertionError(what)


class Library:
    """One loaded and started VM library."""

    def __init__(self, path: Path) -> None:
        """Load and start."""
        self.handle = ctypes.CDLL(str(path))
        entry = self.handle.walle_vm_entry
        entry.restype, entry.argtypes = POINTER(Api), [c_uint32]
        check(bool(entry(ABI)), f"{path} does not serve boundary version {ABI}")
        self.api = entry(ABI).contents
        self.log = LOG(lambda user, level, text, size: None)
        self.host = Host(self.log, None, None, None, None, 0)
        error = ctypes.create_string_buffer(256)
        check(self.api.start(byref(self.host), error, 256) == 0, error.value)

    def compile(self, text: bytes) -> bytes:
        """A bundle with one module, main."""
        blob, failure = Blob(), Result()
        source = Source(b"main", b"main.py", text, len(text), 0)
        check(
            self.api.compile(byref(source), 1, None, byref(blob), byref(failure)) == 0,
            failure.failure.message,
        )
        data = ctypes.string_at(blob.data, blob.size)
        self.api.release_blob(byref(blob))
        return data


class Isolate:
    """One isolate with one bundle."""

    def __init__(self, library: Library, bundle: bytes) -> None:
        """Create and attach."""
        self.api, self.bytes = library.api, bundle
        failure = Result()
        self.handle = self.api.create(None, byref(failure))
        check(bool(self.handle), failure.failure.message)
        error = ctypes.create_string_buffer(256)
        self.bundle = self.api.bundle_open(ctypes.cast(self.bytes, c_void_p), len(self.bytes), error, 256)
        check(bool(self.bundle), error.value)
        check(self.api.attach(self.handle, self.bundle, byref(failure)) == 0, failure.failure.message)

    def call(self, function: bytes, argument: int) -> int:
        """main.function(argument)."""
        result = Result()
        self.api.call(self.handle, b"main", function, byref(Value(INT, 0, argument)), 1, byref(result))
        check(bool(result.ok), (result.failure.type, result.failure.message))
        answer = result.value.integer
        self.api.release_result(byref(result))
        return int(answer)

    def close(self) -> None:
        """Destroy."""
        self.api.destroy(self.handle)
        self.api.bundle_release(self.bundle)


TASK = b"""
import json, re, random, datetime, math
def work(n):
    rows = [{"a": i, "t": datetime.date(2024, 1, 1 + i % 28).isoformat()} for i in range(n)]
    return len(re.findall("2024", json.dumps(rows))) + random.Random(n).randrange(1)
def spin(n):
    total = 0
    for i in range(n): total += i & 3
    return total
"""


def environment() -> list[bytes]:
    """The C library's view; os.environ is a copy."""
    entries = POINTER(c_char_p).in_dll(ctypes.CDLL(None), "environ")
    found = []
    while entries[len(found)] is not None:
        found.append(entries[len(found)])
    return found


def surroundings() -> dict[str, object]:
    """What the process looks like from outside the VM."""
    status = Path("/proc/self/status").read_text().splitlines()
    return {
        "signal masks": [line for line in status if line.startswith(("SigBlk", "SigIgn", "SigCgt"))],
        "signal handlers": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "umask": [line for line in status if line.startswith("Umask")],
        "locale": locale.setlocale(locale.LC_ALL),
        "environment": (environment(), dict(os.environ)),
        "folder": Path.cwd(),
        "exit handlers": atexit._ncallbacks(),  # type: ignore[attr-defined]
        "switch interval": sys.getswitchinterval(),
        "recursion limit": sys.getrecursionlimit(),
        "open files": sorted(Path("/proc/self/fd").iterdir()),
    }


def unnoticed(full: Path, device: Path) -> None:
    """Loading, starting, running and ending isolates leaves the surroundings as they were."""
    # As CPython would not leave them when it starts: it ignores SIGPIPE and coerces the C locale.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    locale.setlocale(locale.LC_ALL, "C")
    # libffi of Debian's Python 3.13.18 opens a file of its own for the first callback and keeps it open.
    callback = CFUNCTYPE(None)(lambda: None)
    callback()
    before = surroundings()
    library = Library(full)
    bundle = library.compile(TASK)
    for each in (library, Library(device)):
        isolate = Isolate(each, bundle)
        check(isolate.call(b"work", 50) == 50, "wrong answer")
        isolate.close()
    after = surroundings()
    for name, value in before.items():
        check(after[name] == value, f"{name} changed: {value} -> {after[name]}")


def host_signals(full: Path, device: Path) -> None:
    """The host's own handler runs for a signal that arrives during a call."""
    library = Library(full)
    isolate = Isolate(library, library.compile(TASK))
    seen: list[int] = []
    previous = signal.signal(signal.SIGALRM, lambda number, frame: seen.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    check(isolate.call(b"spin", 2_000_000) > 0, "no answer")
    for _ in range(100):
        if seen:
            break
        signal.sigtimedwait([], 0.01)
    signal.signal(signal.SIGALRM, previous)
    isolate.close()
    check(seen == [signal.SIGALRM], f"handler calls: {seen}")


def forks(full: Path, device: Path) -> None:
    """A child forked beside living isolates, while another thread runs one, is an ordinary host process."""
    library = Library(full)
    bundle = library.compile(TASK)
    isolate = Isolate(library, bundle)
    thread = threading.Thread(target=isolate.call, args=(b"spin", 1_000_000))
    thread.start()
    # Since 3.12 Python warns of threads beside a fork; here they are what is tested.
    warnings.simplefilter("ignore", DeprecationWarning)
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # a child that hangs must not hang the test
        helper = threading.Thread(target=lambda: os.environ.update(FORKED="1"))
        helper.start()
        helper.join()
        os._exit(0 if os.environ.get("FORKED") == "1" and os.getpid() != os.getppid() else 1)
    _, status = os.waitpid(child, 0)
    thread.join()
    check(os.waitstatus_to_exitcode(status) == 0, f"the child ended with {os.waitstatus_to_exitcode(status)}")
    check(isolate.call(b"work", 7) == 7, "the parent's isolate is disturbed")
    isolate.close()


def two_copies(full: Path, device: Path) -> None:
    """Two copies of one library beside the first: three VMs that share nothing, running at the same time."""
    with tempfile.TemporaryDirectory() as folder:
        copies = [Library(full)]
        for name in ("a.so", "b.so"):
            shutil.copy(full, Path(folder) / name)
            copies.append(Library(Path(folder) / name))
        bundle = copies[0].compile(TASK)
        addresses = {ctypes.addressof(copy.api) for copy in copies}
        check(len(addresses) == 3, "the copies are one library")
        isolates = [Isolate(copy, bundle) for copy in copies for _ in range(2)]
        answers: list[int] = []

        def body(isolate: Isolate) -> None:
            answers.extend(isolate.call(b"work", n) - n for n in range(30))

        threads = [threading.Thread(target=body, args=(isolate,)) for isolate in isolates]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        check(answers == [0] * 180, f"{len(answers)} answers, {sum(map(bool, answers))} wrong")
        for isolate in isolates:
            isolate.close()


def exits(full: Path, device: Path) -> None:
    """The host's exit handlers run, once, and the process ends well with isolates still alive.

    The caller looks.
    """
    library = Library(full)
    isolate = Isolate(library, library.compile(TASK))
    atexit.register(lambda: print("bye", flush=True))
    check(isolate.call(b"work", 3) == 3, "wrong answer")
    threading.Thread(target=isolate.call, args=(b"spin", 1 << 40), daemon=True).start()


CHECKS = {body.__name__: body for body in (unnoticed, host_signals, forks, two_copies, exits)}


def run(name: str) -> str:
    """One check in a fresh process: empty, or what is wrong."""
    command = [sys.executable, __file__, *sys.argv[1:3], name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        return "does not end"
    if done.returncode != 0 or done.stderr:
        return f"exit status {done.returncode}\n{done.stdout}{done.stderr}"
    expected = "bye\n" if name == "exits" else ""
    return "" if done.stdout == expected else f"printed {done.stdout!r}, expected {expected!r}"


def main() -> int:
    if len(sys.argv) == 4:
        CHECKS[sys.argv[3]](Path(sys.argv[1]), Path(sys.argv[2]))
        return 0
    failures = {name: run(name) for name in CHECKS}
    for name, wrong in failures.items():
        print(f"FAIL  {name}: {wrong}" if wrong else f"ok    {name}")
    return 1 if any(failures.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
