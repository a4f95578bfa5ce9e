"""Options that several commands have."""

from __future__ import annotations

import difflib
import re
from typing import Annotated

import typer

from ..errors import ArgumentError
from ..model import Model

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Dims = Annotated[
    list[str] | None, typer.Option("--dim", help="Size of a symbolic dimension, NAME=SIZE; 1 when not given.")
]
Threads = Annotated[
    int | None, typer.Option("--threads", min=1, help="At most this many threads; all by default.")
]


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
