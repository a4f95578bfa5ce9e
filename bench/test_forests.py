"""Decision forests beside ONNX Runtime on the same file: boosted trees on one row and on many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from cases import Cases
from walle_rt.bench.compare import interleave
from walle_rt.bench.peers import Unavailable, prepare

FEATURES = 32
LIMIT = 1.0  # of ONNX Runtime's time, on one row at one thread


def forest(trees: int, depth: int, classes: int) -> onnx.ModelProto:
    """Full trees of random splits; one tree speaks of one class, as boosters write them."""
    rng = np.random.default_rng(0)
    inner = 2**depth - 1
    per_tree = 2 * inner + 1
    tree = np.repeat(np.arange(trees), per_tree)
    node = np.tile(np.arange(per_tree), trees)
    leaf = node >= inner
    count = int(leaf.sum())
    made = helper.make_node(
        "TreeEnsembleRegressor",
        ["x"],
        ["y"],
        domain="ai.onnx.ml",
        n_targets=classes,
        nodes_treeids=tree.tolist(),
        nodes_nodeids=node.tolist(),
        nodes_featureids=rng.integers(0, FEATURES, tree.size).tolist(),
        nodes_values=rng.normal(size=tree.size).astype(np.float32).tolist(),
        nodes_modes=np.where(leaf, "LEAF", "BRANCH_LEQ").tolist(),
        nodes_truenodeids=np.where(leaf, 0, 2 * node + 1).tolist(),
        nodes_falsenodeids=np.where(leaf, 0, 2 * node + 2).tolist(),
        target_treeids=tree[leaf].tolist(),
        target_nodeids=node[leaf].tolist(),
        target_ids=(tree[leaf] % classes).tolist(),
        target_weights=rng.normal(size=count).astype(np.float32).tolist(),
    )
    graph = helper.make_graph(
        [made],
        "forest",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, FEATURES])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, classes])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


CASES = {
    "forest100x8_1row": (100, 8, 1, 1),
    "forest100x8_1row_5classes": (100, 8, 5, 1),
    "forest500x6_1row": (500, 6, 1, 1),
    "forest100x8_1000rows": (100, 8, 1, 1000),
}


@pytest.mark.parametrize("name", list(CASES))
def test_forest(name: str, benchmark: Any, cache: Path, cases: Cases) -> None:
    trees, depth, classes, rows = CASES[name]
    threads = min(cases.threads)
    cache.mkdir(parents=True, exist_ok=True)
    path = cache / f"{name}.onnx"
    onnx.save(forest(trees, depth, classes), str(path))
    feeds = {"x": np.random.default_rng(1).normal(size=(rows, FEATURES)).astype(np.float32)}
    runs = {"walle": prepare("walle", path, feeds, threads, cache)}
    try:
        runs["onnxruntime"] = prepare("onnxruntime", path, feeds, threads, cache)
    except Unavailable as reason:
        pytest.skip(f"nothing to compare with: {reason}")
    for got, want in zip(runs["walle"](), runs["onnxruntime"](), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    best = interleave(runs, cases.rounds)
    ratio = best["walle"] / best["onnxruntime"]
    print(f"\n{name}: " + ", ".join(f"{engine} {ms * 1e3:.1f} us" for engine, ms in best.items()))
    benchmark.extra_info.update(milliseconds=best, ratio=ratio, threads=threads)
    benchmark.pedantic(runs["walle"], rounds=5, iterations=1, warmup_rounds=1)
    if rows == 1 and threads == 1:
        assert ratio <= LIMIT, f"{name}: {ratio:.2f}x of ONNX Runtime ({best})"
