"""The item page view feature: one page's events as 332 floats (1,328 bytes) and as a code of 128 bytes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .. import _core
from ._events import EventLog


@dataclass(frozen=True)
class IpvFeature:
    """What a user did on one item page: ``feature`` float32 [332], ``code`` float32 [32], from ``events`` events."""

    feature: npt.NDArray[np.float32]
    code: npt.NDArray[np.float32]
    events: int
    native_ns: float


class IpvEncoder:
    """One dense layer with tanh: code = tanh(weights @ feature + bias)."""

    def __init__(self, weights: npt.NDArray[np.float32], bias: npt.NDArray[np.float32]) -> None:
        """Take ``weights`` [32, 332] and ``bias`` [32], float32."""
        self.weights = np.ascontiguousarray(weights, np.float32)
        self.bias = np.ascontiguousarray(bias, np.float32)

    @classmethod
    def seeded(cls, seed: int = 0) -> IpvEncoder:
        """Fixed random weights: a projection that keeps distances, not a trained encoder."""
        rng = np.random.default_rng(seed)
        inputs, outputs = int(_core.stream.IPV_FLOATS), int(_core.stream.IPV_CODE)
        return cls(
            (rng.standard_normal((outputs, inputs)) / np.sqrt(inputs)).astype(np.float32), np.zeros(outputs, np.float32)
        )

    def __call__(self, log: EventLog, page_instance: int, *, repeat: int = 1) -> IpvFeature:
        """Feature and code of a recorded page instance; ``repeat`` times for measuring.

        Uses the fields depth (of page_scroll) and item (of exposure and click) where they are declared.
        """
        return IpvFeature(*_core.stream.ipv(log._core, page_instance, self.weights, self.bias, repeat))
