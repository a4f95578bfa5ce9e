"""The dict that a task's function is called with, for type checkers."""

from __future__ import annotations

from typing import TypedDict

Value = int | float | bool | str


class MatchEvent(TypedDict):
    """One recorded event of a match.

    Attributes:
        seq: its number.
        ts: its time, microseconds since 1970.
        event: its name.
        page: the page it lay on, "" for none; of ``app_state`` the state.
        session: number of its session's first event.
        page_instance: number of its page's enter event; 0 outside any page.
        fields: its contents, those that it has.
    """

    seq: int
    ts: int
    event: str
    page: str
    session: int
    page_instance: int
    fields: dict[str, Value]


class Firing(TypedDict):
    """What ``main``, ``preprocess`` and ``postprocess(outputs, event)`` get: one firing of a trigger.

    Attributes:
        trigger: the name that task.toml gives it.
        number: of the firing: 1, 2, 3 ... of the task, the same after a crash.
        key: a hash that no other firing of the device has.
        scope: what the trigger's scope keeps apart: the fields of ``by(...)`` by name, ``session`` and
            ``page_instance`` where it has them; {} of a device's scope and of timers. A field is None where
            the match's first event is no longer recorded.
        first: the match's first event; None where it is no longer recorded, and of timers.
        last: the event that ended the match, behind which a trailing absence waited; of timers the last event
            before. None where it is no longer recorded.
        event: name of ``last``, or None.
        page: page of ``last``, or None.
        fields: contents of ``last``; {} without one.
        seq: number of the event at which the trigger fired; of timers and trailing absences the last before.
        start_seq: number of ``first``; 0 without one.
        ts: when it fired, microseconds since 1970; of a trailing absence the deadline.
        start_ts: time of the match's first event.
        session: number of the first event of the session of ``last``.
        page_instance: likewise of its page; 0 outside any page.
        coalesced: further firings that were folded into this one.
        attempt: 1, or of a firing that failed and is tried again 2, 3 ...
    """

    trigger: str
    number: int
    key: int
    scope: dict[str, Value | None]
    first: MatchEvent | None
    last: MatchEvent | None
    event: str | None
    page: str | None
    fields: dict[str, Value]
    seq: int
    start_seq: int
    ts: int
    start_ts: int
    session: int
    page_instance: int
    coalesced: int
    attempt: int
