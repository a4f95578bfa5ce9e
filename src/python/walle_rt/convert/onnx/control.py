"""If, Loop, Scan and SequenceMap bodies: closed graphs with explicit captures."""

from __future__ import annotations

from onnx import GraphProto, TensorProto, TypeProto

from .. import report as _report
from .node import Node
from .rules import rule
from .scope import NONE, Scope
from .types import type_of
from .unsupported import UnsupportedError


def body_scope(node: Node, graph: GraphProto, formal_types: list[TypeProto | None]) -> Scope:
    """Convert a body into a graph of its own; its scope says what it captured."""
    builder = node.walk.builder(graph.name)
    scope = Scope(
        builder,
        node.scope.types,
        opsets=node.scope.opsets,
        parent=node.scope,
        prefix=f"{node.name}/",
        attributes=node.scope.attributes,
    )
    node.walk.graph(graph, scope, formal_types)
    return scope


def graph_attribute(node: Node, name: str) -> GraphProto:
    """A body attribute; its absence is an error."""
    attribute = node.attributes.get(name)
    if attribute is None or not attribute.HasField("g"):
        raise _report.refuse(
            f"node '{node.name}' ({node.op}) without '{name}'",
            "a graph attribute",
            f"node '{node.name}'",
            "check the model with onnx.checker and export it again",
        )
    return attribute.g


def set_types(node: Node, values: list[int], graph: GraphProto, skip: int, added_axis: set[int]) -> None:
    """Results have the types the body declares for its outputs; shapes only where they cannot change."""
    for index, value in enumerate(values):
        if index + skip >= len(graph.output):
            return
        declared = TypeProto()
        declared.CopyFrom(graph.output[index + skip].type)
        if declared.HasField("tensor_type"):
            if index in added_axis and declared.tensor_type.HasField("shape"):
                declared.tensor_type.shape.dim.add()
                for dim in declared.tensor_type.shape.dim:
                    dim.Clear()
            elif skip:
                declared.tensor_type.ClearField("shape")
        node.scope.types.known[node.scope.key(value)] = declared
        if declared.tensor_type.elem_type == TensorProto.STRING:
            node.scope.types.strings.add(node.scope.key(value))


@rule("If")
def if_(node: Node) -> None:
    """Both branches become closed graphs; their captures follow the condition."""
    bodies = [body_scope(node, graph_attribute(node, name), []) for name in ("then_branch", "else_branch")]
    for name in ("then_branch", "else_branch"):
        if len(graph_attribute(node, name).output) < len(node.outputs):
            raise _report.refuse(
                f"{len(node.outputs)} outputs but fewer in '{name}'",
                "one result per output",
                f"node '{node.name}'",
                "check the model with onnx.checker",
            )
    attributes = {
        "then_branch": bodies[0].builder,
        "else_branch": bodies[1].builder,
        "then_captures": len(bodies[0].captures),
        "else_captures": len(bodies[1].captures),
    }
    inputs = [node.input(0), *bodies[0].captures, *bodies[1].captures]
    values = node.walk.emit(node.scope, "If", inputs, attributes, max(len(node.outputs), 1), node.name)
    set_types(node, values, graph_attribute(node, "then_branch"), 0, set())
    node.result(*values)


def _without_shape(type_proto: TypeProto | None) -> TypeProto | None:
    if type_proto is None:
        return None
    out = TypeProto()
    out.CopyFrom(type_proto)
    if out.HasField("tensor_type"):
        out.tensor_type.ClearField("shape")
    return out


