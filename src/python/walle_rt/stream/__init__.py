"""Events on the device: a durable log, triggers over it, and features from it.

>>> from walle_rt.stream import Catalog, EventLog, Trigger, TriggerSet
"""

from __future__ import annotations

from ._egress import (
    EgressGate,
    FeatureField,
    FeaturePolicy,
    FeatureType,
    LedgerEntry,
    discrete_gaussian,
    gaussian_sum,
    laplace_sum,
    policy_bytes,
    randomised_response,
    signed_policy,
    spend_epsilon,
    spent_epsilon,
)
from ._events import Catalog, Event, EventKind, EventLog, FieldType, LogReport, Sensitivity
from ._graph import Aggregate, Batch, Graph, aggregate, as_of_join
from ._ipv import IPV_CODE, IPV_FLOATS, IpvEncoder, IpvFeature, ipv_feature, ipv_network
from ._triggers import Finding, Firing, Step, Trigger, TriggerSet, catalog_of, event, explain, load_triggers

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
    "FeatureField",
    "FeaturePolicy",
    "FeatureType",
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
    "gaussian_sum",
    "ipv_feature",
    "ipv_network",
    "laplace_sum",
    "load_triggers",
    "policy_bytes",
    "randomised_response",
    "signed_policy",
    "spend_epsilon",
    "spent_epsilon",
]
