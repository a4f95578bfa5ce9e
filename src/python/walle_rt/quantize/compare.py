"""The quantised model beside the float one, on the same inputs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from onnx import ModelProto

from ..errors import ArgumentError
from ..values import Array
from .codes import decibels
from .inputs import Inputs
from .observe import Advance, Exposed, loaded
from .report import OutputReport


@dataclass
class _Sums:
    """Of products over all inputs: enough for signal to noise and cosine without keeping a value."""

    signal: float = 0.0
    noise: float = 0.0
    other: float = 0.0
    both: float = 0.0

    def add(self, float_: Array, quantised: Array) -> None:
        a, b = (np.asarray(v, np.float64).ravel() for v in (float_, quantised))
        self.signal += float(a @ a)
        self.other += float(b @ b)
        self.both += float(a @ b)
        gap = a - b
        self.noise += float(gap @ gap)

    def output(self, name: str) -> OutputReport:
        lengths = (self.signal * self.other) ** 0.5
        cosine = self.both / lengths if lengths else float(self.signal == self.other)
        return OutputReport(name, decibels(self.signal, self.noise), cosine)


def side_by_side(
    float_: ModelProto, quantised: ModelProto, values: Iterable[str], inputs: Inputs, advance: Advance
) -> dict[str, OutputReport]:
    """Signal to noise and cosine of each value that both models have, float results of both only."""
    given = {value.name for value in float_.graph.input}
    names = [name for name in dict.fromkeys(values) if name not in given]
    left, right = Exposed(float_, names), Exposed(quantised, names)
    sums = {name: _Sums() for name in names}
    for number, feeds in enumerate(inputs):
        # Side by side, because the values of one run may take more than there should be of them in memory.
        for (name, value), (_, other) in zip(left.run(feeds), right.run(feeds), strict=True):
            if isinstance(value, np.ndarray) and value.dtype.kind == "f":
                sums[name].add(value, other)
        advance.step("comparing", number + 1, inputs.count)
    return {name: found.output(name) for name, found in sums.items() if found.signal or found.other}


def accuracy(model: ModelProto, inputs: Inputs, advance: Advance) -> tuple[float, int]:
    """The share of samples whose largest score is at their label, and how many there were.

    Scores are the model's first result, [samples, classes] or more axes of size one.
    """
    session = loaded(model).session()
    output = model.graph.output[0].name
    answers: list[int] = []
    for number, feeds in enumerate(inputs):
        scores = session.run(feeds, [output])[output]
        answers += [int(row.argmax()) for row in scores.reshape(scores.shape[0], -1)]
        advance.step("measuring accuracy", number + 1, inputs.count)
    labels = inputs.labels
    if labels is None or len(labels) < len(answers) or not answers:
        raise ArgumentError.of(
            f"{0 if labels is None else len(labels)} labels for {len(answers)} samples",
            "a label for each, in their order",
            inputs.where,
            "pass labels=, or an array 'labels' in the .npz file",
        )
    right = np.asarray(answers) == np.asarray(labels).ravel()[: len(answers)]
    return float(right.mean()), len(answers)
