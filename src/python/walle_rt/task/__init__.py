"""Tasks as folders: task.toml, Python files, resources; read, checked, compiled.

>>> from walle_rt.task import Task, check
"""

from __future__ import annotations

from ._folder import Task, check
from ._mistakes import Mistake
from ._package import FileKind, Package, PackageFile, PackedTask, read_package
from ._spec import EventDecl, PhaseLimits, ResultTable, TaskSpec

__all__ = [
    "EventDecl",
    "FileKind",
    "Mistake",
    "Package",
    "PackageFile",
    "PackedTask",
    "PhaseLimits",
    "ResultTable",
    "Task",
    "TaskSpec",
    "check",
    "read_package",
]
