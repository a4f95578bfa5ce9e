"""Options that several commands have."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from ..errors import ArgumentError

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
