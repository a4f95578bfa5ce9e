"""The event model: what a device may record."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence

from .. import _core
from ..table import ColumnType

Value = int | float | bool | str | None


class Sensitivity(enum.IntEnum):
    """How much a field says about a person."""

    OPEN = 0
    PERSONAL = 1
    SECRET = 2


class EventKind(enum.IntEnum):
    """What an event means to sessions and pages; all but CUSTOM are declared in every catalogue."""

    PAGE_ENTER = 0
    PAGE_SCROLL = 1
    EXPOSURE = 2
    CLICK = 3
    PAGE_EXIT = 4
    APP_STATE = 5
    TIMER = 6
    CUSTOM = 7


class Catalog:
    """What a device may record. Only grows: names keep their ids."""

    def __init__(self) -> None:
        """Start with the seven built-in events, without fields."""
        self._core = _core.stream.Catalog()

    def declare(
        self,
        name: str,
        kind: EventKind = EventKind.CUSTOM,
        fields: Mapping[str, ColumnType | tuple[ColumnType, Sensitivity]]
        | Sequence[tuple[str, ColumnType, Sensitivity]]
        | None = None,
    ) -> Catalog:
        """Declare an event, or append fields to a declared one of the same kind; returns self.

        A declared event is given with all its fields so far, in their order; ``extend`` appends one without.
        Labels may rise and not fall.

        Args:
            name: of the event.
            kind: what it means to sessions and pages.
            fields: {name: type} or {name: (type, sensitivity)}; PERSONAL where none is said. Or as ``events``
                gives them: [(name, type, sensitivity)].

        Raises:
            ArgumentError: a bad or repeated name, or a declaration that contradicts an earlier one.
        """
        columns = []
        named = fields.items() if isinstance(fields, Mapping) else [(f, (t, s)) for f, t, s in fields or ()]
        for field, given in named:
            kind_of, sensitivity = given if isinstance(given, tuple) else (given, Sensitivity.PERSONAL)
            columns.append((field, str(kind_of), int(sensitivity)))
        self._core.declare(name, int(kind), columns)
        return self

    def extend(
        self, event: str, field: str, type: ColumnType, sensitivity: Sensitivity = Sensitivity.PERSONAL
    ) -> Catalog:
        """Append a field to a declared event, or raise the label of one that it has; returns self.

        Raises:
            ArgumentError: an unknown event, another type than declared, or a lower label.
        """
        self._core.extend(event, field, str(type), int(sensitivity))
        return self

    def label_at(self, field: str, seq: int) -> Sensitivity:
        """The label of a field in events from number ``seq`` on: the highest of all events that declare it.

        Where a label was lowered (``EventLog.lower``), events recorded before keep the one they had.
        """
        return Sensitivity(self._core.label_at(field, seq))

    def page(self, *names: str) -> Catalog:
        """Declare pages; returns self."""
        for name in names:
            self._core.page(name)
        return self

    def state(self, *names: str) -> Catalog:
        """Declare states that ``when`` clauses test (at most 64); returns self."""
        for name in names:
            self._core.state(name)
        return self

    @property
    def events(self) -> list[tuple[str, EventKind, list[tuple[str, ColumnType, Sensitivity]]]]:
        """Declared events by id, as ``declare`` takes them: (name, kind, [(field, type, sensitivity)])."""
        return [
            (name, EventKind(kind), [(f, ColumnType(t), Sensitivity(s)) for f, t, s in fields])
            for name, kind, fields in self._core.events()
        ]

    @property
    def pages(self) -> list[str]:
        """Declared pages by id; id 0 is "no page"."""
        return self._core.pages()

    @property
    def states(self) -> list[str]:
        """Declared states by bit."""
        return self._core.states()

    def to_bytes(self) -> bytes:
        """The catalogue as schemas/event.fbs."""
        return self._core.serialize()

    @classmethod
    def from_bytes(cls, data: bytes) -> Catalog:
        """Read what to_bytes wrote; ModelError when it is damaged."""
        out = cls.__new__(cls)
        out._core = _core.stream.Catalog.parse(bytes(data))
        return out
