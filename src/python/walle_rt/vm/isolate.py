"""One interpreter of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from .. import _core
from ..errors import ArgumentError
from .bundle import TaskBundle
from .library import VM
from .limits import Limits, native_terms

Log = Callable[[int, str], None]


@dataclass(frozen=True)
class IsolateStats:
    """Counters of one isolate; sizes in bytes."""

    heap_bytes: int
    heap_peak: int
    calls: int
    cancels: int
    denied_allocations: int


class Isolate:
    """One interpreter of its own.

    Any thread may call it, one at a time; the host's lock is released meanwhile. On the main thread signal
    handlers run during a call, too, and what one of them raises (KeyboardInterrupt after Ctrl-C) ends it.
    A log callback may use other isolates. A child made by fork() may use none: start it with 'spawn'.

    Without `vm` it is of the full flavour, which has a compiler: tasks find there what a device does not
    have (compile, eval, exec of text, run()). Isolate(VM("device")) is what tasks meet when they are
    shipped, and what `walle task run` uses; repr() says which one an isolate is.

    Args:
        vm: the library to use (default: the full flavour).
        limits: what the task may use.
        log: called with (level, line) for walle.log and print(), on the thread that runs the task; level 0
            debug, 1 info, 2 warning, 3 error. Lines beyond the limit log_bytes of a call, and those of tasks
            that still run when Python ends, are lost.
        state: file for walle.kv; None: walle.kv refuses; "": kept in memory. A damaged file is kept as
            "<file>.damaged", the state starts empty, and the logger "walle_rt" gets a warning.

    Raises:
        ArgumentError: a limit is negative, or the isolate is used after close().
        BackendError: without `vm`, when the VM library is missing.
        ResourceError: there is no memory for an interpreter, the state file cannot be read, or this process
            was made by fork() after the VM had been used.
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
            _core.vm.Isolate.create(self.vm._native, native_terms(self.vm._native, limits, log, state))
        )

    @classmethod
    def _adopt(cls, vm: VM, native: _core.vm.Isolate) -> Isolate:
        self = cls.__new__(cls)
        self.vm = vm
        self._hold(native)
        return self

    def _hold(self, native: _core.vm.Isolate) -> None:
        self._native: _core.vm.Isolate | None = native
        if type(self) is Isolate:
            # Found before the method below: the function around it alone took 0.35 us, the call takes 0.25.
            self.__dict__["call"] = native.call

    def load(self, bundle: TaskBundle) -> None:
        """Make the bundle's modules importable.

        Of two bundles with a module of one name the first loaded wins.

        Raises:
            ArgumentError: the bundle was opened by another VM.
        """
        self._live.attach(bundle._native)

    def call(self, function: str, /, *args: Any, module: str = "main") -> Any:
        """Call `module.function(*args)`, importing the module first if needed, on the calling thread.

        Returns:
            The result, converted as the package describes.

        Raises:
            TaskFailed: the task raised; LimitExceeded when a limit ended it. The isolate stays usable.
            ArgumentError: an argument cannot cross, or the isolate is closed.
        """
        return self._live.call(function, *args, module=module)

    def run(self, source: str, *, module: str = "main", file: str = "main.py") -> None:
        """Run source text as module `module` (full flavour only).

        Raises:
            TaskFailed: the text does not compile or raised; LimitExceeded when a limit ended it.
        """
        self._live.run(source, module, file)

    def cancel(self) -> None:
        """Stop the call that is running now, from any thread; nothing happens when none is."""
        self._live.cancel()

    def reset(self) -> None:
        """Replace the interpreter by a fresh one: same limits and bundles, nothing else of the last task."""
        self._live.reset()

    def stats(self) -> IsolateStats:
        """Counters so far."""
        return IsolateStats(*self._live.stats())

    @property
    def _live(self) -> _core.vm.Isolate:
        if self._native is None:
            raise ArgumentError.of("a closed isolate", "an open isolate", "Isolate", "create another one")
        return self._native

    def close(self) -> None:
        """Give the interpreter up; it ends on another thread."""
        self._native = None
        self.__dict__.pop("call", None)

    def __repr__(self) -> str:
        """The flavour, and whether it is closed."""
        return f"<Isolate {self.vm.flavour}{', closed' if self._native is None else ''}>"

    def __enter__(self) -> Isolate:
        """The isolate itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        """Close."""
        self.close()
