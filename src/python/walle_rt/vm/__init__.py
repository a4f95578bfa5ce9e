"""Isolated Python interpreters for tasks: each with its own lock, its own heap and its own limits.

    from walle_rt.vm import VM, Isolate, TaskBundle

    bundle = TaskBundle.compile("my_task")          # a folder with main.py
    with Isolate(limits=Limits(wall_ms=500)) as isolate:
        isolate.load(bundle)
        result = isolate.call("main", {"clicks": 3})

Importing this package loads nothing; the VM library is loaded when the first VM, Isolate, Pool or TaskBundle
is made. Arguments and results are None, bool, int (64 bit), float, str, bytes, lists, dicts with str keys,
and arrays: NumPy arrays and memoryviews become `walle.Tensor` inside the isolate and share their memory;
tensors that come back are NumPy arrays. Bytes of 64 KB and more are not copied either: the task sees a
read-only memoryview, and a memoryview of native memory that a task returns is a memoryview here.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

from ..errors import ArgumentError, TaskError, compose

__all__ = [
    "VM",
    "Frame",
    "Isolate",
    "IsolateStats",
    "LimitExceeded",
    "Limits",
    "Pool",
    "PoolStats",
    "TaskBundle",
    "TaskFailed",
]

Log = Callable[[int, str], None]


@dataclass(frozen=True)
class Frame:
    """One line of a task's traceback; `line` is 0 where it is not known (library code)."""

    file: str
    line: int
    function: str


class TaskFailed(TaskError):  # noqa: N818 (reads as what happened)
    """A task ended with an exception.

    Attributes: `type` (the exception's class name), `detail` (its message), `limit` ("" or the limit that was
    exceeded: heap, wall, cpu, stack, import, host_call, abandoned; "cancelled" after cancel()), `traceback`
    (Frames, outermost first).
    """

    def __init__(self, type: str, detail: str, limit: str, traceback: tuple[Frame, ...]) -> None:
        """Build the message out of what the isolate reported."""
        # Library code has no line numbers.
        own = [frame for frame in traceback if frame.line] or list(traceback)
        last = f"{own[-1].file}:{own[-1].line}" if own else "the call"
        given, expected = f"{type}: {detail}" if detail else type, "a task that runs to its end"
        step = f"raise the {limit} limit or make the task need less" if limit else "correct the task's source"
        super().__init__(
            compose(given, expected, last, step), given=given, expected=expected, where=last, next_step=step
        )
        self.type = type
        self.detail = detail
        self.limit = limit
        self.traceback = traceback

    def formatted(self) -> str:
        """The traceback as Python prints it."""
        lines = [
            f'  File "{f.file}"{f", line {f.line}" if f.line else ""}, in {f.function}'
            for f in self.traceback
        ]
        head = ["Traceback (most recent call last):"] if lines else []
        return "\n".join([*head, *lines, f"{self.type}: {self.detail}" if self.detail else self.type])


class LimitExceeded(TaskFailed):
    """A task exceeded one of its limits (`limit` names it) or was cancelled ("cancelled")."""


def _raise_failure(failure: tuple[str, str, str, list[tuple[str, int, str]]]) -> NoReturn:
    kind, detail, limit, frames = failure
    cls = LimitExceeded if limit else TaskFailed
    raise cls(kind, detail, limit, tuple(Frame(*frame) for frame in frames))


@dataclass(frozen=True)
class Limits:
    """What one isolate may use; 0 or None means unlimited.

    Attributes:
        heap_bytes: memory of the task, exact to one arena of 256 KB; tensors that it makes or gets from host
        calls
            count too.
        wall_ms: wall-clock time of one call, in milliseconds.
        cpu_ms: processor time of one call, in milliseconds.
        depth: nested Python calls (0: 1000).
        stack_bytes: C stack of one call (0: all that the calling thread has; 8 MB on a pool's threads).
        state_bytes: what walle.kv may keep (0: 1 MB).
        imports: top-level modules that the task itself may import.
        host_calls: host calls that the task may use, as "walle.kv.get" or a whole module as "walle.kv".
    """

    heap_bytes: int = 0
    wall_ms: int = 0
    cpu_ms: int = 0
    depth: int = 0
    stack_bytes: int = 0
    state_bytes: int = 0
    imports: Sequence[str] | None = None
    host_calls: Sequence[str] | None = None


