"""walle_rt: an on-device runtime for device-cloud collaborative machine learning."""

from __future__ import annotations

from .errors import (
    ArgumentError,
    BackendError,
    Error,
    InternalError,
    ModelError,
    NetworkError,
    ResourceError,
    TaskError,
)
from .explain import ExplainRow, Explanation
from .loading import load
from .model import Model
from .session import Session
from .values import Signature, ValueInfo

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "BackendError",
    "Error",
    "ExplainRow",
    "Explanation",
    "InternalError",
    "Model",
    "ModelError",
    "NetworkError",
    "ResourceError",
    "Session",
    "Signature",
    "TaskError",
    "ValueInfo",
    "__version__",
    "load",
]
