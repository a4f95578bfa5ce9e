"""Products with constant weights that a DequantizeLinear unpacks: one MatMulNBits, whose weights stay packed.

Codes of 2, 4 or 8 bits, with a scale for all, for each column, or for each block along the rows. Products of
two dequantised operands stay: their integers are multiplied.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto, helper

from ...values import Array
from .element_types import PACKED, known_dtype
from .emit import Emitter
from .order import reads
from .scope import Scope
from .tensors import read_tensor

_SIGNED = {TensorProto.INT8: True, TensorProto.UINT8: False, 21: False, 22: True, 25: False, 26: True}
_FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16)
_AT_ONCE = 256  # columns that are packed at once: a matrix of bytes less in memory
# What only gives its operand another shape: codes behind it are codes.
_MOVEMENT = ("Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze")


@dataclass(frozen=True)
class _Weights:
    """A dequantised matrix [K, N], as it lies."""

    codes: TensorProto
    scale: TensorProto
    zero: TensorProto | None
    along: int  # axis of K
    block: int  # codes that share a scale

    @property
    def sides(self) -> tuple[int, int]:
        return self.codes.dims[self.along], self.codes.dims[1 - self.along]

    @property
    def bits(self) -> int:
        return PACKED.get(self.codes.data_type, 8)


def with_packed_products(
    nodes: list[NodeProto], graph: GraphProto, scope: Scope, emitter: Emitter
) -> list[NodeProto]:
    """The nodes with such products rewritten; what only they read is left out."""
    if not any(n.op_type == "DequantizeLinear" for n in nodes):
        return nodes
    search = _Search(nodes, graph)
    changed = {i: found for i, node in enumerate(nodes) if (found := search.product(node)) is not None}
    out = [
        _packed(n, *changed[i], search.made_by, scope, emitter) if i in changed else n
        for i, n in enumerate(nodes)
    ]
    return _wanted(out, nodes, {o.name for o in graph.output}) if changed else nodes


class _Search:
    def __init__(self, nodes: Iterable[NodeProto], graph: GraphProto) -> None:
        self.made_by = {o: n for n in nodes for o in n.output if o}
        overridable = {i.name for i in graph.input}
        self.constants = {t.name: t for t in graph.initializer if t.name not in overridable}

    def product(self, node: NodeProto) -> tuple[_Weights, str] | None:
        """The weights and the name of the bias ("" for none) of a product that can be packed."""
        if (
            node.domain not in ("", "ai.onnx")
            or node.op_type not in ("MatMul", "Gemm")
            or len(node.input) < 2
        ):
            return None
        given = _attributes(node)
        flags = [given.get("transA", 0), given.get("alpha", 1.0), given.get("beta", 1.0)]
        if flags != [0, 1, 1] or self._holds_codes(node.input[0]):
            return None
        weights = self._weights(node.input[1], bool(given.get("transB", 0)))
        bias = node.input[2] if len(node.input) > 2 else ""
        if weights is None or (bias and not self._is_row(bias, weights.sides[1])):
            return None
        return weights, bias

    def _is_row(self, name: str, columns: int) -> bool:
        return name in self.constants and list(self.constants[name].dims) == [columns]

    def _holds_codes(self, name: str) -> bool:
        while (made := self.made_by.get(name)) is not None and made.op_type in _MOVEMENT and made.input:
            name = made.input[0]
        return made is not None and made.op_type == "DequantizeLinear"

    def _weights(self, name: str, turned: bool) -> _Weights | None:
        made = self.made_by.get(name)
        if (
            made is not None
            and made.op_type == "Transpose"
            and _attributes(made).get("perm", [1, 0]) == [1, 0]
        ):
            made, turned = self.made_by.get(made.input[0]), not turned
        if made is None or made.op_type != "DequantizeLinear" or made.domain not in ("", "ai.onnx"):
            return None
        parts = [self.constants.get(i) for i in made.input]
        if len(parts) < 2 or parts[0] is None or parts[1] is None or _attributes(made).get("output_dtype", 0):
            return None
        zero = parts[2] if len(parts) > 2 and made.input[2] else None
        if len(parts) > 2 and made.input[2] and (zero is None or zero.data_type != parts[0].data_type):
            return None
        return _as_blocks(parts[0], parts[1], zero, 1 if turned else 0, _attributes(made))


def _as_blocks(
    codes: TensorProto, scale: TensorProto, zero: TensorProto | None, along: int, given: dict[str, Any]
) -> _Weights | None:
    if codes.data_type not in _SIGNED or scale.data_type not in _FLOATS or len(codes.dims) != 2:
        return None
    axis, block = given.get("axis", 1) % 2, given.get("block_size", 0)
    inner, columns = codes.dims[along], codes.dims[1 - along]
    if min(inner, columns) < 1 or (zero is not None and np.prod(zero.dims) != np.prod(scale.dims)):
        return None
    one = int(np.prod(scale.dims)) == 1
    if block == 0 and (one or (axis != along and list(scale.dims) == [columns])):
        return _Weights(codes, scale, zero, along, inner)
    blocks = [-(-inner // block) if a == along else columns for a in (0, 1)] if block else []
    whole_bytes = block * PACKED.get(codes.data_type, 8) % 8 == 0 or block >= inner
    if block == 0 or axis != along or list(scale.dims) != blocks or not whole_bytes:
        return None
    return _Weights(codes, scale, zero, along, min(block, inner))


def _attributes(node: NodeProto) -> dict[str, Any]:
    return {a.name: helper.get_attribute_value(a) for a in node.attribute if not a.ref_attr_name}


def _packed(
    node: NodeProto, weights: _Weights, bias: str, taken: Container[str], scope: Scope, emitter: Emitter
) -> NodeProto:
    """The node that stands for it; its constants are made when it is converted."""
    inner, columns = weights.sides
    each = 8 // weights.bits
    block = -(-weights.block // each) * each  # of a whole column
    names = [_free(f"{node.output[0]}/{part}", taken, scope) for part in ("codes", "scales", "zeros")]
    unsigned_middle = weights.zero is None and _SIGNED[weights.codes.data_type]
    makers: list[Callable[[], tuple[Array, str]]] = [
        lambda: (_bytes_of(_columns(weights, emitter), block, weights.bits), "uint8"),
        lambda: _scales(weights, emitter),
        lambda: (_bytes_of(_zeros(weights, emitter), 0, weights.bits), "uint8"),
    ]
    for name, make in zip(names, makers, strict=True):
        scope.initializers[name] = _reader(name, make, emitter)
    inputs = [node.input[0], *names[:2], "" if unsigned_middle else names[2], "", bias]
    return helper.make_node(
        "MatMulNBits",
        inputs,
        list(node.output),
        node.name,
        domain="com.microsoft",
        K=inner,
        N=columns,
        bits=weights.bits,
        block_size=block,
    )


def _free(name: str, taken: Container[str], scope: Scope) -> str:
    while name in taken or name in scope.own:
        name += "'"
    return name


def _reader(name: str, make: Callable[[], tuple[Array, str]], emitter: Emitter) -> Callable[[Scope], int]:
    def read(scope: Scope) -> int:
        array, dtype = make()
        return emitter.constant(scope, array, dtype, name)

    return read


def _bits(tensor: TensorProto, emitter: Emitter) -> Array:
    return read_tensor(tensor, emitter.folder, f"initializer '{tensor.name}'").array


def _unsigned(tensor: TensorProto, emitter: Emitter) -> Array:
    """Codes from 0 on: with their sign's bit turned they are as far from their zero point as before."""
    codes = _bits(tensor, emitter).view(np.uint8)
    middle = 1 << (PACKED.get(tensor.data_type, 8) - 1)
    return codes ^ np.uint8(middle) if _SIGNED[tensor.data_type] else codes


