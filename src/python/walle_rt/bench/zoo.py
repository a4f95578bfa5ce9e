"""The generated models by name, their files in a cache, and seeded inputs for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

from .builder import Array
from .models import bert, compact, din, mobilenet, resnet, speech

# Name -> builder. The revision is part of the file name: raise it when a builder changes.
REVISION = 1
MODELS: dict[str, Callable[[], onnx.ModelProto]] = {
    "resnet18": resnet.resnet18,
    "resnet50": resnet.resnet50,
    "mobilenet_v1": mobilenet.mobilenet_v1,
    "mobilenet_v2": mobilenet.mobilenet_v2,
    "mobilenet_v3_small": mobilenet.mobilenet_v3_small,
    "squeezenet_1_1": compact.squeezenet,
    "shufflenet_v2": compact.shufflenet_v2,
    "bert_base_128": bert.bert_base,
    "din_b1": din.din_1,
    "din_b64": din.din_64,
    "gru_speech": speech.gru_speech,
    "lstm_speech": speech.lstm_speech,
}


def build(name: str) -> onnx.ModelProto:
    """Build a model by name; KeyError names the known ones."""
    if name not in MODELS:
        raise KeyError(f"unknown model '{name}'; known: {', '.join(MODELS)}")
    return MODELS[name]()


def path(name: str, folder: Path) -> Path:
    """The model's .onnx file in ``folder``, generated on first use."""
    file = folder / f"{name}.r{REVISION}.onnx"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_suffix(".part")
        unfinished.write_bytes(build(name).SerializeToString())
        unfinished.rename(file)
    return file


def feeds(model: onnx.ModelProto, seed: int = 0) -> dict[str, Array]:
    """One seeded input per graph input: normal values for floats, small ids for integers, ones for masks."""
    rng = np.random.default_rng(seed)
    arrays: dict[str, Array] = {}
    for value in model.graph.input:
        shape = tuple(d.dim_value for d in value.type.tensor_type.shape.dim)
        dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        if value.name.endswith("mask"):
            arrays[value.name] = np.ones(shape, dtype)
        elif np.issubdtype(dtype, np.integer):
            arrays[value.name] = rng.integers(0, 1000, shape).astype(dtype)
        else:
            arrays[value.name] = rng.standard_normal(shape).astype(dtype)
    return arrays
