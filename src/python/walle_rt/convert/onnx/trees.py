"""TreeEnsembleClassifier and TreeEnsembleRegressor: TreeEnsemble and what they do with its sums."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from .classical import (
    ML,
    above,
    best,
    class_labels,
    labels_at,
    number,
    pair,
    post_transform,
    rows,
    two_columns,
)
from .node import Node
from .rules import rule
from .unsupported import UnsupportedError

Array = np.ndarray[Any, Any]

_MODES = {
    "BRANCH_LEQ": 0, "BRANCH_LT": 1, "BRANCH_GTE": 2, "BRANCH_GT": 3, "BRANCH_EQ": 4, "BRANCH_NEQ": 5,
}  # fmt: skip
_AGGREGATES = {"AVERAGE": 0, "SUM": 1, "MIN": 2, "MAX": 3}


def _numbers(node: Node, name: str) -> Array:
    """A list of floats, or of doubles as a tensor (from version 3 on)."""
    tensor = node.attributes.get(f"{name}_as_tensor")
    if tensor is not None:
        return np.asarray(numpy_helper.to_array(tensor.t)).ravel()
    return np.asarray(node.attr(name, []), np.float32)


def _ints(node: Node, name: str) -> Array:
    return np.asarray(node.attr(name, []), np.int64)


def _counted(columns: Array) -> tuple[list[tuple[int, int]], list[int]]:
    """Distinct columns of two rows, and how often each occurs."""
    distinct, counts = np.unique(columns, axis=1, return_counts=True)
    return [(int(a), int(b)) for a, b in distinct.T], counts.tolist()


class _Trees:
    """The nodes of version 1 and 3, numbered as TreeEnsemble numbers them: branches and leaves apart."""

    def __init__(self, node: Node, entries: str) -> None:
        tree, own = _ints(node, "nodes_treeids"), _ints(node, "nodes_nodeids")
        modes = [m.decode() for m in node.attributes["nodes_modes"].strings]
        self.count = len(modes)
        self.leaf = np.asarray([m == "LEAF" for m in modes], bool)
        wrong = {m for m in modes if m != "LEAF" and m not in _MODES}
        if wrong:
            raise UnsupportedError(f"node mode '{sorted(wrong)[0]}'")
        self.modes = np.asarray([_MODES.get(m, 0) for m in modes], np.uint8)
        self.at = {key: i for i, key in enumerate(zip(tree.tolist(), own.tolist(), strict=True))}
        if len(self.at) != self.count:
            raise UnsupportedError("a tree with two nodes of one number")
        self.tree = tree
        self.index = np.where(self.leaf, np.cumsum(self.leaf) - 1, np.cumsum(~self.leaf) - 1)
        self.entries(node, entries)

    def find(self, trees: Array, numbers: Array) -> Array:
        """Positions of nodes by tree and number."""
        try:
            found = [self.at[key] for key in zip(trees.tolist(), numbers.tolist(), strict=True)]
        except KeyError as error:
            raise UnsupportedError(f"a tree that speaks of node {error} which it lacks") from error
        return np.asarray(found, np.int64)

    def entries(self, node: Node, stem: str) -> None:
        """The weights of the leaves, in the order of the leaves."""
        where = self.find(_ints(node, f"{stem}_treeids"), _ints(node, f"{stem}_nodeids"))
        kept = self.leaf[where] if where.size else np.zeros(0, bool)
        leaf = self.index[where[kept]] if where.size else where
        order = np.argsort(leaf, kind="stable")
        self.weights = _numbers(node, f"{stem}_weights")[kept][order]
        self.targets = _ints(node, f"{stem}_ids")[kept][order]
        self.counts = np.bincount(leaf, minlength=int(self.leaf.sum()))

    def always(self, classes: int) -> Array:
        """For every class whether some tree speaks of it in all of its leaves."""
        owner = self.tree[self.leaf]  # the tree of each leaf
        leaf = np.repeat(np.arange(self.counts.size), self.counts)
        spoken = np.unique(np.stack([leaf, self.targets]), axis=1)
        leaves = dict(zip(*np.unique(owner, return_counts=True), strict=True))
        found = np.zeros(classes, bool)
        said = np.stack([owner[spoken[0]], spoken[1]])
        for (tree, target), count in zip(*_counted(said), strict=True):
            found[target] |= count == leaves[tree]
        return found

    def attributes(self, node: Node) -> dict[str, Any]:
        """TreeEnsemble's attributes, but for the number of targets."""
        branch = ~self.leaf
        yes = self.find(self.tree[branch], _ints(node, "nodes_truenodeids")[branch])
        no = self.find(self.tree[branch], _ints(node, "nodes_falsenodeids")[branch])
        first = np.flatnonzero(np.diff(self.tree, prepend=self.tree[0] - 1 if self.count else 0))
        feature = _ints(node, "nodes_featureids")[branch]
        missing = _ints(node, "nodes_missing_value_tracks_true")
        missing = missing[branch] if missing.size == self.count else np.zeros(feature.size, np.int64)
        split, modes = _numbers(node, "nodes_values")[branch], self.modes[branch]
        edges = [yes, no]
        # A tree that is a single leaf gets a branch both of whose sides are that leaf.
        lone = first[self.leaf[first]]
        extra = np.zeros(lone.size, np.int64)
        edges = [np.append(e, lone) for e in edges]
        roots = self.index[first]
        roots[self.leaf[first]] = feature.size + np.arange(lone.size)
        return {
            "nodes_featureids": [*np.append(feature, extra).tolist()],
            "nodes_splits": numpy_helper.from_array(np.append(split, extra.astype(split.dtype))),
            "nodes_modes": numpy_helper.from_array(np.append(modes, extra.astype(np.uint8))),
            "nodes_missing_value_tracks_true": np.append(missing, extra).tolist(),
            "nodes_truenodeids": self.index[edges[0]].tolist(),
            "nodes_trueleafs": self.leaf[edges[0]].astype(np.int64).tolist(),
            "nodes_falsenodeids": self.index[edges[1]].tolist(),
            "nodes_falseleafs": self.leaf[edges[1]].astype(np.int64).tolist(),
            "tree_roots": roots.tolist(),
            "leaf_weights": numpy_helper.from_array(self.weights),
            "leaf_targetids": self.targets.tolist(),
            "leaf_counts": self.counts.tolist(),
        }


