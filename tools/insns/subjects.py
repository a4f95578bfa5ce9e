"""What is counted: networks, and single layers of the kinds that networks are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import onnx

from walle_rt.bench import zoo
from walle_rt.bench.builder import Array, Builder

from .emulator import BUILT

CACHE = BUILT / "models"


@dataclass(frozen=True)
class Subject:
    """A model by name; quick ones are counted by every `make test`."""

    name: str
    build: Callable[[], onnx.ModelProto] | None = None  # None: the zoo's of this name
    quick: bool = True
    half: bool = False  # counted with precision="fp16", too

    @property
    def stem(self) -> str:
        """For names of files."""
        return "".join(c if c.isalnum() else "_" for c in self.name)

    def path(self) -> Path:
        """The ONNX file, made once."""
        if self.build is None:
            return zoo.path(self.name, CACHE)
        file = CACHE / f"{self.stem}.onnx"
        CACHE.mkdir(parents=True, exist_ok=True)
        # Built anew each time: they are small, and a builder that was changed must not find the old one.
        made = self.build().SerializeToString()
        if not file.exists() or file.read_bytes() != made:
            file.write_bytes(made)
        return file

    def feeds(self) -> dict[str, Array]:
        """Seeded inputs."""
        return zoo.inputs(self.name if self.build is None else "", self.path())


# Pictures as the networks have them but for the two large ones, whose channels stay.
MODELS = (
    Subject("resnet18:s112", quick=False, half=True),
    Subject("resnet50:s112", quick=False),
    Subject("mobilenet_v1", quick=False, half=True),
    Subject("mobilenet_v2", quick=False),
    Subject("mobilenet_v3_small"),
    Subject("squeezenet_1_1", quick=False),
    Subject("din_b1"),
    Subject("lstm_speech", quick=False),
    Subject("real_ultraface", quick=False),
)


def _convolution(
    channels: int, out: int, size: int, kernel: int, stride: int = 1, groups: int = 1
) -> Subject:
    def build() -> onnx.ModelProto:
        b = Builder("layer")
        x = b.input("x", [1, channels, size, size])
        shape = (out, channels // groups, kernel, kernel)
        weights = b.constant(b.random(shape, (shape[1] * kernel**2) ** -0.5))
        bias = b.constant(b.random((out,), 0.1))
        pads = [kernel // 2] * 4
        value = b.op("Conv", x, weights, bias, pads=pads, strides=[stride] * 2, group=groups)
        places = (size - 1) // stride + 1
        b.output(b.op("Relu", value), "y", [1, out, places, places])
        return b.model()

    kind = "depthwise" if groups > 1 else "conv"
    name = f"{kind} {kernel}x{kernel}/{stride} {channels}>{out} on {size}"
    return Subject(name, build, half=groups == 1)


def _product(m: int, k: int, n: int) -> Subject:
    def build() -> onnx.ModelProto:
        b = Builder("layer")
        x = b.input("x", [m, k])
        b.output(b.op("MatMul", x, b.constant(b.random((k, n), k**-0.5))), "y", [m, n])
        return b.model()

    return Subject(f"gemm {m}x{k}x{n}", build, half=True)


def _unary(kind: str, shape: tuple[int, ...], out: tuple[int, ...] = (), **attributes: object) -> Subject:
    def build() -> onnx.ModelProto:
        b = Builder("layer")
        b.output(b.op(kind, b.input("x", list(shape)), **attributes), "y", list(out or shape))
        return b.model()

    return Subject(f"{kind} {'x'.join(map(str, shape))}", build)


def _add(shape: tuple[int, ...]) -> Subject:
    def build() -> onnx.ModelProto:
        b = Builder("layer")
        b.output(b.op("Add", b.input("x", list(shape)), b.input("z", list(shape))), "y", list(shape))
        return b.model()

    return Subject(f"Add {'x'.join(map(str, shape))}", build)


_IMAGE = (1, 64, 56, 56)
OPERATORS = (
    _product(64, 256, 256),
    _product(128, 768, 768),
    _product(1, 1024, 1024),
    _convolution(64, 64, 28, 3),
    _convolution(128, 128, 28, 3, 2),
    _convolution(3, 32, 112, 3, 2),
    _convolution(64, 128, 28, 1),
    _convolution(256, 256, 14, 1),
    _convolution(96, 96, 28, 3, 1, 96),
    _convolution(96, 96, 28, 3, 2, 96),
    _convolution(96, 96, 28, 5, 1, 96),
    _unary("MaxPool", _IMAGE, (1, 64, 28, 28), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4),
    _unary("GlobalAveragePool", _IMAGE, (1, 64, 1, 1)),
    _unary("Softmax", (64, 256), axis=-1),
    _unary("Sigmoid", _IMAGE),
    _unary("Tanh", _IMAGE),
    _unary("Relu", _IMAGE),
    _unary("Transpose", (1, 128, 256), (1, 256, 128), perm=[0, 2, 1]),
    _add(_IMAGE),
)
# A run that computes one number: what calling an engine takes.
CALL = _unary("Relu", (1, 1))
KINDS = {"models": MODELS, "operators": OPERATORS}
