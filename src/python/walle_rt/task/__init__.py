"""Tasks as folders: task.toml, Python files, resources; read, checked, compiled.

>>> from walle_rt.task import Task, check
"""

from __future__ import annotations

from ._firing import Firing, MatchEvent
from ._folder import Task, check
from ._mistakes import Mistake
from ._spec import (
    AppSpec,
    CallSpec,
    EventDecl,
    ParamSpec,
    PhaseLimits,
    ResultTable,
    RetrySpec,
    RollingSpec,
    TaskSpec,
)

__all__ = [
    "AppSpec",
    "CallSpec",
    "EventDecl",
    "Firing",
    "MatchEvent",
    "Mistake",
    "ParamSpec",
    "PhaseLimits",
    "ResultTable",
    "RetrySpec",
    "RollingSpec",
    "Task",
    "TaskSpec",
    "check",
]
