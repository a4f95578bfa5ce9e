"""Operators of com.microsoft, as onnxruntime writes them, beside NumPy in float64."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from build_model import model
from commands import run_command
from microsoft.run import all_cases
from onnx import helper

import walle_rt

CASES = all_cases()
# Operators and forms of which ONNX Runtime has kernels for GPUs alone, and one that it computes otherwise.
NOT_IN_ONNXRUNTIME = {
    "bias split gelu", "bias add", "bias dropout", "bias softmax", "bias softmax over two axes", "group norm",
    "conv, channels last", "attention, past and bias", "multi-head, packed", "multi-head, packed, one way",
    "multi-head, packed keys",
    "lstm",  # its own rounds the state as well, over whichever rows one of its threads has
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_equals_numpy(name: str) -> None:
    case = CASES[name]
    session = walle_rt.load(case.model()).session(threads=1)
    assert case.difference(session.run(case.feeds()).values()) is None


# Products of uint8 and int8: without VNNI onnxruntime adds pairs of them in 16 bits, which saturate (its page
# on quantisation says so), and is off by up to 4 of 255.
SATURATE = {"integers to float", "dynamic", "gemm to float", "gemm", "quantised attention"}


def saturates() -> bool:
    """Whether this is an x86 processor that has no instruction for such products."""
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    return "avx2" in flags and "vnni" not in flags


@pytest.mark.parametrize("name", [name for name in CASES if name not in NOT_IN_ONNXRUNTIME])
def test_cases_are_what_onnxruntime_means(name: str) -> None:
    ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (tools/setup.sh test)")
    if name in SATURATE and saturates():
        pytest.skip("onnxruntime saturates products of uint8 and int8 on processors without VNNI")
    case = CASES[name]
    session = ort.InferenceSession(case.model().SerializeToString(), providers=["CPUExecutionProvider"])
    assert case.difference(session.run(None, case.feeds())) is None


def test_without_elements() -> None:
    done = run_command(
        [sys.executable, "-m", "microsoft.run"],
        environment={"PYTHONPATH": str(Path(__file__).parent)},
        seconds=600,
    )
    ways = re.fullmatch(r"(\d+) ways\n", done.stdout)
    assert ways, done.stdout
    assert int(ways[1]) > 10 * len(CASES) / 2


def refused(op: str, inputs: dict[str, Any], **attributes: Any) -> str:
    """Why a node is not supported."""
    node = helper.make_node(op, list(inputs), ["y"], domain="com.microsoft", name="node", **attributes)
    kinds = {
        name: (int(helper.np_dtype_to_tensor_dtype(value.dtype)), list(value.shape))
        for name, value in inputs.items()
        if name
    }
    imports = [helper.make_opsetid("com.microsoft", 1)]
    with pytest.raises(walle_rt.ModelError) as error:
        walle_rt.load(model([node], kinds, ["y"], imports=imports))
    return str(error.value)


def test_refusals_say_why() -> None:
    x, b = np.zeros((2, 32), np.float32), np.zeros((4, 1, 16), np.uint8)
    scales, order = np.zeros(4, np.float32), np.zeros(32, np.int32)
    sizes = {"K": 32, "N": 4, "block_size": 32}
    assert "g_idx" in refused(
        "MatMulNBits", {"x": x, "b": b, "s": scales, "": x, "g": order}, bits=4, **sizes
    )
    assert "bits=3" in refused("MatMulNBits", {"x": x, "b": b, "s": scales}, bits=3, **sizes)
    assert "do_rotary" in refused("Attention", {"x": x[None], "w": x.T}, num_heads=2, do_rotary=1)
    assert "Nonsense" in refused("FusedGemm", {"x": x, "w": x.T}, activation="Nonsense")
    assert "'com.microsoft'" in refused("MoE", {"x": x})


@pytest.mark.parametrize(("op", "rank"), [("Attention", 3), ("Attention", 4), ("MultiHeadAttention", 3)])
def test_attention_without_any_key_gives_zeros(op: str, rank: int) -> None:
    contrib = op == "MultiHeadAttention"
    q, k = (np.ones((1, n, 8) if rank == 3 else (1, 2, n, 4), np.float32) for n in (3, 0))
    heads = {"q_num_heads": 2, "kv_num_heads": 2} if rank == 3 else {}
    node = helper.make_node(
        op, ["q", "k", "v"], ["y"], domain="com.microsoft" if contrib else "",
        **({"num_heads": 2} if contrib else heads),
    )  # fmt: skip
    imports = [helper.make_opsetid("com.microsoft", 1)] if contrib else []
    kinds = {name: (1, [None] * rank) for name in "qkv"}
    made = model([node], kinds, ["y"], opset=23, imports=imports)
    y = walle_rt.load(made).session().run({"q": q, "k": k, "v": k})["y"]
    assert y.shape == q.shape
    assert not y.any()