@dataclass(frozen=True)
class IsolateStats:
    """Counters of one isolate; sizes in bytes."""

    heap_bytes: int
    heap_peak: int
    calls: int
    cancels: int
    denied_allocations: int


@dataclass(frozen=True)
class PoolStats:
    """Counters of one pool: isolates ready now, handed out, made on demand, and worker threads given up."""

    ready: int
    handed_out: int
    cold: int
    abandoned: int


def _native() -> Any:
    from .. import _core

    return _core.vm  # type: ignore[attr-defined,unused-ignore]


def _native_limits(limits: Limits | None) -> Any:
    given = limits or Limits()
    for name in ("heap_bytes", "wall_ms", "cpu_ms", "depth", "stack_bytes", "state_bytes"):
        value = getattr(given, name)
        if value < 0:
            raise ArgumentError(
                compose(f"{name}={value}", "zero or a positive number", "Limits", "use 0 for no limit"),
                given=f"{name}={value}",
                expected="zero or a positive number",
                where="Limits",
                next_step="use 0 for no limit",
            )
    return _native().Limits(
        given.heap_bytes,
        given.wall_ms,
        given.cpu_ms,
        given.depth,
        given.stack_bytes,
        given.state_bytes,
        None if given.imports is None else list(given.imports),
        None if given.host_calls is None else list(given.host_calls),
    )


def library_path(flavour: str = "full") -> Path:
    """Where the VM library of a flavour ("full" or "device") is looked for.

    WALLE_VM_LIBRARY overrides it for both; otherwise it lies beside this file.
    """
    named = os.environ.get("WALLE_VM_LIBRARY")
    suffix = "dylib" if os.uname().sysname == "Darwin" else "so"
    return Path(named) if named else Path(__file__).with_name(f"libwalle_vm_{flavour}.{suffix}")


class VM:
    """One VM library, loaded once per process and path.

    Args:
        flavour: "full" (with a compiler) or "device" (runs precompiled bundles only).
        path: another library file; overrides `flavour`.

    Raises:
        BackendError: the library is missing or of another version.
    """

    def __init__(self, flavour: str = "full", *, path: str | os.PathLike[str] | None = None) -> None:
        """Load the library, or take the one already loaded from this path."""
        if flavour not in ("full", "device"):
            raise ArgumentError(
                compose(f"flavour '{flavour}'", '"full" or "device"', "VM", "pass one of them")
            )
        self._native = _native().Vm.open(str(path if path is not None else library_path(flavour)))

    @staticmethod
    def available(flavour: str = "full") -> bool:
        """Whether the library of `flavour` is there (it is not loaded)."""
        return library_path(flavour).is_file()

    @property
    def id(self) -> str:
        """The identity that bundles are compiled for."""
        return str(self._native.id)

    @property
    def flavour(self) -> str:
        """ "full" or "device"."""
        return str(self._native.flavour)

    @property
    def python(self) -> str:
        """The CPython version inside, for example "3.13.5"."""
        return str(self._native.python)

    @property
    def library(self) -> list[str]:
        """The modules a task may import."""
        return sorted(name for name in self._native.library if not name.startswith("_"))

    def __repr__(self) -> str:
        """Short description."""
        return f"VM({self.flavour!r}, python={self.python!r}, id={self.id!r})"


