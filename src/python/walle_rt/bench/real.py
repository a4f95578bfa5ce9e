"""Trained models beside the generated ones, from the folder that WALLE_TEST_MODELS names."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import onnx

VARIABLE = "WALLE_TEST_MODELS"


@dataclass(frozen=True)
class Real:
    """A model's file, the sizes of inputs that the file leaves open, and inputs that are not made up."""

    file: str
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    values: dict[str, int] = field(default_factory=dict)
    open: bool = False  # left so in the file: its branches are made for different sizes


REAL: dict[str, Real] = {
    "real_fastestdet": Real("fastestdet.onnx"),
    "real_squeezenet_v11": Real("squeezenet_v11_from_ncnn.onnx", {"data": (1, 3, 227, 227)}),
    "real_mtcnn_pnet": Real("mtcnn_pnet.onnx", {"input_1": (1, 120, 160, 3)}),
    "real_mtcnn_rnet": Real("mtcnn_rnet.onnx", {"input_2": (8, 24, 24, 3)}),
    "real_mtcnn_onet": Real("mtcnn_onet.onnx", {"input_3": (4, 48, 48, 3)}),
    "real_ultraface": Real("ultraface_rfb320.onnx"),
    "real_yunet": Real("yunet_n_320_320.onnx"),
    "real_resnet20": Real("resnet20_cifar10_from_th.onnx", {"input": (1, 3, 32, 32)}),
    # 512 samples and the 64 before them; "sr" chooses a branch.
    "real_silero_vad": Real(
        "silero_vad.onnx", {"input": (1, 576), "state": (2, 1, 128)}, {"sr": 16_000}, open=True
    ),
    "real_mnist8": Real("mnist8.onnx"),
}


class Absent(Exception):  # noqa: N818 - an answer, not a failure
    """The model's file is not here; the message says why."""


def folder() -> Path:
    """Where the trained models lie: a folder beside the checkout unless the variable says otherwise."""
    beside = Path(__file__).resolve().parents[5] / "shared" / "models"
    return Path(os.environ.get(VARIABLE, beside)) / "onnx"


def reason(name: str) -> str | None:
    """Why a model cannot be measured; None: it can."""
    file = folder() / REAL[name].file
    return None if file.is_file() else f"{file} is absent: set {VARIABLE} to the folder of trained models"


def fixed(model: onnx.ModelProto, real: Real) -> onnx.ModelProto:
    """A copy whose inputs have fixed sizes and hold no constants: some converters take nothing else."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    constants = {tensor.name for tensor in copy.graph.initializer}
    kept = [value for value in copy.graph.input if value.name not in constants]
    del copy.graph.input[:]
    copy.graph.input.extend(kept)
    copy.ir_version = max(copy.ir_version, 4)  # constants were inputs before that
    for value in copy.graph.input:
        if value.name in real.shapes and not real.open:
            del value.type.tensor_type.shape.dim[:]
            for size in real.shapes[value.name]:
                value.type.tensor_type.shape.dim.add().dim_value = size
    return copy


def path(name: str, cache: Path) -> Path:
    """The model with fixed sizes in ``cache``; Absent says why there is none."""
    if (missing := reason(name)) is not None:
        raise Absent(missing)
    source, copy = folder() / REAL[name].file, cache / f"{name}.onnx"
    if not copy.exists() or copy.stat().st_mtime < source.stat().st_mtime:
        cache.mkdir(parents=True, exist_ok=True)
        unfinished = copy.with_suffix(".part")
        unfinished.write_bytes(fixed(onnx.load(str(source)), REAL[name]).SerializeToString())
        unfinished.rename(copy)
    return copy
