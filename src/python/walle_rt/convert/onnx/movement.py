"""Operators that move data: shapes, pads, slices and scales that were attributes once."""

from __future__ import annotations

from .node import Node
from .rules import NEWEST, rule
from .scope import NONE
from .unsupported import UnsupportedError


@rule("Reshape", below=5)
def reshape_1(node: Node) -> None:
    """The shape was an attribute."""
    node.take_over([node.input(0), node.ints(node.attr("shape", []))], "shape")


@rule("Concat", below=4)
def concat_1(node: Node) -> None:
    """The axis had a default."""
    node.take_over(axis=int(node.attr("axis", 1)))


@rule("Slice", below=10)
def slice_1(node: Node) -> None:
    """Starts, ends and axes were attributes."""
    starts, ends, axes = node.attr("starts", []), node.attr("ends", []), node.attr("axes")
    if len(starts) != len(ends) or (axes is not None and len(axes) != len(starts)):
        raise UnsupportedError("starts, ends and axes differ in length")
    inputs = [node.input(0), node.ints(starts), node.ints(ends), NONE if axes is None else node.ints(axes)]
    node.take_over(inputs, "starts", "ends", "axes")


@rule("Pad", below=11)
def pad_2(node: Node) -> None:
    """Pads and the value were attributes (``paddings`` before opset 2)."""
    pads = node.attr("pads", node.attr("paddings", []))
    value = node.scalar_like(float(node.attr("value", 0.0)), node.input(0))
    node.take_over([node.input(0), node.ints(pads), value], "pads", "paddings", "value")


@rule("Split", below=13)
def split_2(node: Node) -> None:
    """The sizes were an attribute; without them the parts are equal."""
    sizes = node.attr("split")
    if sizes is None and len(node.inputs) > 1:
        node.take_over(None, "split")
    elif sizes is None:
        node.take_over([node.input(0)], num_outputs=len(node.outputs))
    else:
        node.take_over([node.input(0), node.ints(sizes)], "split")


@rule("Split", below=NEWEST)
def split(node: Node) -> None:
    """num_outputs is said where the sizes are not."""
    if node.has(1):
        node.take_over()
    else:
        node.take_over([node.input(0)], num_outputs=int(node.attr("num_outputs", len(node.outputs))))


@rule("Scatter")
def scatter_9(node: Node) -> None:
    """The older name of ScatterElements."""
    node.take_over(op="ScatterElements")


@rule("Tile", below=6)
def tile_1(node: Node) -> None:
    """Repeats along one axis given as two inputs."""
    raise UnsupportedError("Tile of an opset before 6 is not supported; export with opset 7 or later")


@rule("ArrayFeatureExtractor", domain="ai.onnx.ml")
def array_feature_extractor(node: Node) -> None:
    """Columns of the last axis; a vector counts as one row."""
    x = node.input(0)
    if node.rank(x, "the input") == 1:
        x = node.emit("Unsqueeze", [x, node.ints([0])])
    indices = node.emit("Reshape", [node.input(1), node.ints([-1])])
    node.result(node.emit("Gather", [x, indices], {"axis": -1}))
