"""What one isolate may use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import _core
from ..errors import ArgumentError

_NUMBERS = ("heap_bytes", "wall_ms", "cpu_ms", "depth", "stack_bytes", "state_bytes")


@dataclass(frozen=True)
class Limits:
    """What one isolate may use; 0 or None means unlimited.

    Attributes:
        heap_bytes: memory of the task, exact to one arena of 256 KB; tensors that it makes or gets from
            host calls count too.
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


def native_limits(limits: Limits | None) -> Any:
    """The native form of ``limits``; ArgumentError when a number is negative."""
    given = limits or Limits()
    numbers = [getattr(given, name) for name in _NUMBERS]
    for name, value in zip(_NUMBERS, numbers, strict=True):
        if value < 0:
            raise ArgumentError.of(
                f"{name}={value}", "zero or a positive number", "Limits", "use 0 for no limit"
            )
    return _core.vm.Limits(
        *numbers,
        None if given.imports is None else list(given.imports),
        None if given.host_calls is None else list(given.host_calls),
    )
