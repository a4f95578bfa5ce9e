"""Events on the device: a durable log, triggers over it, and features from it.

>>> from walle_rt.stream import Catalog, EventLog, Trigger, TriggerSet
"""

from __future__ import annotations

from ._egress import EgressGate, LedgerEntry, discrete_gaussian, laplace_sum, randomised_response, spend_epsilon
from ._events import Catalog, Event, EventKind, EventLog, FieldType, LogReport, Sensitivity
from ._graph import Batch, Graph, aggregate, as_of_join
from ._ipv import IPV_CODE, IPV_FLOATS, IpvEncoder, IpvFeature, ipv_network
from ._triggers import Finding, Firing, Step, Trigger, TriggerSet, catalog_of, event, explain, load_triggers

__all__ = [
    "IPV_CODE",
    "IPV_FLOATS",
    "Batch",
    "Catalog",
    "EgressGate",
    "Event",
    "EventKind",
    "EventLog",
    "FieldType",
    "Finding",
    "Firing",
    "Graph",
    "IpvEncoder",
    "IpvFeature",
    "LedgerEntry",
    "LogReport",
    "Sensitivity",
    "Step",
    "Trigger",
    "TriggerSet",
    "aggregate",
    "as_of_join",
    "catalog_of",
    "discrete_gaussian",
    "event",
    "explain",
    "ipv_network",
    "laplace_sum",
    "load_triggers",
    "randomised_response",
    "spend_epsilon",
]
