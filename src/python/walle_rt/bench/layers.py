"""Two engines' steps of one model, set side by side by layer.

A layer is a node that does real work with all that follows it up to the next such nodes: engines fuse what
follows in different ways, and some change layouts around it. Steps that do the work of several such nodes
unite their layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .profiles import Nodes, Row

# Nodes that begin a layer. What is not here belongs to the layer whose result it reads.
ANCHORS = frozenset(
    name
    for line in (
        "Attention AveragePool BatchNormalization Conv ConvTranspose DeformConv Einsum GRU Gather",
        "GatherElements GatherND Gemm GlobalAveragePool GlobalMaxPool GridSample GroupNormalization",
        "GroupQueryAttention If InstanceNormalization LRN LSTM LayerNormalization Loop LpPool MatMul MaxPool",
        "MultiHeadAttention QLinearConv QLinearMatMul RMSNormalization RNN ReduceL2 ReduceMax ReduceMean",
        "ReduceMin ReduceSum Resize RotaryEmbedding Scan ScatterND Softmax TopK TreeEnsembleClassifier",
        "TreeEnsembleRegressor Upsample",
    )
    for name in line.split()
)
ELSEWHERE = "(elsewhere)"


@dataclass
class Layer:
    """One layer with both engines' steps; ``nodes`` are its beginning and those it was united with."""

    nodes: list[str]
    op: str
    ours: list[Row] = field(default_factory=list)
    theirs: list[Row] = field(default_factory=list)

    @property
    def ours_ms(self) -> float:
        """Our time."""
        return sum(row.ms for row in self.ours)

    @property
    def theirs_ms(self) -> float:
        """The peer's."""
        return sum(row.ms for row in self.theirs)

    @property
    def lost_ms(self) -> float:
        """What we take longer; negative where we are ahead."""
        return self.ours_ms - self.theirs_ms


def homes(nodes: Nodes) -> dict[str, str]:
    """The beginning of the layer that each node belongs to.

    A node that is no beginning itself follows the last layer whose result it reads; one that reads inputs and
    constants alone joins the first layer that reads from it, else it is elsewhere.
    """
    home: dict[str, str] = {}
    for name in nodes.order:
        if nodes.ops[name] in ANCHORS:
            home[name] = name
            continue
        before = [home[m] for v in nodes.inputs[name] if (m := nodes.producer(v)) and m in home]
        if before:
            home[name] = max(before, key=nodes.place.__getitem__)
    for name in reversed(nodes.order):
        for value in nodes.inputs[name]:
            maker = nodes.producer(value)
            if maker is not None and name in home:
                home.setdefault(maker, home[name])
    return home


def side_by_side(nodes: Nodes, ours: Sequence[Row], theirs: Sequence[Row]) -> list[Layer]:
    """The layers in the order of the graph; what has no known node is in the last, "(elsewhere)"."""
    home = homes(nodes)
    parent = {name: name for name in set(home.values())}

    def root(name: str) -> str:
        while parent[name] != name:
            name = parent[name]
        return name

    for row in (*ours, *theirs):
        roots = sorted({root(home[n]) for n in row.nodes if n in home}, key=nodes.place.__getitem__)
        for other in roots[1:]:
            parent[other] = roots[0]
    layers: dict[str, Layer] = {}
    for name in sorted(parent, key=nodes.place.__getitem__):
        layer = layers.setdefault(root(name), Layer([], nodes.ops[root(name)]))
        layer.nodes.append(name)
    outside = Layer([ELSEWHERE], "")
    for rows, mine in ((ours, True), (theirs, False)):
        for row in rows:
            known = next((n for n in row.nodes if n in home), None)
            layer = layers[root(home[known])] if known else outside
            (layer.ours if mine else layer.theirs).append(row)
    found = [layer for layer in layers.values() if layer.ours or layer.theirs]
    return [*found, outside] if outside.ours or outside.theirs else found
