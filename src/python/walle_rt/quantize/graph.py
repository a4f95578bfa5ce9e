"""An ONNX graph that is being rewritten: who makes a value, who reads it, which constants it has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from ..errors import ModelError
from ..values import Array

# Axes of QuantizeLinear and DequantizeLinear came with 13, blocks and 4-bit types with 21.
LEAST_OPSET, BLOCKS_OPSET = 13, 21
_LAYERS = ("Conv", "ConvTranspose", "Gemm", "MatMul", "BatchNormalization", "Gather")
_IR = 8  # the version that opset 13 to 17 was published with
_BLOCKS_IR = 10  # of opset 21


class Graph:
    """The main graph of a model, which is this object's own and changes with it.

    Bodies of control flow stay as they are; what they read of the main graph counts as read.
    """

    def __init__(self, model: ModelProto) -> None:
        """Index the model's main graph."""
        self.model = model
        self.nodes: list[NodeProto] = list(model.graph.node)
        self.outputs = {value.name for value in model.graph.output}
        listed = {value.name for value in model.graph.input}
        self._tensors = {t.name: t for t in model.graph.initializer if t.name not in listed}
        self._arrays: dict[str, Array] = {}
        self._names = {n for node in self.nodes for n in (*node.input, *node.output)} | listed
        self._names |= {t.name for t in model.graph.initializer} | self.outputs
        self.index()

    def index(self) -> None:
        """Look again at who makes and who reads what, after nodes have changed."""
        self.makers: dict[str, NodeProto] = {}
        self.readers: dict[str, list[NodeProto]] = {}
        self.in_bodies: set[str] = set()
        for node in self.nodes:
            for name in node.output:
                self.makers[name] = node
            for name in node.input:
                self.readers.setdefault(name, []).append(node)
            self.in_bodies.update(_read_in_bodies(node))

    def array(self, name: str) -> Array | None:
        """The value of a constant; None for what only a run knows or may override."""
        if name not in self._arrays:
            tensor = self._tensors.get(name)
            if tensor is None:
                return None
            self._arrays[name] = numpy_helper.to_array(tensor)
        return self._arrays[name]

    def weights(self, name: str) -> Array | None:
        """The value of a constant of float32 numbers; None for all else."""
        tensor = self._tensors.get(name)
        if tensor is None or tensor.data_type != TensorProto.FLOAT:
            return None
        return self.array(name)

    def add(self, name: str, array: Array, kind: int | None = None) -> str:
        """A new constant; ``kind`` is the element type where NumPy has none. Returns its name."""
        name = self.fresh(name)
        if kind is None:
            tensor = numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
        else:
            tensor = TensorProto(name=name, data_type=kind, dims=array.shape, raw_data=packed(array, kind))
        self._tensors[name] = tensor
        return name

    def fresh(self, name: str) -> str:
        """``name``, or with a number behind where it is taken; taken from then on."""
        found, number = name, 1
        while found in self._names:
            found, number = f"{name}_{number}", number + 1
        self._names.add(found)
        return found

    def only_reader(self, name: str) -> NodeProto | None:
        """The one node that reads a value; None where there are several, or somebody outside."""
        readers = self.readers.get(name, [])
        if len(readers) != 1 or name in self.outputs or name in self.in_bodies:
            return None
        return readers[0] if list(readers[0].input).count(name) == 1 else None

    def finish(self) -> ModelProto:
        """Write everything into the model; constants that nothing reads are left out."""
        graph = self.model.graph
        kept = [t for t in graph.initializer if t.name not in self._tensors]
        read = {name for node in self.nodes for name in node.input} | self.outputs
        for node in self.nodes:
            read |= _read_in_bodies(node)
        kept += [t for name, t in self._tensors.items() if name in read]
        del graph.initializer[:]
        del graph.node[:]
        graph.initializer.extend(kept)
        graph.node.extend(self.nodes)
        # Types that were inferred for values that are gone, or that have another producer now.
        del graph.value_info[:]
        return self.model

    def needs(self, domain: str) -> None:
        """Declare a domain of operators."""
        if all(o.domain != domain for o in self.model.opset_import):
            self.model.opset_import.append(helper.make_opsetid(domain, 1))


def packed(codes: Array, kind: int) -> bytes:
    """The raw data of codes, each in a byte; two 4-bit codes share one, the first in the lower half."""
    if kind not in (TensorProto.INT4, TensorProto.UINT4):
        return codes.tobytes()
    flat = codes.astype(np.uint8).ravel() & 15
    if flat.size % 2:
        flat = np.append(flat, np.uint8(0))
    return bytes((flat[0::2] | (flat[1::2] << 4)).tobytes())


