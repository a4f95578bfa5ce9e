"""Watch: which of the things that happen are told to the webhook, once each and not with every look."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sqlalchemy.orm import Session

from .expiry import Countdown
from .webhook_queue import Event

GUARD = "guard"
SILENT_S = 60.0  # without a broker, after which the sink lags
# Acts on releases that somebody must hear of; one of the guard's is "guard.halt".
_ACTS = {"halt": "release.halt", "kill": "release.kill", "roll back": "release.rollback"}


Tell = Callable[[Event, Session | None], None]


class Watch:
    """Compares what is with what was at the last look. One thread, but ``act``, which any may call.

    Args:
        tell: takes an event, and the transaction that it is to be durable with; None: one of its own.
        now: seconds since 1970.
    """

    def __init__(self, tell: Tell, now: Callable[[], float]) -> None:
        """Nothing was wrong."""
        self._tell, self._now = tell, now
        self._full, self._lags = False, False
        self._levels: dict[str, str] = {}
        self._connected_at = now()
        self._failed = 0

    def act(self, session: Session, actor: str, act: str, subject: str, detail: Mapping[str, Any]) -> None:
        """Something is done to a release in this transaction."""
        kind = _ACTS.get(act)
        if kind is None:
            return
        by_guard = actor == GUARD
        why = f": {detail['reason']}" if detail.get("reason") else ""
        self._say(
            "guard.halt" if by_guard else kind,
            subject,
            f"{'the guard' if by_guard else actor}: {act} of {subject}{why}",
            {"by": actor, **detail},
            session,
        )

    def disk(self, low: bool) -> None:
        """Whether the disk is full but for what is reserved."""
        if low != self._full:
            self._full = low
            text = "the disk is full: uploads and rows of devices wait" if low else "the disk has room again"
            self._say("disk.full" if low else "disk.free", "", text, {})

    def expiries(self, found: Iterable[Countdown]) -> None:
        """How long signed roles count: told where a level is another one, and not good."""
        for each in found:
            level = str(each.level)
            if self._levels.get(each.role, "ok") != level and each.next_step:
                self._say("expiry", each.role, each.text(), {"days": round(each.days, 1), "level": level})
            self._levels[each.role] = level

    def sink(self, stats: Mapping[str, Any]) -> None:
        """Whether what devices send is stored."""
        now, failed = self._now(), int(stats["failed_commits"])
        if stats["connected"]:
            self._connected_at = now
        fails, self._failed = failed > self._failed, failed
        away = now - self._connected_at >= SILENT_S
        if fails or away:
            why = "its commits fail" if fails else f"it has no broker for {SILENT_S:.0f} s"
            if not self._lags:
                self._say("sink.lag", "", f"the sink lags: {why}; devices keep what they have", {})
            self._lags = True
        elif stats["connected"] and self._lags:
            self._lags = False
            self._say("sink.caught-up", "", "the sink stores again", {})

    def _say(
        self, kind: str, subject: str, text: str, detail: Mapping[str, Any], session: Session | None = None
    ) -> None:
        self._tell(Event(kind, subject, text, self._now(), detail), session)
