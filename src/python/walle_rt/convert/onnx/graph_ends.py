"""Where a graph begins and ends: its inputs, its initializers and its results."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from onnx import GraphProto, SparseTensorProto, TensorProto, TypeProto, ValueInfoProto

from ..report import Report
from .element_types import DTYPES, type_name
from .emit import Emitter
from .order import reads
from .scope import NONE, Scope
from .tensors import MAX_RANK, Bits, read_sparse, read_tensor
from .types import dims_of, innermost, kind_and_dtype
from .unsupported import UnsupportedTypeError

# Operators that take strings: as uint8 with one more axis (ops/control/string_normalizer.cc).
_STRING_OPS = ("StringNormalizer", "StringConcat", "Equal")
_STRING_MAKERS = ("StringNormalizer", "StringConcat", "Identity")
# Elements of the zeros that stand for an initializer of an unsupported type while the walk goes on, whose
# result nobody runs: no file may ask for more memory than that.
_STAND_IN = 1 << 20


class GraphEnds:
    """Declares the inputs, initializers and outputs of the graphs of one conversion."""

    def __init__(self, main: GraphProto, emitter: Emitter, report: Report) -> None:
        """``main`` is the model's own graph, the only one whose inputs may hold strings."""
        self._main = main
        self._emitter = emitter
        self._report = report
        self.strings: list[str] = []  # names of inputs and outputs that hold strings

    def begin(self, graph: GraphProto, scope: Scope, formal_types: Iterable[TypeProto | None]) -> None:
        """Declare inputs and make initializers known; each becomes a constant when it is first used."""
        tensors: dict[str, Callable[[Scope], int]] = {}
        tensors |= {t.name: self._reader(t) for t in graph.initializer}
        tensors |= {s.values.name: self._sparse_reader(s) for s in graph.sparse_initializer}
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
        kind, dtype = kind_and_dtype(declared)
        tensor = innermost(declared)
        number = tensor.tensor_type.elem_type if tensor is not None else 0
        if number == TensorProto.STRING and kind == "tensor" and self._strings_fit(info.name, scope):
            self._string_input(info.name, declared, scope)
            return
        if number and number not in DTYPES:
            reason = f"element type {type_name(number)} is not supported"
            self._report.add(info.name, "graph input", scope.opsets[""], reason)
        value = scope.builder.input(info.name, kind, dtype, dims_of(declared) if kind == "tensor" else None)
        scope.names[info.name] = value
        self._emitter.types.known[scope.key(value)] = declared

    def _string_input(self, name: str, declared: TypeProto | None, scope: Scope) -> None:
        self.strings.append(name)
        dims = dims_of(declared)
        value = scope.builder.input(name, "tensor", "uint8", None if dims is None else [*dims, None])
        scope.names[name] = value
        self._emitter.types.known[scope.key(value)] = None
        self._emitter.string_values.add(scope.key(value))

    def _strings_fit(self, name: str, scope: Scope) -> bool:
        """Whether this is an input of the main graph and everything that reads it can take strings."""
        users = [n for n in self._main.node if name in reads(n)]
        return scope.parent is None and bool(users) and all(n.op_type in _STRING_OPS for n in users)

    def end(self, infos: Iterable[ValueInfoProto], scope: Scope) -> None:
        """Name the results; a result that is an input, a constant or named twice gets its own Identity."""
        results: list[int] = []
        for info in infos:
            value = scope.lookup(info.name, "graph outputs")
            plain = (scope.key(value) in self._emitter.types.produced) and value not in results
            if value != NONE and not (plain and scope.builder.name_of(value) == info.name):
                name = f"{scope.prefix}{info.name}/output"
                value = self._emitter.emit(scope, "Identity", [value], {}, 1, name)[0]
                scope.builder.rename(value, info.name)
            if info.type.tensor_type.elem_type == TensorProto.STRING:
                self._string_output(info.name, value, scope)
            elif value != NONE and info.HasField("type"):
                kind, dtype = kind_and_dtype(info.type)
                dims = dims_of(info.type) if kind == "tensor" else None
                scope.builder.describe(value, kind, dtype, dims)
            results.append(value)
        scope.builder.outputs(results)

    def _string_output(self, name: str, value: int, scope: Scope) -> None:
        made = self._emitter.types.produced.get(scope.key(value))
        if scope.parent is not None or made is None or made.op not in _STRING_MAKERS:
            reason = "element type string is not supported"
            self._report.add(name, "graph output", scope.opsets[""], reason)
        self.strings.append(name)

    def _reader(self, tensor: TensorProto) -> Callable[[Scope], int]:
        def read(scope: Scope) -> int:
            try:
                bits = read_tensor(tensor, self._emitter.folder, f"initializer '{tensor.name}'")
            except UnsupportedTypeError as reason:
                self._report.add(tensor.name, "initializer", scope.opsets[""], str(reason))
                dims = list(tensor.dims)[:MAX_RANK] if np.prod(tensor.dims) < _STAND_IN else [0]
                bits = Bits(np.zeros(dims, np.uint8), "uint8")
            return self._emitter.constant(scope, bits.array, bits.dtype, tensor.name)

        return read

    def _sparse_reader(self, sparse: SparseTensorProto) -> Callable[[Scope], int]:
        def read(scope: Scope) -> int:
            where = f"sparse initializer '{sparse.values.name}'"
            bits = read_sparse(sparse, self._emitter.folder, where)
            return self._emitter.constant(scope, bits.array, bits.dtype, sparse.values.name)

        return read
