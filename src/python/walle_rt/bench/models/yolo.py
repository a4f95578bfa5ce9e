"""A detector like YOLOv8n: backbone, two-way neck and a head without anchors, boxes decoded in the graph."""

from __future__ import annotations

import numpy as np
import onnx

from ..builder import Builder

CLASSES, BINS, STRIDES = 80, 16, (8, 16, 32)


def _join(b: Builder, *parts: str) -> str:
    y = str(b.op("Concat", *parts, axis=1))
    b.channels[y] = sum(b.channels[part] for part in parts)
    return y


def _block(b: Builder, x: str, width: int, count: int, residual: bool) -> str:
    """Half of the channels go through `count` pairs of 3x3 convolutions; all stages are joined."""
    half = width // 2
    both = b.conv(x, width, 1, act="Silu")
    parts = b.op("Split", both, b.constant([half, half], "int64"), outputs=2, axis=1)
    b.channels[parts[0]] = b.channels[parts[1]] = half
    for _ in range(count):
        y = b.conv(b.conv(parts[-1], half, 3, act="Silu"), half, 3, act="Silu", gain=0.7)
        if residual:
            y = str(b.op("Add", parts[-1], y))
        parts.append(y)
    return b.conv(_join(b, *parts), width, 1, act="Silu")


def _pyramid(b: Builder, x: str, width: int) -> str:
    """Three max pools of 5x5 behind one another, joined."""
    parts = [b.conv(x, width // 2, 1, act="Silu")]
    for _ in range(3):
        parts.append(b.max_pool(parts[-1], 5, 1, 2))
    return b.conv(_join(b, *parts), width, 1, act="Silu")


def _up(b: Builder, x: str) -> str:
    scales = b.constant([1.0, 1.0, 2.0, 2.0])
    return str(
        b.op("Resize", x, "", scales, mode="nearest", coordinate_transformation_mode="asymmetric",
             nearest_mode="floor")
    )  # fmt: skip


def _scale(b: Builder, x: str, batch: int, cells: int) -> tuple[str, str]:
    """Distances to the four sides, as distributions, and class scores of one level's cells."""
    found = []
    for inner, out in ((64, 4 * BINS), (CLASSES, CLASSES)):
        y = b.conv(b.conv(x, inner, 3, act="Silu"), inner, 3, act="Silu")
        y = b.conv(y, out, 1, act=None)
        found.append(str(b.op("Reshape", y, b.constant([batch, out, cells], "int64"))))
    return found[0], found[1]


def _decoded(b: Builder, sides: str, batch: int, size: int) -> str:
    """Boxes as centre and extent in pixels: the mean of each distribution, from the cell outwards."""
    grids = [np.stack(np.meshgrid(*[np.arange(size // s) + 0.5] * 2, indexing="xy")) for s in STRIDES]
    centres = np.concatenate([grid.reshape(1, 2, -1) for grid in grids], -1)
    strides = np.concatenate([np.full((1, 1, (size // s) ** 2), s) for s in STRIDES], -1)
    bins = b.op("Reshape", sides, b.constant([batch, 4, BINS, -1], "int64"))
    chance = b.op("Softmax", b.op("Transpose", bins, perm=[0, 2, 1, 3]), axis=1)
    b.channels[str(chance)] = BINS
    mean = b.op("Conv", chance, b.constant(np.arange(BINS).reshape(1, BINS, 1, 1)), kernel_shape=[1, 1])
    sides = b.op("Reshape", mean, b.constant([batch, 4, -1], "int64"))
    near, far = b.op("Split", sides, b.constant([2, 2], "int64"), outputs=2, axis=1)
    low, high = b.op("Sub", b.constant(centres), near), b.op("Add", b.constant(centres), far)
    middle = b.op("Div", b.op("Add", low, high), b.constant(2.0))
    box = b.op("Concat", middle, b.op("Sub", high, low), axis=1)
    return str(b.op("Mul", box, b.constant(strides)))


def yolo_n(batch: int = 1, size: int = 640) -> onnx.ModelProto:
    """Like YOLOv8n, 640x640 by default, 4.4 GMAC: [batch, 84, cells], boxes and class scores."""
    b = Builder("yolo_n", seed=80)
    if size % 32:
        raise ValueError(f"size {size} of yolo_n: expected a multiple of 32, for example 640")
    x = b.conv(b.input("input", [batch, 3, size, size]), 16, 3, stride=2, act="Silu")
    levels = []
    for width, count in [(32, 1), (64, 2), (128, 2), (256, 1)]:
        x = _block(b, b.conv(x, width, 3, stride=2, act="Silu"), width, count, residual=True)
        levels.append(x)
    deep = _pyramid(b, levels[3], 256)
    middle = _block(b, _join(b, _up(b, deep), levels[2]), 128, 1, residual=False)
    fine = _block(b, _join(b, _up(b, middle), levels[1]), 64, 1, residual=False)
    middle = _block(b, _join(b, b.conv(fine, 64, 3, stride=2, act="Silu"), middle), 128, 1, residual=False)
    deep = _block(b, _join(b, b.conv(middle, 128, 3, stride=2, act="Silu"), deep), 256, 1, residual=False)
    scales = [
        _scale(b, level, batch, (size // stride) ** 2)
        for level, stride in zip((fine, middle, deep), STRIDES, strict=True)
    ]
    sides = str(b.op("Concat", *[s for s, _ in scales], axis=2))
    scores = b.op("Sigmoid", b.op("Concat", *[c for _, c in scales], axis=2))
    cells = sum((size // s) ** 2 for s in STRIDES)
    found = b.op("Concat", _decoded(b, sides, batch, size), scores, axis=1)
    b.output(str(found), "found", [batch, 4 + CLASSES, cells])
    return b.model()
