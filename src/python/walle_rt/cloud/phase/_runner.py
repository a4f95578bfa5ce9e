"""Runner: the code of tasks for the server, each package that asks in an isolate of its own."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from ... import _core
from ...errors import Error, ResourceError, TaskError
from ...task import TaskSpec
from ...task._package import FileKind, Package, PackageFile
from ...task._question import question_of
from ...task._spec import CloudPhaseSpec
from ...vm import VM, Isolate, LimitExceeded, Limits, TaskBundle
from ._answers import Question
from ._worker import Worker

_HELD = 8  # isolates: each has a model, and tasks that ask at one time are few
_GRACE_S = 1.0  # beyond a question's wall-clock limit, within which the VM stops whatever can be stopped


class PackageShelf(Protocol):
    """Where packages that were published are found."""

    def manifest(self, digest: str) -> bytes:
        """The manifest, the server's files in it, of the package with this SHA-256.

        Raises:
            ResourceError: no such version was published.
        """

    def file(self, scenario: str, digest: str) -> Path:
        """The file of this scenario with this SHA-256; it is there, or reading it fails."""


def content_of(shelf: PackageShelf, package: Package, file: PackageFile) -> bytes:
    """A file of a package that was published.

    Raises:
        ResourceError: it is not there.
    """
    try:
        return shelf.file(package.scenario, file.sha256).read_bytes()
    except OSError as error:
        raise ResourceError.of(
            f"file '{file.name}' ({error.strerror})", "a file that was uploaded", package.path,
            "publish the version again",
        ) from error  # fmt: skip


class LoadedTask:
    """What the server runs of one package, loaded."""

    def __init__(self, shelf: PackageShelf, digest: str, log: Callable[[int, str], None]) -> None:
        """Load it.

        Raises:
            TaskError: it has no cloud half, or is for another VM.
            ResourceError: a package or a file that is not there.
        """
        package = Package.from_bytes(shelf.manifest(digest))
        parts: dict[str, bytes] = {}
        code = b""
        for file in package.files:
            data = content_of(shelf, package, file)
            if file.name == _core.package.CLOUD_CODE:
                code = data
            elif file.kind is not FileKind.CODE:
                parts[file.name] = data
        spec = TaskSpec.from_manifest(parts.pop(_core.package.MANIFEST))
        if spec.cloud is None or not code:
            raise TaskError.of(
                f"a question of {package.task} {package.version}, which has no [cloud]", "a task with one",
                "cloud phase", "look at who sends it",
            )  # fmt: skip
        self.cloud: CloudPhaseSpec = spec.cloud
        self.task, self.version = package.task, package.version
        table = spec.results.get(self.cloud.answers)
        self.columns = None if table is None else dict(table.columns)
        vm = VM()
        data = _core.vm.Bundle.pack(code, sorted(parts.items())) if parts else code
        limits = Limits(
            heap_bytes=self.cloud.heap_bytes,
            wall_ms=self.cloud.limits.wall_ms,
            cpu_ms=self.cloud.limits.cpu_ms,
            log_bytes=spec.log_bytes,
            imports=sorted({*spec.imports, "walle"}),
            host_calls=spec.host_calls,
        )
        self._isolate = Isolate(vm, limits=limits, log=log)
        self._isolate.load(TaskBundle(data, vm))

    def answer(self, question: Question) -> list[dict[str, Any]]:
        """Rows of the answer.

        Raises:
            TaskError: the code raised, exceeded a limit, or returned what is no row of its table.
        """
        if question.feature != self.cloud.question:
            raise TaskError.of(
                f"feature '{question.feature}'",
                f"'{self.cloud.question}'",
                "cloud phase",
                "look at who sends it",
            )
        given = question_of(self.task, self.version, question.seq, question.ts, question.data)
        return self._rows(self._isolate.call(self.cloud.function, given, module=self.cloud.module))

    def close(self) -> None:
        """Give the isolate up."""
        self._isolate.close()

    def _rows(self, value: Any) -> list[dict[str, Any]]:
        rows = [] if value is None else value if isinstance(value, list) else [value]
        for number, row in enumerate(rows, 1):
            wrong = next((name for name in row if not self._takes(name, row[name])), None) if isinstance(
                row, dict
            ) else type(row).__name__  # fmt: skip
            if wrong is not None:
                given = f"column '{wrong}'" if isinstance(row, dict) else f"a {wrong}"
                expected = "dicts of its columns: " + ", ".join(
                    f"{name} {kind}" for name, kind in (self.columns or {}).items()
                )
                raise TaskError.of(
                    given, expected, f"row {number} of the answer", "return what task.toml declares"
                )
        return rows

    def _takes(self, name: str, value: Any) -> bool:
        if self.columns is None:
            return value is None or isinstance(value, bool | int | float | str | bytes)
        if name not in self.columns:
            return False
        kinds: dict[str, tuple[type, ...]] = {
            "int": (int,), "float": (float, int), "bool": (bool,), "text": (str,), "bytes": (bytes,)
        }  # fmt: skip
        kind = self.columns[name]
        return value is None or (
            isinstance(value, kinds[kind]) and (kind == "bool") == isinstance(value, bool)
        )


class Runner:
    """Answers questions one after another; packages stay loaded. One caller.

    A package whose code could not be stopped is not run again: each such call holds a thread and an isolate
    for as long as it lasts.
    """

    def __init__(self, shelf: PackageShelf, log: Callable[[int, str], None]) -> None:
        """Nothing is loaded yet."""
        self._shelf, self._log = shelf, log
        self._loaded: OrderedDict[str, LoadedTask] = OrderedDict()
        self._worker = Worker("walle-cloud-code")
        self._stuck: set[str] = set()  # digests of packages

    def answer(self, question: Question) -> list[dict[str, Any]]:
        """Rows of the answer.

        Raises:
            Error: why there are none.
        """
        if question.package in self._stuck:
            raise _stuck(f"a package whose call did not end (task '{question.task}')")
        digest = question.package
        loaded = self._loaded.pop(digest, None) or LoadedTask(self._shelf, digest, self._log)
        try:
            if loaded.task != question.task:
                raise TaskError.of(
                    f"task '{question.task}'", f"'{loaded.task}'", "cloud phase", "look at who sends it"
                )
            patience_s = loaded.cloud.limits.wall_ms / 1000 + _GRACE_S
            rows = self._worker.run(lambda: loaded.answer(question), patience_s)
        except LimitExceeded:
            # It has not cleaned up behind itself: the next question gets a fresh one.
            loaded.close()
            raise
        except Error:
            self._hold(question.package, loaded)
            raise
        if rows is None:
            self._stuck.add(question.package)
            raise _stuck(f"a call of task '{question.task}' in native code that does not end")
        self._hold(question.package, loaded)
        return rows

    def close(self) -> None:
        """Give all isolates up."""
        self._worker.close()
        while self._loaded:
            self._loaded.popitem()[1].close()

    def _hold(self, package: str, loaded: LoadedTask) -> None:
        self._loaded[package] = loaded
        if len(self._loaded) > _HELD:
            self._loaded.popitem(last=False)[1].close()


def _stuck(given: str) -> TaskError:
    return TaskError.of(
        given,
        "one that ends within wall_ms",
        "cloud phase",
        "publish a version with less to compute; this one runs again when the server is started anew",
    )
