"""Where a graph begins and ends: its inputs, its initializers and its results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from onnx import GraphProto, SparseTensorProto, TensorProto, TypeProto, ValueInfoProto, helper

from ..report import Report, refuse
from .element_types import DTYPES, type_name
from .emit import Emitter
from .result_types import result_dtype
from .scope import NONE, Scope
from .tensors import MAX_RANK, Bits, read_sparse, read_strings, read_tensor
from .types import dims_of, element_type, innermost, kind_and_dtype, rank_of
from .unsupported import UnsupportedTypeError

# Elements of the zeros that stand for an initializer of an unsupported type while the walk goes on, whose
# result nobody runs: no file may ask for more memory than that.
_STAND_IN = 1 << 20
_MAP_VALUES = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64)


class GraphEnds:
    """Declares the inputs, initializers and outputs of the graphs of one conversion."""

    def __init__(self, emitter: Emitter, report: Report, overrides: bool) -> None:
        """Declare into the graphs of ``emitter``; with ``overrides`` initializers that are inputs of the
        model can be overridden.
        """
        self._emitter = emitter
        self._report = report
        self._overrides = overrides
        self._defaults: dict[str, TypeProto] = {}  # the declared types of those
        self.strings: list[str] = []  # names of the model's inputs and outputs that hold strings
        self.maps: dict[str, list[Any]] = {}  # its outputs that are dictionaries, and their keys

    def begin(self, graph: GraphProto, scope: Scope, formal_types: Iterable[TypeProto | None]) -> None:
        """Declare inputs and make initializers known; each becomes a constant when it is first used."""
        tensors: dict[str, Callable[[Scope], int]] = {}
        tensors |= {t.name: self._reader(t) for t in graph.initializer}
        tensors |= {s.values.name: self._sparse_reader(s) for s in graph.sparse_initializer}
        if scope.parent is None and self._overrides:
            self._defaults = {i.name: i.type for i in graph.input if i.name in tensors and i.HasField("type")}
        outer = list(formal_types)
        for index, info in enumerate(i for i in graph.input if i.name not in tensors):
            scope.define(info.name, f"an input of graph '{graph.name}'")
            self._input(info, scope, outer[index] if index < len(outer) else None)
        for name in [t.name for t in graph.initializer] + [s.values.name for s in graph.sparse_initializer]:
            scope.define(name, f"an initializer of graph '{graph.name}'")
        scope.initializers |= tensors

    def _input(self, info: ValueInfoProto, scope: Scope, outer: TypeProto | None) -> None:
        declared = info.type if info.HasField("type") else outer
        if outer is not None and (declared is None or kind_and_dtype(declared)[1] == "undefined"):
            declared = outer
        if declared is not None and declared.HasField("map_type") and scope.parent is None:
            self._map_input(info.name, declared.map_type, scope)
            return
        kind, dtype = kind_and_dtype(declared)
        tensor = innermost(declared)
        number = tensor.tensor_type.elem_type if tensor is not None else 0
        if number == TensorProto.STRING and kind == "tensor":
            self._string_input(info.name, declared, scope)
            return
        if number and number not in DTYPES:
            reason = f"element type {type_name(number)} is not supported"
            self._report.add(info.name, "graph input", scope.opsets[""], reason)
        value = scope.builder.input(info.name, kind, dtype, dims_of(declared) if kind == "tensor" else None)
        scope.names[info.name] = value
        self._emitter.types.known[scope.key(value)] = declared

    def _string_input(self, name: str, declared: TypeProto | None, scope: Scope) -> None:
        dims = dims_of(declared)
        value = scope.builder.input(name, "tensor", "uint8", None if dims is None else [*dims, None])
        scope.names[name] = value
        self._emitter.types.known[scope.key(value)] = declared
        self._emitter.types.strings.add(scope.key(value))
        if scope.parent is None:
            self.strings.append(name)

    def _map_input(self, name: str, declared: TypeProto.Map, scope: Scope) -> None:
        """A dictionary, or a list of them: a table whose columns DictVectorizer names."""
        number = declared.value_type.tensor_type.elem_type
        if number not in _MAP_VALUES:
            reason = f"dictionaries of {type_name(number)} are not supported"
            self._report.add(name, "graph input", scope.opsets[""], reason)
            number = TensorProto.FLOAT
        value = scope.builder.input(name, "tensor", DTYPES[number][0], [None, None])
        scope.names[name] = value
        table = helper.make_tensor_type_proto(number, [None, None])
        self._emitter.types.known[scope.key(value)] = table
        self._emitter.map_inputs[scope.key(value)] = name

    def end(self, infos: Iterable[ValueInfoProto], scope: Scope) -> None:
        """Name the results; a result that is an input, a constant or named twice gets its own Identity."""
        results: list[int] = []
        for info in infos:
            value = scope.lookup(info.name, "graph outputs")
            text = scope.key(value) in self._emitter.types.strings
            keys = self._emitter.maps.get(scope.key(value)) if scope.parent is None else None
            plain = (scope.key(value) in self._emitter.types.produced) and value not in results
            if value != NONE and not (plain and scope.builder.name_of(value) == info.name):
                name = f"{scope.prefix}{info.name}/output"
                value = self._emitter.emit(scope, "Identity", [value], {}, 1, name)[0]
                scope.builder.rename(value, info.name)
            if scope.parent is None:
                self._check_type(info, value, scope)
            if text:
                self._string_output(info, value, scope)
            elif keys is not None:
                self.maps[info.name] = keys
            elif value != NONE and info.HasField("type"):
                kind, dtype = kind_and_dtype(info.type)
                dims = dims_of(info.type) if kind == "tensor" else None
                scope.builder.describe(value, kind, dtype, dims)
            results.append(value)
        scope.builder.outputs(results)
        if scope.parent is None and self._defaults:
            self._list_overridable(scope)

    def _check_type(self, info: ValueInfoProto, value: int, scope: Scope) -> None:
        """A result that is declared as one type and computed as another would be read as what it is not."""
        if self._report.unsupported:  # which explains itself better, and all of it at once
            return
        declared = element_type(info.type) if info.HasField("type") else None
        computed = result_dtype(self._emitter.types, scope.key(value)) if declared and value != NONE else None
        if computed is not None and declared != computed:
            raise refuse(
                f"output '{info.name}' declared as {type_name(declared or 0)}",
                f"{type_name(computed)}, which its node computes",
                "graph outputs",
                "correct the declared type, or add a Cast before the output",
            )

    def _list_overridable(self, scope: Scope) -> None:
        """Those whose value nothing has been built on, unused ones too."""
        values = [scope.lookup(name, "graph inputs") for name in self._defaults]
        scope.builder.overridable([v for v in values if scope.key(v) in self._emitter.types.overridable])

    def _string_output(self, info: ValueInfoProto, value: int, scope: Scope) -> None:
        dims = dims_of(info.type)
        scope.builder.describe(value, "tensor", "uint8", None if dims is None else [*dims, None])
        if scope.parent is None:
            self.strings.append(info.name)

    def _reader(self, tensor: TensorProto) -> Callable[[Scope], int]:
        def read(scope: Scope) -> int:
            if tensor.data_type == TensorProto.STRING:
                return self._emitter.string_constant(scope, read_strings(tensor), tensor.name)
            try:
                bits = read_tensor(tensor, self._emitter.folder, f"initializer '{tensor.name}'")
            except UnsupportedTypeError as reason:
                self._report.add(tensor.name, "initializer", scope.opsets[""], str(reason))
                dims = list(tensor.dims)[:MAX_RANK] if np.prod(tensor.dims) < _STAND_IN else [0]
                bits = Bits(np.zeros(dims, np.uint8), "uint8")
            value = self._emitter.constant(scope, bits.array, bits.dtype, tensor.name)
            if scope.parent is None and tensor.name in self._defaults:
                self._default(tensor.name, value, scope)
            return value

        return read

    def _default(self, name: str, value: int, scope: Scope) -> None:
        """A constant that may be overridden: known by its declared type alone, never by its value."""
        declared: TypeProto | None = self._defaults[name]
        kind, dtype = kind_and_dtype(declared)
        known = self._emitter.types.known[scope.key(value)]
        if kind != "tensor" or dtype != kind_and_dtype(known)[1]:
            return
        # Without a rank, rules would have to do without it too: then only the value may be another.
        if rank_of(declared) != rank_of(known):
            declared = known
        scope.builder.describe(value, kind, dtype, dims_of(declared))
        self._emitter.types.known[scope.key(value)] = declared
        self._emitter.types.constants.pop(scope.key(value), None)
        self._emitter.types.overridable.add(scope.key(value))

    def _sparse_reader(self, sparse: SparseTensorProto) -> Callable[[Scope], int]:
        def read(scope: Scope) -> int:
            where = f"sparse initializer '{sparse.values.name}'"
            bits = read_sparse(sparse, self._emitter.folder, where)
            return self._emitter.constant(scope, bits.array, bits.dtype, sparse.values.name)

        return read
