"""walle_rt: an on-device runtime for device-cloud collaborative machine learning."""

from __future__ import annotations

from .c_library import cmake_dir, include_dir, library_dir
from .errors import (
    ArgumentError,
    BackendError,
    CancelledError,
    DeadlineError,
    Error,
    InternalError,
    ModelError,
    NetworkError,
    ResourceError,
    TaskError,
)
from .explain import ExplainRow, Explanation
from .loading import load
from .log import set_log_level
from .model import Model
from .run_options import CancelToken
from .session import Session
from .session_memory import SessionMemory, trim
from .states import States
from .tracing import Trace, join_traces, trace
from .values import Signature, ValueInfo

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "BackendError",
    "CancelToken",
    "CancelledError",
    "DeadlineError",
    "Error",
    "ExplainRow",
    "Explanation",
    "InternalError",
    "Model",
    "ModelError",
    "NetworkError",
    "ResourceError",
    "Session",
    "SessionMemory",
    "Signature",
    "States",
    "TaskError",
    "Trace",
    "ValueInfo",
    "__version__",
    "cmake_dir",
    "include_dir",
    "join_traces",
    "library_dir",
    "load",
    "set_log_level",
    "trace",
    "trim",
]


def __dir__() -> list[str]:
    return sorted(__all__)
