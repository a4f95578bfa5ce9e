"""What every command shares: JSON or text, errors as exit codes, progress, sizes."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, ParamSpec
from zipfile import BadZipFile

import numpy as np
import typer
from rich.console import Console

from ..errors import (
    ArgumentError,
    BackendError,
    Error,
    ModelError,
    NetworkError,
    ResourceError,
    TaskError,
)
from ..model import Model
from ..values import ValueInfo

# Documented in `walle --help`; 2 is the shell convention for wrong usage, which typer uses too.
EXIT_CODES: list[tuple[type[Error], int]] = [
    (ArgumentError, 3),
    (ModelError, 4),
    (ResourceError, 5),
    (BackendError, 6),
    (TaskError, 7),
    (NetworkError, 8),
]
EXIT_INTERNAL = 1
EXIT_DIFFERS = 9
EXIT_HELP = (
    "Exit codes: 0 done, 1 internal error, 2 wrong usage, 3 wrong argument, 4 model damaged or unsupported, "
    "5 file or memory, 6 backend, 7 task, 8 network, 9 results differ."
)

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Dims = Annotated[
    list[str] | None, typer.Option("--dim", help="Size of a symbolic dimension, NAME=SIZE; 1 when not given.")
]
Threads = Annotated[
    int | None, typer.Option("--threads", min=1, help="At most this many threads; all by default.")
]

P = ParamSpec("P")


def usage_error(given: str, expected: str, where: str, next_step: str) -> ArgumentError:
    """An ArgumentError with its four parts."""
    return ArgumentError.of(given, expected, where, next_step)


def emit_json(value: Any) -> None:
    """One JSON object on stdout."""
    sys.stdout.write(json.dumps(value, default=str) + "\n")


def exit_code(error: Error) -> int:
    """The exit code of an error's group."""
    return next((code for cls, code in EXIT_CODES if isinstance(error, cls)), EXIT_INTERNAL)


def command(function: Callable[P, None]) -> Callable[P, None]:
    """Turn walle_rt errors into a message (or JSON) and the group's exit code."""

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            function(*args, **kwargs)
        except Error as error:
            raise typer.Exit(complain(error, bool(kwargs.get("json_")))) from None
        except OSError as error:
            given = f"cannot use file '{error.filename}': {error.strerror or error}"
            wrong = ResourceError.of(
                given, "a file that can be read or written", "file", "check the path and permissions"
            )
            raise typer.Exit(complain(wrong, bool(kwargs.get("json_")))) from None

    return wrapped


def complain(error: Error, as_json: bool) -> int:
    """Print an error; returns the exit code of its group."""
    code = exit_code(error)
    if as_json:
        report = getattr(error, "report", None)  # of a conversion: every node it could not take over
        emit_json(
            {
                "error": type(error).__name__,
                "message": str(error),
                "given": error.given,
                "expected": error.expected,
                "where": error.where,
                "next": error.next_step,
                "exit": code,
            }
            | ({"unsupported": report.as_dict()["unsupported"]} if report else {})
        )
    else:
        err.print(f"[bold red]{type(error).__name__}[/]: ", end="")
        err.print(str(error), markup=False)
    return code


@contextmanager
def working(what: str, quiet: bool) -> Iterator[None]:
    """A spinner on stderr while something long runs; nothing when quiet or not on a terminal."""
    if quiet or not err.is_terminal:
        yield
        return
    with err.status(what):
        yield


def read_arrays(path: Path) -> dict[str, Any]:
    """The arrays of an .npz file by name; ArgumentError when it is not one."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError, TypeError, EOFError, BadZipFile) as error:
        raise usage_error(
            f"file '{path}' ({error})", "an .npz file", "--input", "save it with numpy.savez"
        ) from error


def parse_dims(pairs: list[str] | None) -> dict[str, int]:
    """NAME=SIZE options as a dictionary."""
    sizes: dict[str, int] = {}
    for pair in pairs or []:
        match = re.fullmatch(r"(.+)=(\d+)", pair)
        if not match:
            raise usage_error(f"'--dim {pair}'", "NAME=SIZE", "--dim", "for example --dim batch=4")
        sizes[match[1]] = int(match[2])
    return sizes


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype a value of this dtype travels as."""
    carriers = {"bfloat16": "uint16", "undefined": "float32"}
    byte = name.startswith(("float8", "float4")) or name in ("int4", "uint4", "int2", "uint2")
    return np.dtype(carriers.get(name, "uint8" if byte else name))


def concrete_shape(info: ValueInfo, sizes: dict[str, int]) -> tuple[int, ...]:
    """The declared shape with symbols filled in (1 where no size is given)."""
    if info.shape is None:
        raise usage_error(
            f"input '{info.name}' of unknown rank",
            "a declared shape",
            "made-up input",
            "give a real one with --input",
        )
    return tuple(d if isinstance(d, int) else sizes.get(str(d), 1) for d in info.shape)


def made_up_inputs(model: Model, sizes: dict[str, int], seed: int = 0) -> dict[str, Any]:
    """Inputs of the declared dtypes and shapes: floats from a normal distribution,
    small integers, false and true.
    """
    random = np.random.default_rng(seed)
    feeds: dict[str, Any] = {}
    for info in model.inputs:
        if info.kind == "optional":
            feeds[info.name] = None
            continue
        if info.kind == "sequence":
            feeds[info.name] = []
            continue
        shape, dtype = concrete_shape(info, sizes), numpy_dtype(info.dtype)
        if dtype.kind == "f":
            feeds[info.name] = random.standard_normal(shape).astype(dtype)
        elif dtype.kind == "b":
            feeds[info.name] = random.integers(0, 2, shape).astype(dtype)
        elif info.dtype == "bfloat16":
            feeds[info.name] = (
                random.standard_normal(shape).astype(np.float32).view(np.uint32) >> 16
            ).astype(np.uint16)
        else:
            feeds[info.name] = random.integers(0, 2, shape).astype(dtype)
    return feeds


def size_text(size: int) -> str:
    """Bytes for people."""
    return f"{size / 1e6:.1f} MB" if size >= 1_000_000 else f"{size / 1e3:.1f} kB"


def file_size(path: Path) -> int:
    """Bytes of a file, 0 when it is not there."""
    return path.stat().st_size if path.exists() else 0
