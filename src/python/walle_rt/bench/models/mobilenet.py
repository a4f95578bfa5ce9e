"""MobileNet V1, V2 and V3-Small (Howard et al., 2017, 2019; Sandler et al., 2018)."""

from __future__ import annotations

import onnx

from ..builder import Builder


def mobilenet_v1(batch: int = 1, size: int = 224) -> onnx.ModelProto:
    """MobileNetV1 1.0, 224x224 by default, 0.57 GMAC."""
    b = Builder("mobilenet_v1", seed=1)
    x = b.conv(b.input("input", [batch, 3, size, size]), 32, 3, stride=2)
    steps = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]
    for width, stride in steps:
        x = b.conv(x, b.channels[x], 3, stride=stride, groups=b.channels[x])
        x = b.conv(x, width, 1)
    b.output(b.classifier(x, 1024), "logits", [batch, 1000])
    return b.model()


def mobilenet_v2(batch: int = 1, size: int = 224) -> onnx.ModelProto:
    """MobileNetV2 1.0, 224x224 by default, 0.30 GMAC."""
    b = Builder("mobilenet_v2", seed=2)
    x = b.conv(b.input("input", [batch, 3, size, size]), 32, 3, stride=2, act="Relu6")
    stages = [
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ]
    for expand, width, count, first_stride in stages:
        for i in range(count):
            x = _inverted(b, x, expand, width, first_stride if i == 0 else 1)
    x = b.conv(x, 1280, 1, act="Relu6")
    b.output(b.classifier(x, 1280), "logits", [batch, 1000])
    return b.model()


def _inverted(b: Builder, x: str, expand: int, width: int, stride: int) -> str:
    inner = b.channels[x] * expand
    y = b.conv(x, inner, 1, act="Relu6") if expand > 1 else x
    y = b.conv(y, inner, 3, stride=stride, groups=inner, act="Relu6")
    y = b.conv(y, width, 1, act=None, gain=0.7)
    return str(b.op("Add", x, y)) if stride == 1 and b.channels[x] == width else y


# kernel, expanded width, output width, squeeze-and-excite width (0: none), activation, stride
_V3_SMALL = [
    (3, 16, 16, 8, "Relu", 2), (3, 72, 24, 0, "Relu", 2), (3, 88, 24, 0, "Relu", 1),
    (5, 96, 40, 24, "HardSwish", 2), (5, 240, 40, 64, "HardSwish", 1), (5, 240, 40, 64, "HardSwish", 1),
    (5, 120, 48, 32, "HardSwish", 1), (5, 144, 48, 40, "HardSwish", 1), (5, 288, 96, 72, "HardSwish", 2),
    (5, 576, 96, 144, "HardSwish", 1), (5, 576, 96, 144, "HardSwish", 1),
]  # fmt: skip


def mobilenet_v3_small(batch: int = 1, size: int = 224) -> onnx.ModelProto:
    """MobileNetV3-Small 1.0, 224x224 by default, 0.06 GMAC."""
    b = Builder("mobilenet_v3_small", seed=3)
    x = b.conv(b.input("input", [batch, 3, size, size]), 16, 3, stride=2, act="HardSwish")
    for kernel, inner, width, squeeze, act, stride in _V3_SMALL:
        y = b.conv(x, inner, 1, act=act) if inner != b.channels[x] else x
        y = b.conv(y, inner, kernel, stride=stride, groups=inner, act=act)
        if squeeze:
            scale = b.conv(str(b.op("GlobalAveragePool", y)), squeeze, 1)
            y = str(b.op("Mul", y, b.conv(scale, inner, 1, act="HardSigmoid")))
        y = b.conv(y, width, 1, act=None)
        x = str(b.op("Add", x, y)) if stride == 1 and b.channels[x] == width else y
    x = b.conv(x, 576, 1, act="HardSwish")
    pooled = str(b.op("Flatten", b.op("GlobalAveragePool", x), axis=1))
    b.output(b.dense(b.dense(pooled, 576, 1024, "HardSwish"), 1024, 1000), "logits", [batch, 1000])
    return b.model()
