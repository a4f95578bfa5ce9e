"""Compares a converted model with another evaluator and finds the first differing operator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from .. import _core
from ..errors import ArgumentError
from ..made_up import made_up_inputs
from ..model import Model
from .agreement import difference, worst_gap
from .reference import Runner, reference_runner
from .source import convert

_PROBES = (
    16  # values looked at per round of the bisection: a thousand are narrowed down to one in three rounds
)


@dataclass(frozen=True)
class CheckResult:
    """Whether the results agree, and if not, where they part."""

    reference: str
    equal: bool
    worst: dict[str, float]  # output -> largest absolute difference divided by the output's range
    first_node: str | None = None
    first_value: str | None = None
    first_difference: str | None = None

    def text(self) -> str:
        """For people."""
        worst = ", ".join(f"{k}: {v:.2g}" for k, v in self.worst.items())
        if self.equal:
            return f"same results as {self.reference} (largest difference over range: {worst})"
        return (
            f"results differ from {self.reference} ({worst}); first at {self.first_node}, "
            f"value '{self.first_value}': {self.first_difference}"
        )

    def as_dict(self) -> dict[str, Any]:
        """For --json."""
        return dict(vars(self))


def check_model(
    path: Path | str, sizes: dict[str, int] | None = None, feeds: dict[str, Any] | None = None
) -> CheckResult:
    """Run the model here and in the reference on the same input (made up without ``feeds``) and compare."""
    model = onnx.load(str(path))
    return check_proto(model, sizes or {}, feeds)


def check_proto(
    model: onnx.ModelProto,
    sizes: dict[str, int],
    feeds: dict[str, Any] | None = None,
    runner: tuple[str, Runner] | None = None,
) -> CheckResult:
    """The same for a model in memory; ``runner`` replaces the reference."""
    name, run = runner or reference_runner()
    given = feeds if feeds is not None else made_up_inputs(_ours(model), sizes)
    try:
        want = run(model, given)
    except Exception as error:
        raise ArgumentError.of(
            f"{name} cannot run the model on this input: {' '.join(str(error).split())[:300]}",
            "an input the reference can run",
            "check",
            "give the sizes of free dimensions with --dim, or real input with --input",
        ) from error
    got = _ours(model).session(threads=1).run(given)
    worst = {o.name: worst_gap(got[o.name], want[o.name]) for o in model.graph.output}
    if all(difference(got[o.name], want[o.name]) is None for o in model.graph.output):
        return CheckResult(name, True, worst)
    node, value, difference_text = _bisect(model, given, run)
    return CheckResult(name, False, worst, node, value, difference_text)


def _ours(model: onnx.ModelProto) -> Model:
    data, _ = convert(model)
    return Model(_core.Model.create(data))


def _probed(model: onnx.ModelProto, names: list[str]) -> onnx.ModelProto:
    """The model with these values as its outputs."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    declared = {o.name: o for o in model.graph.output}
    del copy.graph.output[:]
    for value in names:
        copy.graph.output.append(declared.get(value) or onnx.ValueInfoProto(name=value))
    return copy


def _bisect(model: onnx.ModelProto, feeds: dict[str, Any], run: Runner) -> tuple[str, str, str]:
    """The first value, in the order of the nodes, that differs; narrowed down a few probes at a time."""
    values = [(n.name or n.op_type, o) for n in model.graph.node for o in n.output if o]
    low, high = 0, len(values)  # the first difference lies in values[low:high]
    found = ("graph", model.graph.output[0].name, "outputs differ although no single value does")
    while low < high:
        step = max(1, (high - low) // _PROBES)
        probes = [*range(low + step - 1, high - 1, step), high - 1]
        probed = _probed(model, [values[i][1] for i in probes])
        want, got = run(probed, feeds), _ours(probed).session(threads=1).run(feeds)
        for position, i in enumerate(probes):
            node, value = values[i]
            difference_text = difference(got[value], want[value])
            if difference_text is not None:
                found = (node, value, difference_text)
                low, high = (probes[position - 1] + 1 if position else low), i
                break
        else:
            return found
    return found
