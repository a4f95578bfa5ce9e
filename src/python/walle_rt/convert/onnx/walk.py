"""Walks an ONNX graph in order and emits the native one; functions are inlined,
bodies become closed graphs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    NodeProto,
    TensorProto,
    TypeProto,
    ValueInfoProto,
    helper,
)

from ... import _core, strings
from ..report import Report, refuse
from .attributes import as_proto, native_attribute
from .functions import schema_function
from .node import Node, UnsupportedError, find_rule
from .order import in_order
from .scope import NONE, Key, Produced, Scope, Types
from .tensors import (
    BY_NAME,
    DTYPES,
    Array,
    Bits,
    UnsupportedTypeError,
    read_sparse,
    read_strings,
    read_tensor,
)
from .text import find_string_rule
from .types import dims_of, kind_and_dtype

_MAX_CALLS = 64
_MAX_DEPTH = 16
_SMALL = 1024  # elements of a constant whose value shape inference may look at
_NATIVE_DOMAINS = ("", "ai.onnx", "ai.onnx.ml", "ai.onnx.preview.training")
_DROPPED = ("consumed_inputs",)


class Walk:
    """One conversion: the op table, the functions of the model, and the report."""

    def __init__(self, model: onnx.ModelProto, folder: Path | None, report: Report) -> None:
        """Prepare for one model."""
        self.folder = folder
        self.report = report
        self.types = Types()
        self.native = {row["name"] for row in _core.op_table()}
        self.functions = {(f.domain, f.name): f for f in model.functions}
        self.opsets = {o.domain if o.domain != "ai.onnx" else "": o.version for o in model.opset_import}
        self.opsets.setdefault("", 1)
        self.newest = {d: onnx.defs.onnx_opset_version() for d in ("",)}
        self.model = model
        self.strings: list[str] = []  # names of inputs and outputs that hold strings
        self.maps: dict[Key, list[Any]] = {}  # results of ZipMap: the keys of their dictionaries
        self.named_maps: dict[str, list[Any]] = {}  # the same for outputs of the model
        self.current = ""  # the node being converted, for messages
        self.builders: list[_core.GraphBuilder] = []  # kept alive: their id() is part of every key

    def builder(self, name: str) -> _core.GraphBuilder:
        """A new native graph."""
        made = _core.GraphBuilder(name)
        self.builders.append(made)
        return made

    # Graphs.

    def graph(self, graph: GraphProto, scope: Scope, formal_types: Sequence[TypeProto | None] = ()) -> None:
        """Convert a graph (the main one or a body) into ``scope``'s builder."""
        if scope.depth > _MAX_DEPTH:
            raise refuse(
                f"graphs nested {scope.depth} deep",
                f"at most {_MAX_DEPTH}",
                f"graph '{graph.name}'",
                "flatten the model",
            )
        constants = {t.name for t in graph.initializer} | {t.values.name for t in graph.sparse_initializer}
        for index, info in enumerate(i for i in graph.input if i.name not in constants):
            outer = formal_types[index] if index < len(formal_types) else None
            scope.define(info.name, f"an input of graph '{graph.name}'")
            self.input(info, scope, outer)
        for name in [t.name for t in graph.initializer] + [t.values.name for t in graph.sparse_initializer]:
            scope.define(name, f"an initializer of graph '{graph.name}'")
        for tensor in graph.initializer:
            scope.initializers[tensor.name] = self._reader(tensor)
        for sparse in graph.sparse_initializer:
            scope.initializers[sparse.values.name] = self._sparse_reader(sparse)
        self.nodes(in_order(graph), scope)
        self.graph_outputs(graph.output, scope)

    def input(self, info: ValueInfoProto, scope: Scope, outer: TypeProto | None = None) -> None:
        """Declare a graph input."""
        declared = info.type if info.HasField("type") else outer
        if outer is not None and (declared is None or kind_and_dtype(declared)[1] == "undefined"):
            declared = outer
        kind, dtype = kind_and_dtype(declared)
        element = declared
        while element is not None and not element.HasField("tensor_type"):
            element = (
                element.sequence_type.elem_type
                if element.HasField("sequence_type")
                else (element.optional_type.elem_type if element.HasField("optional_type") else None)
            )
        number = element.tensor_type.elem_type if element is not None else 0
        if number == TensorProto.STRING and kind == "tensor":
            if scope.parent is None:
                self.strings.append(info.name)
            dims = dims_of(declared)
            value = scope.builder.input(info.name, kind, "uint8", None if dims is None else [*dims, None])
            scope.names[info.name] = value
            self.types.known[scope.key(value)] = declared
            self.types.strings.add(scope.key(value))
            return
        if number and number not in DTYPES:
            name = str(TensorProto.DataType.Name(number)).lower()
            self.report.add(
                info.name, "graph input", scope.opsets[""], f"element type {name} is not supported"
            )
        value = scope.builder.input(info.name, kind, dtype, dims_of(declared) if kind == "tensor" else None)
        scope.names[info.name] = value
        self.types.known[scope.key(value)] = declared

    def graph_outputs(self, infos: Iterable[ValueInfoProto], scope: Scope) -> None:
        """Name the results; a result that is an input, a constant or named twice gets its own Identity."""
        results: list[int] = []
        for info in infos:
            value = scope.lookup(info.name, "graph outputs")
            text = scope.key(value) in self.types.strings
            if scope.parent is None and scope.key(value) in self.maps:
                self.named_maps[info.name] = self.maps[scope.key(value)]
            plain = (scope.key(value) in self.types.produced) and value not in results
            if value != NONE and not (plain and scope.builder.name_of(value) == info.name):
                value = self.emit(scope, "Identity", [value], {}, 1, f"{scope.prefix}{info.name}/output")[0]
                scope.builder.rename(value, info.name)
            if text:
                self.string_output(info, value, scope)
            elif value != NONE and info.HasField("type") and info.name not in self.named_maps:
                kind, dtype = kind_and_dtype(info.type)
                scope.builder.describe(value, kind, dtype, dims_of(info.type) if kind == "tensor" else None)
            results.append(value)
        scope.builder.outputs(results)

    def string_output(self, info: ValueInfoProto, value: int, scope: Scope) -> None:
        """Declare a result that is an array of strings."""
        dims = dims_of(info.type)
        scope.builder.describe(value, "tensor", "uint8", None if dims is None else [*dims, None])
        if scope.parent is None:
            self.strings.append(info.name)

    # Nodes.

    def nodes(self, nodes: Iterable[NodeProto], scope: Scope) -> None:
        """Convert nodes one after the other; what cannot be
        converted goes into the report and the walk goes on.
        """
        for index, proto in enumerate(nodes):
            name = scope.prefix + (proto.name or f"{proto.op_type}_{index}")
            self.current = name
            domain = "" if proto.domain == "ai.onnx" else proto.domain
            opset = scope.opsets.get(domain, 0)
            self.report.nodes += 1
            self.report.operators[proto.op_type] = self.report.operators.get(proto.op_type, 0) + 1
            try:
                self.one(proto, name, domain, opset, scope)
            except (UnsupportedError, UnsupportedTypeError) as reason:
                self.report.add(name, proto.op_type, opset, str(reason))
                self.placeholder(proto, scope)

    def one(self, proto: NodeProto, name: str, domain: str, opset: int, scope: Scope) -> None:
        """Convert one node: a function of the model, a rule, or taken over as it is."""
        local = self.functions.get((proto.domain, proto.op_type))
        node = Node(self, scope, proto, name, opset)
        if local is not None:
            self.call(local, node)
            return
        known = find_string_rule(node, domain) or find_rule(domain, proto.op_type, opset)
        if known is None and domain not in _NATIVE_DOMAINS:
            raise UnsupportedError(f"domain '{domain}' is not supported")
        if known is None and not onnx.defs.has(proto.op_type, domain):
            raise UnsupportedError(
                f"the package onnx knows no such operator in domain '{domain or 'ai.onnx'}'"
            )
        if known is not None:
            known(node)
        else:
            node.take_over()

    def placeholder(self, proto: NodeProto, scope: Scope) -> None:
        """Stand-ins for the results of an unsupported node,
        so that the rest of the model is still looked at.
        """
        for output in proto.output:
            if output:
                scope.own.add(output)
                value = scope.builder.node("Unsupported", proto.name, [], [output], [])[0]
                scope.names[output] = value
                self.types.known[scope.key(value)] = None

    def emit(
        self,
        scope: Scope,
        op: str,
        inputs: list[int],
        attributes: dict[str, Any],
        outputs: int,
        name: str,
        domain: str = "",
    ) -> list[int]:
        """Emit an operator in its newest form: natively, or through the function body its schema gives."""
        protos = tuple(as_proto(k, v) for k, v in attributes.items() if k not in _DROPPED)
        opset = self.newest[""]
        if op not in self.native:
            return self._expand(scope, op, inputs, protos, outputs, name, opset)
        values = scope.builder.node(
            op,
            name,
            inputs,
            [f"{name}:{i}" for i in range(outputs)],
            [native_attribute(a, self.folder, name) for a in protos],
        )
        keys = tuple(None if i == NONE else scope.key(i) for i in inputs)
        for index, value in enumerate(values):
            self.types.produced[scope.key(value)] = Produced(op, domain, opset, protos, keys, outputs, index)
        return values

    def name_value(self, scope: Scope, value: int, name: str) -> None:
        """Give a computed value the name the model has for it."""
        key = scope.key(value)
        if key in self.types.produced:
            scope.builder.rename(value, scope.prefix + name)

    def constant(self, scope: Scope, array: Array, dtype: str, name: str) -> int:
        """Add a constant."""
        value = scope.builder.constant(name, array, dtype)
        proto_type = helper.make_tensor_type_proto(BY_NAME[dtype], list(array.shape))
        self.types.known[scope.key(value)] = proto_type
        if array.size <= _SMALL and array.dtype.kind in "ifb":
            self.types.constants[scope.key(value)] = onnx.numpy_helper.from_array(np.asarray(array))
        return value

    def string_constant(self, scope: Scope, words: Array, name: str) -> int:
        """Add an array of strings (of Python strings or UTF-8 bytes) as a constant."""
        plain = [w.decode("utf-8", "replace") if isinstance(w, bytes) else str(w) for w in words.ravel()]
        rows = strings.encode(np.asarray(plain, object).reshape(words.shape), name)
        value = scope.builder.constant(name, rows, "uint8")
        kind = helper.make_tensor_type_proto(TensorProto.STRING, list(words.shape))
        self.types.known[scope.key(value)] = kind
        self.types.strings.add(scope.key(value))
        return value

    def _reader(self, tensor: TensorProto) -> Any:
        def read(scope: Scope) -> int:
            if tensor.data_type == TensorProto.STRING:
                return self.string_constant(scope, read_strings(tensor), tensor.name)
            where = f"initializer '{tensor.name}'"
            try:
                bits = read_tensor(tensor, self.folder, where)
            except UnsupportedTypeError as reason:
                self.report.add(tensor.name, "initializer", scope.opsets[""], str(reason))
                bits = Bits(
                    np.zeros(list(tensor.dims)[:8] if np.prod(tensor.dims) < 1 << 20 else [0], np.uint8),
                    "uint8",
                )
            return self.constant(scope, bits.array, bits.dtype, tensor.name)

        return read

    def _sparse_reader(self, sparse: Any) -> Any:
        def read(scope: Scope) -> int:
            bits = read_sparse(sparse, self.folder, f"sparse initializer '{sparse.values.name}'")
            return self.constant(scope, bits.array, bits.dtype, sparse.values.name)

        return read

    # Functions.

    def _expand(
        self,
        scope: Scope,
        op: str,
        inputs: list[int],
        attributes: tuple[AttributeProto, ...],
        outputs: int,
        name: str,
        opset: int,
    ) -> list[int]:
        function = schema_function(self.types, scope, op, "", opset, inputs, attributes, outputs)
        if function is None:
            raise UnsupportedError(f"{op} is not in the native table and ONNX gives no function body for it")
        return self.inline(function, scope, inputs, {a.name: a for a in attributes}, outputs, name)

    def call(self, function: FunctionProto, node: Node) -> None:
        """Inline a call of one of the model's own functions."""
        wanted = max(len(node.outputs), 1)
        node.result(*self.inline(function, node.scope, node.inputs, node.attributes, wanted, node.name))

    def inline(
        self,
        function: FunctionProto,
        scope: Scope,
        inputs: list[int],
        attributes: dict[str, AttributeProto],
        outputs: int,
        name: str,
        outer: Scope | None = None,
    ) -> list[int]:
        """Convert a function's body in place of a call; returns the values of its outputs."""
        if scope.call_depth >= _MAX_CALLS:
            raise refuse(
                f"function calls nested {scope.call_depth} deep",
                f"at most {_MAX_CALLS}",
                f"node '{name}'",
                "remove the recursion between functions",
            )
        given = {a.name: a for a in function.attribute_proto}
        given.update(attributes)
        opsets = {
            ("" if o.domain == "ai.onnx" else o.domain): o.version for o in function.opset_import
        } or scope.opsets
        opsets.setdefault("", scope.opsets[""])
        inner = Scope(scope.builder, self.types, opsets=opsets, prefix=f"{name}/", attributes=given)
        inner.depth, inner.call_depth, inner.fallback = scope.depth, scope.call_depth + 1, outer
        for index, formal in enumerate(function.input):
            inner.names[formal] = inputs[index] if index < len(inputs) else NONE
        if len(inputs) > len(function.input):
            raise refuse(
                f"{len(inputs)} inputs to function '{function.name}'",
                f"at most {len(function.input)}",
                f"node '{name}'",
                "check the model with onnx.checker",
            )
        self.nodes(function.node, inner)
        return [inner.lookup(o, name) for o in list(function.output)[:outputs]]
