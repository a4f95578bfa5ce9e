"""Products with weights of a few bits that stay packed: claimed whole, or as what they stand for."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import onnx
import pytest
from build_model import model
from commands import run_command
from onnx import TensorProto, helper
from random_seed import random_seed

import walle_rt

FORMS = ["scalar", "sse4", "avx2", "avx2+avx_vnni", "avx512", "avx512+avx512_vnni"]
Array = np.ndarray[Any, Any]
REAL = {np.float32: TensorProto.FLOAT, np.float16: TensorProto.FLOAT16}


def packed(codes: Array, bits: int) -> Array:
    """Codes along the last axis in bytes, the lowest bits first."""
    each = 8 // bits
    whole = np.pad(codes, [(0, 0)] * (codes.ndim - 1) + [(0, -codes.shape[-1] % each)])
    parts = whole.reshape(*whole.shape[:-1], -1, each).astype(np.uint32)
    return np.asarray((parts << (np.arange(each) * bits)).sum(-1).astype(np.uint8))


class Product:
    """A MatMulNBits with random weights; ``weights`` is what they are, [K, N]."""

    def __init__(self, k: int, n: int, bits: int, block: int, zeros: str = "", **attributes: Any) -> None:
        rng = np.random.default_rng(random_seed())
        blocks = -(-k // block)
        codes = rng.integers(0, 2**bits, (n, blocks, block))
        kind = attributes.pop("kind", np.float32)
        scales = (rng.random((n, blocks)) * 0.1 + 0.01).astype(kind)
        points: Array = np.full((n, blocks), 2.0 ** (bits - 1))
        self.constants = {"codes": packed(codes, bits), "scales": scales.ravel()}
        if zeros == "codes":
            points = rng.integers(0, 2**bits, (n, blocks))
            self.constants["zeros"] = packed(points, bits).ravel()
        elif zeros == "floats":
            points = (rng.random((n, blocks)) * 2**bits).astype(kind)
            self.constants["zeros"] = points.ravel()
        inputs = ["a", "codes", "scales", "zeros" if zeros else ""]
        if attributes.pop("bias", False):
            self.constants["bias"] = rng.standard_normal(n).astype(kind)
            inputs += ["", "bias"]
        centred = codes - points.astype(np.float64)[..., None]
        self.weights = (centred * scales.astype(np.float64)[..., None]).reshape(n, -1)[:, :k].T
        attributes |= {"K": k, "N": n, "bits": bits, "block_size": block}
        node = helper.make_node("MatMulNBits", inputs, ["y"], domain="com.microsoft", **attributes)
        shape = [*attributes.pop("batch", []), "m", k]
        self.model = model(
            [node],
            {"a": (REAL[kind], shape)},
            {"y": (REAL[kind], None)},
            self.constants,
            imports=[helper.make_opsetid("com.microsoft", 1)],
        )

    def wanted(self, a: Array) -> Array:
        return np.asarray(a.astype(np.float64) @ self.weights + self.constants.get("bias", 0))


def session_of(product: Product, form: str, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Any:
    monkeypatch.setenv("WALLE_CPU", form)
    try:
        return walle_rt.load(product.model).session(**options)
    except walle_rt.ArgumentError as error:
        pytest.skip(f"this machine cannot run {form}: {error}")


def rows(*shape: int) -> Array:
    return np.random.default_rng(random_seed() + 1).standard_normal(shape).astype(np.float32)


CASES: dict[str, dict[str, Any]] = {
    "4 bits": {"k": 96, "n": 37, "bits": 4, "block": 32},
    "zero points, bias": {"k": 128, "n": 70, "bits": 4, "block": 16, "zeros": "codes", "bias": True},
    "zero points that are floats": {"k": 64, "n": 33, "bits": 4, "block": 32, "zeros": "floats"},
    "a last block that ends early": {"k": 72, "n": 9, "bits": 4, "block": 64, "zeros": "codes"},
    "8 bits": {"k": 160, "n": 40, "bits": 8, "block": 128},
    "8 bits, zero points": {"k": 48, "n": 5, "bits": 8, "block": 16, "zeros": "codes"},
    "2 bits": {"k": 64, "n": 20, "bits": 2, "block": 32, "zeros": "codes"},
    "blocks that lie in pieces": {"k": 1100, "n": 12, "bits": 4, "block": 1000},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", CASES)
def test_products_are_those_of_the_weights(case: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    product = Product(**CASES[case])
    k = CASES[case]["k"]
    for options in ({"threads": 1}, {"threads": 2}, {"threads": 1, "debug": "claim=off"}):
        session = session_of(product, form, monkeypatch, **options)
        for shape in ((1, k), (2, k), (33, k), (0, k)):
            a = rows(*shape)
            y = session.run({"a": a})["y"]
            np.testing.assert_allclose(y, product.wanted(a), rtol=1e-5, atol=2e-4)


def offered(session: walle_rt.Session) -> set[str]:
    """Algorithms of the one product, taken or not."""
    (row,) = (r for r in session.explain().rows if r.choices)
    return {choice.algorithm for choice in row.choices}


@pytest.mark.parametrize("form", FORMS)
def test_level_4_multiplies_int8(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Off by half a code of A at most, in a strict session not at all; what is not finite stays.

    Which of the two is taken is the costs' matter: they are measured where no table lists the processor.
    """
    isa = form.split("+")[-1]
    for bits in (4, 8):
        product = Product(1024, 530, bits, 32, "codes", accuracy_level=4)
        for m in (1, 7):
            session = session_of(product, form, monkeypatch, threads=1)
            a = rows(m, 1024)
            y = session.run({"a": a})["y"]
            assert offered(session) == {f"gemm_nbits_{kind}_{bits}_{isa}" for kind in ("f32", "int8")}
            (row,) = (r for r in session.explain().rows if r.choices)
            assert row.arithmetic == ("int8" if "_int8_" in row.algorithm else "float32"), row
            largest = np.abs(a).reshape(m, -1, 32).max(-1).repeat(32, axis=-1)
            most = largest * (0.5 / 127) @ np.abs(product.weights)
            assert (np.abs(y - product.wanted(a)) <= most * 1.01 + 1e-3).all()
        a[3, 5] = np.inf
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(session.run({"a": a})["y"][3], product.wanted(a)[3])
        strict = session_of(product, form, monkeypatch, threads=1, accuracy="strict")
        a = rows(3, 1024)
        np.testing.assert_allclose(strict.run({"a": a})["y"], product.wanted(a), rtol=1e-5, atol=2e-4)
        assert offered(strict) == {f"gemm_nbits_f32_{bits}_{isa}"}


