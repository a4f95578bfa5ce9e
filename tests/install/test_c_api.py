"""The C API gives the same numbers as the Python API: a C99 program runs a saved model."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

import walle_rt
from walle_rt import _core
from walle_rt.convert import convert

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"


def counting_model() -> walle_rt.Model:
    """total += sum(x); seen = total * total."""
    vector = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
    add (float[n] x, float[1] total) => (float[1] seen, float[1] next) {
      here = ReduceSum <keepdims = 1> (x)
      next = Add(total, here)
      seen = Mul(total, total)
    }""")
    return walle_rt.load(vector).with_states({"total": ("next", np.zeros(1, np.float32))})


@pytest.mark.timeout(600)
def test_c_program_runs_a_model(tmp_path: Path) -> None:
    weights = np.arange(-6, 6, dtype=np.float32).reshape(4, 3)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Relu", ["p"], ["y"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])],
        [numpy_helper.from_array(weights, "w")],
    )  # fmt: skip
    model: onnx.ModelProto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    data, _ = convert(model, signatures=[("serve", [("in", "x")], [("out", "y")])])
    walle_rt.Model(_core.Model.create(data)).save(tmp_path / "m.walle")
    counting_model().save(tmp_path / "counting.walle")
    library = next(BUILD.rglob("libwalle.so"))
    program = tmp_path / "program"
    source = Path(__file__).parent / "consumer" / "main.c"
    include = ROOT / "src" / "cpp" / "include"
    subprocess.run(
        [
            "cc",
            "-std=c99",
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Werror",
            source,
            "-I",
            include,
            library,
            f"-Wl,-rpath,{library.parent}",
            "-o",
            program,
        ],
        check=True,
    )
    models = [tmp_path / "m.walle", tmp_path / "counting.walle"]
    done = subprocess.run([program, *models], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    x = (np.arange(4, dtype=np.float32) / 4)[None]
    np.testing.assert_allclose(
        [float(v) for v in done.stdout.split()], np.maximum(x @ weights, 0)[0], rtol=1e-5
    )
