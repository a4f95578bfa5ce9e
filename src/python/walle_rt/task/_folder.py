"""A task's folder: read, checked as a whole, compiled into a bundle."""

from __future__ import annotations

import contextlib
import hashlib
import os
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from .. import _core
from ..errors import ArgumentError, Error, ResourceError, TaskError
from ..file_kinds import WALLE_MAGIC
from ..loading import load
from ..vm import VM, TaskBundle
from ..vm.library import host_calls
from ..vm.sources import Sources
from ._code import check_code
from ._graphs import check_graphs
from ._mistakes import Mistake, of_compiler, one_of, raise_first
from ._package import FileKind, Package, PackageFile, PackedTask
from ._read import FILE, Reader, read_text
from ._spec import TaskSpec
from ._to_spec import spec_of

_PATTERNS = ("include", "exclude")

# What walle task test compares with; no part of the task.
EXPECTED = "expected.json"


class Task:
    """A task's folder that is right: task.toml, Python files and what travels with them.

    Attributes:
        folder: where it lies.
        spec: what its task.toml says.
    """

    folder: Path
    spec: TaskSpec

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Read and check a folder.

        Raises:
            TaskError: the first mistake, with file, line and what was expected; ``check`` gives all.
            ResourceError: there is no such folder, or no task.toml in it.
        """
        found = _Check(Path(folder))
        raise_first(found.mistakes)
        self.folder, self.spec, self._sources = found.folder, found.spec, found.sources
        self._cloud = found.cloud

    @property
    def files(self) -> list[str]:
        """Names of the files that travel with it, Python files included; sorted."""
        return sorted([*(file for file, *_ in self._sources.modules.values()), *self._sources.resources])

    def compile(self, vm: VM | None = None, *, sources: bool = False) -> TaskBundle:
        """Compile it into a bundle, which a device installs.

        Args:
            vm: the library to compile with (default: the full flavour).
            sources: keep the Python text, so that tracebacks show lines wherever it runs.

        Raises:
            TaskError: the VM's Python is not the one that task.toml asks for, or a syntax error.
            ArgumentError: a module is named like one of the library.
            BackendError: the VM library is missing.
        """
        vm = self._checked(vm or VM())
        return TaskBundle._compile(self._sources, vm, keep=sources, manifest=self.spec.to_manifest())

    def pack(self, scenario: str, vm: VM | None = None) -> PackedTask:
        """Compile it into a package, which is published: a manifest, and files by their SHA-256.

        The same folder gives the same bytes on every machine and day. The Python text stays behind.

        Args:
            scenario: whose task it is: the repository that it is published in.
            vm: the library to compile with (default: the full flavour).

        Raises:
            TaskError: as compile(); a scenario's name that is none; more or larger files than a package may
                have.
            ArgumentError: a module is named like one of the library.
            BackendError: the VM library is missing.
        """
        vm = self._checked(vm or VM())
        code, _ = TaskBundle._bytecode(self._sources, vm)
        TaskBundle(code, vm)  # what a device would refuse is not published
        cloud = self._cloud_parts(vm)
        parts = [(_core.package.CODE, code, FileKind.CODE)]
        parts.append((_core.package.MANIFEST, self.spec.to_manifest(), FileKind.POLICY))
        parts += [(name, data, FileKind.RESOURCE) for name, data in self._sources.resources.items()]
        on_device = sum(len(data) for data in {data for _, data, _ in parts})
        parts += cloud
        # By the bytes of their names, as everything that reads a package has them.
        parts.sort(key=lambda part: part[0].encode())
        blobs = {hashlib.sha256(data).hexdigest(): data for _, data, _ in parts}
        files = [PackageFile(n, hashlib.sha256(d).hexdigest(), len(d), k) for n, d, k in parts]
        spec = self.spec
        has_model = any(data.startswith(WALLE_MAGIC) for _, data, kind in parts if kind is not FileKind.CLOUD)
        package = Package(
            scenario=scenario,
            task=spec.name,
            version=spec.version,
            vm=vm.id,
            op_set=_core.op_set() if has_model else "",
            ram_bytes=spec.heap_bytes + on_device,
            facts=sorted(spec.requires),
            capabilities=sorted(spec.host_calls),
            imports=sorted(spec.imports),
            files=files,
        )
        return PackedTask.of(package, blobs)

    def _cloud_parts(self, vm: VM) -> list[tuple[str, bytes, FileKind]]:
        """What the server alone gets: the code of its half, and files that task.toml keeps from devices."""
        if self.spec.cloud is None:
            return []
        code, _ = TaskBundle._bytecode(Sources({**self._sources.modules, **self._cloud.modules}), vm)
        TaskBundle(code, vm)
        files = [(name, data, FileKind.CLOUD) for name, data in self._cloud.resources.items()]
        return [(_core.package.CLOUD_CODE, code, FileKind.CLOUD), *files]

    def cloud_bundle(self, vm: VM | None = None) -> TaskBundle:
        """The server's half as it runs there, with every file: to try it before it is published.

        Raises:
            ArgumentError: the task has none.
            TaskError: a syntax error.
            BackendError: the VM library is missing.
        """
        if self.spec.cloud is None:
            raise ArgumentError.of(
                f"task '{self.spec.name}'", "one with [cloud]", "Task.cloud_bundle", "add it to task.toml"
            )
        modules = {**self._sources.modules, **self._cloud.modules}
        return TaskBundle._compile(
            Sources(modules, {**self._sources.resources, **self._cloud.resources}), vm, keep=True
        )

    def _checked(self, vm: VM) -> VM:
        wanted = self.spec.vm
        if wanted and not f"{vm.python}.".startswith(f"{wanted}."):
            raise TaskError.of(
                f"a task for Python {wanted} and a VM of Python {vm.python}",
                "the VM that the task was written for",
                f"{self.folder / FILE}, task.vm",
                "check that the task runs there, and change vm",
            )
        return vm


def check(folder: str | os.PathLike[str]) -> list[Mistake]:
    """Everything that is wrong with a task's folder, and what is surely not meant; empty where all is well.

    Raises:
        ResourceError: there is no such folder, or no task.toml in it.
    """
    return _Check(Path(folder)).mistakes


class _Check:
    """One look at a folder. ``spec``, ``sources`` and what ``cloud`` has beside them, for the server alone,
    are whole where there is no mistake.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sources = Sources()
        self.cloud = Sources()
        self.spec = TaskSpec("", "")
        text, self.mistakes = read_text(_bytes_of(folder / FILE))
        if self.mistakes:
            return
        self._reader = Reader(text)
        self.mistakes = self._reader.mistakes
        if not self._reader.values:
            return
        self.spec = spec_of(self._reader)
        self._read_files(self._reader.values["resources"])
        library = VM().library if VM.available() else []
        self.spec = check_code(self._reader, self.spec, self.sources, self.cloud, library, host_calls())
        self._compile()
        self._check_model()
        check_graphs(self._reader, self.spec, self.sources.resources)
        if not any(m.error for m in self.mistakes):
            self._check_whole()
        self.mistakes.sort(key=lambda m: (m.file != FILE, m.file, m.line))

    def _read_files(self, patterns: dict[str, Any]) -> None:
        names: list[str] = []
        included, excluded = (patterns[key] for key in _PATTERNS)

        def leave_out(name: str) -> bool:
            names.append(name)
            wanted = name.endswith(".py") or _any(name, included)
            return name in (FILE, EXPECTED) or not wanted or _any(name, excluded)

        try:
            self.sources = Sources.below(self.folder, leave_out)
        except UnicodeDecodeError as error:
            # The file is the last that was asked for.
            self.mistakes.append(
                Mistake(
                    names[-1], 0, f"bytes that are no UTF-8 ({error.reason})", "UTF-8", "save it as UTF-8"
                )
            )
        for key in _PATTERNS:
            for pattern in patterns[key]:
                if pattern != "*" and not any(fnmatchcase(name, pattern) for name in names):
                    hint = one_of(pattern, names, "correct the pattern, or remove it")
                    given = f"resources.{key} '{pattern}', which no file matches"
                    expected, harmful = "patterns of files that are there", key == "include"
                    self._reader.wrong(("resources", key), given, expected, hint, error=harmful)

        self._split()

    def _split(self) -> None:
        """Take what the server alone gets out of what devices get."""
        half = self.spec.cloud
        if half is None:
            return
        if half.module in self.sources.modules:
            self.cloud.modules[half.module] = self.sources.modules.pop(half.module)
        for pattern in self._reader.values["cloud"]["resources"]:
            found = [name for name in self.sources.resources if fnmatchcase(name, pattern)]
            if not found:
                hint = one_of(pattern, self.sources.resources, "correct the pattern, or remove it")
                given = f"cloud.resources '{pattern}', which no file matches"
                self._reader.wrong(("cloud", "resources"), given, "patterns of files that are there", hint)
            for name in found:
                self.cloud.resources[name] = self.sources.resources.pop(name)

    def _compile(self) -> None:
        """What the VM's compiler warns of; what it refuses is said by whoever compiles."""
        if not VM.available() or any(m.error and m.file != FILE for m in self.mistakes):
            return
        with contextlib.suppress(Error):
            _, warnings = TaskBundle._bytecode(Sources({**self.sources.modules, **self.cloud.modules}), VM())
            self.mistakes += [of_compiler(warning) for warning in warnings]

    def _check_model(self) -> None:
        name = self.spec.execute_model
        if not name:
            return
        where = ("entry", "execute")
        files = self.sources.resources
        if name not in files:
            known = ", ".join(sorted(files)) or "a .walle file in the folder"
            hint = one_of(name, files, "add the file, or write the name of a function")
            self._reader.wrong(where, f"the model '{name}', which is not there", known, hint)
            return
        try:
            load(str(self.folder / name))
        except Error as error:
            self._reader.wrong(where, f"the model '{name}': {error.given}", error.expected, error.next_step)
            return
        if not name.endswith(".walle"):
            hint = f"walle convert {name} -o {Path(name).stem}.walle"
            self._reader.wrong(where, f"the model '{name}'", "a .walle file: devices load no other", hint)

    def _check_whole(self) -> None:
        """What only the packed manifest shows: its size, and rules that this reader lacks."""
        try:
            _core.task.read_manifest(self.spec.to_manifest())
        except (TaskError, ArgumentError) as error:
            self.mistakes.append(Mistake(FILE, 0, error.given, error.expected, error.next_step))


def _any(name: str, patterns: list[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ResourceError.of(
            f"'{path}' ({error.strerror})",
            "a task's folder with a task.toml",
            "reading a task",
            "check the path, or make one: walle task init",
        ) from error
