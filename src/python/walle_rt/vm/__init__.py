"""Isolated Python interpreters for tasks: each with its own lock, its own heap and its own limits.

    from walle_rt.vm import VM, Isolate, TaskBundle

    bundle = TaskBundle.compile("my_task")          # a folder with main.py
    with Isolate(limits=Limits(wall_ms=500)) as isolate:
        isolate.load(bundle)
        result = isolate.call("main", {"clicks": 3})

Importing this package loads nothing; the VM library is loaded when the first VM, Isolate, Pool or TaskBundle
is made. Arguments and results are None, bool, int (64 bit), float, str, bytes, lists, dicts with str keys,
and arrays: NumPy arrays and memoryviews become `walle.Tensor` inside the isolate and share their memory;
tensors that come back are NumPy arrays. Bytes of 64 KB and more are not copied either: the task sees a
read-only memoryview, and a memoryview of native memory that a task returns is a memoryview here.
"""

from __future__ import annotations

from .bundle import SourceWarning, TaskBundle
from .failure import Frame, LimitExceeded, TaskFailed
from .failure import raise_failure as _raise_failure  # noqa: F401 (the native module raises with it)
from .isolate import Isolate, IsolateStats
from .library import VM, library_path
from .limits import Limits

__all__ = [
    "VM",
    "Frame",
    "Isolate",
    "IsolateStats",
    "LimitExceeded",
    "Limits",
    "SourceWarning",
    "TaskBundle",
    "TaskFailed",
    "library_path",
]
