"""What shapes are drawn with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

MOST_FLOPS = 3e8  # of one sample: some 5 ms on a core with wide vectors


@dataclass(frozen=True)
class Shape:
    """A model of one operator and what it is called in progress and results."""

    family: str
    text: str
    model: onnx.ModelProto
    precision: str = "float32"  # of its sessions


class Draw:
    """Sizes and kinds, the same for the same seed."""

    def __init__(self, seed: int, most_flops: float = MOST_FLOPS) -> None:
        """Of one generator: what is drawn depends on all that was before."""
        self.rng = np.random.default_rng(seed)
        self.most_flops = most_flops

    def size(self, low: int, high: int, multiple: int = 1) -> int:
        """Between ``low`` and ``high``, evenly by magnitude, often a multiple of what layers like."""
        value = math.exp(self.rng.uniform(math.log(low), math.log(high + 0.5)))
        step = multiple if self.rng.random() < 0.8 else 1
        return int(min(max(round(value / step) * step, low), high))

    def one_of(self, *values: Any) -> Any:
        """One of them, all as likely."""
        return values[int(self.rng.integers(len(values)))]
