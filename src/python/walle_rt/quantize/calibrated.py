"""Static quantisation: scales of activations measured beforehand, on inputs for calibration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from onnx import ModelProto, NodeProto

from .choose import OPERATORS, PRODUCTS, Plan, choose
from .constants import fold_constants
from .fold import fold
from .graph import Graph, prepared
from .inputs import Inputs
from .observe import Advance, histograms
from .pairs import Written, write_pairs
from .ranges import Range, range_of
from .report import LayerReport
from .settings import left_out


@dataclass(frozen=True)
class StaticSettings:
    """How to quantise."""

    method: str
    percentile: float
    activations: str
    per_channel: bool
    operators: tuple[str, ...] = OPERATORS


@dataclass
class StaticModel:
    """A float model prepared, with what calibration found: any part of it can be quantised."""

    float_: ModelProto  # with what stands behind convolutions folded into them
    settings: StaticSettings
    kept: dict[str, str]
    ranges: dict[str, Range]

    @classmethod
    def calibrated(
        cls,
        model: ModelProto,
        settings: StaticSettings,
        leave: Iterable[str],
        inputs: Inputs,
        advance: Advance,
    ) -> StaticModel:
        """Prepare and calibrate."""
        graph = prepared(model)
        fold_constants(graph)
        fold(graph)
        kept = left_out(graph, leave)
        plan = choose(graph, settings.operators, kept)
        float_ = graph.finish()
        seen = histograms(float_, plan.calibrated, inputs, advance)
        chosen = {
            name: range_of(found, settings.method, settings.percentile, settings.activations)
            for name, found in seen.items()
        }
        # By every coded value: one that has another's scale here may need its own where less is quantised.
        return cls(float_, settings, kept, {name: chosen[of] for name, of in plan.coded.items()})

    def quantised(self, also_kept: Mapping[str, str] | None = None) -> tuple[ModelProto, list[LayerReport]]:
        """The quantised model, but for what was left out and for ``also_kept`` (node -> why)."""
        copy = ModelProto()
        copy.CopyFrom(self.float_)
        graph = Graph(copy)
        plan = choose(graph, self.settings.operators, {**self.kept, **(also_kept or {})})
        layers = [node for node in graph.nodes if node.op_type in PRODUCTS]
        results = {node.name: _result(graph, node, plan) for node in layers}
        written = write_pairs(graph, plan, self.ranges, self.settings.activations, self.settings.per_channel)
        return graph.finish(), [_layer(node, results[node.name], plan, written) for node in layers]


def _result(graph: Graph, node: NodeProto, plan: Plan) -> str:
    """The value to compare: what a layer's own activation or bias makes of it where that has the codes."""
    name = str(node.output[0])
    taken = {id(n) for n in plan.nodes}
    while name not in plan.coded:
        reader = graph.only_reader(name)
        if id(node) not in taken or reader is None or id(reader) not in taken:
            break
        name = str(reader.output[0])
    return name


def _layer(node: NodeProto, value: str, plan: Plan, written: Written) -> LayerReport:
    reason = plan.kept.get(node.name, "")
    form = "float32" if reason else "int8"
    return LayerReport(node.name, node.op_type, value, form, reason, written.weights_db.get(node.name))


def as_settings(settings: StaticSettings) -> dict[str, Any]:
    """For the report."""
    found = {"mode": "static", **vars(settings)}
    found.pop("operators")
    return found
