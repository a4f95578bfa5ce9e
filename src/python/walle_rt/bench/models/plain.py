"""Networks of few kinds of layers: VGG's stack of 3x3, EfficientNet's blocks, a segmenter that scales up."""

from __future__ import annotations

import onnx

from ..builder import Builder


def vgg(batch: int = 1, size: int = 224) -> onnx.ModelProto:
    """The thirteen convolutions of VGG-16 (Simonyan, 2014), pooled to a classifier, 15.3 GMAC at 224x224."""
    b = Builder("vgg", seed=13)
    x = b.input("input", [batch, 3, size, size])
    for width, count in [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]:
        for _ in range(count):
            x = b.conv(x, width, 3)
        x = b.max_pool(x, 2, 2)
    b.output(b.classifier(x, 512), "logits", [batch, 1000])
    return b.model()


# expansion, kernel, output width, blocks, stride of the first
_B0 = [
    (1, 3, 16, 1, 1), (6, 3, 24, 2, 2), (6, 5, 40, 2, 2), (6, 3, 80, 3, 2),
    (6, 5, 112, 3, 1), (6, 5, 192, 4, 2), (6, 3, 320, 1, 1),
]  # fmt: skip


def efficientnet_b0(batch: int = 1, size: int = 224) -> onnx.ModelProto:
    """EfficientNet-B0 (Tan, Le, 2019), 224x224 by default, 0.39 GMAC."""
    b = Builder("efficientnet_b0", seed=7)
    x = b.conv(b.input("input", [batch, 3, size, size]), 32, 3, stride=2, act="Silu")
    for expand, kernel, width, count, first in _B0:
        for i in range(count):
            inner = b.channels[x] * expand
            squeeze = max(b.channels[x] // 4, 1)
            stride = first if i == 0 else 1
            y = b.conv(x, inner, 1, act="Silu") if expand > 1 else x
            y = b.conv(y, inner, kernel, stride=stride, groups=inner, act="Silu")
            scale = b.conv(str(b.op("GlobalAveragePool", y)), squeeze, 1, act="Silu")
            y = str(b.op("Mul", y, b.conv(scale, inner, 1, act="Sigmoid")))
            y = b.conv(y, width, 1, act=None, gain=1.4)
            x = str(b.op("Add", x, y)) if stride == 1 and b.channels[x] == width else y
    x = b.conv(x, 1280, 1, act="Silu")
    b.output(b.classifier(x, 1280), "logits", [batch, 1000])
    return b.model()


def segmenter(batch: int = 1, size: int = 256) -> onnx.ModelProto:
    """A small U-Net (Ronneberger et al., 2015) whose way up is transposed convolution, 256x256 by default,
    2.0 GMAC.
    """
    b = Builder("segmenter", seed=21)
    if size % 16:
        raise ValueError(f"size {size} of segmenter: expected a multiple of 16, for example 256")
    x = b.conv(b.input("input", [batch, 3, size, size]), 16, 3)
    kept = []
    for width in (32, 64, 96, 128):
        kept.append(x)
        x = b.conv(b.conv(x, width, 3, stride=2), width, 3)
    for i, beside in enumerate(reversed(kept)):
        width = b.channels[beside]
        x = b.conv_transpose(x, width, 2 if i % 2 else 4)
        y = str(b.op("Concat", x, beside, axis=1))
        b.channels[y] = 2 * width
        x = b.conv(y, width, 3)
    b.output(b.conv(x, 2, 1, act="Sigmoid"), "mask", [batch, 2, size, size])
    return b.model()
