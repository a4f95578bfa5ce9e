"""Operator graphs of features against their policies: what could never leave is said early."""

from __future__ import annotations

from collections.abc import Mapping

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
