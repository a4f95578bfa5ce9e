"""Constant in all its spellings, and values known while converting."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from .node import Node
from .rules import rule
from .tensors import read_sparse, read_strings, read_tensor
from .unsupported import UnsupportedError


@rule("Constant")
def constant(node: Node) -> None:
    """A Constant node becomes a constant value."""
    where = f"node '{node.name}'"
    folder = node.walk.folder
    if "value" in node.attributes and node.attributes["value"].t.data_type == TensorProto.STRING:
        words = read_strings(node.attributes["value"].t)
        value = node.walk.string_constant(node.scope, words, node.outputs[0])
    elif "value" in node.attributes:
        bits = read_tensor(node.attributes["value"].t, folder, where)
        value = node.walk.constant(node.scope, bits.array, bits.dtype, node.outputs[0])
    elif "sparse_value" in node.attributes:
        bits = read_sparse(node.attributes["sparse_value"].sparse_tensor, folder, where)
        value = node.walk.constant(node.scope, bits.array, bits.dtype, node.outputs[0])
    elif "value_int" in node.attributes or "value_ints" in node.attributes:
        value = node.array(np.asarray(node.attr("value_int", node.attr("value_ints")), np.int64))
    elif "value_float" in node.attributes or "value_floats" in node.attributes:
        value = node.array(np.asarray(node.attr("value_float", node.attr("value_floats")), np.float32))
    elif "value_string" in node.attributes or "value_strings" in node.attributes:
        proto = node.attributes.get("value_string") or node.attributes["value_strings"]
        words = np.asarray(proto.s if proto.name == "value_string" else list(proto.strings), object)
        value = node.walk.string_constant(node.scope, words, node.outputs[0])
    else:
        raise UnsupportedError("a Constant without a value")
    node.result(value)


@rule("ConstantOfShape")
def constant_of_shape(node: Node) -> None:
    """The value tensor is read here, so that its dtype is checked; int4 and strings are refused by name."""
    if "value" in node.attributes:
        read_tensor(node.attributes["value"].t, node.walk.folder, f"node '{node.name}'")
    node.take_over()
