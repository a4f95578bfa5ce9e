"""Static quantisation: what is written, what it computes here and in onnxruntime, what is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from build_model import model
from commands import run_python
from onnx import numpy_helper
from onnx.helper import make_node
from PIL import Image
from small_models import attention, convolutions, exposed, pictures, texts, weights

import walle_rt
from walle_rt import quantize


def initializers(made: onnx.ModelProto) -> dict[str, np.ndarray[Any, Any]]:
    return {t.name: numpy_helper.to_array(t) for t in made.graph.initializer}


def operators(made: onnx.ModelProto) -> Counter[str]:
    return Counter(node.op_type for node in made.graph.node)


def one_layer(array: np.ndarray[Any, Any], bias: np.ndarray[Any, Any] | None = None) -> onnx.ModelProto:
    given = {"w": array} | ({} if bias is None else {"b": bias})
    node = make_node("Conv", ["x", *given], ["y"], name="conv")
    return model([node], {"x": ["n", *array.shape[1:2], 4, 4]}, ["y"], given)


def test_layers_get_codes_and_ends_stay_float() -> None:
    made = quantize.static(convolutions(), {"x": pictures()})
    onnx.checker.check_model(made.onnx, full_check=True)
    found = operators(made.onnx)
    # Batch normalisation is folded, ReLUs and the Clip are what the codes' bounds do, Softmax stays.
    assert found["BatchNormalization"] == found["Relu"] == found["Clip"] == 0
    assert found["Softmax"] == found["MaxPool"] == 1
    assert {layer.form for layer in made.report.layers} == {"int8"}
    assert made.report.outputs[0].snr_db > 25 and made.report.outputs[0].cosine > 0.999
    arrays = initializers(made.onnx)
    assert arrays["w2_codes"].dtype == np.int8 and arrays["w2_scale"].shape == (8,)
    assert np.abs(arrays["w2_codes"]).reshape(8, -1).max(1).tolist() == [127] * 8
    assert arrays["b2_codes"].dtype == np.int32
    np.testing.assert_array_equal(arrays["b2_scale"], arrays["r1_scale"] * arrays["w2_scale"])
    # The pool moves codes: its pair has the scale of what it reads.
    pool = next(n for n in made.onnx.graph.node if n.op_type == "MaxPool")
    pair = next(n for n in made.onnx.graph.node if pool.output[0] in n.input)
    assert pair.op_type == "QuantizeLinear" and pair.input[1] == "r2_scale"


@pytest.mark.parametrize("activations", ["uint8", "int8"])
@pytest.mark.parametrize("method", ["minmax", "percentile", "entropy", "mse"])
def test_every_method_stays_near_float(method: str, activations: str) -> None:
    made = quantize.static(convolutions(), {"x": pictures()}, method=method, activations=activations)
    codes = {str(a.dtype) for name, a in initializers(made.onnx).items() if name.endswith("_zero_point")}
    assert codes >= {activations, "int8"}
    assert made.report.outputs[0].snr_db > 18


@pytest.mark.parametrize("optimised", [False, True])
def test_onnxruntime_finds_the_same_codes(optimised: bool) -> None:
    ort = pytest.importorskip("onnxruntime")
    made = quantize.static(convolutions(), {"x": pictures()}).onnx
    options = ort.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")
    if not optimised:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    both = exposed(made, "QuantizeLinear")
    names = [o.name for o in both.graph.output]
    peer = ort.InferenceSession(both.SerializeToString(), options)
    feeds = {"x": pictures(16, 7)}
    wanted = dict(zip(names, peer.run(names, feeds), strict=True))
    got = walle_rt.load(both).session(threads=1).run(feeds)
    assert len(names) == 12
    for name in names:
        if wanted[name].dtype == np.uint8:
            gap = np.abs(got[name].astype(int) - wanted[name].astype(int))
            assert gap.max() <= 1 and (gap > 0).mean() < 0.01, name
    np.testing.assert_allclose(got["prob"], wanted["prob"], atol=0.01)


def test_matrix_products_give_floats_where_nobody_reads_codes() -> None:
    made = quantize.static(attention(), {"ids": texts()})
    forms = {layer.name: (layer.form, layer.reason) for layer in made.report.layers}
    assert forms["query"] == forms["scores"] == forms["out"] == ("int8", "")
    assert forms["mixed"] == ("float32", "its weights are no constant in float32")
    readers = {name: n.op_type for n in made.onnx.graph.node for name in n.input}
    products = {n.name: n for n in made.onnx.graph.node if n.op_type == "MatMul"}
    # The bias is added before the sums become codes; what Softmax reads never has any.
    assert readers[products["query"].output[0]] == "Add"
    assert readers[products["scores"].output[0]] == "Softmax"
    assert made.report.outputs[0].snr_db > 30


def test_what_float_operators_read_is_not_rounded() -> None:
    nodes = [
        make_node("Exp", ["x"], ["e"], name="exp"),
        make_node("MatMul", ["e", "w"], ["m"], name="product"),
        make_node("Sub", ["e", "m"], ["y"], name="rest"),
    ]
    made = quantize.static(
        model(nodes, {"x": ["n", 4]}, ["y"], {"w": weights(np.random.default_rng(0), 4, 4)}),
        {"x": np.random.default_rng(1).standard_normal((16, 4)).astype(np.float32)},
    )
    by_name = {n.name: n for n in made.onnx.graph.node}
    assert by_name["rest"].input[0] == "e" and by_name["product"].input[0] == "e_dequantized"


def test_the_same_calibration_gives_the_same_bytes(tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.{kind}" for kind in ("onnx", "walle") for i in (1, 2)]
    for path in paths:
        quantize.static(convolutions(), {"x": pictures()}, method="entropy").save(path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert paths[2].read_bytes() == paths[3].read_bytes()
    assert walle_rt.load(paths[0]).session().run({"x": pictures()})["prob"].shape == (24, 5)


def test_batches_do_not_change_the_scales() -> None:
    scales = []
    for batch in (1, 5, 24):
        made = quantize.static(convolutions(), {"x": pictures()}, method="mse", batch=batch)
        scales.append(initializers(made.onnx)["x_scale"])
    assert scales[0] == scales[1] == scales[2]


def test_zero_has_a_code_and_channels_of_zeros_do_no_harm() -> None:
    array = weights(np.random.default_rng(0), 3, 2, 1, 1)
    array[1] = 0
    bias = np.array([0.1, -0.37, 1e-9], np.float32)
    made = quantize.static(one_layer(array, bias), {"x": np.full((4, 2, 4, 4), 2.5, np.float32)})
    arrays = initializers(made.onnx)
    assert np.isfinite(arrays["w_scale"]).all() and not arrays["w_codes"][1].any()
    # A channel of zeros is its bias, which 32 bits show as exactly as float32 does.
    assert arrays["b_codes"][1] * float(arrays["b_scale"][1]) == pytest.approx(-0.37, rel=1e-6)
    assert arrays["x_zero_point"] == 0 and arrays["x_scale"] == pytest.approx(2.5 / 255)


@pytest.mark.parametrize("level", [0.0, 3.0, -3.0])
def test_constant_activations(level: float) -> None:
    made = quantize.static(
        one_layer(weights(np.random.default_rng(0), 3, 2, 1, 1)),
        {"x": np.full((4, 2, 4, 4), level, np.float32)},
    )
    x = {"x": np.full((1, 2, 4, 4), level, np.float32)}
    got = made.load().session(threads=1).run(x)["y"]
    want = walle_rt.load(one_layer(weights(np.random.default_rng(0), 3, 2, 1, 1))).session().run(x)["y"]
    np.testing.assert_allclose(got, want, atol=0.02 * abs(level))
    assert initializers(made.onnx)["x_scale"] > 0


def test_a_large_bias_does_not_overflow() -> None:
    array = np.full((1, 1, 1, 1), 1e-12, np.float32)
    made = quantize.static(
        one_layer(array, np.array([1000.0], np.float32)), {"x": np.full((2, 1, 4, 4), 1e-3, np.float32)}
    )
    got = made.load().session().run({"x": np.zeros((1, 1, 4, 4), np.float32)})["y"]
    np.testing.assert_allclose(got, 1000, rtol=1e-2)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_without_a_scale_are_refused_by_name(bad: float) -> None:
    x = pictures()
    x[13, 0, 0, 0] = bad
    with pytest.raises(walle_rt.ArgumentError, match=r"in 'x' of input 1;.*Next: leave that input out"):
        quantize.static(convolutions(), {"x": x})
    nodes = [
        make_node("Log", ["x"], ["inner"], name="log"),
        make_node("Conv", ["inner", "w"], ["y"], name="conv"),
    ]
    made = model(nodes, {"x": ["n", 2, 4, 4]}, ["y"], {"w": weights(np.random.default_rng(0), 3, 2, 1, 1)})
    with pytest.raises(walle_rt.ArgumentError, match="'inner', which becomes"):
        quantize.static(made, {"x": np.full((2, 2, 4, 4), -1.0 if np.isnan(bad) else 0.0, np.float32)})


@pytest.mark.parametrize(
    ("calibration", "said"),
    [
        ([], "an empty list"),
        (iter([]), "without an item"),
        ({"x": pictures(0)}, "without samples"),
        ({"z": pictures()}, "no array for the input 'x'"),
        ([{"x": pictures(), "y": 1}, 3], "a int as input 1"),
        ("nowhere.npz", "'nowhere.npz'"),
        (7, "calibration of type int"),
    ],
)
def test_calibrations_that_are_none(calibration: Any, said: str) -> None:
    with pytest.raises(walle_rt.ArgumentError, match=said):
        quantize.static(convolutions(), calibration)


def test_inputs_come_from_folders_files_and_iterators(tmp_path: Path) -> None:
    x = np.zeros((6, 3, 8, 8), np.float32)
    for i in range(6):
        pixels = np.random.default_rng(i).integers(0, 256, (8, 8, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{i}.png")
        x[i] = pixels.transpose(2, 0, 1).astype(np.float32) * np.float32(1 / 255)
    (tmp_path / "notes.txt").write_text("not an input")
    np.savez(tmp_path.with_suffix(".npz"), x=x)
    sources: list[Any] = [
        quantize.Folder(tmp_path),
        tmp_path,
        tmp_path.with_suffix(".npz"),
        ({"x": x[i : i + 1]} for i in range(6)),
    ]
    bytes_ = [quantize.static(convolutions(), s).onnx.SerializeToString(deterministic=True) for s in sources]
    assert len(set(bytes_)) == 1


def test_layers_are_left_out_by_name_and_type() -> None:
    made = quantize.static(convolutions(), {"x": pictures()}, leave_out=["second", "Gemm"])
    reasons = {layer.name: layer.reason for layer in made.report.layers}
    assert reasons["second"] == "left out by name" and reasons["last"] == "Gemm was left out"
    assert reasons["first"] == ""
    with pytest.raises(walle_rt.ArgumentError, match="did you mean second"):
        quantize.static(convolutions(), {"x": pictures()}, leave_out=["secnd"])


def test_a_goal_leaves_the_most_sensitive_layers_in_float() -> None:
    plain = quantize.static(convolutions(), {"x": pictures()})
    wanted = plain.report.outputs[0].snr_db + 4
    made = quantize.static(convolutions(), {"x": pictures()}, goal_db=wanted)
    kept = {layer.name for layer in made.report.layers if layer.form == "float32"}
    assert made.report.outputs[0].snr_db >= wanted and 0 < len(kept) < 5
    alone = {layer.name: layer.alone_db for layer in made.report.layers}
    assert max(alone[name] for name in kept) <= min(alone[n] for n in alone if n not in kept)
    with pytest.raises(walle_rt.ArgumentError, match="a goal of 200 dB"):
        quantize.static(convolutions(), {"x": pictures()}, goal_db=200)


def test_accuracy_is_measured_on_labelled_inputs() -> None:
    x = pictures(40, 3)
    labels = walle_rt.load(convolutions()).session().run({"x": x})["prob"].argmax(1)
    labels[:10] = (labels[:10] + 1) % 5
    made = quantize.static(convolutions(), {"x": pictures()}, test={"x": x, "labels": labels})
    assert made.report.float_accuracy == 0.75 and made.report.labelled == 40
    assert made.report.accuracy is not None and abs(made.report.accuracy - 0.75) <= 0.05
    with pytest.raises(walle_rt.ArgumentError, match="3 labels for 40 samples"):
        quantize.static(convolutions(), {"x": pictures()}, test={"x": x}, labels=[1, 2, 3])
    with pytest.raises(walle_rt.ArgumentError, match="max_drop=1 without test"):
        quantize.static(convolutions(), {"x": pictures()}, max_drop=1)


def test_max_drop_is_held() -> None:
    x = pictures(200, 3)
    labels = walle_rt.load(convolutions()).session().run({"x": x})["prob"].argmax(1)
    options: dict[str, Any] = {"test": {"x": x, "labels": labels}, "per_channel": False}
    made = quantize.static(convolutions(), {"x": pictures()}, max_drop=1, **options)
    assert made.report.accuracy is not None and made.report.accuracy >= 0.99


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(walle_rt.ResourceError, match=r"no\.onnx': No such file"):
        quantize.static(tmp_path / "no.onnx", {"x": pictures()})
    with pytest.raises(walle_rt.ModelError, match="no ONNX model"):
        quantize.static(b"not a model", {"x": pictures()})
    made = quantize.storage(convolutions())
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(walle_rt.ResourceError, match="cannot use file"):
        made.save(tmp_path / "file" / "m.onnx")
    with pytest.raises(walle_rt.ArgumentError, match=r"ends in \.walle or \.onnx"):
        made.save(tmp_path / "m.pt")


def test_weights_in_other_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(convolutions(), str(path), save_as_external_data=True, location="m.data", size_threshold=0)
    made, want = (quantize.static(m, {"x": pictures()}).onnx for m in (path, convolutions()))
    assert made.SerializeToString(deterministic=True) == want.SerializeToString(deterministic=True)
    (tmp_path / "m.data").unlink()
    with pytest.raises(walle_rt.Error, match=r"m\.data"):
        quantize.static(path, {"x": pictures()})


def test_without_the_extra_it_is_named() -> None:
    script = """
