"""What a session holds between runs."""

from __future__ import annotations

from dataclasses import dataclass

from . import _core


@dataclass(frozen=True)
class SessionMemory:
    """Bytes by kind (docs/concepts/session-memory.md); the model's own weights are none of them."""

    plans: int  # a number: one per part of a graph and class of shapes, at most ``max_plans`` of each graph
    steps: int  # of plans: their steps, with the kernels and the choices that lost; estimated
    arena: int  # what plans compute in: one block, as large as the largest plan needs
    free: int  # blocks that the next results are lent from
    lent: int  # results of the last run that somebody still holds: theirs, no part of the total
    packed: int  # weights as kernels want them, shared by the sessions of the model
    folded: int  # weights that plans transposed, scaled or cut, likewise

    @property
    def total(self) -> int:
        """All bytes that would go with the session and the others of its model."""
        return self.steps + self.arena + self.free + self.packed + self.folded


def trim() -> int:
    """Give back what every session of the process holds between runs, those of tasks included.

    As ``Session.trim``, but for sessions that run just now, which keep what they have: it waits for nothing.
    For a system that says it is short of memory.

    Returns:
        Bytes given back.
    """
    return _core.trim_sessions()
