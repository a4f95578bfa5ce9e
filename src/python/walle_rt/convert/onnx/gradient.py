"""Gradient (ai.onnx.preview.training): what lies between xs and y, as the body of the native Gradient.

ONNX names y and xs in the graph around the node; the native operator takes a closed graph that computes y
from xs. The body holds the nodes on the way alone: what does not depend on xs is computed outside, once.
"""

from __future__ import annotations

from onnx import GraphProto, NodeProto, ValueInfoProto

from .control import body_scope
from .node import Node
from .order import reads
from .rules import rule
from .scope import Scope
from .unsupported import UnsupportedError


def _visible(scope: Scope) -> list[NodeProto]:
    """The nodes whose results have names here, each after what it needs from outside its own graph."""
    outer = scope.parent or scope.fallback
    return [*(_visible(outer) if outer is not None else []), *scope.nodes]


def _between(nodes: list[NodeProto], points: list[str], target: str) -> list[NodeProto]:
    """The nodes that depend on ``points`` and lead to ``target``."""
    moving = set(points)
    made_by: dict[str, NodeProto] = {}
    for node in nodes:
        fresh = [o for o in node.output if o and o not in moving]
        if fresh and _needs(node) & moving:
            moving |= set(fresh)
            made_by |= dict.fromkeys(fresh, node)
    wanted = [target]
    found: dict[int, NodeProto] = {}
    while wanted:
        made = made_by.get(wanted.pop())
        if made is not None and id(made) not in found:
            found[id(made)] = made
            wanted += _needs(made)
    return [node for node in nodes if found.pop(id(node), None) is not None]


def _needs(node: NodeProto) -> set[str]:
    """What a node reads; of a Gradient also the value it differentiates."""
    named = {a.s.decode("utf-8", "replace") for a in node.attribute if a.name == "y"}
    return reads(node) | (named if node.op_type == "Gradient" else set())


@rule("Gradient", domain="ai.onnx.preview.training")
def gradient(node: Node) -> None:
    """d y / d x for every x of xs, at the values given as inputs."""
    names = [
        n.decode("utf-8", "replace") if isinstance(n, bytes) else n
        for n in (*node.attr("xs", []), *node.attr("zs", []))
    ]
    wrt = len(node.attr("xs", []))
    if not wrt:
        raise UnsupportedError("Gradient without xs")
    if len(names) != len(node.inputs):
        raise UnsupportedError(f"{len(node.inputs)} inputs for {len(names)} names in xs and zs")
    # A z at its own value is what any captured value is.
    points = [
        (name, value)
        for i, (name, value) in enumerate(zip(names, node.inputs, strict=True))
        if i < wrt or node.scope.lookup(name, node.name) != value
    ]
    target = str(node.attr("y", ""))
    body = GraphProto(name=f"{node.name}/body")
    body.input.extend(ValueInfoProto(name=name) for name, _ in points)
    body.output.add(name=target)
    body.node.extend(_between(_visible(node.scope), [name for name, _ in points], target))
    scope = body_scope(node, body, [node.type(value) for _, value in points])
    inputs = [value for _, value in points] + scope.captures
    values = node.emit_many("Gradient", inputs, {"body": scope.builder, "wrt": wrt}, wrt)
    for result, (_, x) in zip(values, points[:wrt], strict=True):
        node.scope.types.known[node.scope.key(result)] = node.type(x)
    node.result(*values)
