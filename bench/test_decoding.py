"""Tokens per second of a decoder of 24 layers and 176 million weights of 4 bits, beside onnxruntime.

Both make the same tokens, one by one after a prompt, in turns; keys and values go from run to run as they
come out of the last.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import walle_rt
from decoder_model import decoder, empty_caches, parameters
from results import Results
from walle_rt.bench.bars import OURS, Bar, costliest

PROMPT = np.arange(5, 21)[None]
TOKENS, ROUNDS = 48, 3
BAR = 1.0  # time per token, to onnxruntime's

Run = Callable[[dict[str, Any]], dict[str, Any]]


def generate(run: Run, wrap: Callable[[Any], Any]) -> tuple[list[int], float]:
    """The tokens, and the median of milliseconds per token behind the first few."""
    caches = {name: wrap(value) for name, value in empty_caches().items()}
    words, times, new, length = [], [], PROMPT, 0
    for _ in range(TOKENS):
        length += new.shape[1]
        sizes = {"last": np.array([length - 1], np.int32), "total": np.array(length, np.int32)}
        feeds = {name: wrap(value) for name, value in {"tokens": new, **sizes}.items()} | caches
        begin = time.perf_counter()
        made = run(feeds)
        times.append(time.perf_counter() - begin)
        caches = {f"past_{name}": value for name, value in made.items() if name != "logits"}
        words.append(int(np.asarray(made["logits"])[0, -1].argmax()))
        new = np.array([[words[-1]]])
    return words, 1e3 * float(np.median(times[8:]))


def peer(model: bytes, threads: int) -> tuple[Run, Callable[[Any], Any]]:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]

    def run(feeds: dict[str, Any]) -> dict[str, Any]:
        made = dict(zip(names, session.run_with_ort_values(names, feeds), strict=True))
        return made | {"logits": made["logits"].numpy()}

    return run, ort.OrtValue.ortvalue_from_numpy


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("level", [0, 4])
def test_tokens_per_second(level: int, threads: int, results: Results) -> None:
    model = decoder(level)
    session = walle_rt.load(model).session(threads=threads)
    others = peer(model.SerializeToString(), threads) if importlib.util.find_spec("onnxruntime") else None
    ours, theirs = [], []
    for _ in range(ROUNDS):
        words, ms = generate(session.run, lambda value: value)
        ours.append(ms)
        if others is not None:
            same, ms = generate(*others)
            theirs.append(ms)
            if level == 0:
                assert same == words
    held = session.memory()
    packed = parameters() * 5 // 8  # 4 bits, and a scale for each 32
    ms = {OURS: min(ours), **({"onnxruntime": min(theirs)} if theirs else {})}
    figures = {f"tokens/s {name}": 1e3 / value for name, value in ms.items()}
    bar = Bar(f"accuracy_level {level}", threads, ms, BAR, ("onnxruntime",), figures)
    bar.figures["packed MB"] = held.packed / 1e6
    bar.missing = {"llama.cpp": "PyPI has its source alone, and it reads no ONNX"}
    if bar.short:
        bar.cause = costliest(session)
    results.bar("decoding", "a decoder of 176 million weights of 4 bits: milliseconds per token", bar)
    assert held.packed <= packed * 1.01 and held.folded < 1 << 20
    assert not bar.short
