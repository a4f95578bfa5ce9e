"""DynamicQuantizeLSTM: an LSTM with 8-bit weights."""

from __future__ import annotations

from ..node import Node
from ..scope import NONE
from .registry import contrib


def _weights(node: Node, codes: int, scale: int, zero: int) -> int:
    """[directions, columns, inputs] of float32, from codes [directions, inputs, columns].

    Scales and zero points: one per direction, or one per direction and column.
    """

    def spread(value: int) -> int:
        if node.rank(value, "a scale") == 1:
            return node.emit("Unsqueeze", [value, node.ints([1, 2])])
        return node.emit("Unsqueeze", [value, node.ints([1])])

    wide = node.emit("CastLike", [codes, scale])
    centred = node.emit("Sub", [wide, node.emit("CastLike", [spread(zero), scale])])
    plain = node.emit("Mul", [centred, spread(scale)])
    return node.emit("Transpose", [plain], {"perm": [0, 2, 1]})


@contrib("DynamicQuantizeLSTM")
def lstm(node: Node) -> None:
    """X, and the state before each step, are rounded to 256 codes over their own ranges, as onnxruntime does.

    Sums of products of the codes are the same numbers in float32 as in integers, up to the last bits.
    """
    i = node.input
    x = node.emit("DequantizeLinear", node.emit_many("DynamicQuantizeLinear", [i(0)], {}, 3))
    w = _weights(node, i(1), i(8), i(9))
    r = _weights(node, i(2), i(10), i(11))
    inputs = [x, w, r, *(i(k) for k in range(3, 8))]
    while inputs[-1] == NONE:
        inputs.pop()
    attributes = {**node.remaining(), "round_state": 1}
    node.result(*node.emit_many("LSTM", inputs, attributes, max(len(node.outputs), 1)))
