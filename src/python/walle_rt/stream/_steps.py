"""Trigger patterns built step by step."""

from __future__ import annotations

from dataclasses import dataclass


def _name(name: str) -> str:
    return name if name == "*" else '"' + name + '"'


@dataclass(frozen=True)
class Step:
    """An event pattern that further steps can be joined to; immutable, every method returns a new one."""

    text: str

    def _joined(self, sign: str, other: Step, gap: str | None) -> Step:
        return Step(f"{self.text} {sign}{f'({gap})' if gap else ''} {other.text}")

    def then(self, other: Step, *, gap: str | None = None) -> Step:
        """The next event of the scope is ``other``, at most ``gap`` ("5s") later."""
        return self._joined(">", other, gap)

    def later(self, other: Step, *, unless: Step | None = None, gap: str | None = None) -> Step:
        """``other`` comes later, with any events between except ``unless``."""
        return self._joined(f"!{unless.text} ~" if unless else "~", other, gap)

    def __or__(self, other: Step) -> Step:
        """Either of two single events."""
        return Step(f"({self.text.strip('()')} | {other.text.strip('()')})")

    def times(self, count: int) -> Step:
        """The event ``count`` times, with any events between."""
        return Step(f"{self.text}{{{count}}}")

    def optional(self) -> Step:
        """The step may be missing."""
        return Step(self.text + "?")

    def never(self, other: Step, duration: str) -> Step:
        """Ends the pattern: ``other`` does not follow for ``duration``."""
        return Step(f"{self.text} !~ {other.text} for {duration}")


def event(name: str = "*", page: str = "*", where: str = "") -> Step:
    """One event of this name on this page whose declared fields satisfy ``where``; "*" is any."""
    return Step(_name(name) + ("" if page == "*" else "@" + _name(page)) + (f"[{where}]" if where else ""))
