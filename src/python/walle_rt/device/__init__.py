"""The task runtime: record events, and the tasks they trigger run and leave results.

    with Device("device/") as device:
        device.install("tasks/cart")
        device.record("click", page="cart")
        device.wait()
        for row in device.results("cart"):
            print(row)

A device is one folder. Everything that a firing leaves - result rows, features that wait to leave the device,
and that it is done - becomes durable in one step, so that after a crash nothing is lost and nothing is there
twice.
"""

from ..table import ColumnType, Rows
from ._cloud import CloudState, CloudStep, CloudTask, TakenBack, Transport
from ._device import Device
from ._info import (
    DeviceStats,
    FeatureInfo,
    Loss,
    OutboxRecord,
    OutboxStream,
    TaskFailure,
    TaskInfo,
    TaskResult,
    TriggerInfo,
)
from ._results import Results
from ._tunnel import Answer, TunnelStats
from ._watch import Watch

__all__ = [
    "Answer",
    "CloudState",
    "CloudStep",
    "CloudTask",
    "ColumnType",
    "Device",
    "DeviceStats",
    "FeatureInfo",
    "Loss",
    "OutboxRecord",
    "OutboxStream",
    "Results",
    "Rows",
    "TakenBack",
    "TaskFailure",
    "TaskInfo",
    "TaskResult",
    "Transport",
    "TriggerInfo",
    "TunnelStats",
    "Watch",
]
