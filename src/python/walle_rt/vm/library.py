"""The VM library: where it lies, what it is and what it brings."""

from __future__ import annotations

import os
from pathlib import Path

from .. import _core
from ..errors import ArgumentError


def library_path(flavour: str = "full") -> Path:
    """Where the VM library of a flavour ("full" or "device") is looked for.

    WALLE_VM_LIBRARY overrides it for both; otherwise it lies beside this file.
    """
    named = os.environ.get("WALLE_VM_LIBRARY")
    suffix = "dylib" if os.uname().sysname == "Darwin" else "so"
    return Path(named) if named else Path(__file__).with_name(f"libwalle_vm_{flavour}.{suffix}")


class VM:
    """One VM library, loaded once per process and path.

    Args:
        flavour: "full" (with a compiler) or "device" (runs precompiled bundles only).
        path: another library file; overrides `flavour`.

    Raises:
        ArgumentError: no such flavour.
        BackendError: the library is missing or of another version.
    """

    def __init__(self, flavour: str = "full", *, path: str | os.PathLike[str] | None = None) -> None:
        """Load the library, or take the one already loaded from this path."""
        if flavour not in ("full", "device"):
            raise ArgumentError.of(f"flavour '{flavour}'", '"full" or "device"', "VM", "pass one of them")
        self._native = _core.vm.Vm.open(str(path if path is not None else library_path(flavour)))

    @staticmethod
    def available(flavour: str = "full") -> bool:
        """Whether the library of `flavour` is there (it is not loaded)."""
        return library_path(flavour).is_file()

    @property
    def id(self) -> str:
        """The identity that bundles are compiled for."""
        return str(self._native.id)

    @property
    def flavour(self) -> str:
        """ "full" or "device"."""
        return str(self._native.flavour)

    @property
    def python(self) -> str:
        """The CPython version inside, for example "3.13.5"."""
        return str(self._native.python)

    @property
    def library(self) -> list[str]:
        """The modules a task may import."""
        return sorted(name for name in self._native.library if not name.startswith("_"))

    def __repr__(self) -> str:
        """Short description."""
        return f"VM({self.flavour!r}, python={self.python!r}, id={self.id!r})"


def host_calls() -> list[str]:
    """Every host call that this build lends to tasks, as "walle.kv.get"."""
    return sorted(_core.vm.host_calls())