def _sums(node: Node, trees: _Trees, targets: int, aggregate: str) -> int:
    """[rows, targets] of float32: what the trees say, before base values."""
    double = node.dtype(node.input(0)) == TensorProto.DOUBLE
    x = rows(node, TensorProto.DOUBLE if double else TensorProto.FLOAT)
    attributes = {
        **trees.attributes(node),
        "n_targets": targets,
        "aggregate_function": _AGGREGATES[aggregate],
    }
    value = node.emit("TreeEnsemble", [x], attributes)
    known = helper.make_tensor_type_proto(
        TensorProto.DOUBLE if double else TensorProto.FLOAT, [None, targets]
    )
    node.scope.types.known[node.scope.key(value)] = known
    return node.emit("Cast", [value], {"to": TensorProto.FLOAT}) if double else value


@rule("TreeEnsembleRegressor", domain=ML)
def tree_ensemble_regressor(node: Node) -> None:
    """The aggregate of the trees, plus base values."""
    targets = int(node.attr("n_targets", 1))
    scores = _sums(node, _Trees(node, "target"), targets, node.attr("aggregate_function", "SUM"))
    base = _numbers(node, "base_values").astype(np.float32)
    if base.size == targets:
        scores = node.emit("Add", [scores, node.array(base)])
    node.result(post_transform(node, scores, targets))


@rule("TreeEnsembleClassifier", domain=ML)
def tree_ensemble_classifier(node: Node) -> None:
    """The class with the greatest sum; two classes are decided by one of them."""
    labels = class_labels(node)
    trees = _Trees(node, "class")
    base = _numbers(node, "base_values").astype(np.float32)
    if len(labels) < 2 or (
        trees.targets.size and not 0 <= trees.targets.min() <= trees.targets.max() < len(labels)
    ):
        raise UnsupportedError(f"{len(labels)} class labels for the weights it has")
    if len(labels) == 2:
        _two_classes(node, trees, labels, base)
        return
    scores = _sums(node, trees, len(labels), "SUM")
    compared = scores
    if base.size == len(labels):
        compared = scores = node.emit("Add", [scores, node.array(base)])
    elif not trees.always(len(labels)).all():
        compared = _spoken_of(node, trees, scores, len(labels))
    node.result(labels_at(node, labels, best(node, compared)), post_transform(node, scores, len(labels)))


def _spoken_of(node: Node, trees: _Trees, scores: int, classes: int) -> int:
    """The scores, with -inf for a class no leaf of a row speaks of: it cannot win, not even with 0."""
    weights, trees.weights = trees.weights, np.ones_like(trees.weights)
    counts = _sums(node, trees, classes, "SUM")
    trees.weights = weights
    known = node.emit("Greater", [counts, number(node, 0.0)])
    return node.emit("Where", [known, scores, number(node, -np.inf)])


def _two_classes(node: Node, trees: _Trees, labels: Any, base: Array) -> None:
    """onnxruntime's rules for two classes, which depend on the classes that the weights speak of."""
    spoken = sorted(set(trees.targets.tolist()))
    positive = bool((trees.weights >= 0).all())
    both = _sums(node, trees, 2, "SUM")
    first, second = (
        node.emit("Slice", [both, node.ints([i]), node.ints([i + 1]), node.ints([1])]) for i in (0, 1)
    )
    threshold = 0.5 if positive else 0.0
    if spoken == [0]:
        if base.size:
            first = node.emit("Add", [first, number(node, float(base[0]))])
        decided = labels_at(node, labels, above(node, first, threshold))
        alone = two_columns(node, first, not positive)
        node.result(decided, alone if base.size != 2 else post_transform(node, pair(node, first, second), 2))
        return
    if base.size == 2:  # the sum of the first class is taken for the second's, whose own is left out
        second = node.emit("Add", [first, number(node, float(base[1]))])
        first = first if spoken == [1] else node.emit("Neg", [second])
    elif base.size == 1 and spoken != [1]:
        first = node.emit("Add", [first, number(node, float(base[0]))])
    if spoken == [1]:
        decided = labels_at(node, labels, above(node, second, threshold))
    else:  # 0 and 1 and not the labels, where they are numbers
        names = labels if isinstance(labels[0], str) else [0, 1]
        decided = labels_at(node, names, above(node, second, 0.0))
    node.result(decided, post_transform(node, pair(node, first, second), 2))
