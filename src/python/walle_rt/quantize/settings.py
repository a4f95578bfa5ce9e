"""Checks of what a caller of the quantiser asks for."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..errors import ArgumentError

if TYPE_CHECKING:
    from .graph import Graph


def one_of(option: str, value: object, known: Iterable[object]) -> None:
    """ArgumentError unless the value is one of those that an option knows."""
    choices = list(known)
    if value not in choices:
        shown = ", ".join(str(choice) for choice in choices)
        raise ArgumentError.of(
            f"{option}={value!r}", f"one of {shown}", "quantize", f"leave {option} at its default"
        )


def between(option: str, value: object, low: float, high: float) -> None:
    """ArgumentError unless the value is a number within bounds."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
        raise ArgumentError.of(
            f"{option}={value!r}", f"a number from {low} to {high}", "quantize", f"leave {option} out"
        )


def left_out(graph: Graph, wanted: Iterable[str]) -> dict[str, str]:
    """Nodes to leave in float32, by name or by operator type: name -> why.

    Raises:
        ArgumentError: a name that no node and no operator of the model has.
    """
    by_name = {node.name for node in graph.nodes}
    by_type = {node.op_type for node in graph.nodes}
    found: dict[str, str] = {}
    for item in wanted:
        if item in by_name:
            found[item] = "left out by name"
        elif item in by_type:
            found |= {n.name: f"{item} was left out" for n in graph.nodes if n.op_type == item}
        else:
            near = difflib.get_close_matches(item, sorted(by_name | by_type), 3, 0.4)
            raise ArgumentError.of(
                f"leave_out '{item}'",
                "the name of a node of the model, or an operator that it has",
                "quantize",
                f"did you mean {' or '.join(near)}?" if near else "see `walle inspect` for the nodes",
            )
    return found
