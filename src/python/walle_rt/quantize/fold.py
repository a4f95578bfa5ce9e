"""What belongs to a layer's weights is put there before they are quantised.

A BatchNormalization behind a convolution is a factor and an offset per channel: between the two there would
be a conversion to codes and back, and the factors would spread the channels' ranges after the fact. The same
holds for an addition of one number per channel.
"""

from __future__ import annotations

import numpy as np
from onnx import NodeProto

from ..values import Array
from .graph import Graph, attributes

_OUT_AXIS = {"Conv": 0, "ConvTranspose": 1}


def fold(graph: Graph) -> int:
    """Fold what stands behind convolutions into them; returns how many nodes are gone."""
    gone = 0
    for conv in list(graph.nodes):
        if conv.op_type not in _OUT_AXIS:
            continue
        while _fold_next(graph, conv):
            gone += 1
    return gone


def _fold_next(graph: Graph, conv: NodeProto) -> bool:
    follower = graph.only_reader(conv.output[0])
    weights = graph.weights(conv.input[1])
    groups = attributes(conv).get("group", 1)
    if follower is None or weights is None or (conv.op_type == "ConvTranspose" and groups != 1):
        return False
    channels = weights.shape[_OUT_AXIS[conv.op_type]]
    bias = _bias(graph, conv, channels)
    found = _affine(graph, follower, conv.output[0], channels, weights.ndim)
    if bias is None or found is None:
        return False
    factor, offset = found
    shape = [1] * weights.ndim
    shape[_OUT_AXIS[conv.op_type]] = channels
    scaled = (weights.astype(np.float64) * factor.reshape(shape)).astype(np.float32)
    shifted = (bias.astype(np.float64) * factor + offset).astype(np.float32)
    kept = [conv.input[0], graph.add(conv.input[1], scaled), graph.add(f"{conv.name}_bias", shifted)]
    output = follower.output[0]
    del conv.input[:]
    conv.input.extend(kept)
    conv.output[0] = output
    graph.nodes = [node for node in graph.nodes if node is not follower]
    graph.index()
    return True


def _bias(graph: Graph, conv: NodeProto, channels: int) -> Array | None:
    if len(conv.input) < 3 or not conv.input[2]:
        return np.zeros(channels, np.float32)
    return graph.weights(conv.input[2])


def _affine(
    graph: Graph, node: NodeProto, value: str, channels: int, rank: int
) -> tuple[Array, Array] | None:
    """Factor and offset per channel, float64, of what a node does to the value; None where it is not that."""
    if node.op_type == "BatchNormalization" and node.input[0] == value and len(node.output) == 1:
        parts = [graph.weights(name) for name in node.input[1:5]]
        if any(part is None for part in parts):
            return None
        scale, offset, mean, variance = (np.asarray(part, np.float64) for part in parts)
        factor = scale / np.sqrt(variance + attributes(node).get("epsilon", 1e-5))
        return factor, offset - mean * factor
    if node.op_type == "Add":
        other = graph.weights(node.input[1] if node.input[0] == value else node.input[0])
        if other is not None and _per_channel(other, channels, rank):
            return np.ones(channels), np.broadcast_to(other.ravel(), (channels,)).astype(np.float64)
    return None


def _per_channel(array: Array, channels: int, rank: int) -> bool:
    """Whether an operand of this shape adds one number to each channel of [N, C, ...]."""
    shape = (1,) * max(0, rank - array.ndim) + array.shape
    return array.ndim <= rank and all(
        size == 1 or (axis == 1 and size == channels) for axis, size in enumerate(shape)
    )
