"""Inputs to calibrate with and to measure on: from a folder, an .npz file, arrays or an iterator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass, field
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..model import Model
from ..values import Array, ValueInfo

Feeds = dict[str, Array]
LABELS = "labels"  # the array of an .npz file that is no input


@dataclass(frozen=True)
class Folder:
    """A folder of inputs, one per file, taken in the order of their names.

    Pictures (.png, .jpg ...) and .npy files are for models of one input, an .npz holds all inputs of a run.
    Pixels become ``(pixel * scale - mean) / std``, per channel, as for ``walle run``.

    Args:
        path: the folder.
        scale: pixels are multiplied by this.
        mean: then this is subtracted: one number, or one per channel.
        std: then divided by this.
        dims: sizes of symbolic dimensions that pictures are fitted to.
    """

    path: str | PathLike[str]
    scale: float = 1 / 255
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    dims: Mapping[str, int] = field(default_factory=dict)


Source = str | PathLike[str] | Folder | Mapping[str, Any] | Iterable[Mapping[str, Any]]


@dataclass
class Inputs:
    """Feeds, batch by batch; ``labels`` are those of all samples in order, where they came along."""

    make: Callable[[], Iterator[Feeds]]
    where: str
    count: int | None = None  # batches; None: not known before
    again: bool = True  # whether ``make`` can be called more than once
    labels: Array | None = None

    def __iter__(self) -> Iterator[Feeds]:
        """The feeds from the beginning."""
        return self.make()


class Kept(Inputs):
    """Inputs of which the first batches are kept for a later comparison, because an iterator is read once."""

    def __init__(self, inputs: Inputs, kept: int) -> None:
        """The same inputs."""
        super().__init__(inputs.make, inputs.where, inputs.count, inputs.again, inputs.labels)
        self._most = kept
        self._kept: list[Feeds] = []

    def __iter__(self) -> Iterator[Feeds]:
        """The feeds; those to keep are, the first time."""
        keep = not self._kept
        for number, feeds in enumerate(self.make()):
            if keep and number < self._most:
                self._kept.append(feeds)
            yield feeds

    def first(self) -> Inputs:
        """The kept ones; read now where nobody has read them."""
        if not self._kept:
            self._kept = list(islice(self.make(), self._most))
        return Inputs(lambda: iter(self._kept), self.where, len(self._kept))


def opened(source: Source, model: Model, batch: int, where: str = "calibration") -> Inputs:
    """What ``source`` names as inputs of ``model``.

    Raises:
        ArgumentError: it is none of the kinds, an input is missing, or there is nothing in it.
    """
    if isinstance(source, Folder):
        return _folder(source, model, where)
    if isinstance(source, str | PathLike):
        path = Path(source)
        if path.is_dir():
            return _folder(Folder(path), model, where)
        return _archive(path, model, batch, where)
    if isinstance(source, Mapping):
        return _arrays({str(k): np.asarray(v) for k, v in source.items()}, model, batch, where)
    if isinstance(source, Iterable):
        again = not isinstance(source, Iterator)
        count = len(source) if isinstance(source, Sized) else None
        if count == 0:
            raise _nothing(where, "an empty list")
        return Inputs(lambda: _checked(source, model, where), where, count, again)
    raise ArgumentError.of(
        f"{where} of type {type(source).__name__}",
        "a folder, an .npz file, a dictionary of arrays, or an iterable of {input name: array}",
        where,
        "pass the inputs of the model, for example [{'x': array}, ...]",
    )


def _nothing(where: str, what: str) -> ArgumentError:
    return ArgumentError.of(what, "at least one input", where, "give inputs like those the model will meet")


def _folder(folder: Folder, model: Model, where: str) -> Inputs:
    from ..cli.feeds import read_input
    from ..cli.pictures import IMAGES, Normalisation

    known = {*IMAGES, ".npy", ".npz"}
    path = Path(folder.path)
    if not path.is_dir():
        raise ArgumentError.of(f"'{path}'", "a folder", where, "check the path")
    files = sorted(f for f in path.iterdir() if f.suffix.lower() in known and f.is_file())
    if not files:
        raise _nothing(where, f"folder '{path}' without a file of {', '.join(sorted(known))}")
    mean, std = (np.asarray(numbers, np.float32) for numbers in (folder.mean, folder.std))
    pixels = Normalisation(folder.scale, mean, std)

    def read() -> Iterator[Mapping[str, Any]]:
        for file in files:
            yield read_input(model, str(file), dict(folder.dims), pixels)

    return Inputs(lambda: _checked(read(), model, where), where, len(files))


def _archive(path: Path, model: Model, batch: int, where: str) -> Inputs:
    from ..cli.array_files import read_arrays

    if path.suffix != ".npz" or not path.exists():
        raise ArgumentError.of(f"'{path}'", "a folder or an .npz file", where, "check the path")
    return _arrays(read_arrays(path), model, batch, where)


def _arrays(arrays: Mapping[str, Array], model: Model, batch: int, where: str) -> Inputs:
    """Arrays whose first axis counts the samples, cut into batches that the model takes."""
    infos = {info.name: info for info in model.inputs}
    labels = None if LABELS in infos else arrays.get(LABELS)
    _complete(arrays, infos, where)
    given = {name: arrays[name] for name in infos}
    lengths = {name: a.shape[0] if a.ndim else 0 for name, a in given.items()}
    count = min(lengths.values(), default=0)
    if count == 0 or len(set(lengths.values())) > 1:
        shown = ", ".join(f"'{name}': {length}" for name, length in lengths.items())
        if not any(lengths.values()):
            raise _nothing(where, f"arrays without samples ({shown})")
        raise ArgumentError.of(
            f"arrays of different lengths ({shown})",
            "as many samples in each along the first axis",
            where,
            "stack one entry per run, or pass an iterable of {input name: array}",
        )
    step = _step(infos, given, batch)

    def cut() -> Iterator[Mapping[str, Any]]:
        for start in range(0, count - count % step if _fixed(infos) else count, step):
            yield {name: a[start : start + step] for name, a in given.items()}

    return Inputs(lambda: _checked(cut(), model, where), where, max(1, -(-count // step)), True, labels)


def _fixed(infos: Mapping[str, ValueInfo]) -> set[int]:
    """Sizes of first axes that the model fixes."""
    return {i.shape[0] for i in infos.values() if i.shape and isinstance(i.shape[0], int)}


def _step(infos: Mapping[str, ValueInfo], given: Mapping[str, Array], batch: int) -> int:
    """Samples per run: what the model fixes, else ``batch``."""
    fixed = _fixed(infos)
    if len(fixed) > 1:
        raise ArgumentError.of(
            f"inputs of which the model fixes different first axes ({sorted(fixed)})",
            "inputs that share a batch axis",
            "calibration",
            "pass an iterable of {input name: array}, one per run",
        )
    return next(iter(fixed), batch)


def _checked(feeds: Iterable[Mapping[str, Any]], model: Model, where: str) -> Iterator[Feeds]:
    """The feeds as arrays, complete and finite; ArgumentError names the input and its number otherwise."""
    infos = {info.name: info for info in model.inputs}
    number = -1
    for number, item in enumerate(feeds):
        if not isinstance(item, Mapping):
            raise ArgumentError.of(
                f"a {type(item).__name__} as input {number}", "{input name: array}", where, "name the inputs"
            )
        _complete(item, infos, f"{where}, input {number}")
        found = {name: np.asarray(item[name]) for name in infos}
        for name, array in found.items():
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                kind = "NaN" if np.isnan(array).any() else "an infinity"
                raise ArgumentError.of(
                    f"{kind} in '{name}' of input {number}",
                    "finite numbers: a range with others in it has no scale",
                    where,
                    "leave that input out",
                )
        yield found
    if number < 0:
        raise _nothing(where, "an iterable without an item")


def _complete(given: Mapping[str, Any], infos: Mapping[str, ValueInfo], where: str) -> None:
    missing = [name for name in infos if name not in given]
    if missing:
        raise ArgumentError.of(
            f"no array for the input '{missing[0]}' (but {', '.join(map(repr, given)) or 'none'})",
            f"one for each of {', '.join(infos)}",
            where,
            "name the arrays as the model's inputs are named",
        )
