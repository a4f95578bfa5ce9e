"""Products of 8-bit matrices: exact in every form, claimed whole or as what they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from build_model import model
from onnx import TensorProto, helper
from random_seed import random_seed

import walle_rt

KINDS = {TensorProto.UINT8: np.uint8, TensorProto.INT8: np.int8}
FORMS = [
    "scalar",
    "sse4",
    "avx2",
    "avx2+avx_vnni",
    "avx512",
    "avx512+avx512_vnni",
    "avx512+avx512_vnni+amx_int8",
]
Array = np.ndarray[Any, Any]


def codes(rng: np.random.Generator, kind: int, *shape: int) -> Array:
    bounds = np.iinfo(KINDS[kind])
    return rng.integers(bounds.min, bounds.max + 1, shape).astype(KINDS[kind])


def product(a: Array, b: Array, a_zero: Array, b_zero: Array) -> Array:
    rows = a_zero[:, None] if a_zero.ndim == 1 else a_zero
    exact = (a.astype(np.int64) - rows.astype(np.int64)) @ (b.astype(np.int64) - b_zero.astype(np.int64))
    return exact.astype(np.int32)


def made(given: dict[str, Array], constant: set[str]) -> Any:
    inputs = {
        name: (int(helper.np_dtype_to_tensor_dtype(x.dtype)), list(x.shape))
        for name, x in given.items()
        if name not in constant
    }
    node = helper.make_node("MatMulInteger", list(given), ["y"])
    fixed = {name: x for name, x in given.items() if name in constant}
    return model([node], inputs, {"y": (TensorProto.INT32, None)}, fixed, opset=13)


def session_of(made: Any, form: str, monkeypatch: pytest.MonkeyPatch, **options: Any) -> walle_rt.Session:
    monkeypatch.setenv("WALLE_CPU", form)
    try:
        return walle_rt.load(made).session(**options)
    except walle_rt.ArgumentError as error:
        pytest.skip(f"this machine cannot run {form}: {error}")


CASES = {
    "one row": ((1, 70), (70, 33), (), ()),
    "tiles and their edges": ((29, 130), (130, 65), (), ()),
    "zero points per row and column": ((15, 9), (9, 40), (15,), (40,)),
    "batches against one matrix": ((3, 5, 17), (17, 34), (), (34,)),
    "batches that broadcast": ((2, 1, 6, 5), (4, 5, 7), (), ()),
    "zero points per batch": ((2, 3, 5), (2, 5, 4), (2, 3, 1), ()),
    "vectors": ((12,), (12,), (), ()),
    "nothing to sum": ((4, 0), (0, 5), (), ()),
    "no rows": ((0, 6), (6, 5), (), ()),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", CASES)
def test_products_are_exact(case: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    a_shape, b_shape, *zeros = CASES[case]
    rng = np.random.default_rng(random_seed())
    for left in KINDS:
        for right in KINDS:
            given = {"a": codes(rng, left, *a_shape), "b": codes(rng, right, *b_shape)}
            given |= {"az": codes(rng, left, *zeros[0]), "bz": codes(rng, right, *zeros[1])}
            wanted = product(*given.values())
            for constant in (set[str](), {"b", "bz"}, {"b"}):
                one = made(given, constant)
                feeds = {name: x for name, x in given.items() if name not in constant}
                for options in ({"threads": 1}, {"threads": 2}, {"threads": 1, "debug": "claim=off"}):
                    y = session_of(one, form, monkeypatch, **options).run(feeds)["y"]
                    np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_named_by_what_it_stands_on(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"a": np.ones((2, 8), np.uint8), "b": np.ones((8, 4), np.int8)}
    session = session_of(made(given, {"b"}), form, monkeypatch, threads=1)
    session.run({"a": given["a"]})
    (algorithm,) = (row.algorithm for row in session.explain().rows)
    assert algorithm.startswith("gemm_int8_") and algorithm.endswith("_" + form.split("+")[-1])


@pytest.mark.parametrize("form", FORMS)
def test_extremes_do_not_saturate(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of neighbours beyond 32,767, where products of bytes in 16 bits give wrong results."""
    a, b = np.full((3, 64), 255, np.uint8), np.full((64, 5), -128, np.int8)
    y = session_of(made({"a": a, "b": b}, {"b"}), form, monkeypatch, threads=1).run({"a": a})["y"]
    assert (y == 255 * -128 * 64).all()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("given", ["", "x", "w", "xw"])
def test_conv_integer_is_exact(form: str, given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zero points of either operand or none, known or computed, one for the weights or one per channel."""
    rng = np.random.default_rng(random_seed())
    for groups, m, kernel in ((1, 5, 3), (1, 40, 1), (6, 6, 3)):
        x = codes(rng, TensorProto.UINT8, 2, 6, 7, 9)
        w = codes(rng, TensorProto.INT8, m, 6 // groups, kernel, kernel)
        x_zero = codes(rng, TensorProto.UINT8) if "x" in given else np.uint8(0)
        w_zero = codes(rng, TensorProto.INT8, m) if "w" in given else np.zeros(m, np.int8)
        inputs = ["x", "w", "xz" if given else "", "wz" if "w" in given else ""]
        node = helper.make_node("ConvInteger", inputs, ["y"], group=groups, pads=[1, 0, 0, 2], strides=[1, 2])
        kinds = {"x": (TensorProto.UINT8, [2, 6, 7, 9]), "xz": (TensorProto.UINT8, [])}
        made = model([node], kinds, {"y": (TensorProto.INT32, None)}, {"w": w, "wz": w_zero}, opset=13)
        feeds = {"x": x, "xz": np.asarray(x_zero, np.uint8)}
        found = session_of(made, form, monkeypatch, threads=2).run(feeds)["y"]
        plain = session_of(made, form, monkeypatch, debug="claim=off").run(feeds)["y"]
        np.testing.assert_array_equal(found, plain)
