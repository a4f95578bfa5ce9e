"""Linear models, scalers and imputers of ai.onnx.ml, with onnxruntime's meaning where ONNX has none."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from .node import Node
from .rules import rule
from .scope import NONE
from .types import dims_of, rank_of
from .unsupported import UnsupportedError
from .vocabulary import numbers_at, strings_at

ML = "ai.onnx.ml"
POST_TRANSFORMS = {"NONE": 0, "SOFTMAX": 1, "LOGISTIC": 2, "SOFTMAX_ZERO": 3, "PROBIT": 4}


def rows(node: Node, element: int = TensorProto.FLOAT) -> int:
    """The first input as [rows, features] of one element type; a vector is one row."""
    x = node.input(0)
    if rank_of(node.type(x)) == 1:
        x = node.emit("Unsqueeze", [x, node.ints([0])])
    return x if node.dtype(x, 0) == element else node.emit("Cast", [x], {"to": element})


def floats(node: Node, name: str) -> np.ndarray[Any, Any]:
    """A list of floats, empty where it is absent."""
    return np.asarray(node.attr(name, []), np.float32)


def number(node: Node, value: float, kind: Any = np.float32) -> int:
    """A rank-0 constant."""
    return node.array(np.asarray(value, kind))


def post_transform(node: Node, scores: int, columns: int) -> int:
    """What becomes of the scores of a row; a single one takes part in PROBIT only."""
    name = node.attr("post_transform", "NONE")
    if name not in POST_TRANSFORMS:
        raise UnsupportedError(f"post_transform '{name}'")
    if name == "NONE" or (columns == 1 and name != "PROBIT"):
        return scores
    return typed_like(node, node.emit("PostTransform", [scores], {"kind": POST_TRANSFORMS[name]}), scores)


def typed_like(node: Node, value: int, like: int) -> int:
    """The type of another value, for a result of an operator that ONNX does not know."""
    node.scope.types.known[node.scope.key(value)] = node.type(like)
    return value


def class_labels(node: Node) -> list[str] | list[int]:
    """The names of the classes, from whichever attribute has them."""
    for name in ("classlabels_strings", "classlabels_int64s", "classlabels_ints"):
        proto = node.attributes.get(name)
        if proto is not None and (proto.strings or proto.ints):
            return [s.decode("utf-8", "replace") for s in proto.strings] or list(proto.ints)
    raise UnsupportedError("a classifier without class labels")


def labels_at(node: Node, labels: list[str] | list[int], place: int) -> int:
    """The labels of the classes at these places."""
    if labels and isinstance(labels[0], str):
        return strings_at(node, [str(label) for label in labels], place)
    return numbers_at(node, np.asarray(labels, np.int64), place)


def pair(node: Node, first: int, second: int) -> int:
    """Two columns."""
    return node.emit("Concat", [first, second], {"axis": 1})


def two_columns(node: Node, score: int, mixed: bool) -> int:
    """The scores of two classes from the second one's alone, as onnxruntime has it.

    mixed: the score may be negative, and the first is its opposite rather than what it lacks to 1.
    """
    name = node.attr("post_transform", "NONE")
    if name == "PROBIT":  # of the one score; onnxruntime leaves the other column as it finds it
        return pair(node, post_transform(node, score, 1), score)
    if name == "LOGISTIC":
        return node.emit("Sigmoid", [pair(node, node.emit("Neg", [score]), score)])
    if mixed:
        return pair(node, node.emit("Neg", [score]), score)
    return pair(node, node.emit("Sub", [number(node, 1.0), score]), score)


def flat(node: Node, column: int) -> int:
    """[rows, 1] as [rows]."""
    return node.emit("Squeeze", [column, node.ints([1])])


def above(node: Node, column: int, threshold: float) -> int:
    """1 where a [rows, 1] column exceeds a threshold, else 0, as [rows] of int64."""
    over = node.emit("Greater", [flat(node, column), number(node, threshold)])
    return node.emit("Cast", [over], {"to": TensorProto.INT64})


def best(node: Node, scores: int) -> int:
    """The first of the greatest scores of each row."""
    return node.emit("ArgMax", [scores], {"axis": 1, "keepdims": 0})


def product(node: Node, x: int, weights: np.ndarray[Any, Any], bias: np.ndarray[Any, Any]) -> int:
    """x times the transposed weights [targets, features], plus a bias per target."""
    made = node.emit("MatMul", [x, node.array(np.ascontiguousarray(weights.T))])
    return node.emit("Add", [made, node.array(bias)]) if bias.size else made


@rule("LinearRegressor", domain=ML)
def linear_regressor(node: Node) -> None:
    """One weighted sum per target."""
    targets = int(node.attr("targets", 1))
    weights = floats(node, "coefficients").reshape(targets, -1)
    scores = product(node, rows(node), weights, floats(node, "intercepts"))
    node.result(post_transform(node, scores, targets))


@rule("LinearClassifier", domain=ML)
def linear_classifier(node: Node) -> None:
    """One weighted sum per class; a single one says how much the second of two classes it is."""
    labels, bias = class_labels(node), floats(node, "intercepts")
    classes = max(bias.size, 1)
    scores = product(node, rows(node), floats(node, "coefficients").reshape(classes, -1), bias)
    if classes > 1:
        node.result(labels_at(node, labels, best(node, scores)), post_transform(node, scores, classes))
        return
    if len(labels) != 2:
        raise UnsupportedError(f"one score for {len(labels)} class labels")
    node.result(labels_at(node, labels, above(node, scores, 0.0)), two_columns(node, scores, mixed=False))


@rule("Scaler", domain=ML)
def scaler(node: Node) -> None:
    """(x - offset) * scale."""
    x = node.emit("Cast", [node.input(0)], {"to": TensorProto.FLOAT})
    for name, op in (("offset", "Sub"), ("scale", "Mul")):
        values = floats(node, name)
        if values.size:
            x = node.emit(op, [x, node.array(values if values.size > 1 else values.reshape(()))])
    node.result(x)


@rule("Normalizer", domain=ML)
def normalizer(node: Node) -> None:
    """Rows by their greatest element, the sum or the length of their absolute values; 0 divides nothing."""
    x = node.emit("Cast", [node.input(0)], {"to": TensorProto.FLOAT})
    axes = node.ints([0 if rank_of(node.type(node.input(0))) == 1 else 1])
    norm = node.attr("norm", "MAX")
    op = {"MAX": "ReduceMax", "L1": "ReduceL1", "L2": "ReduceL2"}.get(norm)
    if op is None:
        raise UnsupportedError(f"norm '{norm}'")
    size = node.emit(op, [x, axes], {"keepdims": 1})
    none = node.emit("Equal", [size, number(node, 0.0)])
    node.result(node.emit("Div", [x, node.emit("Where", [none, number(node, 1.0), size])]))


@rule("Imputer", domain=ML)
def imputer(node: Node) -> None:
    """What is missing is replaced, column by column."""
    x = node.input(0)
    if "imputed_value_int64s" in node.attributes:
        values = np.asarray(node.attr("imputed_value_int64s"), np.int64)
        missing = node.emit("Equal", [x, number(node, node.attr("replaced_value_int64", 0), np.int64)])
    else:
        double = node.dtype(x) == TensorProto.DOUBLE
        values = floats(node, "imputed_value_floats").astype(np.float64 if double else np.float32)
        mark = float(node.attr("replaced_value_float", 0.0))
        missing = (
            node.emit("IsNaN", [x])
            if np.isnan(mark)
            else node.emit("Equal", [x, number(node, mark, values.dtype)])
        )
    node.result(
        node.emit("Where", [missing, node.array(values if values.size > 1 else values.reshape(())), x])
    )


@rule("FeatureVectorizer", domain=ML)
def feature_vectorizer(node: Node) -> None:
    """The columns of all inputs side by side, each cut or filled up with 0 to its declared width."""
    widths = list(node.attr("inputdimensions", []))
    columns = []
    for index, value in enumerate(i for i in node.inputs if i != NONE):
        x = node.emit("Cast", [value], {"to": TensorProto.FLOAT})
        if node.rank(value, "an input") == 1:
            x = node.emit("Unsqueeze", [x, node.ints([0])])
        dims = dims_of(node.type(value))
        have = dims[-1] if dims else None
        if index < len(widths) and isinstance(have, int) and have != widths[index]:
            x = _resized(node, x, have, widths[index])
        columns.append(x)
    node.result(columns[0] if len(columns) == 1 else node.emit("Concat", columns, {"axis": 1}))


def _resized(node: Node, x: int, have: int, want: int) -> int:
    if have > want:
        return node.emit("Slice", [x, node.ints([0]), node.ints([want]), node.ints([1])])
    return node.emit("Pad", [x, node.ints([0, 0, 0, want - have])])
