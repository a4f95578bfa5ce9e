"""Strings: operators that move them, compare them, take them apart and look them up.

An array of strings is uint8 with one more axis in the native graph (ops/rules/words.h), so a node that
meets one is converted by the rules here and by no other. Movement is done on the positions of the strings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy

from onnx import TensorProto, TypeProto, helper

from .element_types import known_dtype
from .node import Node
from .rules import Rule, find_rule, rule
from .scope import NONE
from .types import rank_of
from .unsupported import UnsupportedError

# op -> the rule for nodes with strings among their inputs.
STRING_RULES: dict[tuple[str, str], Rule] = {}

_MOVES = (
    "Compress", "Concat", "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "OneHot", "Reshape",
    "ReverseSequence", "Scatter", "ScatterElements", "ScatterND", "Slice", "Split", "Squeeze", "Tile",
    "Transpose", "Unsqueeze", "Where",
)  # fmt: skip


def string_rule(*ops: str, domain: str = "") -> Callable[[Rule], Rule]:
    """Register a rule for operators that were given strings."""

    def register(function: Rule) -> Rule:
        for op in ops:
            STRING_RULES[domain, op] = function
        return function

    return register


def string_type(dims: Sequence[int | str | None] | None) -> TypeProto:
    """The type of an array of strings."""
    return helper.make_tensor_type_proto(TensorProto.STRING, dims)


def mark(node: Node, value: int, kind: TypeProto | None = None) -> int:
    """Note that a value is an array of strings, of this type where it is known."""
    key = node.scope.key(value)
    node.scope.types.strings.add(key)
    node.scope.types.known[key] = kind or string_type(None)
    return value


def emit_strings(node: Node, op: str, inputs: Sequence[int], like: int, **attributes: object) -> int:
    """Emit an operator whose result is an array of strings in the shape of another value."""
    return mark(node, node.emit(op, inputs, attributes), _retyped(node.type(like), TensorProto.STRING))


def emit_typed(
    node: Node, op: str, inputs: Sequence[int], like: int, element: int, **attributes: object
) -> int:
    """Emit an operator of ours whose result has another value's shape."""
    value = node.emit(op, inputs, attributes)
    node.scope.types.known[node.scope.key(value)] = _retyped(node.type(like), element)
    return value


def _retyped(kind: TypeProto | None, element: int) -> TypeProto:
    made = TypeProto()
    if kind is not None:
        made.CopyFrom(kind)
    made.tensor_type.elem_type = element
    return made


def find_string_rule(node: Node, domain: str) -> Rule | None:
    """The rule for a node with strings among its inputs; None when it has none."""
    if not any(node.is_string(i) for i in node.inputs if i != NONE):
        return None
    known = STRING_RULES.get((domain, node.op))
    if known is None:
        raise UnsupportedError("it is not supported on strings")
    return known


class _OnPositions(Node):
    """A node as its rule for numbers sees it: positions where the strings are."""

    finish: Callable[[int], int]
    whole: Node

    def result(self, *values: int) -> None:
        """Turn positions into strings again."""
        self.whole.result(*map(self.finish, values))


def _on_positions(node: Node, finish: Callable[[int], int], inputs: list[int]) -> None:
    stand_in = copy(node)
    stand_in.__class__ = _OnPositions
    assert isinstance(stand_in, _OnPositions)
    stand_in.whole, stand_in.finish, stand_in.inputs = node, finish, inputs
    known = find_rule("", node.op, node.opset)
    if known is not None:
        known(stand_in)
    else:
        stand_in.take_over()


def _positions(node: Node, *, ranked: bool = False) -> tuple[int, list[int]]:
    """All strings of the node's inputs as one list, and the inputs with positions in their place.

    ranked: equal strings have one position, and positions are in the order of the strings.
    """
    texts = [i for i in node.inputs if i != NONE and node.is_string(i)]
    attributes = {"ranked": 1} if ranked else {}
    pool, *places = node.emit_many("StringPositions", texts, attributes, 1 + len(texts))
    mark(node, pool)
    for text, place in zip(texts, places, strict=True):
        kind = _retyped(node.type(text), TensorProto.INT64)
        node.scope.types.known[node.scope.key(place)] = kind
    left = iter(places)
    return pool, [next(left) if i != NONE and node.is_string(i) else i for i in node.inputs]


@string_rule(*_MOVES)
def move(node: Node) -> None:
    """The positions move, the strings follow."""
    pool, inputs = _positions(node)
    _on_positions(node, lambda value: emit_strings(node, "StringPick", [pool, value], value), inputs)