import sys
sys.modules["onnx"] = None
from walle_rt import ResourceError, quantize
for function in (quantize.static, quantize.dynamic, quantize.weights, quantize.storage):
    try:
        function("model.onnx", {})
    except ResourceError as error:
        print(error.next_step)
"""
    told = run_python(script).stdout.splitlines()
    assert len(told) == 4 and all("walle_rt[convert]" in line for line in told)


def test_values_of_a_run_are_looked_at_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    want = quantize.static(convolutions(), {"x": pictures()})
    monkeypatch.setattr("walle_rt.quantize.observe._MOST_BYTES", 5000)
    got = quantize.static(convolutions(), {"x": pictures()})
    assert got.onnx.SerializeToString(deterministic=True) == want.onnx.SerializeToString(deterministic=True)
    assert got.report == want.report


def test_progress_is_told() -> None:
    told: list[tuple[str, int, int | None]] = []
    quantize.static(convolutions(), {"x": pictures()}, progress=lambda *part: told.append(part))
    assert [part for part in told if part[0] == "calibrating"] == [("calibrating", i, 3) for i in (1, 2, 3)]
    assert told[-1] == ("comparing", 3, 3)
    told.clear()
    quantize.static(convolutions(), ({"x": x[None]} for x in pictures()), progress=lambda *p: told.append(p))
    assert told[0] == ("calibrating", 1, None) and told[-1] == ("comparing", 4, 4)


def test_what_is_quantised_already_is_refused() -> None:
    made = quantize.static(convolutions(), {"x": pictures()})
    with pytest.raises(walle_rt.ModelError, match="quantised already"):
        quantize.static(made.onnx, {"x": pictures()})


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"method": "max"}, "method='max'; expected one of minmax, percentile"),
        ({"activations": "int4"}, "activations='int4'"),
        ({"percentile": 20}, "percentile=20"),
        ({"batch": 0}, "batch=0"),
    ],
)
def test_options_that_are_none(option: Any, said: str) -> None:
    with pytest.raises(walle_rt.ArgumentError, match=said):
        quantize.static(convolutions(), {"x": pictures()}, **option)
