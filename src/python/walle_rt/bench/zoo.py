"""The generated models by name, their files in a cache, and seeded inputs for them.

A name may carry a batch and a size: ``resnet18:b8`` is ResNet-18 on eight pictures, ``mobilenet_v2:s160`` on
pictures of 160 x 160, ``bert_base_128:s32`` on 32 tokens.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

from . import real
from .builder import Array
from .models import bert, compact, din, mobilenet, plain, resnet, speech, vision_transformer, yolo

__all__ = ["build"]

# Name -> builder. The revision is part of the file name: raise it when a builder changes.
REVISION = 1
MODELS: dict[str, Callable[..., onnx.ModelProto]] = {
    "resnet18": resnet.resnet18,
    "resnet50": resnet.resnet50,
    "mobilenet_v1": mobilenet.mobilenet_v1,
    "mobilenet_v2": mobilenet.mobilenet_v2,
    "mobilenet_v3_small": mobilenet.mobilenet_v3_small,
    "squeezenet_1_1": compact.squeezenet,
    "shufflenet_v2": compact.shufflenet_v2,
    "efficientnet_b0": plain.efficientnet_b0,
    "vgg": plain.vgg,
    "yolo_n": yolo.yolo_n,
    "segmenter": plain.segmenter,
    "bert_base_128": bert.bert_base,
    "bert_base_256": bert.bert_base_256,
    "minilm": bert.minilm,
    "vit_s": vision_transformer.vit_s,
    "din_b1": din.din_1,
    "din_b64": din.din_64,
    "gru_speech": speech.gru_speech,
    "lstm_speech": speech.lstm_speech,
    "voice_rnn": speech.voice_rnn,
}
_KEYS = {"b": "batch", "s": "size"}


@dataclass(frozen=True)
class Variant:
    """A model's name with the batch and the size that it is built for; None: its own."""

    name: str
    batch: int | None = None
    size: int | None = None

    @classmethod
    def parse(cls, text: str) -> Variant:
        """From ``name``, ``name:b8``, ``name:s160`` or ``name:b8:s160``; KeyError names the known models."""
        name, *suffixes = text.split(":")
        if name not in MODELS:
            raise KeyError(f"unknown model '{name}'; known: {', '.join(MODELS)}")
        given: dict[str, int] = {}
        for suffix in suffixes:
            match = re.fullmatch(r"([bs])([1-9]\d{0,4})", suffix)
            key = _KEYS[match[1]] if match else ""
            if match is None or key in given:
                raise KeyError(f"'{suffix}' in '{text}'; expected each of :bBATCH and :sSIZE once at most")
            if key not in inspect.signature(MODELS[name]).parameters:
                raise KeyError(f"'{suffix}' in '{text}'; {name} has one {key}")
            given[key] = int(match[2])
        return cls(name, **given)

    @property
    def text(self) -> str:
        """The name that ``parse`` reads."""
        parts = [self.name]
        if self.batch is not None:
            parts.append(f"b{self.batch}")
        if self.size is not None:
            parts.append(f"s{self.size}")
        return ":".join(parts)

    def build(self) -> onnx.ModelProto:
        """The model."""
        given = {"batch": self.batch, "size": self.size}
        return MODELS[self.name](**{key: value for key, value in given.items() if value is not None})


def takes(name: str, key: str) -> bool:
    """Whether a model can be built for another ``batch`` or ``size``."""
    return key in inspect.signature(MODELS[name]).parameters


def build(name: str) -> onnx.ModelProto:
    """Build a model by name; KeyError names the known ones."""
    return Variant.parse(name).build()


def path(name: str, folder: Path) -> Path:
    """The model's .onnx file in ``folder``, generated on first use.

    Raises:
        KeyError: there is no such model.
        real.Absent: a trained model's file is not on this machine.
    """
    if name in real.REAL:
        return real.path(name, folder)
    variant = Variant.parse(name)
    file = folder / f"{variant.text.replace(':', '.')}.r{REVISION}.onnx"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_suffix(".part")
        unfinished.write_bytes(variant.build().SerializeToString())
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


def inputs(name: str, file: Path) -> dict[str, Array]:
    """Seeded inputs of a model of this name in this file, and what a trained one needs to be given."""
    model = onnx.load(str(file), load_external_data=False)
    if name in real.REAL:
        for value in model.graph.input:
            if value.name in real.REAL[name].shapes:
                del value.type.tensor_type.shape.dim[:]
                for size in real.REAL[name].shapes[value.name]:
                    value.type.tensor_type.shape.dim.add().dim_value = size
    made = feeds(model)
    if name in real.REAL:
        for key, value in real.REAL[name].values.items():
            made[key] = np.full_like(made[key], value)
    return made
