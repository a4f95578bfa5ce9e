"""Gradient (ai.onnx.preview.training): reverse-mode differentiation of the operators between xs and y.

The gradient becomes ordinary operators. What lies between is known from how each value was produced, already
in the newest form of every operator, so one rule per operator suffices.
"""

from __future__ import annotations

from collections.abc import Callable

from .node import Node
from .rules import rule
from .scope import NONE
from .types import Key, Produced, dims_of
from .unsupported import UnsupportedError

Pull = Callable[["Tape", Produced, list[int], int, int], list[int | None]]


class Tape:
    """The operators of a node's builder, and shorthand to emit more."""

    def __init__(self, node: Node) -> None:
        """For one Gradient node."""
        self.node = node
        self.builder = node.scope.builder
        self.produced = node.scope.types.produced

    def made_by(self, value: int) -> Produced | None:
        """How a value came to be."""
        return self.produced.get((id(self.builder), value))

    def sources(self, made: Produced) -> list[int]:
        """The inputs of an operator as values of this builder."""
        return [NONE if key is None else key[1] for key in made.inputs]

    def op(self, name: str, *inputs: int) -> int:
        """Emit an operator without attributes."""
        return self.node.emit(name, inputs)

    def shape(self, value: int) -> list[int | str | None]:
        """The dimensions of a value, of known rank."""
        dims = dims_of(self.node.type(value))
        if dims is None:
            raise UnsupportedError("the shapes between xs and y must be known to differentiate")
        return dims

    def fit(self, gradient: int, like: int) -> int:
        """Undo broadcasting: sum over the axes along which ``like`` was repeated."""
        have, want = self.shape(gradient), self.shape(like)
        lead = len(have) - len(want)
        axes = [*range(lead), *(lead + i for i, d in enumerate(want) if d == 1 and have[lead + i] != 1)]
        if not axes:
            return gradient
        summed = self.node.emit("ReduceSum", [gradient, self.node.ints(axes)], {"keepdims": 0})
        return self.op("Reshape", summed, self.op("Shape", like))


def _add(t: Tape, made: Produced, x: list[int], y: int, g: int) -> list[int | None]:
    return [t.fit(g, x[0]), t.fit(g, x[1])]


def _sub(t: Tape, made: Produced, x: list[int], y: int, g: int) -> list[int | None]:
    return [t.fit(g, x[0]), t.fit(t.op("Neg", g), x[1])]


def _mul(t: Tape, made: Produced, x: list[int], y: int, g: int) -> list[int | None]:
    return [t.fit(t.op("Mul", g, x[1]), x[0]), t.fit(t.op("Mul", g, x[0]), x[1])]


def _div(t: Tape, made: Produced, x: list[int], y: int, g: int) -> list[int | None]:
    over = t.op("Div", g, x[1])
    return [t.fit(over, x[0]), t.fit(t.op("Neg", t.op("Mul", over, y)), x[1])]


def _matmul(t: Tape, made: Produced, x: list[int], y: int, g: int) -> list[int | None]:
    ranks = [len(t.shape(v)) for v in x[:2]]
    if min(ranks) < 2:
        raise UnsupportedError("the gradient of MatMul is defined here for operands of rank 2 and more")
    turned = [
        t.node.emit("Transpose", [v], {"perm": [*range(r - 2), r - 1, r - 2]})
        for v, r in zip(x, ranks, strict=False)
    ]
    return [t.fit(t.op("MatMul", g, turned[1]), x[0]), t.fit(t.op("MatMul", turned[0], g), x[1])]


def _sigmoid(t: Tape, made: Produced, x: list[int], y: int, g: int) -> list[int | None]:
    return [t.op("Mul", g, t.op("Mul", y, t.op("Sub", t.node.scalar_like(1.0, y), y)))]


def _tanh(t: Tape, made: Produced, x: list[int], y: int, g: int) -> list[int | None]:
    return [t.op("Mul", g, t.op("Sub", t.node.scalar_like(1.0, y), t.op("Mul", y, y)))]


def _relu(t: Tape, made: Produced, x: list[int], y: int, g: int) -> list[int | None]:
    return [t.op("Where", t.op("Greater", x[0], t.node.scalar_like(0.0, y)), g, t.node.scalar_like(0.0, y))]


def _sqrt(t: Tape, made: Produced, x: list[int], y: int, g: int) -> list[int | None]:
    return [t.op("Div", g, t.op("Add", y, y))]


