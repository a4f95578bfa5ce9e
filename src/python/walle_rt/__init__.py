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

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "BackendError",
    "Error",
    "InternalError",
    "ModelError",
    "NetworkError",
    "ResourceError",
    "TaskError",
    "__version__",
]
