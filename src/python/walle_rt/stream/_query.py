"""Which events of a log somebody wants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import ArgumentError

if TYPE_CHECKING:
    from ._firing import NumberedFiring
    from ._triggers import Firing

_Asked = tuple[int, int | None, int | None, int | None, int | None, int | None]


@dataclass(frozen=True)
class EventQuery:
    """Events for which everything holds that is said; all bounds are inclusive.

    The log opens no segment that they cannot lie in, enters its journal near the first and stops behind the
    last.

    Attributes:
        from_seq: the least number.
        to_seq: the largest number.
        from_ts: the earliest time (``Event.ts``), microseconds since 1970.
        to_ts: the latest time.
        session: number of the session's first event, as ``Event.session`` has it.
        page_instance: number of the page's enter event, as ``Event.page_instance`` has it; the page ends with
            its exit, or with its session.
    """

    from_seq: int = 0
    to_seq: int | None = None
    from_ts: int | None = None
    to_ts: int | None = None
    session: int | None = None
    page_instance: int | None = None

    @classmethod
    def match(cls, firing: Firing | NumberedFiring) -> EventQuery:
        """What a firing's match lies between.

        From its first event - of a ``TriggerSet``'s firing from that event's time - to the event that
        completed it, both included; all events between, whether or not the pattern named them.
        """
        first = getattr(firing, "start_seq", 0)
        return cls(from_seq=first, to_seq=firing.seq, from_ts=firing.start_ts)

    def _asked(self) -> _Asked:
        numbers = (self.from_seq, self.to_seq, self.session, self.page_instance)
        if any(n is not None and n < 0 for n in numbers):
            raise ArgumentError.of(
                f"{self}", "numbers of events, from 0 on", "EventQuery", "correct the number"
            )
        return (self.from_seq, self.to_seq, self.from_ts, self.to_ts, self.session, self.page_instance)


def asked(from_seq: int, where: EventQuery | None) -> _Asked:
    """Both as one: events from the larger of the two least numbers on."""
    if where is None:
        # A place before the log's first event has always meant its beginning.
        return (max(from_seq, 0), None, None, None, None, None)
    first, *others = where._asked()
    return (max(from_seq, first), *others)  # type: ignore[return-value]
