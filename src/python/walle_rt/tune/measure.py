"""Every way to run a shape, with its work and its measured time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..explain import ExplainChoice
from ..loading import load
from ..made_up import made_up_inputs
from .draw import Shape

EVERYTHING = 64  # of Model.session(tune=): all choices, of operators with a single one too
CPU_VARIABLE = "WALLE_CPU"


@dataclass
class Measured:
    """A node of a shape: its choices, and of each the least time of all rounds in milliseconds."""

    family: str
    text: str
    choices: list[ExplainChoice]
    ms: list[float] = field(default_factory=list)  # 0: too slow to measure


@contextmanager
def instruction_set(isa: str) -> Iterator[None]:
    """Kernels of this instruction set for the sessions made within; "": of all that the machine has."""
    before = os.environ.pop(CPU_VARIABLE, None)
    if isa:
        os.environ[CPU_VARIABLE] = isa
    try:
        yield
    finally:
        os.environ.pop(CPU_VARIABLE, None)
        if before is not None:
            os.environ[CPU_VARIABLE] = before


def measure_shape(shape: Shape, threads: int = 1) -> list[Measured]:
    """Measure once; one entry per step of the plan that has features."""
    model = load(shape.model)
    # "fast": every candidate is measured, those that sessions must ask for included.
    session = model.session(
        threads=threads, accuracy="fast", precision=shape.precision, tune=EVERYTHING, plan_cache="off"
    )
    session.run(made_up_inputs(model, {}))
    return [
        Measured(shape.family, shape.text, row.choices, [c.measured_ms for c in row.choices])
        for row in session.explain().rows
        if row.choices
    ]


def _merge(best: list[Measured], again: list[Measured]) -> None:
    # Attention is one step or several, by what was measured in that round: other steps have nothing to add.
    steps = [[sorted(c.algorithm for c in m.choices) for m in round_] for round_ in (best, again)]
    if steps[0] != steps[1]:
        return
    for old, new in zip(best, again, strict=True):
        # The one taken comes first and may be another one this time.
        times = {c.algorithm: ms for c, ms in zip(new.choices, new.ms, strict=True)}
        old.ms = [
            min(ms, times[c.algorithm]) if ms and times[c.algorithm] else ms or times[c.algorithm]
            for c, ms in zip(old.choices, old.ms, strict=True)
        ]


def measure(
    all_shapes: Sequence[Shape],
    *,
    rounds: int = 3,
    threads: int = 1,
    advance: Callable[[str], None] = lambda _: None,
) -> list[Measured]:
    """All shapes, round after round, the least time of each.

    Rounds and not repeats: whatever else runs on a machine comes and goes within seconds, so a shape that was
    disturbed in one round is measured undisturbed in another.

    Args:
        all_shapes: what to measure.
        rounds: how often.
        threads: of the kernels.
        advance: told of every shape before it is measured, for progress.
    """
    best: list[list[Measured]] = []
    for number in range(rounds):
        for i, shape in enumerate(all_shapes):
            advance(f"{shape.family} {shape.text}")
            found = measure_shape(shape, threads)
            if number == 0:
                best.append(found)
            else:
                _merge(best[i], found)
    return [m for found in best for m in found]
