"""The desk of releases: what operators decide and devices report, in the database, and the plans that follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .state import ServerState


class Desk:
    """Holds the controller of releases over the database."""

    def __init__(self, state: ServerState, announce: Callable[[int, bool], None]) -> None:
        self._state, self._announce = state, announce

    def turn(self) -> None: ...
    def decode(self, device: str, body: bytes) -> Any: ...
    def store(self, given: list[tuple[str, Any]]) -> list[dict[str, Any]]:
        return [{} for _ in given]

    def start(self, *a: Any) -> int:
        return 0

    def act(self, *a: Any) -> int:
        return 0

    def progress(self, n: int) -> dict[str, Any]:
        return {}