def prepared(model: ModelProto, opset: int = LEAST_OPSET) -> Graph:
    """A copy of the model to rewrite: functions inlined, constants as initializers, every node named.

    Raises:
        ModelError: the model is quantised already, or its opset cannot be raised to ``opset``.
    """
    copy = ModelProto()
    copy.CopyFrom(model)
    if copy.functions:
        from onnx import inliner

        copy = inliner.inline_local_functions(copy)
    copy = _raised(copy, opset)
    _constants_to_initializers(copy.graph)
    _drop_listed_initializers(copy)
    copy.ir_version = max(copy.ir_version, _IR if opset < BLOCKS_OPSET else _BLOCKS_IR)
    _name_nodes(copy.graph)
    graph = Graph(copy)
    _refuse_quantised(graph)
    return graph


def attributes(node: NodeProto) -> dict[str, Any]:
    """A node's attributes as Python values."""
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def _read_in_bodies(node: NodeProto) -> set[str]:
    found: set[str] = set()
    stack = [g for a in node.attribute for g in (a.g, *a.graphs) if g.node]
    while stack:
        body = stack.pop()
        found.update(output.name for output in body.output)
        for inner in body.node:
            found.update(inner.input)
            stack += [g for a in inner.attribute for g in (a.g, *a.graphs) if g.node]
    return found


def _raised(model: ModelProto, opset: int) -> ModelProto:
    version = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), opset)
    if version >= opset:
        return model
    try:
        return onnx.version_converter.convert_version(model, opset)
    except Exception as error:  # the package raises RuntimeError and others, as it comes
        raise ModelError.of(
            f"a model of opset {version} that the package onnx cannot raise ({' '.join(str(error).split())})",
            f"opset {opset} or later, whose QuantizeLinear has what this quantisation needs",
            "quantize",
            f"export the model with opset {opset} or later",
        ) from error


def _constants_to_initializers(graph: GraphProto) -> None:
    kept = []
    for node in graph.node:
        array = _constant(node) if node.op_type == "Constant" else None
        if array is None:
            kept.append(node)
        else:
            graph.initializer.append(numpy_helper.from_array(array, node.output[0]))
    del graph.node[:]
    graph.node.extend(kept)


def _constant(node: NodeProto) -> Array | None:
    for name, value in attributes(node).items():
        if name == "value" and value.data_type != TensorProto.STRING:
            array: Array = numpy_helper.to_array(value)
            return array
        if name in ("value_float", "value_floats"):
            return np.asarray(value, np.float32)
        if name in ("value_int", "value_ints"):
            return np.asarray(value, np.int64)
    return None


def _drop_listed_initializers(model: ModelProto) -> None:
    """Make constants of initializers that are listed as inputs too.

    Before IR version 4 every initializer had to be, and none was meant to be overridden. Later it means that
    a run may override one; those of layers become codes here, which no run can.
    """
    constants = {t.name for t in model.graph.initializer}
    if model.ir_version >= 4:
        constants &= {name for node in model.graph.node if node.op_type in _LAYERS for name in node.input}
    kept = [value for value in model.graph.input if value.name not in constants]
    del model.graph.input[:]
    model.graph.input.extend(kept)


def _name_nodes(graph: GraphProto) -> None:
    taken: set[str] = set()
    for number, node in enumerate(graph.node):
        name = node.name or f"{node.op_type}_{number}"
        while name in taken:
            name += f"_{number}"
        node.name = name
        taken.add(name)


def _refuse_quantised(graph: Graph) -> None:
    marks = ("QuantizeLinear", "QLinearConv", "QLinearMatMul", "MatMulInteger", "ConvInteger", "MatMulNBits")
    found = next((n for n in graph.nodes if n.op_type in marks), None)
    if found is not None:
        raise ModelError.of(
            f"a model with the node '{found.name}' ({found.op_type}): it is quantised already",
            "a model in float32",
            "quantize",
            "take the model that it was made of",
        )


def inserted(nodes: Iterable[NodeProto], before: dict[int, list[NodeProto]]) -> Iterator[NodeProto]:
    """The nodes with new ones before some of them; by their ids, the key 0 at the beginning."""
    yield from before.get(0, [])
    for node in nodes:
        yield from before.get(id(node), [])
        yield node
