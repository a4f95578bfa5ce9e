"""Triggers: written as text or built step by step, and matched as a set against the event stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from .. import _core
from ..errors import ArgumentError
from ..table import ColumnType
from ._catalog import Catalog, EventKind, Value
from ._log import EventLog
from ._picture import svg
from ._steps import Step
from ._times import Time, micros
from ._zones import offset_changes


@dataclass(frozen=True)
class Firing:
    """A completed trigger.

    ``seq`` is the completing event (for timers and trailing absences the last one before), ``ts`` and
    ``start_ts`` its end and first event in microseconds, ``idempotency`` a number equal in every replay,
    ``coalesced`` how many later firings this one stands for because the queue was full.
    """

    trigger: str
    seq: int
    ts: int
    start_ts: int
    idempotency: int
    coalesced: int


@dataclass(frozen=True)
class TriggerStats:
    """Counters of one trigger since it was added.

    ``suppressed`` matches were held back by once, cooldown or rate; ``evicted`` keys gave way to others while
    something of this trigger was under way in them; ``last_ts`` is the time of the newest firing.
    """

    fired: int
    suppressed: int
    evicted: int
    last_ts: int | None


@dataclass(frozen=True)
class KeyPrice:
    """What one scope with keys may come to take: nothing before its first event, ``bytes`` with all keys."""

    scope: str
    keys: int
    bytes_per_key: int
    bytes: int


@dataclass(frozen=True)
class Finding:
    """A remark of the linter: errors can never fire, others fire differently from how they read."""

    error: bool
    message: str
    position: int


class Trigger:
    """A trigger condition; see docs/reference/trigger-language.md."""

    def __init__(self, pattern: str | Step, **clauses: str | bool) -> None:
        """Parse a text, or a built pattern with clauses as keywords.

        Args:
            pattern: text of the trigger language, or steps.
            clauses: within="10m", gap="5s", scope="by(item, page)", every=True, once=True or "per item",
                cooldown="1h", rate="3 per 1h per user", during="not 22:00-07:00", when="wifi".

        Raises:
            ArgumentError: the text is no trigger; the message says line and column.
        """
        text = pattern.text if isinstance(pattern, Step) else pattern
        for clause, value in clauses.items():
            if value is not False:
                text += f" {clause}" if value is True else f" {clause} {value}"
        self.text: str = _core.stream.format_trigger(text)

    def lint(self) -> list[Finding]:
        """What the author surely did not mean; empty when nothing was found."""
        return [Finding(*f) for f in _core.stream.lint_trigger(self.text)]

    def check(self, catalog: Catalog) -> None:
        """Do nothing; ArgumentError when it cannot fire with this catalogue."""
        _core.stream.check_trigger(self.text, catalog._core)

    def __repr__(self) -> str:
        """The canonical text."""
        return f"Trigger({self.text!r})"

    def __eq__(self, other: object) -> bool:
        """Equal canonical texts."""
        return isinstance(other, Trigger) and self.text == other.text

    def __hash__(self) -> int:
        """Hash of the canonical text."""
        return hash(self.text)


_DEFAULT_KEYS = 4096


class TriggerSet:
    """All triggers of a device, matched together by one shared-prefix trie. One thread."""

    def __init__(
        self,
        catalog: Catalog,
        *,
        queue: int = 256,
        utc_offset_s: float = 0.0,
        zone: str | None = None,
        keys: int | Mapping[str, int] = _DEFAULT_KEYS,
        page_instances: int = 256,
        key_bytes: int = 64 << 20,
    ) -> None:
        """Match events of ``catalog``.

        Args:
            catalog: what events may come.
            queue: how many firings of an attached log may wait for ``take``; a further one is folded into the
                newest of its trigger, or drops the oldest. What ``step`` and ``replay`` return is never cut.
            utc_offset_s: seconds that local time is ahead of UTC, for ``daily`` and ``during``.
            zone: instead, an IANA time zone with its daylight saving: "Europe/Berlin".
            keys: how many values each ``by(field)`` scope keeps, or {field: number} (4,096 for the others).
                A further value takes the place of the one not seen longest; those with nothing waiting go
                first, and ``stats`` counts what was lost.
            page_instances: how many page instances ``scope page`` keeps; those that have ended make room.
            key_bytes: what all keys together may come to take. ``add`` refuses a trigger with which it could
                be more; ``prices`` tells how much it is.

        Raises:
            ArgumentError: a number out of bounds, or no such zone.
        """
        self._core = _core.stream.TriggerSet(
            catalog._core,
            queue=queue,
            utc_offset_s=utc_offset_s,
            keys=keys if isinstance(keys, int) else _DEFAULT_KEYS,
            keys_of=[] if isinstance(keys, int) else list(keys.items()),
            page_instances=page_instances,
            key_bytes=key_bytes,
            offset_changes=offset_changes(zone) if zone else [],
        )

    def add(self, name: str, trigger: Trigger | str, *, replay: EventLog | None = None) -> list[Firing]:
        """Add or replace a trigger between two events; the others go on undisturbed.

        Args:
            name: of the trigger in this set.
            trigger: its condition.
            replay: a log whose events are matched for this trigger alone, up to the newest that the set has
                matched (all, where it has matched none), so that its matches may begin in the past.

        Returns:
            What the past completed, oldest first; empty without ``replay``.

        Raises:
            ArgumentError: a text that is no trigger, or the log of another catalogue.
            ResourceError: no room for it, or a past that does not end where the set has come to.
        """
        text = trigger.text if isinstance(trigger, Trigger) else trigger
        if replay is None:
            self._core.add(name, text)
            return []
        return [Firing(*f) for f in self._core.add_with_past(name, text, replay._core)]

    def remove(self, name: str) -> None:
        """Remove a trigger; ArgumentError when there is none of this name."""
        self._core.remove(name)

    @property
    def triggers(self) -> dict[str, Trigger]:
        """Triggers by name."""
        return {name: Trigger(text) for name, text in self._core.texts()}

    def step(
        self,
        event: str,
        page: str = "",
        contents: Mapping[str, Value] | None = None,
        *,
        ts: Time,
        seq: int = 0,
        session: int = 1,
        page_instance: int = 0,
        on: bool = False,
    ) -> list[Firing]:
        """Match one event.

        Args:
            event: a declared name.
            page: a declared page; for app_state the name of the state.
            contents: values of declared fields.
            ts: microseconds since 1970 or a datetime; not below the previous event's.
            seq: sequence number that firings tell.
            session: sequence number of the session's first event.
            page_instance: sequence number of the page's enter event; 0 outside any page.
            on: for app_state, whether the state begins.

        Raises:
            ArgumentError: an unknown name, a wrong type, or a time that goes back.
        """
        given = None if contents is None else dict(contents)
        when = micros(ts, "step")
        where = {"session": session, "page_instance": page_instance}
        fired = self._core.step(event, page, given, when, seq, on=on, **where)
        return [Firing(*f) for f in fired]

    def replay(self, log: EventLog, from_seq: int = 0) -> list[Firing]:
        """Match every recorded event from ``from_seq`` on.

        Raises:
            ArgumentError: the log's catalogue has other names than the set's, or its events are older than
                what was matched already.
        """
        return [Firing(*f) for f in self._core.replay(log._core, from_seq)]

    def attach(self, log: EventLog) -> None:
        """Match every event that is appended to ``log`` from now on; ``take`` gives what fired.

        Events that the log holds already are not matched: ``replay`` them first. One set at a time.

        Raises:
            ArgumentError: another set is attached, or the log's catalogue has other names than the set's.
        """
        self._core.attach(log._core)

    def detach(self, log: EventLog) -> None:
        """No longer match what is appended to ``log``."""
        self._core.detach(log._core)

    def take(self) -> list[Firing]:
        """What fired since the last call on events of an attached log.

        Raises:
            ArgumentError: an event was recorded and not matched, because the set had seen a later one.
        """
        return [Firing(*f) for f in self._core.take()]

    def advance(self, ts: Time) -> list[Firing]:
        """Let time reach ``ts`` (microseconds or a datetime) without an event.

        Timers and absences that were due before it fire.
        """
        return [Firing(*f) for f in self._core.advance(micros(ts, "advance"))]

    @property
    def last_ts(self) -> int | None:
        """Time of the newest event; None before the first."""
        return self._core.last_ts()

    @property
    def next_deadline(self) -> int | None:
        """The earliest time at which ``advance`` may have something to fire; None when nothing waits."""
        return self._core.next_deadline()

    def snapshot(self) -> bytes:
        """The state of matching, without the triggers."""
        return self._core.snapshot()

    def restore(self, data: bytes) -> int:
        """Go on from a snapshot; returns how many of its entries belong to no trigger of this set."""
        return self._core.restore(bytes(data))

    @property
    def stats(self) -> dict[str, int]:
        """Counters and sizes, among them events, firings, suppressed, evicted_keys, evicted_limits, dropped,
        memory_bytes.
        """
        return self._core.stats()

    def stats_of(self, name: str) -> TriggerStats:
        """Counters of one trigger; ArgumentError when there is none of this name."""
        return TriggerStats(*self._core.stats_of(name))

    @property
    def prices(self) -> list[KeyPrice]:
        """What the keys of each ``by(...)`` and page scope may come to take."""
        return [KeyPrice(*p) for p in self._core.prices()]


def explain(triggers: Mapping[str, Trigger | str], catalog: Catalog, *, form: str = "text") -> str:
    """The trie these triggers make: indented "text", an "svg" picture, or "dot" for Graphviz."""
    if form not in ("text", "svg", "dot"):
        raise ArgumentError.of(f"form '{form}'", "text, svg or dot", "explain", "choose one of these")
    texts = [(n, t.text if isinstance(t, Trigger) else t) for n, t in triggers.items()]
    made = _core.stream.explain_triggers(texts, catalog._core, form == "dot")
    return svg(made) if form == "svg" else made


def catalog_of(triggers: Iterable[Trigger]) -> Catalog:
    """A catalogue with every name the triggers use, for looking at them without a device's own."""
    out = Catalog()
    names = [_core.stream.trigger_names(t.text) for t in triggers]
    fields = {name: ColumnType(kind) for _, _, _, found in names for name, kind in found.items()}
    builtin = {name: kind for name, kind, _ in out.events}
    for events, pages, states, _ in names:
        for name in sorted(events) or ["event"]:
            out.declare(name, builtin.get(name, EventKind.CUSTOM), fields)
        out.page(*sorted(pages))
        out.state(*sorted(states))
    return out


def load_triggers(paths: Iterable[str | PathLike[str]]) -> dict[str, Trigger]:
    """Triggers from ``*.trigger`` files, named by file name; folders are searched, in order of name.

    Raises:
        ArgumentError: a file holds no trigger, or two files have one name; the message names the file.
    """
    out: dict[str, Trigger] = {}
    for given in paths:
        path = Path(given)
        for file in sorted(path.glob("*.trigger")) if path.is_dir() else [path]:
            if file.stem in out:
                raise ArgumentError.of(
                    f"a second trigger named '{file.stem}'", "one file per name", str(file), "rename the file"
                )
            out[_core.names.check("trigger", file.stem, str(file))] = _read_trigger(file)
    return out


def _read_trigger(file: Path) -> Trigger:
    try:
        return Trigger(file.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise ArgumentError.of(
            f"bytes that are no UTF-8 text: {error.reason}", "a trigger", str(file), "check the path"
        ) from error
    except ArgumentError as error:
        where = f"{file}, {error.where}" if error.where else str(file)
        raise ArgumentError.of(error.given, error.expected, where, error.next_step) from error