def test_half_precision_is_computed_in_float32() -> None:
    product = Product(64, 24, 4, 32, "codes", kind=np.float16, bias=True)
    session = walle_rt.load(product.model).session(threads=1)
    a = rows(3, 64).astype(np.float16)
    y = session.run({"a": a})["y"]
    assert y.dtype == np.float16
    np.testing.assert_allclose(y, product.wanted(a), rtol=1e-3, atol=1e-2)
    assert any(r.algorithm.startswith("gemm_nbits_f32_4") for r in session.explain().rows)


def test_batches_are_rows_and_sizes_a_class() -> None:
    product = Product(64, 24, 4, 32, batch=["b"])
    session = walle_rt.load(product.model).session(threads=1)
    for batch, m in ((2, 3), (3, 4), (5, 7), (4, 33), (1, 1)):
        a = rows(batch, m, 64)
        np.testing.assert_allclose(session.run({"a": a})["y"], product.wanted(a), rtol=1e-5, atol=1e-4)
    assert session.memory().plans <= 4


def test_weights_stay_packed_in_memory_and_file(tmp_path: Path) -> None:
    """Of 4 bits and a scale per 32: 5 bits each where float32 takes 32, in whatever plan."""
    product = Product(1024, 2048, 4, 32)
    bytes_of_codes = 1024 * 2048 // 2
    session = walle_rt.load(product.model).session(threads=1)
    for m in (1, 5, 64):
        session.run({"a": rows(m, 1024)})
    held = session.memory()
    assert held.packed == bytes_of_codes * 5 // 4 and held.folded == 0
    assert held.arena < bytes_of_codes
    saved = tmp_path / "packed.walle"
    walle_rt.load(product.model).save(saved)
    assert saved.stat().st_size < bytes_of_codes * 1.3
    a = rows(2, 1024)
    again = walle_rt.load(saved).session(threads=1)
    assert np.array_equal(again.run({"a": a})["y"], session.run({"a": a})["y"])


