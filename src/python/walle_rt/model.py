"""Models: what a file holds, verified, to make sessions of."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Never

from . import _core, maps, strings
from .errors import ArgumentError
from .html import model_html
from .options import check_count, check_text, thread_count
from .paths import path_text
from .session import Session
from .values import Signature, ValueInfo

# What other formats' files end in; who saves a model there will hand it to another program.
_OTHER_FORMATS = frozenset(
    f".{ending}"
    for ending in (
        *("onnx", "ort", "pb", "pbtxt", "tflite", "pt", "pth", "pt2"),
        *("safetensors", "gguf", "h5", "keras", "mlmodel", "mlpackage"),
    )
)


class Model:
    """A verified model; immutable, shared by any number of sessions and threads."""

    def __init__(self, native: _core.Model) -> None:
        """Use ``walle_rt.load`` instead."""
        if not isinstance(native, _core.Model):
            shown = repr(native) if isinstance(native, str | os.PathLike) else "..."
            raise ArgumentError.of(
                f"Model made of a value of type {type(native).__name__}",
                "walle_rt.load, which makes models",
                "Model",
                f"call walle_rt.load({shown})",
            )
        self._native = native
        self._strings = strings.names(native.metadata)
        self._maps = maps.keys(native.metadata)
        self._inputs = tuple(self._info(*v) for v in native.inputs)
        self._map_inputs = {v.name: v.dtype for v in self._inputs if v.kind == "maps"}
        self._outputs = tuple(self._info(*v) for v in native.outputs)
        self._signatures = {n: Signature(n, dict(i), dict(o)) for n, i, o in native.signatures}

    def _info(
        self, name: str, kind: str, dtype: str, shape: tuple[int | str | None, ...] | None
    ) -> ValueInfo:
        if name in self._strings:
            return ValueInfo(name, kind, "string", None if shape is None else shape[:-1])
        if name in self._maps:
            return ValueInfo(name, "maps", dtype, None)
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
    def overridable_inputs(self) -> tuple[ValueInfo, ...]:
        """Inputs with a value of their own, which a run may give another one.

        An ONNX model of IR version 4 or later has them where an initializer is listed as an input too. They
        are constants, folded and planned as such, until a run overrides them; the first such run plans anew.
        """
        return tuple(self._info(*v) for v in self._native.overridable)

    @property
    def states(self) -> tuple[ValueInfo, ...]:
        """Values that each session keeps for itself and every run updates; see ``with_states``."""
        return tuple(self._info(*v) for v in self._native.states)

    def with_states(self, states: Mapping[str, tuple[str, Any]]) -> Model:
        """The model in which some inputs are states: kept by the session, and updated by every run.

        Parameters in training, or the keys and values of a decoder, then stay where they are between runs.

        Args:
            states: input -> (result, value): the next run finds in the input what this one computed as the
                result, which is given no more; a session begins with the value.

        Raises:
            ArgumentError: a name is unknown, or a value does not fit its input.
            ModelError: the model cannot be prepared.
        """
        return Model(self._native.with_states([(i, o, value) for i, (o, value) in states.items()]))

    @property
    def signatures(self) -> dict[str, Signature]:
        """The named signatures."""
        return dict(self._signatures)

    def signature(self, name: str) -> Signature:
        """One signature by name; ArgumentError when there is none."""
        if name not in self._signatures:
            known = ", ".join(self._signatures) or "none"
            raise ArgumentError.of(
                f"signature '{name}'", f"one of: {known}", "signature", "see model.signatures"
            )
        return self._signatures[name]

    @property
    def metadata(self) -> dict[str, str]:
        """Free text that travels with the model: source, opset, producer, the exporter's own entries."""
        return self._native.metadata

    def session(
        self,
        *,
        backend: str = "cpu",
        threads: int | None = None,
        precision: str = "float32",
        accuracy: str = "normal",
        tune: int = 0,
        max_plans: int = 64,
        max_plan_bytes: int = 0,
        plan_cache: str | os.PathLike[str] = "",
        weights_cache: str | os.PathLike[str] = "",
        debug: str = "",
        **unknown: Never,
    ) -> Session:
        """Make the model ready to run.

        Args:
            backend: where to run, or several in order of preference ("opencl,cpu").
            threads: at most this many, from 1 to 1024; by default every processor this process may keep busy.
            precision: of products of float32. "float32"; "auto", which is the model's own, never lowering it;
                "bf16" lets matrix products and convolutions round their operands to bfloat16 (8 bits of
                mantissa, sums in float32) and, but for accuracy="strict", keep images so between layers,
                wherever the processor does that and it is predicted to be faster: `explain()` names them.
                "fp16" lets the same products be of float16 (11 bits, up to 65,504, chains of sums too).
            accuracy: of faster ways to a result, such as Winograd's for convolutions of 3 x 3: "strict" takes
                none of them, "normal" those whose rounding error against float64 is at most four times that
                of plain float32 sums, "fast" any.
            tune: of each operator, measure so many (0 to 64) of the choices predicted to be fastest and take
                the fastest; 64 measures everything. Costs a second or so per plan; decisions are kept.
            max_plans: plans kept of each graph, one per part of it and class of shapes (1 to 4096); the
                least recently used goes first.
            max_plan_bytes: what plans may take together, in bytes, the arena and what was made for single
                plans included; 0 for no bound. Again the least recently used go first; the newest stays,
                whatever it takes (docs/concepts/session-memory.md).
            plan_cache: folder of kept decisions, "off" for none; by default ``WALLE_PLAN_CACHE``, else the
                user's own for tuned sessions and none for others (docs/reference/formats/plan-cache.md).
            weights_cache: folder of packed weights that processes share, "off" for none; by default
                ``WALLE_WEIGHTS_CACHE``, else none (docs/reference/formats/weights-cache.md).
            debug: what to leave out of making a plan, for comparison: "search=off,fuse=off", or
                "placement=random:7" (docs/concepts/pipeline.md, "Comparing").

        Raises:
            BackendError: a backend is missing here.
            ArgumentError: another option is wrong.
            ModelError: the model cannot be prepared.
            ResourceError: memory is short.
        """
        if unknown:
            raise _no_option(next(iter(unknown)))
        options: dict[str, Any] = {
            "backend": check_text("backend", backend),
            "threads": thread_count(threads),
            "precision": check_text("precision", precision),
            "accuracy": check_text("accuracy", accuracy),
            "tune": check_count("tune", tune),
            "max_plans": check_count("max_plans", max_plans),
            "max_plan_bytes": check_count("max_plan_bytes", max_plan_bytes, bits=63),
            "plan_cache": path_text(plan_cache, "session") if plan_cache else "",
            "weights_cache": path_text(weights_cache, "session") if weights_cache else "",
            "debug": check_text("debug", debug),
        }
        native = self._native.session(**options)
        return Session(self, native, options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a .walle file; an existing one is replaced atomically and keeps its mode.

        A new file's mode is what the umask says. A symbolic link stays, the file behind it is replaced.
        Models that were loaded from the old file go on with the old bytes.

        Raises:
            ArgumentError: ``path`` is no path, or ends like a file of another format (.onnx, .pt ...).
            ResourceError: the file cannot be written, or the one that the weights lie in was written to.
        """
        text = path_text(path, "save")
        if Path(text).suffix.lower() in _OTHER_FORMATS:
            raise ArgumentError.of(
                f"the path '{text}'",
                "a .walle file, which is what save writes",
                "save",
                f"save it as '{Path(text).with_suffix('.walle')}'",
            )
        self._native.save(text)

    def to_bytes(self) -> bytes:
        """The bytes of a .walle file."""
        return self._native.serialize()

    def text(self) -> str:
        """The graph, one line per node."""
        return self._native.text()

    def __eq__(self, other: object) -> bool:
        """Whether both hold the same graph and weights; compares the bytes of both files."""
        if not isinstance(other, Model):
            return NotImplemented
        return self is other or (hash(self) == hash(other) and self.to_bytes() == other.to_bytes())

    def __hash__(self) -> int:
        """By inputs, outputs and operators."""
        return hash((self._inputs, self._outputs, tuple(self._native.ops)))

    def __copy__(self) -> Model:
        """The model itself: nothing can change it."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        """The model itself: nothing can change it."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as the bytes of a .walle file, weights included."""
        return _from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        """Counts, inputs and outputs."""
        inputs, outputs = "; ".join(map(str, self._inputs)), "; ".join(map(str, self._outputs))
        return f"Model({self._native.node_count} nodes, inputs: {inputs}, outputs: {outputs})"

    def _repr_html_(self) -> str:
        """For notebooks."""
        return model_html(self, self._native.ops)


def _from_bytes(data: bytes) -> Model:
    return Model(_core.Model.create(_core.parse_walle(data)))


def _no_option(name: str) -> ArgumentError:
    known = [*(Model.session.__kwdefaults__ or {})]
    near = difflib.get_close_matches(name, known, 1, 0.5)
    return ArgumentError.of(
        f"the option '{name}'",
        f"one of: {', '.join(known)}",
        "session",
        f"write {near[0]}=" if near else "leave it out",
    )
