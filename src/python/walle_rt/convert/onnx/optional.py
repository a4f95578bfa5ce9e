"""Sequences and optional values."""

from __future__ import annotations

from .functions import schema_function
from .node import Node
from .rules import rule


@rule("Optional")
def optional(node: Node) -> None:
    """The declared type is dropped: an empty optional holds nothing."""
    node.take_over(None, "type")


@rule("SequenceMap")
def sequence_map(node: Node) -> None:
    """Expanded through ONNX's function body, whose loop may use the caller's names."""
    function = schema_function(
        node.walk.types,
        node.scope,
        node.op,
        "",
        node.opset,
        node.inputs,
        list(node.attributes.values()),
        len(node.outputs),
    )
    assert function is not None
    node.inline(function, outer=node.scope)
