"""ONNX's Attention, expanded through its function body in a form that holds without any key too."""

from __future__ import annotations

from onnx import FunctionProto, helper

from .functions import Call, schema_function
from .heads import heads_first, join_heads, split_heads
from .node import Node
from .rules import rule
from .scope import NONE
from .unsupported import UnsupportedError

_HEADS = ("q_num_heads", "kv_num_heads")


def _with_zeros(function: FunctionProto) -> FunctionProto:
    """The body with sizes it computes taken as they are: in its Reshapes a length of 0 would mean a copy."""
    computed = {output for node in function.node if node.op_type == "Concat" for output in node.output}
    for node in function.node:
        if node.op_type == "Reshape" and node.input[1] in computed:
            node.attribute.append(helper.make_attribute("allowzero", 1))
    return function


@rule("Attention")
def attention(node: Node) -> None:
    """Heads side by side are split before the body and joined behind it."""
    inputs, attributes = list(node.inputs), dict(node.attributes)
    flat = node.rank(inputs[0], "the query") == 3
    if flat:
        counts = [int(node.attr(name, 0)) for name in _HEADS]
        if min(counts) <= 0:
            raise UnsupportedError(
                f"q_num_heads and kv_num_heads are {counts}: positive numbers are expected"
            )
        for i, count in enumerate((counts[0], counts[1], counts[1])):
            inputs[i] = heads_first(node, split_heads(node, inputs[i], count))
        for name in _HEADS:
            attributes.pop(name)
    walk, wanted = node.walk, max(len(node.outputs), 1)
    given = list(attributes.values())
    newest = walk.newest
    function = schema_function(walk.types, node.scope, "Attention", "", newest, inputs, given, wanted)
    if function is None:
        raise UnsupportedError("this version of onnx has no function body for it")
    made = walk.inline(_with_zeros(function), Call(node.scope, inputs, attributes, wanted, node.name))
    if flat and made[0] != NONE:
        made[0] = join_heads(node, heads_first(node, made[0]))
    node.result(*made)
