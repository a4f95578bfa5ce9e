"""The rules for what changed between opsets, found by operator and by the opset of the model."""

from __future__ import annotations

from collections.abc import Callable

from .node import Node

Rule = Callable[[Node], None]
NEWEST = 0  # `below` of a rule that holds for every opset

# op -> [(below, rule)]; the rule with the smallest `below` above the model's opset is used, NEWEST last.
RULES: dict[tuple[str, str], list[tuple[int, Rule]]] = {}


def rule(*ops: str, below: int = NEWEST, domain: str = "") -> Callable[[Rule], Rule]:
    """Register a rule for operators of models whose opset is below a number (or of any opset)."""

    def register(function: Rule) -> Rule:
        for op in ops:
            RULES.setdefault((domain, op), []).append((below, function))
            RULES[domain, op].sort(key=lambda entry: entry[0] or 1 << 30)
        return function

    return register


def find_rule(domain: str, op: str, opset: int) -> Rule | None:
    """The rule for an operator in a model of this opset, or None when the node is taken over as it is."""
    for below, function in RULES.get((domain, op), []):
        if below == NEWEST or opset < below:
            return function
    return None
