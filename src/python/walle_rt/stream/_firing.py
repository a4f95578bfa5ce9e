"""Firings of tasks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NumberedFiring:
    """One call of a task, waiting or done.

    ``number`` counts the task's firings from 1, the same in every replay; ``key`` is a 64-bit hash that no
    other firing of the device has. ``seq`` is the completing event (of timers and trailing absences the last
    one before), ``ts`` and ``start_ts`` are microseconds since 1970. ``start_seq`` and ``last_seq`` are the
    first and the last event of the match: 0 where the log no longer has it, and of timers. ``session`` and
    ``page_instance`` are those of the last event. ``coalesced`` more firings were folded into this one.
    """

    task: str
    number: int
    key: int
    trigger: str
    seq: int
    ts: int
    start_ts: int
    start_seq: int
    last_seq: int
    session: int
    page_instance: int
    coalesced: int
