"""Events on the device: a durable log, triggers over it, and features from it.

>>> from walle_rt.stream import Catalog, EventLog, Trigger, TriggerSet
"""

from __future__ import annotations

from ._aggregate import Aggregate, aggregate
from ._batch import Batch, as_of_join, unpack_batch
from ._catalog import Catalog, EventKind, FieldType, Sensitivity
from ._egress import (
    EgressGate,
    FeatureField,
    FeaturePolicy,
    FeatureType,
    LedgerEntry,
    LedgerReport,
)
from ._graph import Graph
from ._ipv import IPV_CODE, IPV_FLOATS, IpvEncoder, IpvFeature, ipv_feature, ipv_network
from ._log import Event, EventLog, LogReport, Loss, is_event_log
from ._privacy import (
    discrete_gaussian,
    gaussian_sum,
    laplace_sum,
    randomised_response,
    spend_epsilon,
    spent_epsilon,
)
from ._processor import Past, Processor, ProcessorReport, TaskFiring, TaskStats, WhenFull
from ._query import EventQuery
from ._steps import Step, all_of, counted, distinct, event, summed
from ._triggers import (
    Finding,
    Firing,
    KeyPrice,
    Trigger,
    TriggerSet,
    TriggerStats,
    catalog_of,
    explain,
    load_triggers,
)

__all__ = [
    "IPV_CODE",
    "IPV_FLOATS",
    "Aggregate",
    "Batch",
    "Catalog",
    "EgressGate",
    "Event",
    "EventKind",
    "EventLog",
    "EventQuery",
    "FeatureField",
    "FeaturePolicy",
    "FeatureType",
    "FieldType",
    "Finding",
    "Firing",
    "Graph",
    "IpvEncoder",
    "IpvFeature",
    "KeyPrice",
    "LedgerEntry",
    "LedgerReport",
    "LogReport",
    "Loss",
    "Past",
    "Processor",
    "ProcessorReport",
    "Sensitivity",
    "Step",
    "TaskFiring",
    "TaskStats",
    "Trigger",
    "TriggerSet",
    "TriggerStats",
    "WhenFull",
    "aggregate",
    "all_of",
    "as_of_join",
    "catalog_of",
    "counted",
    "discrete_gaussian",
    "distinct",
    "event",
    "explain",
    "gaussian_sum",
    "ipv_feature",
    "ipv_network",
    "is_event_log",
    "laplace_sum",
    "load_triggers",
    "randomised_response",
    "spend_epsilon",
    "spent_epsilon",
    "summed",
    "unpack_batch",
]
