"""Task bundles: compiled, checked, loaded and saved."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .. import _core
from ..errors import ArgumentError, ResourceError, TaskError
from .library import VM
from .sources import Sources

# As CPython writes a warning.
_WARNING = re.compile(r"(.*?):(\d+): SyntaxWarning: (.*)", re.DOTALL)

# Whether these bytes come from somebody the host trusts: compares a signature that lies beside them.
Verify = Callable[[bytes], bool]


@dataclass(frozen=True)
class SourceWarning:
    """What the compiler takes for a mistake and compiles all the same, as ``x is 5``.

    ``file`` is relative to the task's folder, ``line`` counts from 1.
    """

    file: str
    line: int
    text: str


class TaskBundle:
    """Compiled modules of one task and the files that travel with it: immutable, for one exact VM id.

    Attributes:
        vm: the library that opened it.
        warnings: what the compiler said of the sources; of a bundle that was opened nothing.
    """

    warnings: tuple[SourceWarning, ...] = ()

    def __init__(self, data: bytes, vm: VM | None = None, *, verify: Verify | None = None) -> None:
        """Check `data` and open it.

        Args:
            data: the bytes of a .wtask file.
            vm: the library to open it with (default: the full flavour).
            verify: called with the bytes before anything else looks at them; only True opens them. The
                structural checks keep damaged bytes from crashing the host, not hostile ones from being
                hostile: on a device, compare a signature here.

        Raises:
            TaskError: the bytes are damaged, truncated, for another VM, hold bytecode that no compiler
                emits, or `verify` refuses them.
            BackendError: without `vm`, when the VM library is missing.
        """
        given = bytes(data)
        _refuse_unverified(given, verify, "TaskBundle")
        self.vm = vm or VM()
        self._native = _core.vm.Bundle.open(self.vm._native, given)

    @classmethod
    def _adopt(cls, vm: VM, native: _core.vm.Bundle) -> TaskBundle:
        self = cls.__new__(cls)
        self.vm = vm
        self._native = native
        return self

    @staticmethod
    def compile(
        source_dir: str | os.PathLike[str], vm: VM | None = None, *, sources: bool = False
    ) -> TaskBundle:
        """Compile every .py file below `source_dir`; a folder with __init__.py is a package.

        Other files become resources: walle.engine.load opens those that are models, walle.engine.read the
        others. Hidden files and __pycache__ are left out.

        Args:
            source_dir: the task's folder.
            vm: the library to compile with.
            sources: keep the Python text in the bundle's bytes, so that tracebacks show lines wherever it is
                loaded. Without, they do in this process only.

        Raises:
            TaskError: a syntax error, with file and line.
            ArgumentError: the folder is missing or has no Python file, or a module is named like one of the
                library.
        """
        found = Sources.below(Path(source_dir))
        if not found.modules:
            raise ArgumentError.of(
                f"no .py file below '{source_dir}'",
                "a folder with at least main.py",
                "TaskBundle.compile",
                "check the path",
            )
        return TaskBundle._compile(found, vm, keep=sources)

    @staticmethod
    def from_source(
        modules: dict[str, str], vm: VM | None = None, *, resources: dict[str, bytes] | None = None
    ) -> TaskBundle:
        """Compile modules given as {name: source text}, with resources as {name: bytes}.

        Raises:
            TaskError: a syntax error, with file and line.
            ArgumentError: a module is named like one of the library, or as none can be named.
        """
        return TaskBundle._compile(Sources.of(modules, resources or {}), vm)

    @staticmethod
    def _compile(
        sources: Sources, vm: VM | None, *, keep: bool = False, manifest: bytes | None = None
    ) -> TaskBundle:
        vm = vm or VM()
        data, warnings = TaskBundle._bytecode(sources, vm)
        texts = {file: text for file, text, _ in sources.modules.values()}
        parts = dict(sources.resources)
        if manifest is not None:
            parts[_core.task.MANIFEST] = manifest
        if keep:
            parts |= {_core.vm.SOURCE_FOLDER + file: text.encode() for file, text in texts.items()}
        if parts:
            data = _core.vm.Bundle.pack(data, list(parts.items()))
        bundle = TaskBundle(data, vm)
        bundle._native.keep_sources(texts)
        bundle.warnings = warnings
        return bundle

    @staticmethod
    def _bytecode(sources: Sources, vm: VM) -> tuple[bytes, tuple[SourceWarning, ...]]:
        """The bytecode container alone, and what the compiler warned of."""
        for name, (file, *_) in sources.modules.items():
            if name in vm._native.library:
                raise ArgumentError.of(
                    f"'{file}', module {name}",
                    "names that the VM's own library does not use",
                    "TaskBundle.compile",
                    "rename it: the library's module would be imported instead",
                )
        code, log = vm._native.compile([(name, *rest) for name, rest in sources.modules.items()])
        found = [match for line in log if (match := _WARNING.fullmatch(line))]
        # Each once: the compiler writes the body of a `finally` twice.
        return code, tuple(dict.fromkeys(SourceWarning(m[1], int(m[2]), m[3]) for m in found))

    @staticmethod
    def load(
        path: str | os.PathLike[str], vm: VM | None = None, *, verify: Verify | None = None
    ) -> TaskBundle:
        """Open a .wtask file that save() wrote.

        Code and small resources are read into memory; resources of more than 1 MB in a file of more than
        1 MB are mapped, so that they cost no copy. Such a file must not be truncated or overwritten while
        the bundle lives: replace it by renaming another one to its name, as save() does.

        Args:
            path: the file.
            vm: the library to open it with (default: the full flavour).
            verify: as for TaskBundle; with it the file is read as a whole, and what was verified is what
                is opened.

        Raises:
            TaskError: the file is damaged, truncated, for another VM, holds bytecode that no compiler emits,
                or `verify` refuses it.
            ResourceError: the file cannot be read.
        """
        if verify is not None:
            try:
                data = Path(path).read_bytes()
            except OSError as error:
                raise ResourceError.of(
                    f"'{path}' ({error.strerror})", "a readable file", "TaskBundle.load", "check the path"
                ) from error
            return TaskBundle(data, vm, verify=verify)
        vm = vm or VM()
        return TaskBundle._adopt(vm, _core.vm.Bundle.load(vm._native, os.fspath(path)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the bundle; the file appears whole or not at all. OSError when it cannot be written."""
        target = Path(path)
        with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as part:
            part.write(self.data)
        Path(part.name).replace(target)

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        return self._native.data

    @property
    def resources(self) -> dict[str, int]:
        """Names and sizes in bytes of the files that travel with the code."""
        return self._native.resources

    @property
    def modules(self) -> list[str]:
        """Names of the modules inside."""
        return sorted(self._native.modules)


def _refuse_unverified(data: bytes, verify: Verify | None, where: str) -> None:
    if verify is None or verify(data) is True:
        return
    raise TaskError.of(
        f"a task bundle of {len(data)} bytes that verify() does not accept",
        "a bundle that is signed by somebody the host trusts",
        where,
        "fetch it again from its source, or sign it",
    )
