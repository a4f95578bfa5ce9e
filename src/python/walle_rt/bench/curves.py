"""How time grows with the input: one model at several sizes, ours and the best peer's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .compare import Comparison

# Model -> sizes: pixels of a side, tokens, or frames.
CURVES: dict[str, tuple[int, ...]] = {
    "resnet18": (96, 160, 224, 320, 448),
    "mobilenet_v2": (96, 160, 224, 320, 448),
    "efficientnet_b0": (96, 160, 224, 320),
    "segmenter": (64, 128, 256, 512),
    "bert_base_128": (16, 64, 128, 256, 512),
    "minilm": (16, 64, 128, 256, 512),
    "gru_speech": (10, 50, 100, 400),
}
QUICK = ("mobilenet_v2", "minilm")
PEERS = ("onnxruntime", "openvino")  # those that take every one of these models


@dataclass
class Point:
    """One size of one model."""

    model: str
    size: int
    found: Comparison

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**self.found.as_dict(), "variant": self.found.model, "model": self.model, "size": self.size}


def growth(sizes: Sequence[int], times: Sequence[float]) -> list[float]:
    """Between neighbouring points, the power of the size that time grows with: 1 is linear, 2 square."""
    return [
        math.log(times[i + 1] / times[i]) / math.log(sizes[i + 1] / sizes[i]) for i in range(len(sizes) - 1)
    ]
