"""`walle quantize`: files in, files out, and what it says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from commands import run_walle
from small_models import attention, convolutions, pictures, texts

import walle_rt


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("quantize")
    onnx.save(convolutions(), str(where / "m.onnx"))
    np.savez(where / "c.npz", x=pictures())
    x = pictures(12, 5)
    labels = walle_rt.load(convolutions()).session().run({"x": x})["prob"].argmax(1)
    np.savez(where / "t.npz", x=x)
    (where / "labels.txt").write_text("\n".join(map(str, labels)))
    return where


def test_static(folder: Path) -> None:
    found = run_walle(
        "quantize", folder / "m.onnx", "-c", folder / "c.npz", "--test", folder / "t.npz",
        "--labels", folder / "labels.txt", "--leave-out", "second", "--picture", folder / "p.svg", "--json",
    ).json  # fmt: skip
    assert found["output"] == str(folder / "m.int8.walle") and found["float_accuracy"] == 1
    assert {layer["name"]: layer["form"] for layer in found["layers"]}["second"] == "float32"
    assert found["settings"]["method"] == "minmax" and found["outputs"][0]["snr_db"] > 20
    got = walle_rt.load(found["output"]).session().run({"x": pictures()})["prob"]
    assert got.shape == (24, 5)
    assert (folder / "p.svg").read_text().count('class="result"') == 4


def test_onnx_and_text(folder: Path) -> None:
    done = run_walle("quantize", folder / "m.onnx", "-c", folder / "c.npz", "-o", folder / "q.onnx")
    assert "int8" in done.stdout and "output 'prob'" in done.stdout
    assert any(n.op_type == "QuantizeLinear" for n in onnx.load(str(folder / "q.onnx")).graph.node)


@pytest.mark.parametrize(
    ("mode", "options", "form"),
    [
        ("dynamic", [], "int8"),
        ("weights", ["--bits", "8", "--block", "16", "--method", "gptq"], "8 bits in blocks of 16"),
        ("storage", ["--dtype", "float16"], "float16"),
    ],
)
def test_other_modes(folder: Path, mode: str, options: list[str], form: str) -> None:
    source, inputs, target = folder / "a.onnx", folder / "ids.npz", folder / f"{mode}.walle"
    onnx.save(attention(width=64), str(source))
    np.savez(inputs, ids=texts())
    command = ["quantize", source, "--mode", mode, "-c", inputs, "-o", target, *options]
    found = run_walle(*command, "--json").json
    assert {layer["form"] for layer in found["layers"]} == {form} and found["settings"]["mode"] == mode
    want = walle_rt.load(source).session().run({"ids": texts()})["y"]
    np.testing.assert_allclose(walle_rt.load(target).session().run({"ids": texts()})["y"], want, atol=0.1)


def test_options_of_another_mode_are_refused(folder: Path) -> None:
    base = ["quantize", folder / "m.onnx", "-c", folder / "c.npz"]
    run_walle(*base, "--bits", 4, code=3, says="--bits with --mode static; expected --mode weights")
    run_walle(*base, "--mode", "storage", "--per-tensor", code=3, says="expected --mode static, dynamic")


def test_what_is_missing_is_said(folder: Path) -> None:
    run_walle("quantize", folder / "m.onnx", code=3, says="add --calibration DIR")
    run_walle(
        "quantize", folder / "m.onnx", "-c", folder / "c.npz", "-o", "x.pt", code=3, says="in .walle or"
    )
    run_walle("quantize", folder / "no.onnx", "-c", folder / "c.npz", code=5, says="no.onnx")
    made = folder / "m.walle"
    walle_rt.load(folder / "m.onnx").save(made)
    run_walle("quantize", made, "-c", folder / "c.npz", code=4, says="quantise before converting")
