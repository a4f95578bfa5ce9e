"""Encoders of categories and words: LabelEncoder, CategoryMapper, OneHotEncoder, TfIdfVectorizer, ZipMap.

Each looks a value up in a list first; what follows is arithmetic on its place in the list.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, numpy_helper

from .node import Node
from .rules import rule
from .text import emit_strings, emit_typed, string_rule
from .unsupported import UnsupportedError

_ML = "ai.onnx.ml"
_NO_STRING = "_Unused"  # the default of every operator here


def place_of_string(node: Node, value: int, keys: Sequence[str]) -> int:
    """Where each string stands in a list; -1 where it does not."""
    return emit_typed(node, "StringIndex", [value], value, TensorProto.INT64, keys=[*keys])


def _place_of_number(node: Node, value: int, keys: np.ndarray[Any, Any]) -> int:
    tensors = {
        "keys_tensor": numpy_helper.from_array(keys),
        "values_int64s": list(range(keys.size)),
        "default_int64": -1,
    }
    return emit_typed(node, "LabelEncoder", [value], value, TensorProto.INT64, **tensors)


def strings_at(node: Node, words: Sequence[str], place: int) -> int:
    """The strings of a list at these places; places count from the end where they are negative."""
    pool = node.walk.string_constant(node.scope, np.asarray(list(words), object), f"{node.name}/words")
    return emit_strings(node, "StringPick", [pool, place], place)


def numbers_at(node: Node, numbers: np.ndarray[Any, Any], place: int) -> int:
    """The numbers of a list at these places; places count from the end where they are negative."""
    return node.emit("Gather", [node.array(numbers), place], {"axis": 0})


def _listed(node: Node, stem: str) -> Any:
    """The attribute ``<stem>_strings``, ``_int64s``, ``_floats`` or ``_tensor``: words or a NumPy array."""
    if f"{stem}_strings" in node.attributes:
        return [s.decode("utf-8", "replace") for s in node.attributes[f"{stem}_strings"].strings]
    if f"{stem}_int64s" in node.attributes:
        return np.asarray(node.attr(f"{stem}_int64s"), np.int64)
    if f"{stem}_floats" in node.attributes:
        return np.asarray(node.attr(f"{stem}_floats"), np.float32)
    if f"{stem}_tensor" in node.attributes:
        tensor = node.attributes[f"{stem}_tensor"].t
        array = np.asarray(numpy_helper.to_array(tensor))
        if tensor.data_type != TensorProto.STRING:
            return array.ravel()
        return [w.decode("utf-8", "replace") if isinstance(w, bytes) else str(w) for w in array.ravel()]
    raise UnsupportedError(f"no attribute {stem}_strings, {stem}_int64s, {stem}_floats or {stem}_tensor")


def _default(node: Node, values: Any) -> Any:
    given = node.attributes.get("default_tensor")
    if given is not None:
        first = np.asarray(numpy_helper.to_array(given.t)).ravel()[0]
        return first.decode("utf-8", "replace") if isinstance(first, bytes) else first
    if isinstance(values, list):
        return node.attr("default_string", _NO_STRING)
    if values.dtype.kind == "f":
        return node.attr("default_float", -0.0)
    return node.attr("default_int64", -1)


def _encode(node: Node, keys: Any, values: Any, default: Any) -> None:
    if len(keys) != len(values):
        raise UnsupportedError(f"{len(keys)} keys and {len(values)} values")
    x = node.input(0)
    place = place_of_string(node, x, keys) if isinstance(keys, list) else _place_of_number(node, x, keys)
    if isinstance(values, list):  # behind the values stands the default, which -1 finds
        node.result(strings_at(node, [*values, str(default)], place))
    else:
        node.result(numbers_at(node, np.append(values, np.asarray(default, values.dtype)), place))


@rule("LabelEncoder", domain=_ML)
@string_rule("LabelEncoder", domain=_ML)
def label_encoder(node: Node) -> None:
    """Keys to values; between numbers it is an operator of its own."""
    if node.opset < 2:
        words = [s.decode("utf-8", "replace") for s in node.attributes["classes_strings"].strings]
        places = np.arange(len(words), dtype=np.int64)
        strings = node.is_string(node.input(0))
        keys, values = (words, places) if strings else (places, words)
        default = node.attr("default_int64", -1) if strings else node.attr("default_string", _NO_STRING)
        _encode(node, keys, values, default)
        return
    keys, values = _listed(node, "keys"), _listed(node, "values")
    if isinstance(keys, list) or isinstance(values, list):
        _encode(node, keys, values, _default(node, values))
    else:
        node.take_over()


@rule("CategoryMapper", domain=_ML)
@string_rule("CategoryMapper", domain=_ML)
def category_mapper(node: Node) -> None:
    """Strings to their numbers and back."""
    words = [s.decode("utf-8", "replace") for s in node.attributes["cats_strings"].strings]
    numbers = np.asarray(node.attr("cats_int64s"), np.int64)
    if node.is_string(node.input(0)):
        _encode(node, words, numbers, node.attr("default_int64", -1))
    else:
        _encode(node, numbers, words, node.attr("default_string", _NO_STRING))


@rule("OneHotEncoder", domain=_ML)
@string_rule("OneHotEncoder", domain=_ML)
def one_hot_encoder(node: Node) -> None:
    """A new last axis, 1 at the category's place; what is no category is all 0, or an error with zeros=0."""
    x = node.input(0)
    if node.is_string(x):
        cats: Any = [s.decode("utf-8", "replace") for s in node.attributes["cats_strings"].strings]
        place = place_of_string(node, x, cats)
    else:
        cats = np.asarray(node.attr("cats_int64s"), np.int64)
        whole = node.emit("Cast", [x], {"to": TensorProto.INT64})
        place = _place_of_number(node, whole, cats)
    places = node.ints(range(len(cats)))
    if not node.attr("zeros", 1):  # Gather refuses the place behind the last one
        zero, size = (node.array(np.asarray(n, np.int64)) for n in (0, len(cats)))
        beyond = node.emit("Where", [node.emit("Less", [place, zero]), size, place])
        place = node.emit("Gather", [places, beyond])
    hot = node.emit("Equal", [node.emit("Unsqueeze", [place, node.ints([-1])]), places])
    node.result(node.emit("Cast", [hot], {"to": TensorProto.FLOAT}))


