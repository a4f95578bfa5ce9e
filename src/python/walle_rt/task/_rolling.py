"""Features kept per key: [features] of a task.toml against the events that it declares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .. import _core
from ..errors import ArgumentError
from ..stream import Catalog, Trigger
from ..table import ColumnType
from ._mistakes import one_of
from ._read import Reader
from ._spec import RollingSpec, TaskSpec

_NUMBERS = (ColumnType.INT, ColumnType.FLOAT)


def rolling_specs(
    reader: Reader, spec: TaskSpec, catalog: Catalog | None, near: Callable[[str], str]
) -> Iterator[tuple[str, RollingSpec]]:
    """Those that mean something; what is wrong with the others is added to the reader's mistakes.

    Args:
        reader: of the task.toml.
        spec: its events.
        catalog: the same; None where they contradict each other.
        near: the next step for a name in an error's ``given``, "" where none is near.
    """
    for name, given in reader.values["features"].items():
        if any(given[key] is None for key in ("event", "by", "aggregate", "over")):
            continue
        parsed = _event(reader, name, given["event"], catalog, near)
        if parsed is None:
            continue
        event, text = parsed
        kind = _core.task.ROLLING_KINDS[given["aggregate"]]
        if not (
            _fields_fit(reader, spec, name, given, event) & _value_fits(reader, spec, name, given, event)
        ):
            continue
        us, events = given["over"]
        yield name, RollingSpec(text, tuple(given["by"]), kind, given["value"], us, events, given["keys"])


def _event(
    reader: Reader, name: str, text: str, catalog: Catalog | None, near: Callable[[str], str]
) -> tuple[str, str] | None:
    """The event's name and the canonical text."""
    try:
        event, canonical = _core.task.rolling_event(text)
        if catalog is not None:
            Trigger(canonical).check(catalog)
    except ArgumentError as error:
        shown = error.given.partition("\n")[0]
        reader.wrong(
            ("features", name, "event"),
            f"event = {text!r}: {shown}",
            error.expected,
            near(error.given) or error.next_step,
        )
        return None
    return event, canonical


def _declared(spec: TaskSpec, event: str) -> dict[str, ColumnType]:
    return (
        {name: kind for name, (kind, _) in spec.events[event].fields.items()} if event in spec.events else {}
    )


def _fields_fit(reader: Reader, spec: TaskSpec, name: str, given: dict[str, Any], event: str) -> bool:
    fields = _declared(spec, event)
    where = ("features", name, "by")
    if not given["by"]:
        reader.wrong(where, "by without a field", "1 to 4 fields", "name what makes up a key")
        return False
    unknown = [field for field in given["by"] if field not in fields]
    for field in unknown:
        expected = "one of " + ", ".join(fields) if fields else f"a field that [events.{event}] declares"
        hint = one_of(field, fields, f"add it to [events.{event}.fields]")
        reader.wrong(where, f"by '{field}', which event '{event}' does not have", expected, hint)
    return not unknown


def _value_fits(reader: Reader, spec: TaskSpec, name: str, given: dict[str, Any], event: str) -> bool:
    kind, value = _core.task.ROLLING_KINDS[given["aggregate"]], given["value"]
    where = ("features", name, "value")
    if (kind == "count") == bool(value):
        what = f"value = '{value}' of a count" if value else f"a {kind} without 'value'"
        expected = "no value: a count is of events" if value else "the field whose numbers it is of"
        reader.wrong(
            where if value else where[:2], what, expected, "remove it" if value else "add value = ..."
        )
        return False
    if not value:
        return True
    fields = _declared(spec, event)
    numbers = [field for field, of in fields.items() if of in _NUMBERS]
    if value in numbers:
        return True
    what = f"of type {fields[value]}" if value in fields else f"which event '{event}' does not have"
    expected = (
        "one of " + ", ".join(numbers) if numbers else f"a field of numbers that [events.{event}] declares"
    )
    hint = one_of(value, numbers, f"add it to [events.{event}.fields]")
    reader.wrong(where, f"value '{value}', {what}", expected, hint)
    return False