class TaskBundle:
    """Compiled modules of one task and the files that travel with it: immutable, for one exact VM id.

    Attributes:
        vm: the library that opened it.
    """

    def __init__(self, data: bytes, vm: VM | None = None) -> None:
        """Check `data` and open it.

        Raises:
            TaskError: the bytes are damaged, truncated, for another VM, or hold bytecode that no compiler
            emits.
        """
        self.vm = vm or VM()
        self._native = _native().Bundle.open(self.vm._native, bytes(data))

    @classmethod
    def _adopt(cls, vm: VM, native: Any) -> TaskBundle:
        self = cls.__new__(cls)
        self.vm = vm
        self._native = native
        return self

    @staticmethod
    def compile(source_dir: str | os.PathLike[str], vm: VM | None = None) -> TaskBundle:
        """Compile every .py file below `source_dir`; a folder with __init__.py is a package.

        Other files become resources: walle.engine.load opens those that are models, walle.engine.read the
        others. Hidden files and __pycache__ are left out.

        Raises:
            TaskError: a syntax error, with file and line.
            ArgumentError: the folder is missing or has no Python file, or a module is named like one of the
            library.
        """
        root = Path(source_dir)
        sources, resources = {}, {}
        for path in sorted(root.rglob("*")):
            inside = path.relative_to(root)
            if not path.is_file() or any(
                part.startswith(".") or part == "__pycache__" for part in inside.parts
            ):
                continue
            if path.suffix != ".py":
                resources[inside.as_posix()] = path.read_bytes()
                continue
            parts = list(inside.with_suffix("").parts)
            package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if package else parts)
            if name:
                sources[name] = (inside.as_posix(), path.read_text(encoding="utf-8"), package)
        if not sources:
            where, expected = f"no .py file below '{root}'", "a folder with at least main.py"
            raise ArgumentError(
                compose(where, expected, "TaskBundle.compile", "check the path"),
                given=where,
                expected=expected,
            )
        return TaskBundle._compile(sources, vm, resources)

    @staticmethod
    def from_source(
        modules: dict[str, str], vm: VM | None = None, *, resources: dict[str, bytes] | None = None
    ) -> TaskBundle:
        """Compile modules given as {name: source text}, with resources as {name: bytes}."""
        sources = {n: (n.replace(".", "/") + ".py", t, False) for n, t in modules.items()}
        return TaskBundle._compile(sources, vm, resources or {})

    @staticmethod
    def _compile(
        sources: dict[str, tuple[str, str, bool]], vm: VM | None, resources: dict[str, bytes]
    ) -> TaskBundle:
        vm = vm or VM()
        for name, (file, *_) in sources.items():
            if name in vm._native.library:
                given, expected = f"'{file}', module {name}", "names that the VM's own library does not use"
                step = "rename it: the library's module would be imported instead"
                where = "TaskBundle.compile"
                raise ArgumentError(
                    compose(given, expected, where, step),
                    given=given,
                    expected=expected,
                    where=where,
                    next_step=step,
                )
        data = vm._native.compile([(name, *rest) for name, rest in sources.items()])
        if resources:
            data = _native().Bundle.pack(data, list(resources.items()))
        return TaskBundle(data, vm)

    @staticmethod
    def load(path: str | os.PathLike[str], vm: VM | None = None) -> TaskBundle:
        """Open a .wtask file that save() wrote; it is mapped, so that large resources cost no copy."""
        vm = vm or VM()
        return TaskBundle._adopt(vm, _native().Bundle.load(vm._native, os.fspath(path)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the bundle; the file appears whole or not at all."""
        target = Path(path)
        with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as part:
            part.write(self.data)
        Path(part.name).replace(target)

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        return bytes(self._native.data)

    @property
    def resources(self) -> dict[str, int]:
        """Names and sizes of the files that travel with the code."""
        return dict(self._native.resources)

    @property
    def modules(self) -> list[str]:
        """Names of the modules inside."""
        return sorted(self._native.modules)


class Isolate:
    """One interpreter of its own. Any thread may call it, one at a time;
    the host's lock is released meanwhile.

    Args:
        vm: the library to use (default: the full flavour).
        limits: what the task may use.
        log: called with (level, line) for walle.log and print(); level 0 debug, 1 info, 2 warning, 3 error.
        state: file for walle.kv; None: walle.kv refuses; "": kept in memory.
    """

    def __init__(
        self,
        vm: VM | None = None,
        *,
        limits: Limits | None = None,
        log: Log | None = None,
        state: str | os.PathLike[str] | None = None,
    ) -> None:
        """Create the interpreter (about 0.7 ms)."""
        self.vm = vm or VM()
        self._hold(
            _native().Isolate.create(
                self.vm._native, _native_limits(limits), log, None if state is None else str(state)
            )
        )

    @classmethod
    def _adopt(cls, vm: VM, native: Any) -> Isolate:
        self = cls.__new__(cls)
        self.vm = vm
        self._hold(native)
        return self

    def _hold(self, native: Any) -> None:
        self._native = native
        if type(self) is Isolate:
            # Found before the method below: the function around it alone took 0.35 us, the call takes 0.25.
            self.__dict__["call"] = native.call

    def load(self, bundle: TaskBundle) -> None:
        """Make the bundle's modules importable;
        of two bundles with a module of one name the first loaded wins.
        """
        self._live.attach(bundle._native)

    def call(self, function: str, /, *args: Any, module: str = "main") -> Any:
        """Call `module.function(*args)`, importing the module first if needed, on the calling thread.

        Returns:
            The result, converted as the package describes.

        Raises:
            TaskFailed: the task raised; LimitExceeded when a limit ended it. The isolate stays usable.
            ArgumentError: an argument cannot cross.
        """
        return self._live.call(function, *args, module=module)

    def run(self, source: str, *, module: str = "main", file: str = "main.py") -> None:
        """Run source text as module `module` (full flavour only)."""
        self._live.run(source, module, file)

    def cancel(self) -> None:
        """Stop the call that is running now, from any thread; nothing happens when none is."""
        self._live.cancel()

    def reset(self) -> None:
        """Replace the interpreter by a fresh one: same limits, same bundles,
        nothing else left of the last task.
        """
        self._live.reset()

    def stats(self) -> IsolateStats:
        """Counters so far."""
        return IsolateStats(*self._live.stats())

    @property
    def _live(self) -> Any:
        if self._native is None:
            raise ArgumentError(
                compose("a closed isolate", "an open isolate", "Isolate", "create another one")
            )
        return self._native

    def close(self) -> None:
        """Give the interpreter up; it ends on another thread."""
        self._native = None
        self.__dict__.pop("call", None)

    def __enter__(self) -> Isolate:
        """The isolate itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        """Close."""
        self.close()


class Pool:
    """Isolates that are ready before they are asked for, refilled in the background.

    Args:
        vm: the library to use.
        size: how many isolates to keep ready.
        profile: "bare", or "std": the modules most tasks import are imported already.
        limits, log, state: as for Isolate.
        grace_ms: how long run() waits after the wall limit before it gives a thread up, in milliseconds.
    """

    def __init__(
        self,
        vm: VM | None = None,
        *,
        size: int = 4,
        profile: str = "bare",
        limits: Limits | None = None,
        log: Log | None = None,
        state: str | os.PathLike[str] | None = None,
        grace_ms: int = 1000,
    ) -> None:
        """Create the first isolate and start filling."""
        if profile not in ("bare", "std"):
            raise ArgumentError(
                compose(f"profile '{profile}'", '"bare" or "std"', "Pool", "pass one of them")
            )
        self.vm = vm or VM()
        self._native = _native().Pool.create(
            self.vm._native,
            size,
            profile == "std",
            _native_limits(limits),
            log,
            None if state is None else str(state),
            grace_ms,
        )

    def take(self) -> Isolate:
        """A warm isolate, the caller's to keep; made on the spot when none is ready."""
        return Isolate._adopt(self.vm, self._native.take())

    @contextlib.contextmanager
    def isolate(self) -> Iterator[Isolate]:
        """take() for a with block."""
        isolate = self.take()
        try:
            yield isolate
        finally:
            isolate.close()

    def run(self, bundle: TaskBundle | None, function: str, *args: Any, module: str = "main") -> Any:
        """Call one function on a fresh isolate and a worker thread.

        With a wall limit, a call that native code keeps from ending is abandoned (LimitExceeded, limit
        "abandoned").
        """
        return self._native.run(None if bundle is None else bundle._native, module, function, *args)

    def wait_until_full(self) -> None:
        """Block until `size` isolates are ready."""
        self._native.wait_until_full()

    def stats(self) -> PoolStats:
        """Counters so far."""
        return PoolStats(*self._native.stats())


def host_calls() -> list[str]:
    """Every host call that this build lends to tasks, as "walle.kv.get"."""
    return sorted(_native().host_calls())