@string_rule("TfIdfVectorizer")
def tf_idf_vectorizer(node: Node) -> None:
    """Words become their places in the pool's vocabulary; the operator counts numbers."""
    pool = [s.decode("utf-8", "replace") for s in node.attributes["pool_strings"].strings]
    words = sorted(set(pool))
    number = {word: i for i, word in enumerate(words)}
    place = place_of_string(node, node.input(0), words)
    attributes = {**node.remaining("pool_strings"), "pool_int64s": [number[word] for word in pool]}
    node.result(node.emit("TfIdfVectorizer", [place], attributes))


@rule("ZipMap", domain=_ML)
def zip_map(node: Node) -> None:
    """A tensor with the names of its columns; the session makes dictionaries of it."""
    labels: list[Any] = (
        [s.decode("utf-8", "replace") for s in node.attributes["classlabels_strings"].strings]
        if "classlabels_strings" in node.attributes
        else list(node.attr("classlabels_int64s"))
    )
    value = node.emit("Identity", [node.input(0)])
    node.walk.maps[node.scope.key(value)] = labels
    node.result(value)


@rule("DictVectorizer", domain=_ML)
def dict_vectorizer(node: Node) -> None:
    """A dictionary as a row; the session makes the row, so only inputs of the model can be vectorised."""
    name = node.walk.map_inputs.get(node.scope.key(node.input(0)))
    if name is None:
        raise UnsupportedError("its dictionary is no input of the model")
    words = node.attributes.get("string_vocabulary")
    columns: list[Any] = (
        [s.decode("utf-8", "replace") for s in words.strings]
        if words is not None
        else [int(key) for key in node.attr("int64_vocabulary", [])]
    )
    if node.walk.map_columns.setdefault(name, columns) != columns:
        raise UnsupportedError("two DictVectorizers read one dictionary by different vocabularies")
    node.result(node.emit("Identity", [node.input(0)]))
