"""Walks an ONNX graph in order and emits the native one: functions inlined, bodies as closed graphs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import onnx
from onnx import FunctionProto, GraphProto, NodeProto, TypeProto

from ... import _core
from ..report import Report, refuse
from .emit import Emitter
from .external import DataFolder
from .functions import Call
from .graph_ends import GraphEnds
from .known_attributes import refuse_near_misses, refuse_unknown
from .node import Node
from .order import in_order
from .packed_products import with_packed_products
from .rules import find_rule
from .scope import NONE, Scope
from .text import find_string_rule
from .unsupported import UnsupportedError, UnsupportedTypeError

_MAX_CALLS = 64  # ONNX forbids recursion between functions; a file may hold it all the same
# Of If, Loop and Scan in each other: every level takes several frames of Python's stack.
_MAX_DEPTH = _core.limits()["max_graph_depth"]
_NATIVE_DOMAINS = ("", "ai.onnx", "ai.onnx.ml", "ai.onnx.preview.training")


class Walk(Emitter):
    """One conversion: the graphs and functions of the model, and the report."""

    def __init__(self, model: onnx.ModelProto, folder: DataFolder | None, report: Report) -> None:
        """Prepare for one model."""
        super().__init__(folder)
        self.report = report
        self.functions = {(f.domain, f.name): f for f in model.functions}
        self.opsets = {o.domain if o.domain != "ai.onnx" else "": o.version for o in model.opset_import}
        self.opsets.setdefault("", 1)
        self.current = ""  # the node being converted, for messages
        # Before IR version 4 every initializer had to be an input too, and none was meant to be overridden.
        self._ends = GraphEnds(self, report, overrides=model.ir_version >= 4)

    @property
    def strings(self) -> list[str]:
        """Names of the inputs and outputs that hold strings."""
        return self._ends.strings

    @property
    def named_maps(self) -> dict[str, list[Any]]:
        """Names of the inputs and outputs that are lists of dictionaries, and the keys of these."""
        return self._ends.maps | self.map_columns

    def graph(self, graph: GraphProto, scope: Scope, formal_types: Sequence[TypeProto | None] = ()) -> None:
        """Convert a graph (the main one or a body) into ``scope``'s builder."""
        if scope.depth > _MAX_DEPTH:
            raise refuse(
                f"graphs nested {scope.depth} deep",
                f"at most {_MAX_DEPTH}",
                f"graph '{graph.name}'",
                "flatten the model",
            )
        self._ends.begin(graph, scope, formal_types)
        self._nodes(with_packed_products(in_order(graph), graph, scope, self), scope)
        self._ends.end(graph.output, scope)

    def _nodes(self, nodes: Iterable[NodeProto], scope: Scope) -> None:
        """Convert node after node; what cannot be converted goes into the report and the walk goes on."""
        scope.nodes = list(nodes)
        for index, proto in enumerate(scope.nodes):
            name = scope.prefix + (proto.name or f"{proto.op_type}_{index}")
            self.current = name
            domain = "" if proto.domain == "ai.onnx" else proto.domain
            opset = scope.opsets.get(domain, 0)
            self.report.nodes += 1
            self.report.operators[proto.op_type] = self.report.operators.get(proto.op_type, 0) + 1
            try:
                self._one(Node(self, scope, proto, name, opset), domain)
            except (UnsupportedError, UnsupportedTypeError) as reason:
                self.report.add(name, proto.op_type, opset, str(reason))
                self._placeholder(proto, scope)

    def _one(self, node: Node, domain: str) -> None:
        """Convert one node: a function of the model, a rule, or taken over as it is."""
        local = self.functions.get((node.proto.domain, node.op))
        refuse_unknown(node.proto, domain, node.opset, local)
        if local is not None:
            node.inline(local)
            return
        known = find_string_rule(node, domain) or find_rule(domain, node.op, node.opset)
        if known is None and domain not in _NATIVE_DOMAINS:
            raise UnsupportedError(f"domain '{domain}' is not supported")
        if known is None and not onnx.defs.has(node.op, domain):
            where = f"domain '{domain or 'ai.onnx'}'"
            raise UnsupportedError(f"the package onnx knows no such operator in {where}")
        if known is not None:
            known(node)
            if domain not in _NATIVE_DOMAINS:
                refuse_near_misses(node.attributes)
        else:
            node.take_over()

    def _placeholder(self, proto: NodeProto, scope: Scope) -> None:
        """Stand-ins for an unsupported node's results, so that the rest of the model is still looked at."""
        for output in proto.output:
            if output:
                scope.own.add(output)
                value = scope.builder.node("Unsupported", proto.name, [], [output], [])[0]
                scope.names[output] = value
                self.types.known[scope.key(value)] = None

    def inline(self, function: FunctionProto, call: Call) -> list[int]:
        """Convert a function's body in place of a call; returns the values of its outputs."""
        inputs = call.inputs
        if call.scope.call_depth >= _MAX_CALLS:
            raise refuse(
                f"function calls nested {call.scope.call_depth} deep",
                f"at most {_MAX_CALLS}",
                f"node '{call.name}'",
                "remove the recursion between functions",
            )
        if len(inputs) > len(function.input):
            raise refuse(
                f"{len(inputs)} inputs to function '{function.name}'",
                f"at most {len(function.input)}",
                f"node '{call.name}'",
                "check the model with onnx.checker",
            )
        inner = self._function_scope(function, call)
        for index, formal in enumerate(function.input):
            inner.names[formal] = inputs[index] if index < len(inputs) else NONE
        self._nodes(function.node, inner)
        return [inner.lookup(o, call.name) for o in list(function.output)[: call.outputs]]

    def _function_scope(self, function: FunctionProto, call: Call) -> Scope:
        given = {a.name: a for a in function.attribute_proto} | call.attributes
        opsets = {("" if o.domain == "ai.onnx" else o.domain): o.version for o in function.opset_import}
        opsets = opsets or call.scope.opsets
        opsets.setdefault("", call.scope.opsets[""])
        inner = Scope(call.scope.builder, self.types, opsets=opsets, prefix=f"{call.name}/", attributes=given)
        inner.depth = call.scope.depth
        inner.call_depth = call.scope.call_depth + 1
        inner.fallback = call.outer
        return inner
