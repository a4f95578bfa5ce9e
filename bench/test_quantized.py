"""Networks of 8-bit integers beside onnxruntime, OpenVINO, MNN and this engine's own float32.

Images by onnxruntime's static quantiser (QDQ, weights per channel), language models by its dynamic one, both
with its defaults and random calibration. Where a processor has no VNNI, onnxruntime saturates sums of two
products by default; with session.x64quantprecision=1 it does not. Both are timed, values are compared with
the second.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import walle_rt
from cases import Cases
from results import Results
from walle_rt.bench import accuracy, roof, zoo
from walle_rt.bench.bars import OURS, Bar, cause_of, costliest
from walle_rt.bench.compare import probe
from walle_rt.bench.peers import Run, prepare
from walle_rt.bench.rounds import measure

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

STATIC = ("resnet50", "mobilenet_v2", "squeezenet_1_1", "mobilenet_v3_small", "yolo_n")
DYNAMIC = ("bert_base_128", "minilm")
BAR = 0.95  # of onnxruntime's time
FLOAT = {"resnet50": 0.35, "squeezenet_1_1": 0.35}  # of our float32, with VNNI
FLOAT_OTHERS = 0.45
FLOAT_PLAIN = 0.75  # without
VNNI = {"avx_vnni", "avx512_vnni"}
FLOATS, EXACT = "our float32", "ort, exact"
OTHERS = ("openvino", "MNN")
OFF = 0.3  # of the output's range, of a peer that counts
BESIDE = ("onnxruntime", EXACT, "openvino")
CALIBRATION = 3


def quantised(name: str, folder: Path) -> tuple[Path, Path]:
    """The float model and the quantised one, made once."""
    from onnxruntime.quantization import QuantType, quantize_dynamic, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    folder.mkdir(parents=True, exist_ok=True)
    plain, made = folder / f"{name}.float.onnx", folder / f"{name}.int8.onnx"
    if made.exists():
        return plain, made
    plain.write_bytes(zoo.build(name).SerializeToString())
    if name in DYNAMIC:
        quantize_dynamic(plain, made, weight_type=QuantType.QInt8)
        return plain, made
    prepared = folder / f"{name}.prepared.onnx"
    quant_pre_process(plain, prepared, skip_symbolic_shape=True)
    model = onnx.load(plain)
    given = iter([zoo.feeds(model, i) for i in range(CALIBRATION)])

    class Reader:
        def get_next(self) -> Any:
            return next(given, None)

    quantize_static(
        prepared,
        made,
        Reader(),
        per_channel=True,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
    )
    return plain, made


def exact_peer(path: Path, threads: int, exact: bool) -> Any:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.x64quantprecision", "1" if exact else "0")
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def others(
    made: Path, name: str, feeds: Any, threads: int, cache: Path, wanted: Any
) -> tuple[dict[str, Run], dict[str, str]]:
    """OpenVINO and MNN on the same file, and why one of them is missing."""
    runs, missing = {}, {}
    for engine in OTHERS:
        reason = probe(engine, made, name, threads, cache)
        if reason is None:
            run = prepare(engine, made, feeds, threads, cache)
            found = accuracy.error([np.array(value) for value in run()[:1]], [wanted])
            # Other roundings of 8 bits, and no more: MNN gives the results of some files back unwritten.
            if found <= OFF:
                runs[engine] = run
            else:
                missing[engine] = f"computes something else: {found:.2g} of the output's range"
        else:
            missing[engine] = reason
    return runs, missing


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", STATIC + DYNAMIC)
def test_quantized(name: str, cache: Path, cases: Cases, results: Results) -> None:
    if cases.models and name not in cases.models:
        pytest.skip("not among --models")
    cache = cache / "quantized"
    plain, made = quantised(name, cache)
    feeds = zoo.feeds(onnx.load(plain))
    for threads in cases.threads:
        session = walle_rt.load(made).session(threads=threads)
        own = walle_rt.load(plain).session(threads=threads)
        saturating, exact = (exact_peer(made, threads, precise) for precise in (False, True))
        wanted, found = exact.run(None, feeds)[0], next(iter(session.run(feeds).values()))
        # Codes halfway between two become either, and what follows differs by their scales.
        off = float(np.max(np.abs(found - wanted)) / max(float(np.max(np.abs(wanted))), 1e-9))
        runs, missing = others(made, name, feeds, threads, cache, wanted)
        rounds = measure(
            {
                OURS: partial(session.run, feeds),
                FLOATS: partial(own.run, feeds),
                "onnxruntime": partial(saturating.run, None, feeds),
                EXACT: partial(exact.run, None, feeds),
                **runs,
            },
            cases.rounds,
        )
        ms = {run: rounds.least_ms(run) for run in rounds.slots}
        floats = ms.pop(FLOATS)
        bar = Bar(name, threads, ms, BAR, BESIDE, {"off": off}, missing, disturbed=rounds.disturbed)
        if bar.short:
            bar.cause = cause_of(made, feeds, cache, roof.measured(integers=True))
        results.bar("quantized", "networks of 8-bit integers: milliseconds, minimum of rounds", bar)
        if name in STATIC:
            own_bar = Bar(name, threads, {OURS: ms[OURS], FLOATS: floats}, limit_of_float(name), (FLOATS,))
            own_bar.cause = costliest(session) if own_bar.short else ""
            title = "networks of 8-bit integers beside our float32: milliseconds, minimum of rounds"
            results.bar("quantized_and_float32", title, own_bar)
        assert off <= 0.1, f"{name}: our result is wrong"


def limit_of_float(name: str) -> float:
    """Of our float32: with VNNI, or with AVX2 alone."""
    known = walle_rt._core.machine()["capabilities"]
    return FLOAT.get(name, FLOAT_OTHERS) if VNNI & set(known) else FLOAT_PLAIN
