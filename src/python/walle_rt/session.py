"""Sessions: a model made ready, run, explained and profiled."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from . import _core, maps, strings
from .errors import ArgumentError
from .explain import Explanation
from .trace import write_trace

if TYPE_CHECKING:
    from .model import Model


def _as_dict(inputs: Any) -> dict[str, Any]:
    if not isinstance(inputs, Mapping):
        raise ArgumentError.of(
            f"inputs of type {type(inputs).__name__}",
            "a dictionary {input name: array}",
            "run",
            "name the inputs",
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

        Args:
            inputs: name -> NumPy array, DLPack object or buffer of exactly the declared dtype and a fitting
                shape; C-contiguous memory is used without a copy. A sequence is a list of arrays, an empty
                optional None. bfloat16 and what has 8 bits or fewer may be arrays of ml_dtypes, or
                their bits as uint16 and uint8; strings are an array of str or of objects that are all str;
                what DictVectorizer reads is a dictionary, or a list of them.
            outputs: names of the results wanted; all of them by default.
            signature: take and return the public names of this signature instead.

        Returns:
            name -> array (list of arrays, None) of the declared dtype, in memory of its own; the types NumPy
                lacks as those of ml_dtypes where that is installed, as bits otherwise; what ZipMap
                makes as a list of dictionaries, one per row.

        Raises:
            ArgumentError: an input or output name is unknown, an input is missing, or a dtype, shape or kind
                does not fit; the message names it.
            ModelError: the model cannot be run with these shapes.
            ResourceError: memory is short.
        """
        if signature is not None:
            return self._run_signature(signature, inputs, outputs)
        if type(inputs) is not dict:
            inputs = _as_dict(inputs)
        if self._model._strings or self._model._maps:
            return self._run_translated(inputs, outputs)
        return self._native.run(inputs, outputs)

    def _run_translated(self, inputs: Mapping[str, Any], outputs: Iterable[str] | None) -> dict[str, Any]:
        names, keys = self._model._strings, self._model._maps
        feeds = {k: strings.encode(v, k) if k in names else v for k, v in inputs.items()}
        for k, dtype in self._model._map_inputs.items():
            if k in feeds:
                feeds[k] = maps.encode(feeds[k], keys[k], dtype, k)
        results = self._native.run(feeds, outputs)
        for k, v in results.items():
            if k in names:
                results[k] = strings.decode(v)
            elif k in keys:
                results[k] = maps.decode(v, keys[k])
        return results

    def _run_signature(
        self, name: str, inputs: Mapping[str, Any], outputs: Iterable[str] | None
    ) -> dict[str, Any]:
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
            raise ArgumentError.of(
                f"outputs={outputs!r}", "a list of output names", "run", "put the name into a list"
            )
        wanted = list(chosen.outputs if outputs is None else outputs)
        for output in wanted:
            if output not in chosen.outputs:
                known = ", ".join(chosen.outputs)
                raise ArgumentError.of(
                    f"'{output}'", f"outputs of signature '{name}': {known}", "run", "check the spelling"
                )
        results = self.run(
            {chosen.inputs[k]: v for k, v in inputs.items()}, [chosen.outputs[o] for o in wanted]
        )
        return {o: results[chosen.outputs[o]] for o in wanted}

    def run_async(
        self,
        inputs: Mapping[str, Any],
        outputs: Iterable[str] | None = None,
        *,
        signature: str | None = None,
    ) -> Future[dict[str, Any]]:
        """Like ``run``, on a thread of the session.

        Runs follow one another in the order of the calls. Do not change the arrays before the Future is done.

        Returns:
            A Future with what ``run`` returns or raises.
        """
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(1, thread_name_prefix="walle-session")
            return self._pool.submit(self.run, inputs, outputs, signature=signature)

    def explain(self) -> Explanation:
        """What runs where and why: one row per step of every plan so far, measured after ``profile``."""
        return Explanation.of(self._native.explain())

    @contextmanager
    def profile(self, path: str | os.PathLike[str] | None = None) -> Iterator[None]:
        """Time every step of the runs inside the ``with`` block; ``explain`` shows the means afterwards.

        Args:
            path: write a trace for Perfetto (ui.perfetto.dev) or chrome://tracing; times in us.

        Raises:
            ResourceError: the trace cannot be written.
        """
        self._native.start_profile()
        try:
            yield
        finally:
            steps = self._native.stop_profile()
            if path is not None:
                write_trace(Path(path), steps)

    def __repr__(self) -> str:
        """Options and inputs."""
        return f"Session({', '.join(f'{k}={v!r}' for k, v in self._options.items())})"
