"""A model computed in float64, to measure every engine's rounding against.

onnx's own evaluator runs the graph with all float32 in it raised to float64; the operators that take nearly
all of the arithmetic are computed here by products of matrices, because the evaluator's take minutes.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from .builder import Array

_RAISED = {TensorProto.FLOAT, TensorProto.FLOAT16}


def _windows(x: Array, kernel: tuple[int, ...], strides: list[int], dilations: list[int]) -> Array:
    """Windows of a padded tensor of two spatial axes: [n, c, rows, columns, kernel rows, kernel columns]."""
    span = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    view = np.lib.stride_tricks.sliding_window_view(x, span, axis=(2, 3))
    return view[:, :, :: strides[0], :: strides[1], :: dilations[0], :: dilations[1]]


def _same_pads(size: tuple[int, ...], span: list[int], strides: list[int], upper: bool) -> list[int]:
    total = [max((-(-n // s) - 1) * s + k - n, 0) for n, k, s in zip(size, span, strides, strict=True)]
    small = [t // 2 for t in total]
    large = [t - s for t, s in zip(total, small, strict=True)]
    return [*small, *large] if upper else [*large, *small]


def _pads(auto: Any, pads: Any, size: tuple[int, ...], span: list[int], strides: list[int]) -> list[int]:
    kind = auto.decode() if isinstance(auto, bytes) else (auto or "NOTSET")
    if kind in ("SAME_UPPER", "SAME_LOWER"):
        return _same_pads(size, span, strides, kind == "SAME_UPPER")
    return list(pads or [0] * 2 * len(size)) if kind == "NOTSET" else [0] * 2 * len(size)


class Conv(OpRun):  # type: ignore[misc]
    """Convolution as one product of matrices per group."""

    op_domain = ""

    def _run(  # type: ignore[no-untyped-def]
        self, x, w, bias=None, auto_pad=None, dilations=None, group=None, kernel_shape=None, pads=None,
        strides=None,
    ):  # fmt: skip
        flat = x.ndim == 3
        if flat:  # one spatial axis: a second of one beside it
            x, w = x[:, :, None], w[:, :, None]
            strides, dilations = [1, *(strides or [1])], [1, *(dilations or [1])]
            pads = [0, pads[0], 0, pads[1]] if pads else None
        groups, strides, dilations = group or 1, strides or [1, 1], dilations or [1, 1]
        span = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilations, strict=True)]
        top, left, bottom, right = _pads(auto_pad, pads, x.shape[2:], span, strides)
        x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
        windows = _windows(x, w.shape[2:], strides, dilations)
        n, channels, rows, columns = windows.shape[:4]
        out = w.shape[0] // groups
        parts = []
        for g in range(groups):
            own = windows[:, g * channels // groups : (g + 1) * channels // groups]
            matrix = own.transpose(0, 2, 3, 1, 4, 5).reshape(n * rows * columns, -1)
            parts.append(matrix @ w[g * out : (g + 1) * out].reshape(out, -1).T)
        y = np.concatenate(parts, 1).reshape(n, rows, columns, -1).transpose(0, 3, 1, 2)
        if bias is not None:
            y = y + bias.reshape(1, -1, 1, 1)
        return (np.ascontiguousarray(y[:, :, 0] if flat else y),)


class ConvTranspose(OpRun):  # type: ignore[misc]
    """Transposed convolution of two spatial axes: each tap adds a scaled copy of the input."""

    op_domain = ""

    def _run(  # type: ignore[no-untyped-def]
        self, x, w, bias=None, auto_pad=None, dilations=None, group=None, kernel_shape=None,
        output_padding=None, output_shape=None, pads=None, strides=None,
    ):  # fmt: skip
        if (group or 1) != 1 or output_shape or (auto_pad or "NOTSET") not in ("NOTSET", b"NOTSET"):
            raise NotImplementedError("ConvTranspose with groups, output_shape or auto_pad")
        strides, dilations, more = strides or [1, 1], dilations or [1, 1], output_padding or [0, 0]
        top, left, bottom, right = pads or [0] * 4
        n, _, rows, columns = x.shape
        full = [
            (count - 1) * s + (k - 1) * d + 1 + extra
            for count, s, k, d, extra in zip(
                (rows, columns), strides, w.shape[2:], dilations, more, strict=True
            )
        ]
        y = np.zeros((n, w.shape[1], *full), x.dtype)
        for i, j in product(range(w.shape[2]), range(w.shape[3])):
            at_row, at_column = i * dilations[0], j * dilations[1]
            y[
                :, :, at_row : at_row + (rows - 1) * strides[0] + 1 : strides[0],
                at_column : at_column + (columns - 1) * strides[1] + 1 : strides[1],
            ] += np.einsum("nchw,co->nohw", x, w[:, :, i, j], optimize=True)  # fmt: skip
        y = y[:, :, top : full[0] - bottom, left : full[1] - right]
        return (y if bias is None else y + bias.reshape(1, -1, 1, 1),)


class BatchNormalization(OpRun):  # type: ignore[misc]
    """Normalisation by the stored figures. The evaluator's of opset 9 takes a momentum for training."""

    op_domain = ""

    def _run(  # type: ignore[no-untyped-def]
        self, x, scale, bias, mean, variance, epsilon=None, momentum=None, training_mode=None
    ):
        if training_mode:
            raise NotImplementedError("BatchNormalization in training mode")
        shape = (1, -1, *[1] * (x.ndim - 2))
        factor = scale / np.sqrt(variance + (1e-5 if epsilon is None else epsilon))
        return ((x - mean.reshape(shape)) * factor.reshape(shape) + bias.reshape(shape),)


