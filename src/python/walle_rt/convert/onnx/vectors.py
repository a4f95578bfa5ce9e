"""Support vector machines of ai.onnx.ml, as LIBSVM and LIBLINEAR train them."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from .classical import (
    ML,
    best,
    class_labels,
    flat,
    floats,
    labels_at,
    number,
    post_transform,
    product,
    rows,
    two_columns,
    typed_like,
)
from .node import Node
from .rules import rule
from .unsupported import UnsupportedError

Array = np.ndarray[Any, Any]
_CERTAIN = 1e-7  # no pair of classes is further from being undecided, as in LIBSVM


def _kernel(node: Node, x: int, vectors: Array) -> int:
    """[rows, vectors]: the kernel of every row with every support vector."""
    kind = node.attr("kernel_type", "LINEAR")
    gamma, coef0, degree = [*floats(node, "kernel_params").tolist(), 0.0, 0.0, 0.0][:3]
    if kind == "RBF":
        return _rbf(node, x, vectors.astype(np.float64), gamma)
    dots = product(node, x, vectors, np.zeros(0, np.float32))
    if kind == "LINEAR":
        return dots
    scaled = node.emit("Add", [node.emit("Mul", [dots, number(node, gamma)]), number(node, coef0)])
    if kind == "POLY":
        return node.emit("Pow", [scaled, number(node, degree)])
    if kind == "SIGMOID":
        return node.emit("Tanh", [scaled])
    raise UnsupportedError(f"kernel_type '{kind}'")


def _rbf(node: Node, x: int, vectors: Array, gamma: float) -> int:
    """exp(-gamma |x - v|^2) with the square written out, in float64 because it cancels."""
    wide = node.emit("Cast", [x], {"to": TensorProto.DOUBLE})
    own = node.emit("ReduceSumSquare", [wide, node.ints([1])], {"keepdims": 1})
    dots = node.emit("MatMul", [wide, node.array(np.ascontiguousarray(-2 * vectors.T))])
    far = node.emit("Add", [node.emit("Add", [own, dots]), node.array((vectors**2).sum(axis=1))])
    far = node.emit("Max", [far, number(node, 0.0, np.float64)])
    raised = node.emit("Exp", [node.emit("Mul", [far, number(node, -gamma, np.float64)])])
    return node.emit("Cast", [raised], {"to": TensorProto.FLOAT})


@rule("SVMRegressor", domain=ML)
def svm_regressor(node: Node) -> None:
    """A weighted sum of kernels; one_class asks for its sign only."""
    x, weights, rho = rows(node), floats(node, "coefficients"), floats(node, "rho")[:1]
    supports = int(node.attr("n_supports", 0))
    if supports > 0:
        kernels = _kernel(node, x, floats(node, "support_vectors").reshape(supports, -1))
        y = product(node, kernels, weights.reshape(1, -1), rho)
    else:
        y = product(node, x, weights.reshape(1, -1), rho)
    if node.attr("one_class", 0):
        positive = node.emit("Greater", [y, number(node, 0.0)])
        y = node.emit("Where", [positive, number(node, 1.0), number(node, -1.0)])
    node.result(y)


@rule("SVMClassifier", domain=ML)
def svm_classifier(node: Node) -> None:
    """Every pair of classes votes; with prob_a the votes become probabilities."""
    labels = class_labels(node)
    counts = np.asarray(node.attr("vectors_per_class", []), np.int64)
    if counts.sum() == 0:
        _linear(node, labels)
        return
    classes = len(labels)
    if counts.size != classes or classes < 2:
        raise UnsupportedError(f"{counts.size} counts of support vectors for {classes} classes")
    vectors = floats(node, "support_vectors").reshape(int(counts.sum()), -1)
    kernels = _kernel(node, rows(node), vectors)
    table = _pair_weights(floats(node, "coefficients").reshape(-1, vectors.shape[0]), counts)
    wide = node.emit("Cast", [kernels], {"to": TensorProto.DOUBLE})  # its sums are float64 in onnxruntime
    pairs = classes * (classes - 1) // 2
    scores = product(node, wide, table.T, floats(node, "rho")[:pairs].astype(np.float64))
    won = node.emit("Greater", [scores, number(node, 0.0, np.float64)])
    scores = node.emit("Cast", [scores], {"to": TensorProto.FLOAT})
    place = best(node, _votes(node, won, classes))
    if floats(node, "prob_a").size:
        shown = _probabilities(node, scores, classes)
        node.result(labels_at(node, labels, place), post_transform(node, shown, classes))
    elif classes == 2:
        plain = node.attr("post_transform", "NONE") == "NONE"
        node.result(labels_at(node, labels, place), two_columns(node, scores, plain))
    else:
        node.result(labels_at(node, labels, place), post_transform(node, scores, pairs))


def _pair_weights(coefficients: Array, counts: Array) -> Array:
    """[vectors, pairs]: what each support vector says in each pair of classes."""
    ends = np.cumsum(counts)
    spans = [slice(int(end - count), int(end)) for end, count in zip(ends, counts, strict=True)]
    pairs = [(i, j) for i in range(counts.size) for j in range(i + 1, counts.size)]
    table = np.zeros((coefficients.shape[1], len(pairs)), np.float64)
    for p, (i, j) in enumerate(pairs):
        table[spans[i], p] = coefficients[j - 1, spans[i]]
        table[spans[j], p] = coefficients[i, spans[j]]
    return table


def _votes(node: Node, won: int, classes: int) -> int:
    """[rows, classes]: how many pairs each class won."""
    pairs = [(i, j) for i in range(classes) for j in range(i + 1, classes)]
    first, second = (np.zeros((len(pairs), classes), np.float32) for _ in range(2))
    for p, (i, j) in enumerate(pairs):
        first[p, i] = 1
        second[p, j] = 1
    points = node.emit("Cast", [won], {"to": TensorProto.FLOAT})
    # second + won * (first - second): a pair that is not won by i goes to j.
    gained = node.emit("MatMul", [points, node.array(first - second)])
    return node.emit("Add", [gained, node.array(second.sum(axis=0))])


def _probabilities(node: Node, scores: int, classes: int) -> int:
    """Platt's sigmoid for every pair, then one probability per class."""
    a, b = floats(node, "prob_a"), floats(node, "prob_b")
    line = node.emit("Add", [node.emit("Mul", [scores, node.array(a)]), node.array(b)])
    chance = node.emit("Sub", [number(node, 1.0), node.emit("Sigmoid", [line])])
    bounds = [number(node, _CERTAIN), number(node, 1 - _CERTAIN)]
    chance = node.emit("Clip", [chance, *bounds])
    return typed_like(node, node.emit("PairwiseCoupling", [chance], {"classes": classes}), scores)


def _linear(node: Node, labels: Any) -> None:
    """Without support vectors: one weighted sum per class, as LIBLINEAR has it."""
    classes = len(labels)
    weights = floats(node, "coefficients").reshape(classes, -1)
    rho = np.repeat(floats(node, "rho")[:1], classes)
    scores = product(node, rows(node), weights, rho)
    place = best(node, scores)
    if classes == 2 and not floats(node, "prob_a").size:  # the second wins when any score is great enough
        most = node.emit("ReduceMax", [scores, node.ints([1])], {"keepdims": 1})
        positive = bool((weights >= 0).all())
        compare = "GreaterOrEqual" if positive else "Greater"
        enough = node.emit(compare, [flat(node, most), number(node, 0.5 * positive)])
        place = node.emit("Where", [enough, node.array(np.asarray(1, np.int64)), place])
    node.result(labels_at(node, labels, place), post_transform(node, scores, classes))
