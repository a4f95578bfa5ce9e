"""The sink: what devices send, verified, once each, in one table per schema of a feature.

A device's record is acknowledged when its rows are on the disk; a record that comes twice is stored once.
``Sink`` does it for the devices of a broker, ``SinkStore`` is the database alone, ``FeatureTables`` reads it.
"""

from ._mqtt import Endpoint
from ._retention import Limit, Maintenance, read_limits
from ._sink import QuestionHandler, Sink, SinkStats
from ._store import Limits, Message, SinkStore
from ._tables import FeatureTable, FeatureTables

__all__ = [
    "Endpoint",
    "FeatureTable",
    "FeatureTables",
    "Limit",
    "Limits",
    "Maintenance",
    "Message",
    "QuestionHandler",
    "Sink",
    "SinkStats",
    "SinkStore",
    "read_limits",
]
