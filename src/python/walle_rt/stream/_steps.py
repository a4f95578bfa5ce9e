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

    def newest(self, other: Step, *, unless: Step | None = None, gap: str | None = None) -> Step:
        """``other`` comes later, counted from the newest such event before it.

        ``gap`` may have a lower bound, "7d.." or "1d..7d", and ``other`` may compare its numbers with that
        event's: ``event("buy", where="price < $view.price")``.
        """
        return self._joined(f"!{unless.text} ~>" if unless else "~>", other, gap)

    def without(self, earlier: Step, *, for_: str | None = None) -> Step:
        """Begins the pattern: none of ``earlier`` came before, in the scope or for the time given."""
        return Step(f"!{earlier.text} ~{f'({for_})' if for_ else ''} {self.text}")

    def or_else(self, other: Step) -> Step:
        """Either of two whole patterns."""
        return Step(f"{self.text} or {other.text}")

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


def all_of(*steps: Step) -> Step:
    """Each of two to four single events, in any order."""
    return Step(f"all({', '.join(s.text for s in steps)})")


def counted(of: Step, at_least: int) -> Step:
    """A whole pattern: the event came so often, in the trigger's window and scope."""
    return Step(f"count({of.text}) >= {at_least}")


def distinct(field: str, at_least: int, *, of: Step | None = None) -> Step:
    """A whole pattern: so many different values of ``field``."""
    return Step(f"distinct({_name(field)}{f' of {of.text}' if of else ''}) >= {at_least}")


def summed(field: str, above: float, *, of: Step | None = None, keep: int | None = None) -> Step:
    """A whole pattern: the sum of ``field`` exceeds ``above``; a window keeps ``keep`` numbers."""
    bound = f" > {above}" + (f" keep {keep}" if keep else "")
    return Step(f"sum({_name(field)}{f' of {of.text}' if of else ''}){bound}")