def _by_column(array: Array, weights: _Weights) -> Array:
    """[N, ...] of what has an element for all, for each column, or for each block of each."""
    columns = weights.sides[1]
    if array.size == 1:
        return np.broadcast_to(array.reshape(1, 1), (columns, 1))
    return array.reshape(columns, 1) if array.ndim == 1 else array.T if weights.along == 0 else array


def _columns(weights: _Weights, emitter: Emitter) -> Array:
    return _by_column(_unsigned(weights.codes, emitter), weights)


def _scales(weights: _Weights, emitter: Emitter) -> tuple[Array, str]:
    found = _by_column(_bits(weights.scale, emitter), weights)
    return np.ascontiguousarray(found).reshape(-1), known_dtype(weights.scale.data_type)[0]


def _zeros(weights: _Weights, emitter: Emitter) -> Array:
    if weights.zero is None:  # of unsigned codes: 0
        return np.zeros((weights.sides[1], -(-weights.sides[0] // weights.block)), np.uint8)
    return _by_column(_unsigned(weights.zero, emitter), weights)


def _bytes_of(codes: Array, block: int, bits: int) -> Array:
    """Rows of codes in bytes, the lowest bits first; filled up to whole blocks, and to whole bytes."""
    each = 8 // bits
    whole = -(-codes.shape[1] // max(block, each)) * max(block, each)
    out = np.zeros((codes.shape[0], whole // each), np.uint8)
    for first in range(0, codes.shape[0], _AT_ONCE):
        rows = codes[first : first + _AT_ONCE]
        for i in range(each):
            part = rows[:, i::each] << np.uint8(i * bits)
            out[first : first + _AT_ONCE, : part.shape[1]] |= part
    return out if block == 0 else out.reshape(codes.shape[0], whole // block, block // each)


def _wanted(nodes: list[NodeProto], before: list[NodeProto], outputs: set[str]) -> list[NodeProto]:
    """Without what nobody reads any more: dequantised weights, and where they were turned."""
    read = {name for n in before for name in reads(n)} | outputs
    out: list[NodeProto] = []
    still = set(outputs)
    for node in reversed(nodes):
        gone = node.op_type in ("DequantizeLinear", "Transpose") and any(o in read for o in node.output)
        if gone and not any(o in still for o in node.output):
            continue
        still |= reads(node)
        out.append(node)
    return out[::-1]