class MaxPool(OpRun):  # type: ignore[misc]
    """Largest value of each window of two spatial axes."""

    op_domain = ""

    def _run(  # type: ignore[no-untyped-def]
        self, x, auto_pad=None, ceil_mode=None, dilations=None, kernel_shape=None, pads=None,
        storage_order=None, strides=None,
    ):  # fmt: skip
        strides, dilations = strides or [1, 1], dilations or [1, 1]
        span = [(k - 1) * d + 1 for k, d in zip(kernel_shape, dilations, strict=True)]
        top, left, bottom, right = _pads(auto_pad, pads, x.shape[2:], span, strides)
        if ceil_mode:
            bottom += -(x.shape[2] + top + bottom - span[0]) % strides[0]
            right += -(x.shape[3] + left + right - span[1]) % strides[1]
        border = ((0, 0), (0, 0), (top, bottom), (left, right))
        x = np.pad(x, border, constant_values=-np.inf)
        return (_windows(x, tuple(kernel_shape), strides, dilations).max(axis=(4, 5)),)


def _raise_tensor(tensor: TensorProto) -> None:
    if tensor.data_type in _RAISED:
        raised = numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name)
        tensor.CopyFrom(raised)


def _raise_graph(graph: onnx.GraphProto) -> None:
    for tensor in graph.initializer:
        _raise_tensor(tensor)
    for value in [*graph.input, *graph.output, *graph.value_info]:
        kind = value.type.tensor_type
        if kind.elem_type in _RAISED:
            kind.elem_type = TensorProto.DOUBLE
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                _raise_tensor(attribute.t)
            if attribute.HasField("g"):
                _raise_graph(attribute.g)
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i in _RAISED:
                attribute.i = TensorProto.DOUBLE
        if node.op_type == "Constant" and any(
            a.name in ("value_float", "value_floats") for a in node.attribute
        ):
            values = helper.get_attribute_value(node.attribute[0])
            del node.attribute[:]
            array = np.asarray(values, np.float64)
            node.attribute.append(helper.make_attribute("value", numpy_helper.from_array(array)))


def in_float64(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy whose float16 and float32 values are float64."""
    raised = onnx.ModelProto()
    raised.CopyFrom(model)
    _raise_graph(raised.graph)
    return raised


def evaluate(model: onnx.ModelProto, feeds: dict[str, Array]) -> list[Array]:
    """The outputs in float64; raises whatever onnx's evaluator raises where it cannot."""
    raised = {k: v.astype(np.float64) if v.dtype.kind == "f" else v for k, v in feeds.items()}
    evaluator = ReferenceEvaluator(
        in_float64(model), new_ops=[BatchNormalization, Conv, ConvTranspose, MaxPool]
    )
    return [np.asarray(value) for value in evaluator.run(None, raised)]


def reference(model: Path, feeds: dict[str, Array], cache: Path) -> list[Array]:
    """The outputs in float64, kept in ``cache`` beside the model that they are of."""
    stored = cache / f"{model.stem}.float64.npz"
    if not stored.exists() or stored.stat().st_mtime < model.stat().st_mtime:
        outputs = evaluate(onnx.load(str(model)), feeds)
        cache.mkdir(parents=True, exist_ok=True)
        unfinished = stored.with_suffix(".part.npz")
        np.savez(unfinished, *outputs)
        unfinished.rename(stored)
    with np.load(stored) as arrays:
        return [arrays[key] for key in arrays.files]
