"""ONNX -> walle_rt: every operator in its newest form, functions inlined, bodies closed.

One module per family of operators holds the rules for what changed between opsets, which ``rules`` finds;
they emit through ``emit`` what ``walk`` brings them in order.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import onnx

from ... import _core
from ...errors import Error, ResourceError
from ..report import Report, refuse
from . import (  # noqa: F401 - each tells its rules
    attention,
    classical,
    constants,
    control,
    elementwise,
    gradient,
    image,
    microsoft,
    movement,
    neural,
    optional,
    preview,
    reduce,
    text,
    trees,
    vectors,
    vocabulary,
)
from .external import DataFolder
from .scope import Scope
from .walk import Walk

__all__ = ["convert_model"]


def convert_model(
    model: onnx.ModelProto,
    folder: DataFolder | None,
    label: str,
    signatures: Sequence[tuple[str, list[tuple[str, str]], list[tuple[str, str]]]] = (),
) -> tuple[_core.ModelData, Report]:
    """Convert a parsed model; external data is looked for in ``folder`` only."""
    report = Report(label)
    walk = Walk(model, folder, report)
    newest = onnx.defs.onnx_opset_version()
    opset = walk.opsets[""]
    if opset > newest:
        raise refuse(
            f"opset {opset}",
            f"at most {newest}, which the installed package 'onnx' knows",
            label,
            "pip install -U onnx, or export the model with an older opset",
        )
    scope = Scope(walk.builder(model.graph.name or "main"), walk.types, opsets=walk.opsets)
    try:
        walk.graph(model.graph, scope)
    except Error:
        raise
    except MemoryError as error:
        raise ResourceError.of(
            "memory ran out", "enough free memory", label, "convert the model on a larger machine"
        ) from error
    except Exception as error:
        # Fields of a damaged or hand-made file that contradict each other in ways nobody foresaw.
        raise refuse(
            f"a model that cannot be followed ({type(error).__name__}: {error})",
            "consistent nodes, attributes and types",
            f"{label}, node '{walk.current}'",
            "check the model with onnx.checker; when that finds nothing, report it",
        ) from error
    report.raise_if_unsupported()
    metadata = {f"onnx.{p.key}": p.value for p in model.metadata_props}
    if walk.strings:
        metadata["strings"] = json.dumps(sorted(set(walk.strings)))
    if walk.named_maps:
        metadata["maps"] = json.dumps(walk.named_maps)
    metadata |= {
        "source.format": "onnx",
        "source.opset": ",".join(f"{d or 'ai.onnx'}:{v}" for d, v in sorted(walk.opsets.items())),
        "source.producer": " ".join(x for x in (model.producer_name, model.producer_version) if x),
    }
    return scope.builder.finish(list(signatures), {k: v for k, v in metadata.items() if v}), report
