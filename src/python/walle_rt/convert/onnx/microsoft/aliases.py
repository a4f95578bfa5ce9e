"""Operators of com.microsoft that ONNX took up later, or has under another name."""

from __future__ import annotations

from onnx import TensorProto

from ..node import Node
from ..unsupported import UnsupportedError
from .registry import contrib, number


@contrib("Trilu", "Range", "GatherND")
def same(node: Node) -> None:
    """ONNX's own; Range's step of 1 may be left out."""
    if node.op == "Range" and not node.has(2):
        one = node.emit("CastLike", [number(node, 1.0), node.input(0)])
        node.take_over([*node.inputs[:2], one])
    else:
        node.take_over()


@contrib("ExpandDims")
def expand_dims(node: Node) -> None:
    """One axis, given as a scalar."""
    axes = node.emit(
        "Cast", [node.emit("Reshape", [node.input(1), node.ints([1])])], {"to": TensorProto.INT64}
    )
    node.result(node.emit("Unsqueeze", [node.input(0), axes]))


@contrib("CDist")
def distances(node: Node) -> None:
    """[rows of A, rows of B]: distances, or their squares."""
    metric = node.attr("metric", "sqeuclidean")
    if metric not in ("sqeuclidean", "euclidean"):
        raise UnsupportedError(f"metric '{metric}'")
    a = node.emit("Unsqueeze", [node.input(0), node.ints([1])])
    b = node.emit("Unsqueeze", [node.input(1), node.ints([0])])
    apart = node.emit("Sub", [a, b])
    op = "ReduceL2" if metric == "euclidean" else "ReduceSumSquare"
    node.result(node.emit(op, [apart, node.ints([2])], {"keepdims": 0}))