@rule("Loop")
def loop(node: Node) -> None:
    """Loop: inputs are trip count, condition, carried values, then the captures."""
    graph = graph_attribute(node, "body")
    carried = node.inputs[2:]
    if len(graph.input) != 2 + len(carried) or len(graph.output) < 1 + len(carried):
        raise _report.refuse(
            f"a body with {len(graph.input)} inputs and {len(graph.output)} outputs for {len(carried)} "
            "carried values",
            "iteration number, condition and every carried value in; condition and carried values out",
            f"node '{node.name}'",
            "check the model with onnx.checker",
        )
    types = [
        None,
        None,
        *(
            _without_shape(type_of(node.scope.types, node.scope.key(c))) if c != NONE else None
            for c in carried
        ),
    ]
    scope = body_scope(node, graph, types)
    inputs = [node.input(0), node.input(1), *carried, *scope.captures]
    attributes = {"body": scope.builder, "body_captures": len(scope.captures)}
    values = node.walk.emit(node.scope, "Loop", inputs, attributes, max(len(node.outputs), 1), node.name)
    set_types(node, values, graph, 1, set(range(len(carried), len(values))))
    node.result(*values)


def _scan_elements(node: Node, count: int) -> list[TypeProto | None]:
    out: list[TypeProto | None] = []
    first = len(node.inputs) - count
    for index, value in enumerate(node.inputs):
        type_proto = _without_shape(node.type(value)) if value != NONE and index >= first else None
        if value != NONE and index < first:
            type_proto = node.type(value)
        out.append(type_proto)
    return out


@rule("Scan")
def scan(node: Node) -> None:
    """Scan of opset 9 and later: states and scanned inputs, then the captures."""
    graph = graph_attribute(node, "body")
    count = int(node.attr("num_scan_inputs", 0))
    if not 1 <= count <= len(node.inputs) or len(graph.input) != len(node.inputs):
        raise _report.refuse(
            f"num_scan_inputs {count}, {len(node.inputs)} inputs and a body with {len(graph.input)}",
            "one body input per input, at least one of them scanned",
            f"node '{node.name}'",
            "check the model with onnx.checker",
        )
    scope = body_scope(node, graph, _scan_elements(node, count))
    attributes = {**node.remaining("body"), "body": scope.builder, "body_captures": len(scope.captures)}
    inputs = [*node.inputs, *scope.captures]
    values = node.walk.emit(node.scope, "Scan", inputs, attributes, max(len(node.outputs), 1), node.name)
    states = len(node.inputs) - count
    set_types(node, values, graph, 0, set(range(states, len(values))))
    node.result(*values)


@rule("Scan", below=9)
def scan_8(node: Node) -> None:
    """Scan of opset 8 has a batch axis in front of everything:
    an outer scan over it whose body is the newer scan.
    """
    if node.has(0):
        raise UnsupportedError("Scan of opset 8 with sequence_lens is not supported")
    graph = graph_attribute(node, "body")
    count = int(node.attr("num_scan_inputs", 0))
    inputs = node.inputs[1:]
    if not 1 <= count <= len(inputs) or len(graph.input) != len(inputs):
        raise UnsupportedError("the body's inputs do not fit num_scan_inputs")
    inner = body_scope(node, graph, [])
    captures = len(inner.captures)
    middle = node.walk.builder(f"{graph.name}/batch")
    scope = Scope(
        middle, node.scope.types, opsets=node.scope.opsets, parent=node.scope, prefix=f"{node.name}/batch/"
    )
    names = [f"{node.name}/batch/{i}" for i in range(len(inputs) + captures)]
    formal = [middle.input(name, "tensor", "undefined", None) for name in names]
    directions = [int(d) for d in node.attr("directions", [0] * count)]
    attributes = {
        "body": inner.builder,
        "body_captures": captures,
        "num_scan_inputs": count,
        "scan_input_directions": directions,
    }
    results = len(graph.output)
    middle.outputs(node.walk.emit(scope, "Scan", formal, attributes, results, f"{node.name}/batch"))
    outer = {"body": middle, "body_captures": captures, "num_scan_inputs": len(inputs)}
    node.result(*node.walk.emit(node.scope, "Scan", [*inputs, *inner.captures], outer, results, node.name))