@string_rule("Unique")
def unique(node: Node) -> None:
    """Of numbers that are ordered as the strings are; the other results speak of places."""
    pool, inputs = _positions(node, ranked=True)
    found = node.emit_many("Unique", inputs, node.remaining(), 4)
    strings = mark(node, node.emit("StringPick", [pool, found[0]]))
    for value in found[1:]:
        node.scope.types.known[node.scope.key(value)] = helper.make_tensor_type_proto(
            TensorProto.INT64, [None]
        )
    node.result(strings, *found[1:])


@string_rule("ArrayFeatureExtractor", domain="ai.onnx.ml")
def array_feature_extractor(node: Node) -> None:
    """Columns by index."""
    pool, inputs = _positions(node)
    node.result(emit_strings(node, "StringPick", [pool, node.emit(node.op, inputs)], NONE))


@string_rule("Shape", "Size")
def measure(node: Node) -> None:
    """The positions have the strings' shape."""
    _, inputs = _positions(node)
    _on_positions(node, lambda value: value, inputs)


@string_rule("Identity")
def identity(node: Node) -> None:
    """The same strings."""
    node.result(emit_strings(node, "Identity", node.inputs, node.input(0)))


@string_rule("Equal")
def equal(node: Node) -> None:
    """On strings it is an operator of its own."""
    if not all(node.is_string(i) for i in node.inputs):
        raise UnsupportedError("a string compared with something else")
    node.result(emit_typed(node, "StringEqual", node.inputs, NONE, TensorProto.BOOL))


@string_rule("StringConcat")
def concat(node: Node) -> None:
    """One behind the other."""
    ranks = [rank_of(node.type(i)) for i in node.inputs]
    dims = None if None in ranks else [None] * max(r or 0 for r in ranks)
    node.result(mark(node, node.emit("StringConcat", node.inputs), string_type(dims)))


@string_rule("StringNormalizer")
def normalizer(node: Node) -> None:
    """Stop words go, so the last axis has another length."""
    rank = rank_of(node.type(node.input(0)))
    kind = string_type(None if rank is None else [None] * rank)
    node.result(mark(node, node.emit("StringNormalizer", node.inputs, node.remaining("locale")), kind))


@string_rule("StringSplit")
def split(node: Node) -> None:
    """Pieces with one more axis, and their number."""
    pieces, counts = node.emit_many("StringSplit", node.inputs, node.remaining(), 2)
    kind = node.type(node.input(0))
    node.scope.types.known[node.scope.key(counts)] = _retyped(kind, TensorProto.INT64)
    rank = rank_of(kind)
    mark(node, pieces, string_type(None if rank is None else [None] * (rank + 1)))
    node.result(pieces, counts)


@string_rule("Tokenizer", domain="com.microsoft")
def tokenizer(node: Node) -> None:
    """Tokens with one more axis."""
    rank = rank_of(node.type(node.input(0)))
    kind = string_type(None if rank is None else [None] * (rank + 1))
    node.result(mark(node, node.emit("Tokenizer", node.inputs, node.remaining()), kind))


@string_rule("RegexFullMatch")
def regex_full_match(node: Node) -> None:
    """True where the whole string matches."""
    pattern = {"pattern": node.attr("pattern", "")}
    node.result(emit_typed(node, "RegexFullMatch", node.inputs, node.input(0), TensorProto.BOOL, **pattern))


@rule("RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit")
@rule("Tokenizer", domain="com.microsoft")
def not_strings(node: Node) -> None:
    """Only met where the input is something else: string_rule's functions come first."""
    raise UnsupportedError("its input must be strings")


def _cast(node: Node, source: int, to: int) -> None:
    if node.is_string(source) == (to == TensorProto.STRING):
        op = emit_strings if node.is_string(source) else None
        node.result(op(node, "Identity", [source], source) if op else node.emit("Cast", [source], {"to": to}))
    elif node.is_string(source):
        known_dtype(to)  # refuses what we lack
        node.result(emit_typed(node, "StringToNumber", [source], source, to, dtype=to))
    else:
        node.result(emit_strings(node, "StringFromNumber", [source], source))


@string_rule("Cast")
def cast_string(node: Node) -> None:
    """Strings to numbers."""
    _cast(node, node.input(0), target_element(node))


@string_rule("CastLike")
def cast_like_string(node: Node) -> None:
    """Strings to numbers, or numbers to strings, as the second input says."""
    like = TensorProto.STRING if node.is_string(node.input(1)) else node.dtype(node.input(1))
    _cast(node, node.input(0), like)


@rule("Cast")
def cast(node: Node) -> None:
    """Numbers to strings are an operator of its own; before opset 6 the target was named in words."""
    to = target_element(node)
    if to == TensorProto.STRING:
        _cast(node, node.input(0), to)
    else:
        node.take_over(to=to)


def target_element(node: Node) -> int:
    """The element type that a Cast asks for."""
    to = node.attr("to")
    return int(TensorProto.DataType.Value(to)) if isinstance(to, str) else int(to)
