"""Reads the trained .tflite models as ONNX: the few operators that image and keyword classifiers have.

Values of rank 4 are kept as [N, C, H, W]. A quantised model becomes pairs of QuantizeLinear and
DequantizeLinear around float operators. Numbers of fields and operators are those of TensorFlow Lite's
schema.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from flatbuffers import encode, number_types
from flatbuffers.table import Table
from onnx import TensorProto, helper, numpy_helper

Array = np.ndarray[Any, Any]
TYPES = {0: np.float32, 2: np.int32, 3: np.uint8, 9: np.int8}
OPS = {
    0: "Add", 1: "AveragePool", 3: "Conv", 4: "DepthwiseConv", 6: "Dequantize", 9: "FullyConnected",
    17: "MaxPool", 22: "Reshape", 25: "Softmax", 114: "Quantize",
}  # fmt: skip
# Fields of the options: padding, stride_w, stride_h, fused activation, dilation_w, dilation_h.
FIELDS = {"Conv": (0, 1, 2, 3, 4, 5), "DepthwiseConv": (0, 1, 2, 4, 5, 6), "pool": (0, 1, 2, 5, None, None)}
FUSED = {"Add": 0, "FullyConnected": 0}


class Record:
    """A table of a FlatBuffer, by the numbers of its fields."""

    def __init__(self, data: bytes, at: int) -> None:
        self._table = Table(bytearray(data) if isinstance(data, bytes) else data, at)

    def _at(self, field: int) -> int:
        offset = self._table.Offset(4 + 2 * field)
        return self._table.Pos + offset if offset else 0

    def number(self, field: int | None, kind: Any = number_types.Int32Flags, default: int = 0) -> int:
        at = self._at(field) if field is not None else 0
        return int(self._table.Get(kind, at)) if at else default

    def byte(self, field: int | None) -> int:
        return self.number(field, number_types.Int8Flags)

    def record(self, field: int) -> Record | None:
        at = self._at(field)
        return Record(self._table.Bytes, self._table.Indirect(at)) if at else None

    def text(self, field: int) -> str:
        at = self._at(field)
        return self._table.String(at).decode() if at else ""

    def vector(self, field: int, dtype: Any) -> Array:
        at = self._at(field)
        if not at:
            return np.zeros(0, dtype)
        start = at + encode.Get(number_types.UOffsetTFlags.packer_type, self._table.Bytes, at)
        count = encode.Get(number_types.UOffsetTFlags.packer_type, self._table.Bytes, start)
        return np.frombuffer(self._table.Bytes, dtype, count, start + 4)

    def records(self, field: int) -> list[Record]:
        at = self._at(field)
        if not at:
            return []
        start = at + encode.Get(number_types.UOffsetTFlags.packer_type, self._table.Bytes, at)
        count = encode.Get(number_types.UOffsetTFlags.packer_type, self._table.Bytes, start)
        places = [start + 4 + 4 * i for i in range(count)]
        return [Record(self._table.Bytes, self._table.Indirect(place)) for place in places]


class Reader:
    """One model on its way to ONNX."""

    def __init__(self, path: Path) -> None:
        data = bytearray(path.read_bytes())
        root = Record(data, encode.Get(number_types.UOffsetTFlags.packer_type, data, 0))
        graph = root.records(2)[0]
        self.buffers, self.tensors = root.records(4), graph.records(0)
        self.codes = [max(c.byte(0), c.number(3)) for c in root.records(1)]
        self.graph = graph
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.values: dict[int, str] = {}  # tensor -> value in float32, [N, C, H, W] where it has four axes

    def model(self) -> onnx.ModelProto:
        (source,), (result,) = self.graph.vector(1, np.int32), self.graph.vector(2, np.int32)
        shape = self.shape(source)
        given = self.dequantized(source, "input") if self.quantised(source) else "input"
        self.values[source] = self.node("Transpose", [given], perm=[0, 3, 1, 2]) if len(shape) == 4 else given
        for operator in self.graph.records(3):
            self.operator(operator)
        last = self.values[result]
        if self.quantised(result):  # the last pair ends with its codes
            last = next(n.input[0] for n in self.nodes if last in n.output)
        self.nodes.append(helper.make_node("Identity", [last], ["output"]))
        ends = [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype(i))), dims
            )
            for name, i, dims in (
                ("input", source, ["n", *shape[1:]]),
                ("output", result, ["n", *self.shape(result)[1:]]),
            )
        ]
        graph = helper.make_graph(self.nodes, "tflite", [ends[0]], [ends[1]], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    def shape(self, index: int) -> list[int]:
        return [int(size) for size in self.tensors[index].vector(0, np.int32)]

    def dtype(self, index: int) -> Any:
        return TYPES[self.tensors[index].byte(1)]

    def scales(self, index: int) -> tuple[Array, Array, int]:
        found = self.tensors[index].record(4)
        assert found is not None
        return found.vector(2, np.float32), found.vector(3, np.int64), found.number(6)

    def quantised(self, index: int) -> bool:
        return self.dtype(index) in (np.int8, np.uint8)

    def array(self, index: int) -> Array:
        data = self.buffers[self.tensors[index].number(2, number_types.Uint32Flags)].vector(0, np.uint8)
        return data.view(self.dtype(index)).reshape(self.shape(index))

    def node(self, op: str, inputs: list[str], **attributes: Any) -> str:
        name = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def constant(self, array: Array) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def scale_names(self, index: int) -> list[str]:
        scale, zero, _ = self.scales(index)
        return [
            self.constant(scale[0].reshape(())),
            self.constant(zero[0].astype(self.dtype(index)).reshape(())),
        ]

    def dequantized(self, index: int, codes: str) -> str:
        return self.node("DequantizeLinear", [codes, *self.scale_names(index)])

    def weight(self, index: int, turn: Any) -> str:
        """A constant in the layout of ONNX; ``turn`` moves its axes, the channels of scales to the front."""
        if index < 0:
            return ""
        array = turn(self.array(index))
        if self.dtype(index) == np.float32:
            return self.constant(array)
        scale, zero, _ = self.scales(index)
        zeros = zero.astype(self.dtype(index))
        if scale.size == 1:
            scale, zeros = scale.reshape(()), zeros.reshape(())
        return self.node(
            "DequantizeLinear", [self.constant(array), self.constant(scale), self.constant(zeros)], axis=0
        )

    def set(self, index: int, value: str) -> None:
        if self.quantised(index):
            names = self.scale_names(index)
            value = self.node("DequantizeLinear", [self.node("QuantizeLinear", [value, *names]), *names])
        self.values[index] = value

    def activated(self, value: str, kind: int) -> str:
        if kind == 1:
            return self.node("Relu", [value])
        if kind == 3:
            return self.node("Clip", [value, self.constant(np.float32(0)), self.constant(np.float32(6))])
        assert kind == 0, kind
        return value

    def read(self, index: int) -> str:
        if index not in self.values:
            assert not self.quantised(index), "a quantised constant that is no weight"
            array = self.array(index)
            self.values[index] = self.constant(array.transpose(0, 3, 1, 2) if array.ndim == 4 else array)
        return self.values[index]

    def operator(self, operator: Record) -> None:
        op = OPS[self.codes[operator.number(0, number_types.Uint32Flags)]]
        inputs = [int(i) for i in operator.vector(1, np.int32)]
        (output,) = operator.vector(2, np.int32)
        options = operator.record(4)
        value = getattr(self, f"op_{op.lower()}")(inputs, options, int(output))
        if op in FUSED and options is not None:
            value = self.activated(value, options.byte(FUSED[op]))
        self.set(int(output), value)

    def op_add(self, inputs: list[int], options: Any, output: int) -> str:
        return self.node("Add", [self.read(inputs[0]), self.read(inputs[1])])

    def op_dequantize(self, inputs: list[int], options: Any, output: int) -> str:
        return self.read(inputs[0])

    op_quantize = op_dequantize

    def op_softmax(self, inputs: list[int], options: Any, output: int) -> str:
        return self.node("Softmax", [self.read(inputs[0])], axis=-1)

    def op_reshape(self, inputs: list[int], options: Any, output: int) -> str:
        value, shape = self.read(inputs[0]), self.shape(output)
        if len(self.shape(inputs[0])) == 4 and self.shape(inputs[0])[1:3] != [1, 1]:
            value = self.node("Transpose", [value], perm=[0, 2, 3, 1])
        assert len(shape) == 2, shape
        return self.node("Reshape", [value, self.constant(np.asarray([-1, shape[1]], np.int64))])

    def op_fullyconnected(self, inputs: list[int], options: Any, output: int) -> str:
        value = self.read(inputs[0])
        if len(self.shape(inputs[0])) == 4:
            value = self.op_reshape(inputs, options, output)
        factors = [value, self.weight(inputs[1], lambda a: a)]
        if len(inputs) > 2 and inputs[2] >= 0:
            factors.append(self.weight(inputs[2], lambda a: a))
        return self.node("Gemm", factors, transB=1)

    def op_conv(self, inputs: list[int], options: Record, output: int) -> str:
        return self._conv("Conv", inputs, options, lambda a: a.transpose(0, 3, 1, 2), 1)

    def op_depthwiseconv(self, inputs: list[int], options: Record, output: int) -> str:
        groups = self.shape(inputs[0])[3]
        return self._conv("DepthwiseConv", inputs, options, lambda a: a.transpose(3, 0, 1, 2), groups)

    def _conv(self, kind: str, inputs: list[int], options: Record, turn: Any, groups: int) -> str:
        fields = FIELDS[kind]
        window = self.shape(inputs[1])[1:3]
        dilations = [options.number(fields[5], default=1), options.number(fields[4], default=1)]
        known = self._window(inputs[0], window, options, fields, dilations)
        names = [self.read(inputs[0]), self.weight(inputs[1], turn), self.weight(inputs[2], lambda a: a)]
        value = self.node("Conv", names, group=groups, dilations=dilations, **known)
        return self.activated(value, options.byte(fields[3]))

    def _pool(self, op: str, inputs: list[int], options: Record, **more: int) -> str:
        window = [options.number(4), options.number(3)]
        known = self._window(inputs[0], window, options, FIELDS["pool"], [1, 1])
        return self.activated(self.node(op, [self.read(inputs[0])], **known, **more), options.byte(5))

    def op_averagepool(self, inputs: list[int], options: Record, output: int) -> str:
        return self._pool("AveragePool", inputs, options, count_include_pad=0)

    def op_maxpool(self, inputs: list[int], options: Record, output: int) -> str:
        return self._pool("MaxPool", inputs, options)

    def _window(
        self, source: int, window: list[int], options: Record, fields: Any, dilations: list[int]
    ) -> Any:
        strides = [options.number(fields[2]), options.number(fields[1])]
        sizes, pads = self.shape(source)[1:3], [0, 0, 0, 0]
        if options.byte(fields[0]) == 0:  # SAME: what is missing, the larger half behind
            for axis in range(2):
                extent = (window[axis] - 1) * dilations[axis] + 1
                missing = max(
                    0, (-(-sizes[axis] // strides[axis]) - 1) * strides[axis] + extent - sizes[axis]
                )
                pads[axis], pads[axis + 2] = missing // 2, missing - missing // 2
        return {"kernel_shape": window, "strides": strides, "pads": pads}


def read_tflite(path: Path) -> onnx.ModelProto:
    """A .tflite file as an ONNX model with the input ``input`` and the output ``output``."""
    model = Reader(path).model()
    assert model.graph.output[0].type.tensor_type.elem_type != TensorProto.UNDEFINED
    return model
