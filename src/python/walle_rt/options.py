"""The options of a session, checked before the native core sees them."""

from __future__ import annotations

from . import _core
from .errors import ArgumentError

# Far above any device; a larger number is a mistake that would only start idle threads.
_MAX_THREADS = _core.limits()["max_threads"]


def available_processors() -> int:
    """Processors this process may keep busy: its affinity mask, then the quota of its cgroup."""
    return _core.available_processors()


def check_text(option: str, value: object) -> str:
    """The value when it is a string; ArgumentError otherwise."""
    if not isinstance(value, str):
        raise ArgumentError.of(f"{option}={value!r}", "a string", "session", f"leave {option} at its default")
    return value


def check_count(option: str, value: object, bits: int = 31) -> int:
    """The value when it is an integer that the core can be given; ArgumentError otherwise."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**bits:
        raise ArgumentError.of(
            f"{option}={value!r}", "an integer from 0 on", "session", f"leave {option} at its default"
        )
    return value


def thread_count(threads: int | None) -> int:
    """How many threads a session is asked to use, every available processor by default;
    ArgumentError when wrong.
    """
    count = available_processors() if threads is None else threads
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= _MAX_THREADS:
        raise ArgumentError.of(
            f"threads={threads!r}",
            f"an integer from 1 to {_MAX_THREADS}",
            "session",
            "pass threads=1 or leave it out",
        )
    return count
