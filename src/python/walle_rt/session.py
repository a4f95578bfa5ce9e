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
from .run_options import CancelToken, Out, RunOptions
from .session_memory import SessionMemory
from .session_shapes import shapes_of
from .states import States
from .tracing import write_trace

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
        self._states = States(native, tuple(s.name for s in model.states))
        self._translated = bool(model._strings or model._maps)
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

    @property
    def states(self) -> States:
        """What this session keeps from run to run; empty for a model without states.

        A run reads the contents it began with, and leaves others only when it succeeds.
        """
        return self._states

    def run(
        self,
        inputs: Mapping[str, Any],
        outputs: Iterable[str] | None = None,
        *,
        signature: str | None = None,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
        out: Out | None = None,
    ) -> dict[str, Any]:
        """Run once.

        A run on Python's main thread can be interrupted: Ctrl-C raises KeyboardInterrupt from it. It is
        looked at, like the deadline and the token, between the steps of the plan, before every round of a
        loop and while the run waits for the session; the step under way is finished first. The session can
        be used as before.

        Args:
            inputs: name -> NumPy array, DLPack object or buffer of exactly the declared dtype and a fitting
                shape; C-contiguous memory is used without a copy. Numbers and nested lists of them take the
                declared dtype, where none is lost. A sequence is a list of arrays, an empty
                optional None; those of ``model.overridable_inputs`` may be left out. bfloat16 and what has
                8 bits or fewer may be arrays of ml_dtypes, or their bits as uint16 and uint8; strings are an
                array of str or of objects that are all str; what DictVectorizer reads is a dictionary, or a
                list of them.
            outputs: names of the results wanted; all of them by default.
            signature: take and return the public names of this signature instead.
            timeout: seconds from the call on, waiting for other runs of the session included.
            cancel: a token by which any thread can end the run.
            out: arrays for results, name -> array or a list in the order of the results: of exactly their
                dtype and shape, C-contiguous, writable, apart from each other and from the inputs. What a
                plan computes is written there without a copy; a result that is an input, a constant or
                another result, or that a control operator (If, Loop, Scan ...) makes, is copied once. After
                an error they hold anything.

        Returns:
            name -> array (list of arrays, None) of the declared dtype, in memory of its own; the types NumPy
                lacks as those of ml_dtypes where that is installed, as bits otherwise; what ZipMap
                makes as a list of dictionaries, one per row. An array of ``out`` is returned itself.

        Raises:
            ArgumentError: an input or output name is unknown, an input is missing, or a dtype, shape or kind
                does not fit; the message names it.
            ModelError: the model cannot be run with these shapes.
            ResourceError: memory is short.
            DeadlineError: the run was not done within ``timeout``; a TimeoutError too.
            CancelledError: ``cancel`` was asked to end it.
        """
        if signature is not None:
            return self._run_signature(signature, inputs, outputs, RunOptions(timeout, cancel, out))
        if type(inputs) is not dict:
            inputs = _as_dict(inputs)
        if self._translated:
            return self._run_translated(inputs, outputs, RunOptions(timeout, cancel, out))
        if timeout is None and cancel is None and out is None:
            return self._native.run(inputs, outputs)
        return RunOptions(timeout, cancel, out).run(self._native, inputs, outputs)

    def _run_translated(
        self, inputs: Mapping[str, Any], outputs: Iterable[str] | None, options: RunOptions
    ) -> dict[str, Any]:
        names, keys = self._model._strings, self._model._maps
        feeds = {k: strings.encode(v, k) if k in names else v for k, v in inputs.items()}
        for k, dtype in self._model._map_inputs.items():
            if k in feeds:
                feeds[k] = maps.encode(feeds[k], keys[k], dtype, k)
        if outputs is not None and not isinstance(outputs, str):
            outputs = list(outputs)
        options.refuse_translated([o.name for o in self._model.outputs], {*names, *keys}, outputs)
        results = options.run(self._native, feeds, outputs)
        for k, v in results.items():
            if k in names:
                results[k] = strings.decode(v)
            elif k in keys:
                results[k] = maps.decode(v, keys[k])
        return results

    def _run_signature(
        self, name: str, inputs: Mapping[str, Any], outputs: Iterable[str] | None, options: RunOptions
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
            {chosen.inputs[k]: v for k, v in inputs.items()},
            [chosen.outputs[o] for o in wanted],
            timeout=options.timeout,
            cancel=options.cancel,
            out=options.renamed(chosen.outputs),
        )
        return {o: results[chosen.outputs[o]] for o in wanted}

    def prepare(
        self, shapes: Mapping[str, Any] | Iterable[Mapping[str, Any]], *, signature: str | None = None
    ) -> None:
        """Plan ahead for inputs of these shapes, with packed weights: their first run then only runs.

        Plans reach as far as shapes decide: up to the first control operator (If, Loop, Scan ...), or the
        first size that a computed value decides; what follows is planned by the first run. Shapes that are
        planned already cost next to nothing, and ``max_plans`` and ``max_plan_bytes`` hold as for runs. Any
        thread may call this; it waits for a run under way, and runs wait for it.

        Args:
            shapes: input name -> shape, a tuple or list of int; or an array where its values decide sizes
                (the target of a Reshape), for sequences, and where no dtype is declared. Several of these
                dictionaries for several sets of shapes. Every input once, as for ``run``.
            signature: take the public names of this signature instead.

        Raises:
            ArgumentError: an input name is unknown, an input is missing, its shape does not fit, or its
                values decide sizes and were not given; the message names it.
            ModelError: the model cannot be run with these shapes.
            ResourceError: memory is short.
        """
        for one in [shapes] if isinstance(shapes, Mapping) else shapes:
            self._native.prepare(shapes_of(self._model, one, signature))

    def run_async(
        self,
        inputs: Mapping[str, Any],
        outputs: Iterable[str] | None = None,
        *,
        signature: str | None = None,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
        out: Out | None = None,
    ) -> Future[dict[str, Any]]:
        """Like ``run``, on a thread of the session.

        Runs follow one another in the order of the calls. Do not change the arrays before the Future is done.
        The timeout counts from the beginning of the run.

        Returns:
            A Future with what ``run`` returns or raises.
        """
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(1, thread_name_prefix="walle-session")
            return self._pool.submit(
                self.run, inputs, outputs, signature=signature, timeout=timeout, cancel=cancel, out=out
            )

    async def arun(
        self,
        inputs: Mapping[str, Any],
        outputs: Iterable[str] | None = None,
        *,
        signature: str | None = None,
        timeout: float | None = None,
        out: Out | None = None,
    ) -> dict[str, Any]:
        """Like ``run``, for asyncio: the event loop goes on meanwhile.

        Cancelling the awaiting task (``asyncio.wait_for``, ``asyncio.timeout``, a task group that fails)
        ends the run: one that has not begun never does, one under way finishes its step. Only then is the
        task cancelled, so that arrays of ``inputs`` and ``out`` are free again and the next run can begin.
        Runs of one session follow one another in the order of the calls.

        Raises:
            asyncio.CancelledError: the task was cancelled; and what ``run`` raises.
        """
        from .awaiting import result_or_cancel  # asyncio takes 10 ms to import

        token = CancelToken()
        submitted = self.run_async(
            inputs, outputs, signature=signature, timeout=timeout, cancel=token, out=out
        )
        return await result_or_cancel(submitted, token)

    def explain(self, *, top: int | None = None) -> Explanation:
        """What runs where and why: one row per step of every plan so far, measured after ``profile``.

        Args:
            top: show the costliest rows only, this many, with the time by algorithm and by name; 0 for the
                summary without rows.
        """
        return Explanation.of(self._native.explain(), top)

    def memory(self) -> SessionMemory:
        """What the session holds now, between runs."""
        return SessionMemory(**self._native.memory())

    def trim(self) -> int:
        """Give back plans, packed weights, what they compute in and free memory of results.

        The next run makes again what it needs; states and results stay. Waits for a run under way.

        Returns:
            Bytes given back, by kind what ``memory`` no longer says.

        Raises:
            ArgumentError: called within a run of this session, by a signal handler.
        """
        return self._native.trim()

    @contextmanager
    def profile(self, path: str | os.PathLike[str] | None = None) -> Iterator[None]:
        """Time every step of the runs inside the ``with`` block; ``explain`` shows the means afterwards.

        What it shows adds up to the time the runs took: steps, operators that the executor runs itself,
        making plans, and what is not accounted for.

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

    def __reduce__(self) -> tuple[Any, ...]:
        """Refused: threads and plans belong to a process."""
        raise ArgumentError.of(
            "a session to pickle or copy",
            "a model, which can be",
            "Session",
            "send session.model and session.options, and make a session of them there",
        )

    def __repr__(self) -> str:
        """Options and inputs."""
        return f"Session({', '.join(f'{k}={v!r}' for k, v in self._options.items())})"
