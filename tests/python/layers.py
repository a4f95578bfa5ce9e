"""One-node models for the tests of single operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

Array = np.ndarray[Any, Any]


def one_node(
    op: str,
    inputs: Mapping[str, Array | None],
    outputs: int = 1,
    constants: Iterable[str] = (),
    opset: int = 19,
    **attributes: Any,
) -> onnx.ModelProto:
    """A model of one node; inputs named in `constants` are stored in it,
    None leaves an optional input out.
    """
    constant = set(constants)
    given = {name: array for name, array in inputs.items() if array is not None}
    node = helper.make_node(
        op, [n if n in given else "" for n in inputs], [f"y{i}" for i in range(outputs)], **attributes
    )
    graph = helper.make_graph(
        [node],
        "one_node",
        [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for n, a in given.items()
            if n not in constant
        ],
        [helper.make_empty_tensor_value_info(f"y{i}") for i in range(outputs)],
        [numpy_helper.from_array(a, n) for n, a in given.items() if n in constant],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def feeds(inputs: Mapping[str, Array | None], constants: Iterable[str] = ()) -> dict[str, Array]:
    """What such a model is run on."""
    constant = set(constants)
    return {name: array for name, array in inputs.items() if array is not None and name not in constant}
