"""What a conversion has to say: every node it cannot take over, all at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..errors import ModelError


@dataclass(frozen=True)
class Unsupported:
    """One node (or value) the converter has no equivalent for."""

    node: str
    op: str
    opset: int
    reason: str

    def text(self) -> str:
        """One line for people."""
        return f"{self.node}: {self.op} (opset {self.opset}): {self.reason}"


@dataclass
class Report:
    """Counts and complaints of one conversion."""

    source: str
    nodes: int = 0
    operators: dict[str, int] = field(default_factory=dict)
    unsupported: list[Unsupported] = field(default_factory=list)

    def add(self, node: str, op: str, opset: int, reason: str) -> None:
        """Record a node that cannot be converted; equal complaints are kept once."""
        entry = Unsupported(node, op, opset, reason)
        if entry not in self.unsupported:
            self.unsupported.append(entry)

    def raise_if_unsupported(self) -> None:
        """Raise one ModelError naming every unsupported node, or return when there is none."""
        if not self.unsupported:
            return
        listing = "\n  ".join(self.lines())
        given = f"{len(self.unsupported)} unsupported node(s):\n  {listing}\n"
        expected = "operators of `walle inspect ops`, or with an ONNX function body made of them"
        advice = "replace these nodes in the exporting program, or file a request naming them"
        error = UnsupportedModelError.of(given, expected, self.source, advice)
        error.report = self
        raise error

    def lines(self) -> list[str]:
        """One line per operator and reason, naming every node it concerns."""
        groups: dict[tuple[str, int, str], list[str]] = {}
        for entry in self.unsupported:
            groups.setdefault((entry.op, entry.opset, entry.reason), []).append(entry.node)
        return [
            f"{', '.join(nodes)}: {op} (opset {opset}): {reason}"
            for (op, opset, reason), nodes in groups.items()
        ]

    def as_dict(self) -> dict[str, Any]:
        """For --json."""
        return {
            "source": self.source,
            "nodes": self.nodes,
            "operators": dict(sorted(self.operators.items())),
            "unsupported": [vars(entry) for entry in self.unsupported],
        }


class UnsupportedModelError(ModelError):
    """The model uses operators or types that walle_rt does not have; ``report`` lists them all."""

    report: Report


def refuse(given: str, expected: str, where: str, next_step: str) -> ModelError:
    """A ModelError with its four parts."""
    return ModelError.of(given, expected, where, next_step)
