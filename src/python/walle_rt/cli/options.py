"""Options that several commands have."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ArgumentError
from ..model import Model

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Dims = Annotated[
    list[str] | None, typer.Option("--dim", help="Size of a symbolic dimension, NAME=SIZE; 1 when not given.")
]
_KEY_BYTES = 32
_MOST_KEY_BYTES = 4 * _KEY_BYTES  # digits with what an editor may put around them
Threads = Annotated[
    int | None, typer.Option("--threads", min=1, help="At most this many threads; all by default.")
]
# A file, not the key itself: arguments are seen by everybody who may list processes, and kept by shells.
KeyFile = Annotated[
    Path | None,
    typer.Option("--key-file", help="File with the log's key: 32 bytes, or 64 hexadecimal digits."),
]


def read_key(path: Path | None) -> bytes | None:
    """The key of a sealed log: the file's 32 bytes, or the 32 that its 64 hexadecimal digits say."""
    if path is None:
        return None
    with path.open("rb") as file:
        given = file.read(_MOST_KEY_BYTES)
    if len(given) == _KEY_BYTES:
        return given
    digits = given.strip()
    if re.fullmatch(rb"[0-9a-fA-F]{64}", digits):
        return bytes.fromhex(digits.decode())
    raise ArgumentError.of(
        f"--key-file '{path}' of {path.stat().st_size} bytes",
        "a file of 32 bytes, or of 64 hexadecimal digits",
        "--key-file",
        "name the file with the key that the log was opened with",
    )


def parse_dims(pairs: list[str] | None) -> dict[str, int]:
    """NAME=SIZE options as a dictionary."""
    sizes: dict[str, int] = {}
    for pair in pairs or []:
        match = re.fullmatch(r"(.+)=(\d+)", pair)
        if not match:
            raise ArgumentError.of(f"'--dim {pair}'", "NAME=SIZE", "--dim", "for example --dim batch=4")
        sizes[match[1]] = int(match[2])
    return sizes


def model_dims(pairs: list[str] | None, model: Model) -> dict[str, int]:
    """NAME=SIZE options as a dictionary; every name is a symbol of the model's inputs."""
    sizes = parse_dims(pairs)
    known = symbols(model)
    for name in sizes:
        if name in known:
            continue
        near = difflib.get_close_matches(name, known, 3)
        raise ArgumentError.of(
            f"--dim {name}={sizes[name]}, which no input has",
            f"one of the symbols {', '.join(known)}" if known else "no --dim: every dimension is fixed",
            "--dim",
            f"did you mean {' or '.join(near)}?" if near else "see `walle inspect` for the inputs",
        )
    return sizes


def symbols(model: Model) -> list[str]:
    """The named dimensions of a model's inputs, each once."""
    dims = [d for info in model.inputs for d in info.shape or () if isinstance(d, str)]
    return list(dict.fromkeys(dims))
