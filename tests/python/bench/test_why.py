"""walle bench --why, as a user runs it."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from commands import run_walle

from walle_rt.bench.builder import Builder

PEERS = ("onnxruntime", "openvino", "MNN", "ncnn")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    b = Builder("small", seed=1)
    x = b.conv(b.conv(b.input("input", [1, 8, 20, 20]), 16, 3), 24, 1)
    b.output(b.classifier(x, 24, 10), "logits", [1, 10])
    path = tmp_path_factory.mktemp("why") / "small.onnx"
    onnx.save(b.model(), str(path))
    return path


def test_layers_beside_a_peer(small: Path) -> None:
    pytest.importorskip("onnxruntime")
    found = run_walle("bench", small, "--why", "--rounds", 1, "--json").json
    assert found["peer"] in PEERS[:3] and found["best_peer"] in found["milliseconds"]
    assert {"walle", "onnxruntime"} <= set(found["milliseconds"])
    assert found["roof"]["gflops"] > 1 and found["roof"]["gbytes"] > 0.1
    begun = [layer["nodes"][0] for layer in found["layers"]]
    assert [name.split("_")[0] for name in begun if name.startswith(("conv", "gemm"))] == [
        "conv",
        "conv",
        "gemm",
    ]
    convs = [layer for layer in found["layers"] if layer["nodes"][0].startswith("conv")]
    assert all(layer["ours_ms"] > 0 and layer["peer_ms"] > 0 for layer in convs)
    # 20 x 20 pixels, 16 channels of 8 x 3 x 3.
    assert convs[0]["flops"] == pytest.approx(2 * 400 * 16 * 72, rel=0.05)
    lost = sum(layer["ours_ms"] - layer["peer_ms"] for layer in found["layers"])
    assert found["lost_ms"] == pytest.approx(lost)
    reasons = {"roof", "packing", "tails", "layout", "overhead", "kernel"}
    assert all(layer["reason"] in reasons | {""} for layer in found["layers"])
    assert set(found["by_reason"]) <= reasons


def test_text(small: Path) -> None:
    pytest.importorskip("onnxruntime")
    text = run_walle("bench", small, "--why", "--rounds", 1, "--top", 1).stdout
    assert "whole model, 1 thread:" in text and "roof of one core" in text and "lost us by reason:" in text


def test_what_does_not_go_with_it(small: Path, tmp_path: Path) -> None:
    run_walle("bench", small, "--why", "--threads", 2, code=3, says="--threads 2")
    run_walle("bench", small, "--why", "--profile", tmp_path / "t.json", code=3, says="--profile")
    stored = tmp_path / "small.walle"
    run_walle("convert", small, "-o", stored)
    run_walle("bench", stored, "--why", code=3, says="name the ONNX file")


def test_without_a_peer(small: Path, tmp_path: Path) -> None:
    for name in PEERS:
        (tmp_path / f"{name}.py").write_text("raise ImportError('hidden')\n")
    import walle_rt

    paths = f"{tmp_path}:{Path(walle_rt.__file__).parents[1]}"
    run_walle(
        "bench", small, "--why", "--rounds", 1, code=6, says="pip install onnxruntime",
        environment={"PYTHONPATH": paths},
    )  # fmt: skip