@pytest.mark.parametrize(("changed", "said"), [
    ({"K": 60}, "K"),
    ({"bits": 3}, "bits=3"),
    ({"block_size": 0}, "block_size=0"),
])  # fmt: skip
def test_wrong_sizes_are_told(changed: dict[str, int], said: str) -> None:
    product = Product(64, 8, 4, 32)
    for attribute in product.model.graph.node[0].attribute:
        if attribute.name in changed:
            attribute.i = changed[attribute.name]
    with pytest.raises(walle_rt.Error, match=said):
        walle_rt.load(product.model).session().run({"a": rows(1, 64)})


KINDS = {"int8": 8, "uint8": 8, "int4": 4, "uint4": 4}


def quantised(k: int, n: int, kind: str, block: int, per: str, zeros: bool, turned: str) -> tuple[Any, Array]:
    """A product whose weights are dequantised, and the weights."""
    rng = np.random.default_rng(random_seed())
    bits, signed = KINDS[kind], not kind.startswith("u")
    low = -(2 ** (bits - 1)) if signed else 0
    shape = {"block": (-(-k // block), n), "column": (n,), "all": ()}[per]
    codes = rng.integers(low, low + 2**bits, (k, n))
    scales = (rng.random(shape) * 0.1 + 0.01).astype(np.float32)
    points = rng.integers(low, low + 2**bits, shape) if zeros else np.zeros(shape, np.int64)
    spread = [
        np.repeat(x, block, 0)[:k] if per == "block" else x for x in (points, scales.astype(np.float64))
    ]
    weights = (codes - spread[0]) * spread[1]
    if turned:
        codes, scales, points = (np.ascontiguousarray(x.T) for x in (codes, scales, points))
    attributes = {
        "block": {"axis": 1 if turned else 0, "block_size": block},
        "column": {"axis": 0 if turned else 1},
    }
    element = TensorProto.DataType.Value(kind.upper())
    tensors = [
        helper.make_tensor(name, element, x.shape, x.ravel().tolist())
        for name, x in (("w", codes), ("z", points))
    ]
    nodes = [
        helper.make_node(
            "DequantizeLinear", ["w", "s", *(["z"] if zeros else [])], ["d"], **attributes.get(per, {})
        )
    ]
    if turned == "transpose":
        nodes.append(helper.make_node("Transpose", ["d"], ["t"], perm=[1, 0]))
    if turned == "transB":
        nodes.append(helper.make_node("Gemm", ["a", "d", "c"], ["y"], transB=1))
    else:
        nodes.append(helper.make_node("MatMul", ["a", "t" if turned else "d"], ["y"]))
    made = model(
        nodes,
        {"a": (TensorProto.FLOAT, ["m", k])},
        {"y": (TensorProto.FLOAT, None)},
        {"s": scales, "c": np.arange(n, dtype=np.float32)},
        opset=21,
    )
    made.ir_version = 10
    made.graph.initializer.extend(tensors)
    return made, weights


@pytest.mark.parametrize("turned", ["", "transpose", "transB"])
@pytest.mark.parametrize("per", ["block", "column", "all"])
@pytest.mark.parametrize("kind", KINDS)
def test_dequantised_weights_stay_packed(kind: str, per: str, turned: str, tmp_path: Path) -> None:
    for k, block, zeros in ((64, 16, False), (70, 32, True), (33, 8, True), (33, 65, True)):
        made, weights = quantised(k, 21, kind, block, per, zeros, turned)
        walle_rt.load(made).save(tmp_path / "made.walle")
        a = rows(3, k)
        wanted = a.astype(np.float64) @ weights + (np.arange(21) if turned == "transB" else 0)
        for source in (made, tmp_path / "made.walle"):
            session = walle_rt.load(source).session(threads=1)
            np.testing.assert_allclose(session.run({"a": a})["y"], wanted, rtol=1e-5, atol=2e-4)
            assert [r.algorithm[: len("gemm_nbits_f32_4")] for r in session.explain().rows] == [
                f"gemm_nbits_f32_{KINDS[kind]}"
            ]
            assert session.memory().folded == 0


def test_other_readers_of_dequantised_weights_keep_them() -> None:
    made, weights = quantised(16, 8, "int8", 16, "column", True, "")
    made.graph.output.append(helper.make_tensor_value_info("d", TensorProto.FLOAT, [16, 8]))
    a = rows(2, 16)
    results = walle_rt.load(made).session(threads=1).run({"a": a})
    np.testing.assert_allclose(results["d"], weights, rtol=1e-6)
    np.testing.assert_allclose(results["y"], a @ weights, rtol=1e-4, atol=1e-4)


def test_products_of_two_dequantised_operands_are_no_such_products() -> None:
    made, weights = quantised(16, 8, "int8", 16, "column", False, "")
    for name, value in (("as", np.float32(0.1)), ("az", np.uint8(3))):
        made.graph.initializer.append(
            helper.make_tensor(name, TensorProto.FLOAT if name == "as" else TensorProto.UINT8, (), [value])
        )
    made.graph.node.insert(0, helper.make_node("QuantizeLinear", ["a", "as", "az"], ["q"]))
    made.graph.node.insert(1, helper.make_node("DequantizeLinear", ["q", "as", "az"], ["dq"]))
    made.graph.node[-1].input[0] = "dq"
    a = rows(4, 16)
    codes = np.clip(np.round(a / np.float32(0.1)) + 3, 0, 255)
    session = walle_rt.load(made).session(threads=1)
    np.testing.assert_allclose(session.run({"a": a})["y"], (codes - 3) * 0.1 @ weights, rtol=1e-4, atol=1e-3)
    assert not any("nbits" in r.algorithm for r in session.explain().rows)


PEAK = """
    import sys, re
    import numpy as np
    import walle_rt
    session = walle_rt.load(sys.argv[1]).session(threads=1)
    for rows in (1, 3, 40):
        session.run({"a": np.ones((rows, int(sys.argv[2])), np.float32)})
    print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""


def constant_product(kind: str, k: int, n: int) -> onnx.ModelProto:
    """Of 4 bits in blocks of 32, all alike."""
    scales = np.ones((k // 32, n), np.float32)
    ends: Any = ({"a": (TensorProto.FLOAT, ["m", k])}, {"y": (TensorProto.FLOAT, None)})
    if kind != "DequantizeLinear":
        sizes = {"K": k, "N": n, "bits": 4, "block_size": 32}
        node = helper.make_node("MatMulNBits", ["a", "w", "s"], ["y"], domain="com.microsoft", **sizes)
        weights = {"w": np.zeros((n, k // 32, 16), np.uint8), "s": scales.ravel()}
        return model([node], *ends, weights, imports=[helper.make_opsetid("com.microsoft", 1)])
    unpack = helper.make_node("DequantizeLinear", ["w", "s"], ["d"], axis=0, block_size=32)
    made = model([unpack, helper.make_node("MatMul", ["a", "d"], ["y"])], *ends, {"s": scales}, opset=21)
    made.ir_version = 10
    codes = np.zeros((k, n // 2), np.uint8).tobytes()
    made.graph.initializer.append(helper.make_tensor("w", TensorProto.UINT4, (k, n), codes, raw=True))
    return made


# ONNX's own form has a byte for each code while it is read, and is packed from there.
@pytest.mark.usefixtures("measured_machine")
@pytest.mark.parametrize(("kind", "bar"), [("MatMulNBits", 0.45), ("DequantizeLinear", 0.6), ("walle", 0.45)])
def test_whole_weights_are_never_unpacked(kind: str, bar: float, tmp_path: Path) -> None:
    """The peak of a process over that with a tiny model, in sizes of the weights as float32."""
    if not sys.platform.startswith("linux"):
        pytest.skip("the peak of a process is read from /proc")
    peaks = []
    for k, n in ((32, 32), (2048, 12_288)):
        path = tmp_path / f"{k}.onnx"
        onnx.save(constant_product(kind, k, n), path)
        if kind == "walle":
            walle_rt.load(path).save(path.with_suffix(".walle"))
            path = path.with_suffix(".walle")
        done = run_command([sys.executable, "-c", dedent(PEAK), path, k])
        peaks.append(int(done.stdout) * 1024)
    unpacked = 2048 * 12_288 * 4
    assert 0.125 < (peaks[1] - peaks[0]) / unpacked < bar
