"""What one isolate may use."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .. import _core
from ..errors import ArgumentError

# And what the native side holds them in; nested calls are counted in an int.
_NUMBERS = {
    "heap_bytes": 2**64 - 1,
    "wall_ms": 2**32 - 1,
    "cpu_ms": 2**32 - 1,
    "depth": 2**31 - 1,
    "stack_bytes": 2**32 - 1,
    "state_bytes": 2**64 - 1,
    "log_bytes": 2**64 - 1,
}
_NAMES = ("imports", "host_calls")


@dataclass(frozen=True)
class Limits:
    """What one isolate may use; 0 or None means unlimited.

    Attributes:
        heap_bytes: memory of the task, exact to one arena of 256 KB; tensors that it makes or gets from
            host calls count too.
        wall_ms: wall-clock time of one call, in milliseconds.
        cpu_ms: processor time of one call, in milliseconds.
        depth: nested Python calls (0: 1000).
        stack_bytes: C stack of one call (0: all that the calling thread has).
        state_bytes: what walle.kv may keep (0: 1 MB).
        log_bytes: what one call may log, 64 bytes a line beside its text (0: 1 MB). What is beyond it is
            dropped, and a last line says so.
        imports: top-level modules that the task itself may import.
        host_calls: host calls that the task may use, as "walle.kv.get" or a whole module as "walle.kv".
    """

    heap_bytes: int = 0
    wall_ms: int = 0
    cpu_ms: int = 0
    depth: int = 0
    stack_bytes: int = 0
    state_bytes: int = 0
    log_bytes: int = 0
    imports: Sequence[str] | None = None
    host_calls: Sequence[str] | None = None


def native_limits(limits: Limits | None) -> _core.vm.Limits:
    """The native form of ``limits``; ArgumentError: numbers out of range, lists that are none."""
    given = limits or Limits()
    for name, most in _NUMBERS.items():
        value = getattr(given, name)
        if not isinstance(value, int) or not 0 <= value <= most:
            raise ArgumentError.of(
                f"{name}={value!r}",
                f"zero or a positive integer up to {most}",
                "Limits",
                "use 0 for no limit",
            )
    for name in _NAMES:
        names = getattr(given, name)
        # A str is a sequence of names of one letter each.
        if isinstance(names, (str, bytes)) or not all(isinstance(each, str) for each in names or ()):
            raise ArgumentError.of(f"{name}={names!r}", "a list of names", "Limits", f"write {name}=['json']")
    return _core.vm.Limits(
        heap_bytes=given.heap_bytes,
        wall_ms=given.wall_ms,
        cpu_ms=given.cpu_ms,
        depth=given.depth,
        stack_bytes=given.stack_bytes,
        state_bytes=given.state_bytes,
        log_bytes=given.log_bytes,
        imports=None if given.imports is None else list(given.imports),
        host_calls=None if given.host_calls is None else list(given.host_calls),
    )


def native_terms(
    vm: _core.vm.Vm,
    limits: Limits | None,
    log: Callable[[int, str], None] | None,
    state: str | os.PathLike[str] | None,
) -> _core.vm.Terms:
    """What isolates of ``vm`` are given; ArgumentError as of native_limits() and for unknown host calls."""
    return _core.vm.Terms(vm, native_limits(limits), log, None if state is None else str(state))
