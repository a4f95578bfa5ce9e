"""Operators of ai.onnx.preview: what ONNX defines by function bodies."""

from __future__ import annotations

from .functions import schema_function
from .node import Node
from .rules import rule
from .unsupported import UnsupportedError

_DOMAIN = "ai.onnx.preview"


@rule("FlexAttention", domain=_DOMAIN)
def flex_attention(node: Node) -> None:
    """Attention with graphs that change scores and probabilities, all of them in its function body."""
    attributes = list(node.attributes.values())
    function = schema_function(
        node.walk.types, node.scope, node.op, _DOMAIN, node.opset, node.inputs, attributes, len(node.outputs)
    )
    if function is None:
        raise UnsupportedError("this version of onnx has no function body for it")
    node.inline(function)
