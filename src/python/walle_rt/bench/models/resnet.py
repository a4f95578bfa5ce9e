"""ResNet (He et al., 2015), the torchvision layout: stride on the 3x3 of a bottleneck."""

from __future__ import annotations

import onnx

from ..builder import Builder


def _basic(b: Builder, x: str, width: int, stride: int) -> str:
    y = b.conv(b.conv(x, width, 3, stride=stride), width, 3, act=None, gain=0.5)
    return _join(b, x, y, width, stride)


def _bottleneck(b: Builder, x: str, width: int, stride: int) -> str:
    y = b.conv(b.conv(x, width, 1), width, 3, stride=stride)
    return _join(b, x, b.conv(y, width * 4, 1, act=None, gain=0.5), width * 4, stride)


def _join(b: Builder, x: str, y: str, width: int, stride: int) -> str:
    same = stride == 1 and b.channels[x] == width
    shortcut = x if same else b.conv(x, width, 1, stride=stride, act=None, gain=0.7)
    return b.activation(b.op("Add", y, shortcut), "Relu")


def _resnet(name: str, blocks: tuple[int, ...], bottleneck: bool, batch: int, size: int) -> onnx.ModelProto:
    b = Builder(name, seed=18)
    x = b.max_pool(b.conv(b.input("input", [batch, 3, size, size]), 64, 7, stride=2), 3, 2, 1)
    for stage, count in enumerate(blocks):
        for i in range(count):
            stride = 2 if stage > 0 and i == 0 else 1
            x = (_bottleneck if bottleneck else _basic)(b, x, 64 << stage, stride)
    b.output(b.classifier(x, b.channels[x]), "logits", [batch, 1000])
    return b.model()


def resnet18(batch: int = 1, size: int = 224) -> onnx.ModelProto:
    """ResNet-18, 224x224 by default, 1.8 GMAC."""
    return _resnet("resnet18", (2, 2, 2, 2), bottleneck=False, batch=batch, size=size)


def resnet50(batch: int = 1, size: int = 224) -> onnx.ModelProto:
    """ResNet-50, 224x224 by default, 4.1 GMAC."""
    return _resnet("resnet50", (3, 4, 6, 3), bottleneck=True, batch=batch, size=size)
