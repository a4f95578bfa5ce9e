"""Which layers to leave in float32 so that a goal holds: measured one by one, then as few as do.

Each layer is quantised alone, all others in float32, and the model's results are compared with float32's. The
layers in the order of the noise that they make alone are left out, most sensitive first, as many as it takes;
how many is found by bisection, because each trial is a model to convert and run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from onnx import ModelProto

from ..errors import ArgumentError
from .compare import accuracy, side_by_side
from .inputs import Inputs
from .observe import Advance
from .report import LayerReport

_WHY = "sensitive: {:.1f} dB alone"


class Quantisable(Protocol):
    """A float model of which any part can be quantised."""

    @property
    def float_(self) -> ModelProto:
        """The model in float32."""
        ...

    def quantised(
        self, also_kept: Mapping[str, str] | None = None, /
    ) -> tuple[ModelProto, list[LayerReport]]:
        """The quantised model, but for what was left out and for ``also_kept`` (node -> why)."""
        ...


@dataclass
class Goal:
    """What must hold of the quantised model; nothing where both bounds are None."""

    decibels: float | None
    max_drop: float | None  # points of accuracy
    inputs: Inputs | None
    tests: Inputs | None
    _float_accuracy: float | None = None

    @property
    def asked(self) -> bool:
        """Whether there is a goal."""
        return self.decibels is not None or self.max_drop is not None

    def holds(self, float_: ModelProto, quantised: ModelProto, advance: Advance) -> bool:
        """Whether a model reaches it."""
        if self.inputs is None:
            raise ArgumentError.of(
                "a goal without inputs", "inputs to measure layers on", "quantize", "pass inputs="
            )
        if self.decibels is not None and worst(float_, quantised, self.inputs, advance) < self.decibels:
            return False
        if self.max_drop is None:
            return True
        if self.tests is None:
            raise ArgumentError.of(
                f"max_drop={self.max_drop} without test",
                "labelled inputs",
                "quantize",
                "pass test= and labels=",
            )
        if self._float_accuracy is None:
            self._float_accuracy = accuracy(float_, self.tests, advance)[0]
        return 100 * (self._float_accuracy - accuracy(quantised, self.tests, advance)[0]) <= self.max_drop


def worst(float_: ModelProto, quantised: ModelProto, inputs: Inputs, advance: Advance) -> float:
    """The least signal to noise of the model's results."""
    names = [value.name for value in float_.graph.output]
    found = side_by_side(float_, quantised, names, inputs, advance)
    return min((output.snr_db for output in found.values()), default=float("inf"))


def reach(made: Quantisable, goal: Goal, advance: Advance) -> tuple[ModelProto, list[LayerReport]]:
    """The model with as few layers in float32 as the goal takes.

    Raises:
        ArgumentError: not even one layer alone can be quantised within the goal.
    """
    whole = made.quantised()
    if not goal.asked or goal.holds(made.float_, whole[0], advance):
        return whole
    assert goal.inputs is not None
    alone = _alone(made, whole[1], goal.inputs, advance)
    order = sorted(alone, key=lambda name: alone[name])
    low, high = 1, len(order)  # so many left out do not surely fail, and surely do
    best: tuple[ModelProto, list[LayerReport]] | None = None
    while low <= high:
        count = (low + high) // 2
        tried = made.quantised({name: _WHY.format(alone[name]) for name in order[:count]})
        if count < len(order) and goal.holds(made.float_, tried[0], advance):
            best, high = tried, count - 1
        else:
            low = count + 1
    if best is None:
        wanted = f"{goal.decibels} dB" if goal.decibels is not None else f"{goal.max_drop} points"
        raise ArgumentError.of(
            f"a goal of {wanted}, which not even one quantised layer holds",
            f"a goal within reach; the least harmful layer alone gives {max(alone.values()):.1f} dB",
            "quantize",
            "lower the goal, or try another method",
        )
    model, layers = best
    return model, [replace(layer, alone_db=alone.get(layer.name)) for layer in layers]


def _alone(
    made: Quantisable, layers: list[LayerReport], inputs: Inputs, advance: Advance
) -> dict[str, float]:
    """Signal to noise of the worst result when one layer alone is quantised."""
    names = [layer.name for layer in layers if layer.form != "float32"]
    found = {}
    for number, name in enumerate(names):
        model, _ = made.quantised({other: "another layer is looked at" for other in names if other != name})
        found[name] = worst(made.float_, model, inputs, Advance())
        advance.step(f"quantised {name} alone", number + 1, len(names))
    return found
