"""Events on the device: a durable log, triggers over it, and features from it.

>>> from walle_rt.stream import Catalog, Graph, Trigger
"""

from __future__ import annotations

from ..table import ColumnType
from ._aggregate import Aggregate, aggregate
from ._batch import Batch, as_of_join, unpack_batch
from ._catalog import Catalog, EventKind, Sensitivity
from ._egress import FeatureField, FeaturePolicy
from ._graph import Graph
from ._steps import Step, all_of, counted, distinct, event, summed
from ._triggers import Finding, Trigger, explain, load_triggers

__all__ = [
    "Aggregate",
    "Batch",
    "Catalog",
    "ColumnType",
    "EventKind",
    "FeatureField",
    "FeaturePolicy",
    "Finding",
    "Graph",
    "Sensitivity",
    "Step",
    "Trigger",
    "aggregate",
    "all_of",
    "as_of_join",
    "counted",
    "distinct",
    "event",
    "explain",
    "load_triggers",
    "summed",
    "unpack_batch",
]
