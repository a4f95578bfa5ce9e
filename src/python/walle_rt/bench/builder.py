"""A small ONNX graph builder: one method per layer, weights drawn from one seeded generator.

The graphs look the way a framework exports an inference model: batch-normalisation already folded into the
convolution before it, standard operators of opset 17. Weights are random but scaled so that activations stay
in a normal range through any depth (He, 2015); otherwise denormal or infinite values would be timed instead
of the layers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17

Array = npt.NDArray[Any]


class Builder:
    """Collects nodes and weights; every layer method takes and returns value names."""

    def __init__(self, name: str, seed: int = 0) -> None:
        """Start an empty graph called ``name``; the same seed gives the same bytes."""
        self.name = name
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        self.channels: dict[str, int] = {}
        self._count = 0

    def input(self, name: str, shape: list[int | str], dtype: npt.DTypeLike = np.float32) -> str:
        """Declare a graph input; a string in ``shape`` is a symbolic dimension. Returns its name."""
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        if len(shape) == 4 and isinstance(shape[1], int):
            self.channels[name] = shape[1]
        return name

    def output(self, value: str, name: str, shape: list[int | str] | None = None) -> None:
        """Declare ``value`` as the float32 graph output ``name``."""
        self.nodes.append(helper.make_node("Identity", [value], [name], name=f"out_{name}"))
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def op(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """Add any ONNX operator; returns its output name, or a list of names where ``outputs`` is not 1."""
        self._count += 1
        names = [f"v{self._count}" if outputs == 1 else f"v{self._count}_{i}" for i in range(outputs)]
        self.nodes.append(
            helper.make_node(kind, list(inputs), names, name=f"{kind.lower()}_{self._count}", **attributes)
        )
        if inputs and inputs[0] in self.channels:
            for name in names:
                self.channels[name] = self.channels[inputs[0]]
        return names[0] if outputs == 1 else names

    def constant(self, values: Any, dtype: npt.DTypeLike = np.float32) -> str:
        """Store an array as a weight and return its name."""
        self._count += 1
        name = f"w{self._count}"
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(values, dtype), name))
        return name

    def scalar(self, value: float, dtype: npt.DTypeLike = np.float32) -> str:
        """Store one number of rank 0; ``constant`` gives a single number rank 1."""
        self._count += 1
        name = f"w{self._count}"
        self.weights.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def random(self, shape: tuple[int, ...], deviation: float) -> Array:
        """Normally distributed float32 values."""
        return (self.rng.standard_normal(shape, np.float32) * np.float32(deviation)).astype(np.float32)

    def conv(
        self,
        x: str,
        out: int,
        kernel: int,
        *,
        stride: int = 1,
        pad: int | None = None,
        groups: int = 1,
        act: str | None = "Relu",
        gain: float = 1.0,
    ) -> str:
        """Convolution with bias and an optional activation;
        ``pad`` defaults to keeping the size at stride 1.
        """
        fan_in = self.channels[x] // groups
        half = kernel // 2 if pad is None else pad
        weight = self.random((out, fan_in, kernel, kernel), gain * (2.0 / (fan_in * kernel * kernel)) ** 0.5)
        y = self.op(
            "Conv", x, self.constant(weight), self.constant(self.random((out,), 0.05)),
            kernel_shape=[kernel, kernel], strides=[stride, stride], pads=[half] * 4, group=groups,
            dilations=[1, 1],
        )  # fmt: skip
        self.channels[y] = out
        return self.activation(y, act)

    def conv_transpose(
        self, x: str, out: int, kernel: int, *, stride: int = 2, act: str | None = "Relu"
    ) -> str:
        """Transposed convolution with bias that multiplies the size by its stride."""
        fan_in = self.channels[x]
        taps = (kernel / stride) ** 2  # those that meet one pixel of the result
        weight = self.random((fan_in, out, kernel, kernel), (2.0 / (fan_in * taps)) ** 0.5)
        y = self.op(
            "ConvTranspose", x, self.constant(weight), self.constant(self.random((out,), 0.05)),
            kernel_shape=[kernel, kernel], strides=[stride, stride], pads=[(kernel - stride) // 2] * 4,
        )  # fmt: skip
        self.channels[y] = out
        return self.activation(str(y), act)

    def activation(self, x: str, kind: str | None) -> str:
        """Relu, Relu6, HardSwish, HardSigmoid, Sigmoid, Silu, Tanh, Gelu, or nothing."""
        if kind is None:
            return x
        if kind == "Silu":
            return str(self.op("Mul", x, self.op("Sigmoid", x)))
        if kind == "Relu6":
            return str(self.op("Clip", x, self.constant(0.0), self.constant(6.0)))
        if kind == "HardSigmoid":
            return str(self.op("HardSigmoid", x, alpha=1 / 6, beta=0.5))
        if kind == "Gelu":
            inner = self.op("Erf", self.op("Div", x, self.constant(2.0**0.5)))
            return str(
                self.op(
                    "Mul", self.op("Mul", x, self.op("Add", inner, self.constant(1.0))), self.constant(0.5)
                )
            )
        return str(self.op(kind, x))

    def max_pool(self, x: str, kernel: int, stride: int, pad: int = 0, ceil: bool = False) -> str:
        """Square max pooling."""
        window, step, border = [kernel] * 2, [stride] * 2, [pad] * 4
        return str(self.op("MaxPool", x, ceil_mode=int(ceil), kernel_shape=window, strides=step, pads=border))

    def dense(self, x: str, fan_in: int, out: int, act: str | None = None) -> str:
        """Fully connected layer on the last axis of a matrix (Gemm,
        weight stored transposed as exporters do).
        """
        weight = self.random((out, fan_in), (2.0 / (fan_in + out)) ** 0.5)
        y = self.op("Gemm", x, self.constant(weight), self.constant(self.random((out,), 0.05)), transB=1)
        return self.activation(str(y), act)

    def linear(self, x: str, fan_in: int, out: int, act: str | None = None) -> str:
        """Fully connected layer on the last axis of a tensor of any rank (MatMul + Add)."""
        weight = self.random((fan_in, out), (1.0 / fan_in) ** 0.5)
        y = self.op(
            "Add", self.op("MatMul", x, self.constant(weight)), self.constant(self.random((out,), 0.02))
        )
        return self.activation(str(y), act)

    def layer_norm(self, x: str, width: int, epsilon: float = 1e-12) -> str:
        """Layer normalisation over the last axis with scale near one."""
        scale = self.constant(1 + self.random((width,), 0.02))
        return str(
            self.op(
                "LayerNormalization",
                x,
                scale,
                self.constant(self.random((width,), 0.02)),
                axis=-1,
                epsilon=epsilon,
            )
        )

    def classifier(self, x: str, features: int, classes: int = 1000) -> str:
        """Global average pooling, flatten, fully connected."""
        return self.dense(str(self.op("Flatten", self.op("GlobalAveragePool", x), axis=1)), features, classes)

    def model(self) -> onnx.ModelProto:
        """The finished, checked model."""
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.weights)
        model = helper.make_model(
            graph,
            producer_name="walle_rt.bench",
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=8,
        )
        if model.ByteSize() < 1 << 30:
            onnx.checker.check_model(model)
        return model
