"""Weights of a few bits, quantised in blocks: MatMulNBits and GatherBlockQuantized.

The graph keeps them packed, as the file does, and so do the plans of backends that have a kernel for them.
"""

from __future__ import annotations

from onnx import TensorProto, helper

from ..element_types import PACKED
from ..node import Node
from ..scope import NONE
from ..types import rank_of
from ..unsupported import UnsupportedError
from .registry import contrib, number, refuse_input

_BITS = (2, 4, 8)


def _bits(node: Node) -> int:
    bits = int(node.attr("bits", 4))
    if bits not in _BITS:
        raise UnsupportedError(f"bits={bits}: weights of {', '.join(map(str, _BITS))} bits are known")
    return bits


def unpacked(node: Node, packed: int, bits: int) -> int:
    """uint8 with its codes as a new last axis, the lowest bits first."""
    last = node.ints([-1])
    mask = node.emit("Cast", [number(node, 2.0**bits - 1)], {"to": TensorProto.UINT8})
    codes = []
    for low in range(0, 8, bits):
        by = node.emit("Cast", [number(node, low)], {"to": TensorProto.UINT8})
        shifted = node.emit("BitShift", [packed, by], {"direction": "RIGHT"}) if low else packed
        codes.append(node.emit("Unsqueeze", [node.emit("BitwiseAnd", [shifted, mask]), last]))
    return node.emit("Concat", codes, {"axis": -1})


@contrib("MatMulNBits")
def matmul(node: Node) -> None:
    """A [..., K] times the transposed weights [N, blocks, bytes], with a scale per block and a bias."""
    refuse_input(node, 4, "g_idx: weights whose columns were put in another order; quantise without it")
    size, inner, rows = (int(node.attr(name)) for name in ("block_size", "K", "N"))
    if size <= 0 or inner <= 0 or rows <= 0:
        raise UnsupportedError(f"K={inner}, N={rows}, block_size={size}: positive sizes are expected")
    attributes = {"K": inner, "N": rows, "bits": _bits(node), "block_size": size}
    level = int(node.attr("accuracy_level", 0))
    if level:
        attributes["accuracy_level"] = level
    operands = [node.input(i) for i in (0, 1, 2, 3, 5)]
    node.result(packed_product(node, operands, attributes))


def packed_product(node: Node, operands: list[int], attributes: dict[str, int]) -> int:
    """A MatMulNBits, which ONNX does not know: its type is that of a product with float weights."""
    value = node.emit("MatMulNBits", operands, attributes)
    sides = [attributes["K"], attributes["N"]]
    weights = helper.make_tensor_type_proto(node.dtype(operands[0]), sides)
    node.scope.types.stands_for(node.scope.key(value), "MatMul", node.scope.key(operands[0]), weights)
    return value


def _gathered(node: Node, table: int, axis: int) -> int:
    return NONE if table == NONE else node.emit("Gather", [table, node.input(1)], {"axis": axis})


def _paired(node: Node, packed: int, bits: int) -> int:
    """Codes of bytes along the last axis."""
    if packed == NONE:
        return NONE
    flat = node.emit("Shape", [packed], {"end": -1})
    shape = node.emit("Concat", [flat, node.ints([-1])], {"axis": 0})
    return node.emit("Reshape", [unpacked(node, packed, bits), shape])


@contrib("GatherBlockQuantized")
def gather(node: Node) -> None:
    """The rows of a quantised table that indices name, dequantised; nothing else of it is."""
    data, scales, zeros = node.input(0), node.input(2), node.input(3)
    rank, size, bits = node.rank(data, "the table"), int(node.attr("block_size", 128)), _bits(node)
    along, coded = (int(node.attr(n, d)) % rank for n, d in (("gather_axis", 0), ("quantize_axis", 1)))
    if along == coded:
        raise UnsupportedError(f"gather_axis and quantize_axis are both {along}")
    picked, scales, zeros = (_gathered(node, i, along) for i in (data, scales, zeros))
    indices = rank_of(node.type(node.input(1)))
    if indices is None:
        raise UnsupportedError("the rank of the indices must be known before run time")
    if node.dtype(data, 0) not in PACKED:  # bytes, whose zero lies in the middle
        if coded != rank - 1:
            raise UnsupportedError(f"quantize_axis={coded} of packed bytes: the last axis is expected")
        picked, zeros = (_paired(node, i, bits) for i in (picked, zeros))
        if zeros == NONE:
            middle = node.emit("Cast", [number(node, 2.0 ** (bits - 1))], {"to": TensorProto.UINT8})
            zeros = node.emit("Expand", [middle, node.emit("Shape", [scales])])
        else:
            zeros = _like(node, zeros, scales)
    axis = coded + (indices - 1 if coded > along else 0)
    attributes = {"axis": axis, "block_size": size}
    node.result(node.emit("DequantizeLinear", [picked, scales, zeros], attributes))


def _like(node: Node, codes: int, scales: int) -> int:
    """As many codes along the last axis as there are scales; the last byte may hold one too many."""
    count = node.emit("Shape", [scales], {"start": -1})
    return node.emit("Slice", [codes, node.ints([0]), count, node.ints([-1])])
