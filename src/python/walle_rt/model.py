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
from .errors import ArgumentError, compose

Array = np.ndarray[Any, Any]
# A tensor is an array; a sequence a list of arrays; an empty optional None.
Value = Array | list[Array] | None

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


@dataclass(frozen=True)
class ExplainRow:
    """Where one operator runs, how, at what predicted cost, and what it was chosen over."""

    graph: str
    node: str
    op: str
    backend: str
    algorithm: str
    parameters: dict[str, int]
    predicted_ms: float
    losers: list[tuple[str, float]]


@dataclass(frozen=True)
class Explanation:
    """The plans a session has made so far; one exists after the first run with the shapes in question."""

    rows: list[ExplainRow]
    arena_bytes: int
    activation_bytes: int
    aliases: int
    predicted_ms: float
    program: str

    def __str__(self) -> str:
        """A table for people."""
        lines = [f"{'op':<22} {'backend':<8} {'algorithm':<34} {'predicted':>12}  node"]
        for r in self.rows:
            parameters = ",".join(f"{k}={v}" for k, v in r.parameters.items())
            algorithm = r.algorithm + (f"({parameters})" if parameters else "")
            lines.append(f"{r.op:<22} {r.backend:<8} {algorithm:<34} {r.predicted_ms * 1000:>9.1f} us  {r.node}")
        lines.append(
            f"{len(self.rows)} steps, {self.aliases} aliases (no copy), arena {self.arena_bytes} bytes for"
            f" {self.activation_bytes} bytes of activations, predicted {self.predicted_ms:.3f} ms"
        )
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**vars(self), "rows": [vars(r) for r in self.rows]}


def _argument_error(given: str, expected: str, where: str, next_step: str) -> ArgumentError:
    text = compose(given, expected, where, next_step)
    return ArgumentError(text, given=given, expected=expected, where=where, next_step=next_step)


def _as_dict(inputs: Any) -> dict[str, Any]:
    if not isinstance(inputs, Mapping):
        raise _argument_error(
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
            raise _argument_error(
                f"'{unknown[0]}'",
                f"inputs of signature '{name}': {', '.join(chosen.inputs)}",
                "run",
                "check the spelling",
            )
        wanted = list(chosen.outputs if outputs is None else outputs)
        for output in wanted:
            if output not in chosen.outputs:
                known = ", ".join(chosen.outputs)
                raise _argument_error(
                    f"'{output}'", f"outputs of signature '{name}': {known}", "run", "check the spelling"
                )
        results = self.run({chosen.inputs[k]: v for k, v in inputs.items()}, [chosen.outputs[o] for o in wanted])
        return {o: results[chosen.outputs[o]] for o in wanted}

    def run_async(self, inputs: Mapping[str, Any], outputs: Iterable[str] | None = None) -> Future[dict[str, Any]]:
        """Like ``run``, on a thread of the session; returns a Future. Do not change the arrays before it is done."""
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(1, thread_name_prefix="walle-session")
            return self._pool.submit(self.run, inputs, outputs)

    def explain(self) -> Explanation:
        """What runs where and why: one row per operator of every plan made so far."""
        found = self._native.explain()
        rows = [ExplainRow(**{**row, "parameters": dict(row["parameters"])}) for row in found.pop("rows")]
        return Explanation(rows=rows, **found)

    @contextmanager
    def profile(self, path: str | os.PathLike[str]) -> Iterator[None]:
        """Time every step of the runs inside the ``with`` block and write a trace for Perfetto or chrome://tracing."""
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
            Path(path).write_text(json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}))

    def __repr__(self) -> str:
        """Options and inputs."""
        return f"Session({', '.join(f'{k}={v!r}' for k, v in self._options.items())})"


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
            raise _argument_error(f"signature '{name}'", f"one of: {known}", "signature", "see model.signatures")
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

        backend: where to run; a missing one is an error. threads: at most this many, by default every processor this
        process may use. precision: of the arithmetic. The other switches turn stages of the planner off,
        for comparison.
        """
        count = available_processors() if threads is None else threads
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= 1024:
            raise _argument_error(
                f"threads={threads!r}", "an integer from 1 to 1024", "session", "pass threads=1 or leave it out"
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
        self._native.save(os.fspath(path))

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


def available_processors() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def load(source: Any) -> Model:
    """Load a model.

    source: path of a .walle file (weights stay mapped, not copied) or of an .onnx file (converted in memory, needs the
    extra ``convert``), the bytes of either, or an ``onnx.ModelProto``.
    Raises ModelError for damaged or unsupported models (naming every unsupported node), ResourceError for
    unreadable files.
    """
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if "\0" in path:
            raise _argument_error(f"path {path!r}", "a path without NUL characters", "load", "check the path")
        if Path(path).suffix == ".walle" or _core.file_looks_like_walle(path):
            return Model(_core.Model.create(_core.load_walle(path)))
    elif isinstance(source, bytes | bytearray | memoryview) and bytes(source[:8]) == _MAGIC:
        return Model(_core.Model.create(_core.parse_walle(bytes(source))))
    from .convert import convert

    data, _ = convert(source)
    return Model(_core.Model.create(data))
