"""PyTorch modules as both of its exporters write them: torch.export's (dynamo) and the older tracing one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torchvision_operators  # noqa: F401  (before whatever imports torchvision)
from case import Case, Feeds
from torch import nn

Model = Callable[[], tuple[nn.Module, tuple[torch.Tensor, ...]]]


def export(module: nn.Module, inputs: tuple[Any, ...], path: Path, dynamo: bool, **more: Any) -> Feeds:
    """Write a module; the inputs are named as the file names them."""
    import onnx

    module.eval()
    with torch.no_grad():
        torch.onnx.export(module, inputs, str(path), dynamo=dynamo, verbose=False, **more)
    graph = onnx.load(str(path), load_external_data=False).graph
    constants = {t.name for t in graph.initializer}
    names = [i.name for i in graph.input if i.name not in constants]
    arrays = [x.detach().numpy() for x in inputs if isinstance(x, torch.Tensor)]
    return dict(zip(names, arrays, strict=True))


def _made(model: Model, dynamo: bool, path: Path) -> Feeds:
    torch.manual_seed(0)
    torch.backends.mha.set_fastpath_enabled(False)  # its fused operators cannot be traced
    return export(*model(), path, dynamo)


class _Recurrent(nn.Module):
    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.cell = kind(12, 16, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(32, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.cell(x)[0][:, -1])


class _Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attend = nn.MultiheadAttention(32, 4, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.attend(x, x, x, need_weights=False)[0]


class _Scaled(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


class _Embedded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.EmbeddingBag(50, 16, mode="mean")
        self.head = nn.Linear(16, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.table(x))


class _Function(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x)


def _image(*shape: int) -> tuple[torch.Tensor, ...]:
    return (torch.randn(*shape),)


def _conv(*layers: nn.Module) -> Model:
    return lambda: (nn.Sequential(*layers), _image(1, 3, 16, 16))


def _applied(function: Callable[..., Any], *shape: int) -> Model:
    return lambda: (_Function(function), _image(*(shape or (2, 6, 8))))


def _encoder() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), _image(2, 7, 32)


MODELS: dict[str, Model] = {
    "MLP": lambda: (nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 4)), _image(3, 8)),
    "convolutions": _conv(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)),
    "depthwise, SiLU": _conv(nn.Conv2d(3, 6, 3, groups=3), nn.SiLU(), nn.AdaptiveAvgPool2d(1)),
    "transposed convolution": _conv(nn.ConvTranspose2d(3, 4, 4, stride=2, padding=1), nn.Tanh()),
    "1-D convolution": lambda: (nn.Conv1d(4, 6, 5, dilation=2), _image(2, 4, 30)),
    "3-D convolution": lambda: (nn.Conv3d(2, 3, 3), _image(1, 2, 6, 6, 6)),
    "instance and group norm": _conv(nn.Conv2d(3, 8, 1), nn.InstanceNorm2d(8), nn.GroupNorm(2, 8)),
    "upsampling": _conv(nn.Upsample(scale_factor=2, mode="bilinear"), nn.Upsample(scale_factor=2)),
    "pixel shuffle": _conv(nn.Conv2d(3, 12, 1), nn.PixelShuffle(2), nn.PReLU()),
    "LSTM": lambda: (_Recurrent(nn.LSTM), _image(2, 9, 12)),
    "GRU": lambda: (_Recurrent(nn.GRU), _image(2, 9, 12)),
    "RNN": lambda: (_Recurrent(nn.RNN), _image(2, 9, 12)),
    "multi-head attention": lambda: (_Attention(), _image(2, 7, 32)),
    "transformer encoder": _encoder,
    "causal attention": lambda: (_Scaled(), tuple(torch.randn(1, 2, 5, 8) for _ in range(3))),
    "embedding bag": lambda: (_Embedded(), (torch.randint(0, 50, (4, 6)),)),
    "embedding": lambda: (nn.Embedding(20, 8), (torch.randint(0, 20, (2, 5)),)),
    "layer norm": lambda: (nn.LayerNorm(16), _image(2, 4, 16)),
    "softmax, log-softmax": _applied(lambda x: (x.softmax(-1), x.log_softmax(1))),
    "einsum": _applied(lambda x: torch.einsum("bij,bkj->bik", x, x)),
    "top-k": _applied(lambda x: torch.topk(x, 3, dim=-1)),
    "sort": _applied(lambda x: torch.sort(x, dim=1)),
    "cumsum": _applied(lambda x: torch.cumsum(x, 1)),
    "where, clamp": _applied(lambda x: torch.where(x > 0, x, x.clamp(-0.5, 0.5))),
    "gather": _applied(lambda x: torch.gather(x, 1, torch.zeros(2, 3, 8, dtype=torch.int64))),
    "scatter": _applied(lambda x: x.scatter(1, torch.zeros(2, 1, 8, dtype=torch.int64), 2.0)),
    "index put": _applied(lambda x: torch.index_put(x, (torch.tensor([0]),), torch.tensor(1.5))),
    "roll, flip": _applied(lambda x: x.roll(2, 1).flip(2)),
    "padding": _applied(lambda x: nn.functional.pad(x, (1, 2), mode="reflect")),
    "unfold": _applied(lambda x: nn.functional.unfold(x, 3), 1, 2, 6, 6),
    "grid sample": lambda: (
        _Function(lambda x: nn.functional.grid_sample(x, x[:, :2].permute(0, 2, 3, 1), align_corners=False)),
        _image(1, 3, 6, 6),
    ),
    "norms": _applied(lambda x: (x.norm(dim=1), x.std(2), x.var(1), x.logsumexp(2))),
    "arg max": _applied(lambda x: (x.argmax(1), x.amin(2), x.mean((1, 2)))),
    "bit and integer": lambda: (_Function(lambda x: (x // 3, x % 3, x & 5, x << 1)), (torch.arange(-6, 6),)),
    "complex numbers by parts": _applied(lambda x: torch.fft.rfft(x).abs()),
}


def cases() -> Iterator[Case]:
    """Every model with both exporters."""
    for name, model in MODELS.items():
        yield Case(f"{name}, torch.export", partial(_made, model, True))
        yield Case(f"{name}, tracing", partial(_made, model, False))
