"""EmbedLayerNormalization: the embeddings of words, positions and segments, added and normalised."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..node import Node
from ..scope import NONE
from .integer_products import plus
from .registry import contrib, counted, scalar_size

_EPSILON = 1e-12


def _positions(node: Node) -> int:
    """The embeddings of the positions given, or of 0, 1, ..."""
    places = node.input(8)
    if places == NONE:
        zero = node.array(np.asarray(0, np.int64))
        places = counted(node, zero, scalar_size(node, node.input(0), 1))
    return node.emit("Gather", [node.input(3), places], {"axis": 0})


def _mask_index(node: Node) -> int:
    """How many positions of each sample the mask lets through; 0 without a mask."""
    words = node.input(0)
    if node.has(7):
        return node.emit("ReduceSum", [node.input(7), node.ints([1])], {"keepdims": 0})
    nothing = node.emit("Mul", [words, node.emit("CastLike", [node.ints([0]), words])])
    none = node.emit("ReduceSum", [nothing, node.ints([1])], {"keepdims": 0})
    return node.emit("Cast", [none], {"to": TensorProto.INT32})


@contrib("EmbedLayerNormalization")
def embed(node: Node) -> None:
    """ids, segments, tables of words, positions and segments, gamma, beta, mask, positions."""
    words = node.emit("Gather", [node.input(2), node.input(0)], {"axis": 0})
    segments = NONE
    if node.has(1) and node.has(4):
        segments = node.emit("Gather", [node.input(4), node.input(1)], {"axis": 0})
    x = plus(node, node.emit("Add", [words, _positions(node)]), segments)
    attributes = {"axis": -1, "epsilon": float(node.attr("epsilon", _EPSILON))}
    made = node.emit("LayerNormalization", [x, node.input(5), node.input(6)], attributes)
    node.result(made, _mask_index(node) if node.uses(1) else NONE, x)
