"""Models and sessions: load, look, run, explain, profile."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from . import _core, strings
from .errors import ArgumentError, ResourceError
from .explain import Explanation

Array = np.ndarray[Any, Any]
# A tensor is an array; a sequence a list of arrays; an empty optional None.
Value = Array | list[Array] | None

_MAX_THREADS = _core.limits()["max_threads"]
_MAGIC = b"WALLEMDL"  # the first bytes of a .walle file


@dataclass(frozen=True)
class ValueInfo:
    """What a model declares about one of its inputs or outputs."""

    name: str
    kind: str  # "tensor", "sequence" or "optional"
    dtype: str  # "string" or NumPy's name; bfloat16 travels as uint16, float8* as uint8; "undefined": not declared
    shape: tuple[int | str | None, ...] | None  # sizes, symbols, None; None when the rank is not declared

    def __str__(self) -> str:
        """Like ``float32[N, 3, 224, 224]``."""
        dims = (
            "[...]" if self.shape is None else "[" + ", ".join("?" if d is None else str(d) for d in self.shape) + "]"
        )
        text = f"{self.dtype}{dims}" if self.kind == "tensor" else f"{self.kind} of {self.dtype}"
        return f"{self.name}: {text}"


@dataclass(frozen=True)
class Signature:
    """A named way to call a model: public names for some of its inputs and outputs."""

    name: str
    inputs: dict[str, str]
    outputs: dict[str, str]


def _as_dict(inputs: Any) -> dict[str, Any]:
    if not isinstance(inputs, Mapping):
        raise ArgumentError.of(
            f"inputs of type {type(inputs).__name__}", "a dictionary {input name: array}", "run", "name the inputs"
        )
    return dict(inputs)


class Session:
    """A model made ready to run; made by ``Model.session``.

    Thread-safe: runs of one session follow one another, different sessions run at the same time.
    """

    def __init__(self, model: Model, native: _core.Session, options: dict[str, Any]) -> None:
        """Use ``Model.session`` instead."""
        self._model = model
        self._native = native
        self._options = options
        self._pool: ThreadPoolExecutor | None = None
        self._lock = Lock()

    @property
    def model(self) -> Model:
        """The model this session runs."""
        return self._model

    @property
    def options(self) -> dict[str, Any]:
        """The options it was made with: backend, threads, precision, ..."""
        return dict(self._options)

    def run(
        self,
        inputs: Mapping[str, Any],
        outputs: Iterable[str] | None = None,
        *,
        signature: str | None = None,
    ) -> dict[str, Any]:
        """Run once.

        inputs: name -> NumPy array, DLPack object or buffer of exactly the declared dtype and a fitting shape;
        C-contiguous memory is used without a copy. A sequence is a list of arrays, an empty optional None. bfloat16
        travels as uint16 bits, float8 as uint8 bits.
        outputs: names of the results wanted; all of them by default.
        signature: take and return the public names of this signature instead.

        Returns name -> array (list of arrays, None) in memory of its own. Raises ArgumentError naming what does not
        fit; ModelError when the model cannot be run with these shapes; ResourceError when memory is short.
        """
        if signature is not None:
            return self._run_signature(signature, inputs, outputs)
        if type(inputs) is not dict:
            inputs = _as_dict(inputs)
        if self._model._strings:
            return self._run_strings(inputs, outputs)
        return self._native.run(inputs, outputs)

    def _run_strings(self, inputs: Mapping[str, Any], outputs: Iterable[str] | None) -> dict[str, Any]:
        names = self._model._strings
        feeds = {k: strings.encode(v, k) if k in names else v for k, v in inputs.items()}
        results = self._native.run(feeds, outputs)
        return {k: strings.decode(v) if k in names else v for k, v in results.items()}

    def _run_signature(self, name: str, inputs: Mapping[str, Any], outputs: Iterable[str] | None) -> dict[str, Any]:
        chosen = self._model.signature(name)
        unknown = [k for k in inputs if k not in chosen.inputs]
        if unknown:
            raise ArgumentError.of(
                f"'{unknown[0]}'",
                f"inputs of signature '{name}': {', '.join(chosen.inputs)}",
                "run",
                "check the spelling",
            )
        if isinstance(outputs, str):
            raise ArgumentError.of(f"outputs={outputs!r}", "a list of output names", "run", "put the name into a list")
        wanted = list(chosen.outputs if outputs is None else outputs)
        for output in wanted:
            if output not in chosen.outputs:
                known = ", ".join(chosen.outputs)
                raise ArgumentError.of(
                    f"'{output}'", f"outputs of signature '{name}': {known}", "run", "check the spelling"
                )
        results = self.run({chosen.inputs[k]: v for k, v in inputs.items()}, [chosen.outputs[o] for o in wanted])
        return {o: results[chosen.outputs[o]] for o in wanted}

    def run_async(
        self,
        inputs: Mapping[str, Any],
        outputs: Iterable[str] | None = None,
        *,
        signature: str | None = None,
    ) -> Future[dict[str, Any]]:
        """Like ``run``, on a thread of the session; returns a Future with the results or the error.

        Runs follow one another in the order of the calls. Do not change the arrays before the Future is done.
        """
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(1, thread_name_prefix="walle-session")
            return self._pool.submit(self.run, inputs, outputs, signature=signature)

    def explain(self) -> Explanation:
        """What runs where and why: one row per operator of every plan made so far; measured times after ``profile``."""
        return Explanation.of(self._native.explain())

    @contextmanager
    def profile(self, path: str | os.PathLike[str] | None = None) -> Iterator[None]:
        """Time every step of the runs inside the ``with`` block; ``explain`` shows the means afterwards.

        path: write a trace for Perfetto (ui.perfetto.dev) or chrome://tracing there. ResourceError when that fails.
        """
        self._native.start_profile()
        try:
            yield
        finally:
            events = [
                {
                    "name": name,
                    "cat": op,
                    "ph": "X",
                    "ts": start,
                    "dur": duration,
                    "pid": 1,
                    "tid": 1,
                    "args": {"op": op, "backend": backend, "algorithm": algorithm},
                }
                for name, op, backend, algorithm, start, duration in self._native.stop_profile()
            ]
            if path is not None:
                _write_trace(Path(path), events)

    def __repr__(self) -> str:
        """Options and inputs."""
        return f"Session({', '.join(f'{k}={v!r}' for k, v in self._options.items())})"


def _write_trace(path: Path, events: list[dict[str, Any]]) -> None:
    head: list[dict[str, Any]] = [
        {"name": "process_name", "ph": "M", "pid": 1, "tid": 1, "args": {"name": "walle_rt"}},
        {"name": "thread_name", "ph": "M", "pid": 1, "tid": 1, "args": {"name": "steps of the plan"}},
    ]
    try:
        path.write_text(json.dumps({"traceEvents": head + events, "displayTimeUnit": "ms"}))
    except OSError as error:
        raise ResourceError.of(
            f"cannot write trace '{path}': {error.strerror or error}",
            "a writable path",
            "profile",
            "check the folder and its permissions",
        ) from error


class Model:
    """A verified model; immutable, shared by any number of sessions and threads."""

    def __init__(self, native: _core.Model) -> None:
        """Use ``walle_rt.load`` instead."""
        self._native = native
        self._strings = strings.names(native.metadata)
        self._inputs = tuple(self._info(*v) for v in native.inputs)
        self._outputs = tuple(self._info(*v) for v in native.outputs)
        self._signatures = {n: Signature(n, dict(i), dict(o)) for n, i, o in native.signatures}

    def _info(self, name: str, kind: str, dtype: str, shape: tuple[int | str | None, ...] | None) -> ValueInfo:
        if name in self._strings:
            return ValueInfo(name, kind, "string", None if shape is None else shape[:-1])
        return ValueInfo(name, kind, dtype, shape)

    @property
    def inputs(self) -> tuple[ValueInfo, ...]:
        """The declared inputs, in order."""
        return self._inputs

    @property
    def outputs(self) -> tuple[ValueInfo, ...]:
        """The declared outputs, in order."""
        return self._outputs

    @property
    def signatures(self) -> dict[str, Signature]:
        """The named signatures."""
        return dict(self._signatures)

    def signature(self, name: str) -> Signature:
        """One signature by name; ArgumentError when there is none."""
        if name not in self._signatures:
            known = ", ".join(self._signatures) or "none"
            raise ArgumentError.of(f"signature '{name}'", f"one of: {known}", "signature", "see model.signatures")
        return self._signatures[name]

    @property
    def metadata(self) -> dict[str, str]:
        """Free text that travels with the model: source format, opset, producer, the exporter's own entries."""
        return self._native.metadata

    def session(
        self,
        *,
        backend: str = "cpu",
        threads: int | None = None,
        precision: str = "float32",
        search: bool = True,
        merge: bool = True,
        fuse: bool = True,
        claim: bool = True,
        fold: bool = True,
    ) -> Session:
        """Make the model ready to run.

        backend: where to run, or several in order of preference ("opencl,cpu"). threads: at most this many, by default
        every processor this process may keep busy. precision: of the arithmetic; "float32". The other switches turn
        stages off, for comparison: search (choose algorithms by cost), merge (rasters), fuse (epilogues into kernels),
        claim (composites run whole), fold (constants computed once).

        Raises BackendError for a backend that is missing here, ArgumentError for every other wrong option.
        """
        for option, text in (("backend", backend), ("precision", precision)):
            if not isinstance(text, str):
                raise ArgumentError.of(f"{option}={text!r}", "a string", "session", f"leave {option} at its default")
        count = available_processors() if threads is None else threads
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= _MAX_THREADS:
            raise ArgumentError.of(
                f"threads={threads!r}",
                f"an integer from 1 to {_MAX_THREADS}",
                "session",
                "pass threads=1 or leave it out",
            )
        options = {
            "backend": backend,
            "threads": count,
            "precision": precision,
            "search": search,
            "merge": merge,
            "fuse": fuse,
            "claim": claim,
            "fold": fold,
        }
        native = self._native.session(backend, count, precision, search, merge, fuse, claim, fold)
        return Session(self, native, options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a .walle file; an existing one is replaced atomically. ResourceError when that fails."""
        self._native.save(_path_text(path, "save"))

    def to_bytes(self) -> bytes:
        """The bytes of a .walle file."""
        return self._native.serialize()

    def text(self) -> str:
        """The graph, one line per node."""
        return self._native.text()

    def __repr__(self) -> str:
        """Counts, inputs and outputs."""
        inputs, outputs = "; ".join(map(str, self._inputs)), "; ".join(map(str, self._outputs))
        return f"Model({self._native.node_count} nodes, inputs: {inputs}, outputs: {outputs})"


def _path_text(path: str | os.PathLike[str], where: str) -> str:
    if not isinstance(path, str | os.PathLike):
        raise ArgumentError.of(f"a path of type {type(path).__name__}", "a string or Path", where, "pass a path")
    text = os.fsdecode(path)
    if "\0" in text:
        raise ArgumentError.of(f"path {text!r}", "a path without NUL characters", where, "check the path")
    return text


def available_processors() -> int:
    """Processors this process may keep busy: its affinity mask, then the quota of its cgroup."""
    return _core.available_processors()


def load(source: Any) -> Model:
    """Load a model.

    source: path of a .walle file (weights stay mapped, not copied) or of an .onnx file (converted in memory, needs the
    extra ``convert``), the bytes of either, or an ``onnx.ModelProto``.
    Raises ModelError for damaged or unsupported models (naming every unsupported node), ResourceError for
    unreadable files.
    """
    if isinstance(source, str | os.PathLike):
        path = _path_text(source, "load")
        if Path(path).suffix == ".walle" or _core.file_looks_like_walle(path):
            return Model(_core.Model.create(_core.load_walle(path)))
    elif isinstance(source, bytes | bytearray | memoryview) and bytes(source[:8]) == _MAGIC:
        return Model(_core.Model.create(_core.parse_walle(bytes(source))))
    from .convert import convert

    data, _ = convert(source)
    return Model(_core.Model.create(data))