def _sum(t: Tape, made: Produced, x: list[int], y: int, g: int) -> list[int | None]:
    keep = next((a.i for a in made.attributes if a.name == "keepdims"), 1)
    if not keep and len(t.shape(g)) != 0:
        raise UnsupportedError("the gradient of ReduceSum is defined here with keepdims=1 or over all axes")
    return [t.op("Expand", g, t.op("Shape", x[0])), *[None] * (len(x) - 1)]


PULLS: dict[str, Pull] = {
    "Add": _add,
    "Sub": _sub,
    "Mul": _mul,
    "Div": _div,
    "MatMul": _matmul,
    "Identity": lambda t, m, x, y, g: [g],
    "Neg": lambda t, m, x, y, g: [t.op("Neg", g)],
    "Exp": lambda t, m, x, y, g: [t.op("Mul", g, y)],
    "Log": lambda t, m, x, y, g: [t.op("Div", g, x[0])],
    "Sigmoid": _sigmoid,
    "Tanh": _tanh,
    "Relu": _relu,
    "Sqrt": _sqrt,
    "ReduceSum": _sum,
    "Reshape": lambda t, m, x, y, g: [t.op("Reshape", g, t.op("Shape", x[0])), None],
}


def order(tape: Tape, target: int, stops: set[int]) -> list[int]:
    """Values from which ``target`` is computed, each after the ones it needs,
    not looking behind ``stops``.
    """
    done: list[int] = []
    seen: set[int] = set()
    stack = [(target, False)]
    while stack:
        value, ready = stack.pop()
        if ready:
            done.append(value)
            continue
        made = tape.made_by(value)
        if value in seen or value in stops or made is None:
            continue
        seen.add(value)
        stack.append((value, True))
        stack += [(source, False) for source in tape.sources(made) if source != NONE]
    return done


def at_point(tape: Tape, target: int, points: dict[int, int]) -> int:
    """The target computed from other values of xs and zs; itself when they are the same."""
    if all(a == b for a, b in points.items()):
        return target
    copies = dict(points)
    for value in order(tape, target, set(points)):
        made = tape.made_by(value)
        assert made is not None
        inputs = [copies.get(s, s) for s in tape.sources(made)]
        attributes = {a.name: a for a in made.attributes}
        copies[value] = tape.node.emit_many(made.op, inputs, attributes, made.outputs)[made.index]
    return copies[target]


@rule("Gradient", domain="ai.onnx.preview.training")
def gradient(node: Node) -> None:
    """d y / d x for every x of xs, at the values given as inputs."""
    tape = Tape(node)
    names = [*node.attr("xs", []), *node.attr("zs", [])]
    names = [n.decode() if isinstance(n, bytes) else n for n in names]
    if len(names) != len(node.inputs):
        raise UnsupportedError(f"{len(node.inputs)} inputs for {len(names)} names in xs and zs")
    named = [node.scope.lookup(n, node.name) for n in names]
    points = dict(zip(named, node.inputs, strict=True))
    target = at_point(tape, node.scope.lookup(node.attr("y"), node.name), points)
    wanted = node.inputs[: len(node.attr("xs", []))]
    sums: dict[int, int] = {target: one_like(node, target)}
    for value in reversed(order(tape, target, set(wanted))):
        if value not in sums:
            continue
        made = tape.made_by(value)
        assert made is not None
        if made.op not in PULLS:
            raise UnsupportedError(f"the gradient of {made.op} is not defined here")
        sources = tape.sources(made)
        for source, part in zip(
            sources, PULLS[made.op](tape, made, sources, value, sums[value]), strict=False
        ):
            if part is not None and source != NONE:
                sums[source] = tape.op("Add", sums[source], part) if source in sums else part
    node.result(*(sums[x] if x in sums else zero_like(node, x) for x in wanted))


def filled(node: Node, value: int, number: float) -> int:
    """A tensor of a value's shape holding one number; its type is recorded:
    shapes decide about broadcasting.
    """
    made = node.emit("Expand", [node.scalar_like(number, value), node.emit("Shape", [value])])
    key: Key = node.scope.key(made)
    node.scope.types.known[key] = node.type(value)
    return made


def one_like(node: Node, value: int) -> int:
    """The gradient of the target with respect to itself."""
    return filled(node, value, 1.0)


def zero_like(node: Node, value: int) -> int:
    """The gradient of what the target does not depend on."""
    return filled(node, value, 0.0)
