"""State values of a session: what it keeps from run to run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from . import _core
from .values import Array


class States(Mapping[str, Array]):
    """The states of one session by name, between its runs: copies out and in.

    ``dict(session.states)`` is a snapshot of them, and ``session.states[name] = array`` continues from one.
    Reading and writing wait for the run that is under way.
    """

    def __init__(self, native: _core.Session, names: tuple[str, ...]) -> None:
        """Use ``session.states`` instead."""
        self._native = native
        self._names = names

    def __getitem__(self, name: str) -> Array:
        """A copy of what the last run left, or of what the session begins with; KeyError for another name."""
        if name not in self._names:
            raise KeyError(name)
        contents: Array = self._native.state(name)
        return contents

    def __setitem__(self, name: str, value: Any) -> None:
        """Give a state other contents, which are copied.

        Raises:
            ArgumentError: there is no such state, or it is declared as something else.
        """
        self._native.set_state(name, value)

    def __iter__(self) -> Iterator[str]:
        """Names, in the model's order."""
        return iter(self._names)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._names)

    def reset(self) -> None:
        """Begin again with what the model says."""
        self._native.reset_states()
