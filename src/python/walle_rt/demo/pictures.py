"""Reading pictures into tensors, boxes back onto pictures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from ..bench.builder import Array


@dataclass(frozen=True)
class Box:
    """A detection: corners in pixels of the picture, score, label."""

    left: float
    top: float
    right: float
    bottom: float
    score: float
    label: str

    @classmethod
    def at(cls, corners: Array, score: float, label: str) -> Box:
        """From an array of the four corners."""
        left, top, right, bottom = (float(v) for v in corners)
        return cls(left, top, right, bottom, score, label)


def read(path: Path) -> Image.Image:
    """A picture as RGB."""
    return Image.open(path).convert("RGB")


def tensor(picture: Image.Image, width: int, height: int, *, bgr: bool = False) -> Array:
    """The picture scaled bilinearly, float32 [height, width, 3], values 0..255."""
    scaled = np.asarray(picture.resize((width, height), Image.Resampling.BILINEAR), np.float32)
    return np.ascontiguousarray(scaled[:, :, ::-1]) if bgr else scaled


def planes(pixels: Array) -> Array:
    """[height, width, channels] to [1, channels, height, width]."""
    return np.ascontiguousarray(pixels.transpose(2, 0, 1)[None])


def overlap(box: Array, others: Array) -> Array:
    """Intersection over union of one box [4] with many [n, 4]."""
    width = np.minimum(box[2], others[:, 2]) - np.maximum(box[0], others[:, 0])
    height = np.minimum(box[3], others[:, 3]) - np.maximum(box[1], others[:, 1])
    common = np.maximum(width, 0) * np.maximum(height, 0)
    areas = (others[:, 2] - others[:, 0]) * (others[:, 3] - others[:, 1])
    return np.asarray(common / (areas + (box[2] - box[0]) * (box[3] - box[1]) - common + 1e-9))


def suppress(boxes: Array, scores: Array, limit: float) -> list[int]:
    """Greedy non-maximum suppression: indices to keep, best first."""
    order = list(np.argsort(-scores))
    kept: list[int] = []
    while order:
        first = order.pop(0)
        kept.append(int(first))
        if order:
            order = [i for i, o in zip(order, overlap(boxes[first], boxes[order]), strict=True) if o <= limit]
    return kept


def draw(picture: Image.Image, boxes: list[Box], caption: str, target: Path) -> None:
    """Write a copy of the picture with boxes and a caption."""
    out = picture.copy()
    pen = ImageDraw.Draw(out)
    thick = max(2, out.width // 300)
    for box in boxes:
        pen.rectangle((box.left, box.top, box.right, box.bottom), outline=(0, 220, 60), width=thick)
        pen.text(
            (box.left + thick, max(0.0, box.top - 12)), f"{box.label} {box.score:.2f}", fill=(255, 230, 0)
        )
    pen.rectangle((0, 0, 8 + 7 * len(caption), 16), fill=(0, 0, 0))
    pen.text((4, 2), caption, fill=(255, 255, 255))
    target.parent.mkdir(parents=True, exist_ok=True)
    out.save(target)
