"""Runs of a model with inner values as its results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
import onnx
from onnx import ModelProto

from .. import _core
from ..convert import convert
from ..errors import ArgumentError
from ..model import Model
from ..session import Session
from ..values import Array
from .histogram import Histogram
from .inputs import Feeds, Inputs

# Results of one run that are held at a time; models whose values take more are run several times per input.
_MOST_BYTES = 256 << 20
_MOST_MOMENTS = 1 << 30  # bytes of second moments that are held at a time


def loaded(model: ModelProto) -> Model:
    """The model, converted."""
    data, _ = convert(model)
    return Model(_core.Model.create(data))


class Exposed:
    """A model whose named inner values are its results."""

    def __init__(self, model: ModelProto, names: Iterable[str], threads: int | None = None) -> None:
        """Make the session."""
        self._names = list(dict.fromkeys(names))
        self._session = _session(model, self._names, threads)
        self._groups: list[list[str]] | None = None

    def run(self, feeds: Feeds) -> Iterator[tuple[str, Array]]:
        """Each value by name; no more than a bounded part of them in memory at once after the first run."""
        for group in self._groups or [self._names]:
            results = self._session.run(feeds, group)
            if self._groups is None:
                self._groups = _grouped(self._names, results)
            for name in group:
                yield name, results.pop(name)


def _grouped(names: Sequence[str], results: dict[str, Array]) -> list[list[str]]:
    groups: list[list[str]] = [[]]
    size = 0
    for name in names:
        bytes_ = getattr(results[name], "nbytes", 0)
        size += bytes_
        if size > _MOST_BYTES and groups[-1]:
            groups.append([])
            size = bytes_
        groups[-1].append(name)
    return groups


def _session(model: ModelProto, names: Sequence[str], threads: int | None) -> Session:
    """A session of the model with other outputs; the model is as before when it returns."""
    declared = list(model.graph.output)
    known = {value.name: value for value in declared}
    probe = ModelProto()
    probe.CopyFrom(model)
    del probe.graph.output[:]
    for name in names:
        probe.graph.output.append(known.get(name) or onnx.ValueInfoProto(name=name))
    return loaded(probe).session(threads=threads)


class Advance:
    """How far a long job is: tells a caller's function what is done, how often, and of how many."""

    def __init__(self, told: Callable[[str, int, int | None], None] | None = None) -> None:
        """Tell ``told``, or nobody."""
        self._told = told

    def step(self, text: str, done: int, total: int | None) -> None:
        """``done`` of ``total`` (None: not known) are done of what ``text`` says."""
        if self._told is not None:
            self._told(text, done, total)


def histograms(
    model: ModelProto, names: Iterable[str], inputs: Inputs, advance: Advance
) -> dict[str, Histogram]:
    """A histogram of each named value over all inputs; values that are inputs of the model come from these.

    Raises:
        ArgumentError: a value becomes NaN or infinite; its name and the input's number are told.
    """
    found = {name: Histogram() for name in dict.fromkeys(names)}
    for number, name, value in _values(model, found, inputs, advance):
        _refuse_unbounded(name, value, number, inputs.where)
        found[name].add(value)
    return found


def _refuse_unbounded(name: str, value: Array, number: int, where: str) -> None:
    if not np.isfinite(value).all():
        kind = "NaN" if np.isnan(value).any() else "infinite"
        raise ArgumentError.of(
            f"the value '{name}', which becomes {kind} for input {number}",
            "finite values inside the model",
            where,
            "leave that input out, or the node that makes the value (leave_out)",
        )


def moments(
    model: ModelProto, widths: Mapping[str, int], inputs: Inputs, advance: Advance
) -> dict[str, Array]:
    """The second moments X^T X, float64 [width, width], of values [..., width], summed over all inputs.

    Values whose moments do not fit into a bounded memory together are looked at in several passes.

    Raises:
        ArgumentError: a value becomes NaN or infinite; or several passes over an iterator are needed.
    """
    found: dict[str, Array] = {}
    for group in _passes(widths):
        if found and not inputs.again:
            raise ArgumentError.of(
                "an iterator, which can be read once",
                "inputs that can be read again: the layers' moments take several passes",
                inputs.where,
                "pass a list, a folder or an .npz file",
            )
        sums = {name: np.zeros((widths[name], widths[name])) for name in group}
        for number, name, value in _values(model, group, inputs, advance):
            _refuse_unbounded(name, value, number, inputs.where)
            rows = value.reshape(-1, widths[name]).astype(np.float64)
            sums[name] += rows.T @ rows
        found |= sums
    return found


def _passes(widths: Mapping[str, int]) -> Iterator[list[str]]:
    group: list[str] = []
    size = 0
    for name, width in widths.items():
        if group and size + 8 * width * width > _MOST_MOMENTS:
            yield group
            group, size = [], 0
        group.append(name)
        size += 8 * width * width
    if group:
        yield group


def _values(
    model: ModelProto, names: Iterable[str], inputs: Inputs, advance: Advance
) -> Iterator[tuple[int, str, Array]]:
    """The number of the input, name and value of each named value, for every input."""
    wanted = list(dict.fromkeys(names))
    given = {value.name for value in model.graph.input}
    inner = [name for name in wanted if name not in given]
    exposed = Exposed(model, inner) if inner else None
    for number, feeds in enumerate(inputs):
        for name in wanted:
            if name in given:
                yield number, name, feeds[name]
        for name, value in exposed.run(feeds) if exposed else ():
            yield number, name, value
        advance.step("calibrating", number + 1, inputs.count)
