"""The order of a graph's nodes, and what each of them reads."""

from __future__ import annotations

from onnx import AttributeProto, GraphProto, NodeProto

from ...errors import Error
from ..report import refuse


def in_order(graph: GraphProto) -> list[NodeProto]:
    """The nodes in topological order: as they are when that is one, else sorted; a cycle is an error."""
    made_by = {o: i for i, n in enumerate(graph.node) for o in n.output if o}
    needs = [{made_by[x] for x in reads(n) if x in made_by} for n in graph.node]
    if all(all(d < i for d in deps) for i, deps in enumerate(needs)):
        return list(graph.node)
    if any(i in deps for i, deps in enumerate(needs)):
        raise _cycle(graph, [n.name or n.op_type for i, n in enumerate(graph.node) if i in needs[i]])
    order: list[int] = []
    waiting = [len(d) for d in needs]
    users: dict[int, list[int]] = {}
    for i, deps in enumerate(needs):
        for d in deps:
            users.setdefault(d, []).append(i)
    ready = [i for i, count in enumerate(waiting) if count == 0]
    while ready:
        i = ready.pop(0)
        order.append(i)
        for user in users.get(i, []):
            waiting[user] -= 1
            if waiting[user] == 0:
                ready.append(user)
    if len(order) < len(graph.node):
        left = sorted(set(range(len(graph.node))) - set(order))
        raise _cycle(graph, [graph.node[i].name or graph.node[i].op_type for i in left])
    return [graph.node[i] for i in order]


def _cycle(graph: GraphProto, names: list[str]) -> Error:
    return refuse(
        f"a cycle through nodes {', '.join(names[:8])}",
        "nodes that can be put into an order",
        f"graph '{graph.name}'",
        "check the model with onnx.checker and export it again",
    )


def reads(node: NodeProto) -> set[str]:
    """Every name a node reads, those its bodies take from outside included."""
    names = {i for i in node.input if i}
    for attribute in node.attribute:
        for graph in (
            [attribute.g, *attribute.graphs]
            if attribute.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS)
            else []
        ):
            own = {i.name for i in graph.input} | {t.name for t in graph.initializer}
            own |= {o for n in graph.node for o in n.output}
            for inner in graph.node:
                names |= reads(inner) - own
            names |= {o.name for o in graph.output} - own
    return names
