"""A small deep interest network: which item suits a page, by what else was on it.

After Zhou et al., "Deep Interest Network for Click-Through Rate Prediction" (KDD 2018): each candidate weighs
the items of the page by how much they are about the same, and is scored against their weighted sum. What was
changed: items' vectors come from counting which ones share pages, by a singular value decomposition, and the
weights from their product; nothing is trained by descent, so that it is done in a moment.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from walle_rt import Model, load

WIDTH = 16
SHARPNESS = 4.0  # of the weights
Floats = npt.NDArray[np.float32]


def vectors_of(pages: list[list[int]], items: list[int]) -> Floats:
    """[items, width]: directions of what shares pages, of length 1."""
    rows = {item: row for row, item in enumerate(items)}
    counts = np.zeros((len(items), len(items)))
    for page in pages:
        shown = sorted({rows[item] for item in page if item in rows})
        counts[np.ix_(shown, shown)] += 1
    alone = np.maximum(np.diag(counts), 1)
    # Positive pointwise mutual information: popular items are on every page, which says nothing.
    expected = np.outer(alone, alone) / max(len(pages), 1)
    informative = np.maximum(np.log(np.maximum(counts, 1e-9) / expected), 0)
    left, scale, _ = np.linalg.svd(informative)
    width = min(WIDTH, len(items))
    vectors = left[:, :width] * np.sqrt(scale[:width])
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)
    return np.pad(vectors, ((0, 0), (0, WIDTH - width))).astype(np.float32)


def scores_by_hand(vectors: Floats, history: list[int], candidates: list[int]) -> Floats:
    """What the network says, in NumPy."""
    seen, given = vectors[history], vectors[candidates]
    weights = 1 / (1 + np.exp(-SHARPNESS * (given @ seen.T)))
    return np.asarray(((weights @ seen) * given).sum(axis=1), np.float32)


def network(vectors: Floats) -> Model:
    """history [seen] and candidates [given], rows of the vectors as int64, to scores [given]."""
    make = helper.make_node
    nodes = [
        make("Gather", ["vectors", "history"], ["seen"]),
        make("Gather", ["vectors", "candidates"], ["given"]),
        make("Transpose", ["seen"], ["seen_turned"], perm=[1, 0]),
        make("MatMul", ["given", "seen_turned"], ["alike"]),
        make("Mul", ["alike", "sharpness"], ["logits"]),
        make("Sigmoid", ["logits"], ["weights"]),
        make("MatMul", ["weights", "seen"], ["interest"]),
        make("Mul", ["interest", "given"], ["products"]),
        make("ReduceSum", ["products", "last"], ["scores"], keepdims=0),
    ]
    inputs = [
        helper.make_tensor_value_info("history", TensorProto.INT64, ["seen"]),
        helper.make_tensor_value_info("candidates", TensorProto.INT64, ["given"]),
    ]
    outputs = [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["given"])]
    constants = {"vectors": vectors, "sharpness": np.float32(SHARPNESS), "last": np.array([1])}
    weights = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "din", inputs, outputs, weights)
    made: onnx.ModelProto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    return load(made)
