"""What onnxruntime's quantisers and its graph optimiser make of a convolutional and a recurrent network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import torch
from case import Case, Feeds
from onnxruntime import quantization as q
from torch import nn
from torch_models import export

Base = Callable[[], tuple[nn.Module, tuple[torch.Tensor, ...]]]


def _convolutions() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    layers = [nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3), nn.Sigmoid()]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(8 * 6 * 6, 10)), (torch.randn(1, 3, 16, 16),)


def _encoder() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    layer = nn.TransformerEncoderLayer(32, 4, 64, activation="gelu", batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), (torch.randn(2, 7, 32),)


def _dense() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 8)), (torch.randn(4, 32),)


class _Last(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTM(12, 16, batch_first=True)
        self.head = nn.Linear(16, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.cell(x)[0][:, -1])


def _recurrent() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return _Last(), (torch.randn(2, 7, 12),)


class _Samples(q.CalibrationDataReader):
    def __init__(self, feeds: Feeds) -> None:
        self.left = [{k: np.roll(v, i) for k, v in feeds.items()} for i in range(4)]

    def get_next(self) -> Any:
        return self.left.pop() if self.left else None


def _written(base: Base, path: Path) -> tuple[Path, Feeds]:
    torch.manual_seed(0)
    plain = path.with_suffix(".plain.onnx")
    feeds = export(*base(), plain, True, external_data=False)
    return plain, feeds


def _static(base: Base, form: Any, kind: Any, per_channel: bool, path: Path) -> Feeds:
    plain, feeds = _written(base, path)
    q.quantize_static(
        str(plain), str(path), _Samples(feeds), quant_format=form, activation_type=kind,
        weight_type=q.QuantType.QInt8, per_channel=per_channel,
    )  # fmt: skip
    return feeds


def _dynamic(base: Base, path: Path) -> Feeds:
    plain, feeds = _written(base, path)
    q.quantize_dynamic(str(plain), str(path))
    return feeds


def _four_bits(base: Base, path: Path) -> Feeds:
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    plain, feeds = _written(base, path)
    maker = MatMulNBitsQuantizer(onnx.load(str(plain)), block_size=32, is_symmetric=True)
    maker.process()
    onnx.save(maker.model.model, str(path))
    return feeds


def _optimised(base: Base, level: Any, path: Path) -> Feeds:
    plain, feeds = _written(base, path)
    _optimise(plain, level, path)
    return feeds


def _static_optimised(base: Base, path: Path) -> Feeds:
    """From pairs of QuantizeLinear and DequantizeLinear to layers between codes, some with channels last."""
    quantised = path.with_suffix(".quantised.onnx")
    feeds = _static(base, q.QuantFormat.QDQ, q.QuantType.QUInt8, False, quantised)
    _optimise(quantised, ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED, path)
    return feeds


def _optimise(plain: Path, level: Any, path: Path) -> None:
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.optimized_model_filepath = str(path)
    ort.InferenceSession(str(plain), options, providers=["CPUExecutionProvider"])


def cases() -> Iterator[Case]:
    """Every quantiser on the networks it is for."""
    for name, base in (("convolutions", _convolutions), ("encoder", _encoder), ("dense", _dense)):
        for form, kind, per_channel in (
            (q.QuantFormat.QDQ, q.QuantType.QUInt8, False),
            (q.QuantFormat.QDQ, q.QuantType.QInt8, True),
            (q.QuantFormat.QOperator, q.QuantType.QUInt8, False),
        ):
            what = f"{name}, {form.name} {kind.name}{', per channel' if per_channel else ''}"
            yield Case(what, partial(_static, base, form, kind, per_channel))
        yield Case(f"{name}, dynamic", partial(_dynamic, base))
        yield Case(f"{name}, QDQ, optimised", partial(_static_optimised, base))
        for level in (
            ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
            ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
        ):
            yield Case(f"{name}, optimised {level.name}", partial(_optimised, base, level))
    yield Case("recurrent, dynamic", partial(_dynamic, _recurrent))
    yield Case("dense, four bits", partial(_four_bits, _dense))
    yield Case("encoder, four bits", partial(_four_bits, _encoder))
