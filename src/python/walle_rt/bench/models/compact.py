"""SqueezeNet 1.1 (Iandola et al., 2016) and ShuffleNetV2 x1.0 (Ma et al., 2018)."""

from __future__ import annotations

import onnx

from ..builder import Builder


def squeezenet(batch: int = 1, size: int = 224) -> onnx.ModelProto:
    """SqueezeNet 1.1, 224x224 by default, 0.35 GMAC."""
    b = Builder("squeezenet_1_1", seed=11)
    x = b.max_pool(b.conv(b.input("input", [batch, 3, size, size]), 64, 3, stride=2, pad=0), 3, 2, ceil=True)
    for i, (squeeze, expand) in enumerate(
        [(16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256)]
    ):
        if i in (2, 4):
            x = b.max_pool(x, 3, 2, ceil=True)
        small = b.conv(x, squeeze, 1)
        x = str(b.op("Concat", b.conv(small, expand, 1), b.conv(small, expand, 3), axis=1))
        b.channels[x] = 2 * expand
    x = b.conv(x, 1000, 1)
    b.output(str(b.op("Flatten", b.op("GlobalAveragePool", x), axis=1)), "logits", [batch, 1000])
    return b.model()


def _shuffle(b: Builder, left: str, right: str, shape: tuple[int, int, int]) -> str:
    batch, width, side = shape
    x = b.op("Concat", left, right, axis=1)
    x = b.op("Reshape", x, b.constant([batch, 2, width // 2, side, side], "int64"))
    x = b.op("Transpose", x, perm=[0, 2, 1, 3, 4])
    x = str(b.op("Reshape", x, b.constant([batch, width, side, side], "int64")))
    b.channels[x] = width
    return x


def shufflenet_v2(batch: int = 1, size: int = 224) -> onnx.ModelProto:
    """ShuffleNetV2 x1.0, 224x224 by default, 0.15 GMAC."""
    b = Builder("shufflenet_v2", seed=20)
    x = b.max_pool(b.conv(b.input("input", [batch, 3, size, size]), 24, 3, stride=2), 3, 2, 1)
    if size % 32:
        raise ValueError(f"size {size} of shufflenet_v2: expected a multiple of 32, for example 224")
    side = size // 4
    for width, count in [(116, 4), (232, 8), (464, 4)]:
        half, side = width // 2, side // 2
        left = b.conv(x, b.channels[x], 3, stride=2, groups=b.channels[x], act=None)
        left = b.conv(left, half, 1)
        right = b.conv(b.conv(x, half, 1), half, 3, stride=2, groups=half, act=None)
        x = _shuffle(b, left, b.conv(right, half, 1), (batch, width, side))
        for _ in range(count - 1):
            left, right = b.op("Split", x, b.constant([half, half], "int64"), outputs=2, axis=1)
            b.channels[left] = b.channels[right] = half
            y = b.conv(b.conv(right, half, 1), half, 3, groups=half, act=None)
            x = _shuffle(b, left, b.conv(y, half, 1), (batch, width, side))
    x = b.conv(x, 1024, 1)
    b.output(b.classifier(x, 1024), "logits", [batch, 1000])
    return b.model()
