"""Operator graphs of features against their policies: what could never leave is said early."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ..errors import ArgumentError, Error
from ..loading import load
from ..session import Session
from ..stream import Batch, Graph
from ..stream._egress import EgressGate
from ..stream._log import EventLog
from ._mistakes import one_of
from ._read import Reader
from ._spec import TaskSpec


def check_graphs(reader: Reader, spec: TaskSpec, resources: Mapping[str, bytes]) -> None:
    """Note graphs that are not there, damaged, or would send what the policy denies."""
    for feature, name in spec.graphs.items():
        where = ("egress", feature, "graph")
        if name not in resources:
            known = ", ".join(sorted(resources)) or "a file in the folder"
            reader.wrong(
                where, f"the graph '{name}', which is not there", known, one_of(name, resources, "add it")
            )
            continue
        try:
            _check(spec, feature, _graph(resources[name], resources))
        except Error as error:
            place = f" ({error.where})" if error.where else ""
            reader.wrong(where, f"the graph '{name}': {error.given}", error.expected + place, error.next_step)


def _graph(data: bytes, resources: Mapping[str, bytes]) -> Graph:
    """The graph with the models that it names, which are resources of the task."""
    models: dict[str, Session] = {}
    for name, content in resources.items():
        # Only what the graph names: a task may carry large models that it runs itself.
        if name.encode() in data and name.endswith(".walle"):
            models[name] = load(content).session(threads=1)
    return Graph.from_bytes(data, models=models)


def _check(spec: TaskSpec, feature: str, graph: Graph) -> None:
    """The error of the gate where no row of this graph could ever be sent."""
    try:
        catalog = spec.catalog()
    except ArgumentError:
        return  # said already, with its line
    with tempfile.TemporaryDirectory(prefix="walle-gate-") as scratch:
        # The labels that rows of a device's log have, as a log without rows gives them.
        with EventLog(Path(scratch) / "log", catalog) as log:
            labels = Batch.of_log(log, graph.fields).labels
        gate = EgressGate(Path(scratch) / "gate")
        policy = dataclasses.replace(spec.egress[feature], consent="", expires_ts=0)
        gate.allow(spec.name, policy)
        gate.check(spec.name, feature, graph.outputs(labels))
