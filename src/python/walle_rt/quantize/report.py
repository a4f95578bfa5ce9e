"""What a quantisation did to each layer and to the whole model, beside float32."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

_WIDE = 44  # letters of a layer's name in the text form


@dataclass(frozen=True)
class LayerReport:
    """One layer: a node with weights, or a product of two activations.

    ``weights_db`` is the signal to noise of its weights alone, ``snr_db`` that of its result in the quantised
    model beside the same value in float32: its own error and all that came before it. Both in decibels, ten
    times the logarithm of the ratio of powers: 20 dB are an error of 10 %, 40 dB of 1 %, of the root of the
    mean square. None where nothing was measured.
    """

    name: str
    op: str
    value: str  # the result that was compared
    form: str  # of its weights: "int8", "uint4 in blocks of 32", "float16", "float32"
    reason: str = ""  # why it stayed in float32
    weights_db: float | None = None
    snr_db: float | None = None
    alone_db: float | None = None  # of the model's results when this layer alone is quantised


@dataclass(frozen=True)
class OutputReport:
    """One result of the model: signal to noise in decibels, and the cosine between it and float32's."""

    name: str
    snr_db: float
    cosine: float


@dataclass(frozen=True)
class Report:
    """What a quantisation did.

    ``accuracy`` and ``float_accuracy`` are shares of right answers from 0 to 1, where labels were given.
    """

    settings: dict[str, Any]
    layers: list[LayerReport] = field(default_factory=list)
    outputs: list[OutputReport] = field(default_factory=list)
    float_bytes: int = 0
    bytes: int = 0
    compared: int = 0  # batches behind the comparison
    float_accuracy: float | None = None
    accuracy: float | None = None
    labelled: int = 0

    def as_dict(self) -> dict[str, Any]:
        """For JSON: infinities, which it lacks, become None."""
        found: dict[str, Any] = _finite(asdict(self))
        return found

    def text(self) -> str:
        """A table for people."""
        rows = [f"{'layer':<{_WIDE}} {'op':<12} {'weights':>9} {'result':>9}  form"]
        for layer in self.layers:
            name = layer.name if len(layer.name) <= _WIDE else "..." + layer.name[3 - _WIDE :]
            form = layer.form + (f" ({layer.reason})" if layer.reason else "")
            numbers = f"{_decibels(layer.weights_db)} {_decibels(layer.snr_db)}"
            rows.append(f"{name:<{_WIDE}} {layer.op:<12} {numbers}  {form}")
        for output in self.outputs:
            rows.append(f"output '{output.name}': {output.snr_db:.1f} dB, cosine {output.cosine:.5f}")
        rows.append(f"{self.float_bytes:,} -> {self.bytes:,} bytes ({self.bytes / self.float_bytes:.2f})")
        if self.accuracy is not None and self.float_accuracy is not None:
            drop = 100 * (self.float_accuracy - self.accuracy)
            rows.append(
                f"accuracy on {self.labelled} labelled inputs: {self.float_accuracy:.2%} in float32, "
                f"{self.accuracy:.2%} quantised ({drop:+.2f} points lost)"
            )
        return "\n".join(rows)

    def svg(self) -> str:
        """A picture: signal to noise, layer by layer."""
        from .picture import svg

        return svg(self)


def _decibels(value: float | None) -> str:
    return f"{'-':>9}" if value is None else f"{value:6.1f} dB"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
