"""The item page view feature: one page's events as 332 floats (1,328 bytes) and as a code of 128 bytes.

``IpvEncoder`` is one dense layer computed beside the feature; ``ipv_network`` gives any stack of dense layers
as a model for the engine, which ``Graph.encode`` runs. Both sizes follow the Walle paper's example (OSDI
2022): a feature of about 1.3 KB and an encoding of 128 bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .. import _core
from ..errors import ArgumentError, compose
from ..model import Model
from ._log import EventLog

Floats = npt.NDArray[np.float32]
IPV_FLOATS = _core.stream.IPV_FLOATS  # of a feature
IPV_CODE = _core.stream.IPV_CODE  # of IpvEncoder's code


@dataclass(frozen=True)
class IpvFeature:
    """What a user did on one item page: ``feature`` float32 [332], ``code`` float32 [32],
    from ``events`` events.
    """

    feature: Floats
    code: Floats
    events: int


class IpvEncoder:
    """One dense layer with tanh: code = tanh(weights @ feature + bias)."""

    def __init__(self, weights: Floats, bias: Floats) -> None:
        """Take ``weights`` [32, 332] and ``bias`` [32], float32."""
        self.weights = np.ascontiguousarray(weights, np.float32)
        self.bias = np.ascontiguousarray(bias, np.float32)

    @classmethod
    def seeded(cls, seed: int = 0) -> IpvEncoder:
        """Fixed random weights: a projection that keeps distances, not a trained encoder."""
        rng = np.random.default_rng(seed)
        # Divided so that a sum over the feature stays of the size of one of its floats.
        weights = rng.standard_normal((IPV_CODE, IPV_FLOATS)) / np.sqrt(IPV_FLOATS)
        return cls(weights.astype(np.float32), np.zeros(IPV_CODE, np.float32))

    def __call__(self, log: EventLog, page_instance: int) -> IpvFeature:
        """Feature and code of a recorded page instance.

        Uses the fields depth (of page_scroll) and item (of exposure and click) where they are declared.
        """
        return IpvFeature(*_core.stream.ipv(log._core, page_instance, self.weights, self.bias))


def ipv_feature(log: EventLog, page_instance: int) -> Floats:
    """Feature of a recorded page instance, float32 [332]; zeros when the log has no such page."""
    feature: Floats = _core.stream.ipv_feature(log._core, page_instance)
    return feature


def ipv_network(layers: Sequence[tuple[Floats, Floats]]) -> Model:
    """Dense layers with tanh as a model: input "feature" float32 [N, width], output "code".

    ``layers``: weights [outputs, inputs] and bias [outputs] of each, first one first. ArgumentError when they
    do not fit together.
    """
    builder = _core.GraphBuilder("ipv_encoder")
    width = layers[0][0].shape[1] if layers else 0  # without layers the model hands its input through
    value = builder.input("feature", "tensor", "float32", ["N", width])
    for n, (weights, bias) in enumerate(layers):
        if weights.ndim != 2 or weights.shape[1] != width or bias.shape != weights.shape[:1]:
            given = f"weights {weights.shape} and bias {bias.shape} behind {width} values"
            raise ArgumentError(
                compose(given, f"[outputs, {width}] and [outputs]", f"layer {n}", "check the shapes")
            )
        width = weights.shape[0]
        w = builder.constant(f"w{n}", np.ascontiguousarray(weights.T, np.float32), "float32")
        b = builder.constant(f"b{n}", np.ascontiguousarray(bias, np.float32), "float32")
        product = builder.node("MatMul", f"product{n}", [value, w], [f"product{n}"], [])[0]
        total = builder.node("Add", f"total{n}", [product, b], [f"total{n}"], [])[0]
        last = n == len(layers) - 1
        value = builder.node("Tanh", f"tanh{n}", [total], ["code" if last else f"hidden{n}"], [])[0]
    builder.outputs([value])
    return Model(_core.Model.create(builder.finish([], {"made_by": "walle_rt.stream.ipv_network"})))
