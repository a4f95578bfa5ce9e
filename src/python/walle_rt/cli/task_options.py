"""Limits, arguments and names as options of ``walle task``."""

from __future__ import annotations

import json
from typing import Any

from ..errors import ArgumentError

LIMIT_NAMES = {
    "heap": "heap_bytes",
    "wall": "wall_ms",
    "cpu": "cpu_ms",
    "depth": "depth",
    "stack": "stack_bytes",
    "state": "state_bytes",
    "log": "log_bytes",
}
_MOST_DIGITS = 15  # of a number of 64 bits, with its unit
UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def parse_limits(pairs: list[str]) -> dict[str, Any]:
    """["heap=32M,wall=500", "cpu=100"] as arguments of Limits; sizes in bytes with K, M, G,
    times in milliseconds.
    """
    limits: dict[str, Any] = {}
    for pair in (part for text in pairs for part in text.split(",")):
        name, _, text = pair.partition("=")
        sized = LIMIT_NAMES.get(name, "").endswith("_bytes")
        unit = UNITS.get(text[-1:].lower(), 0) if sized else 0
        digits = text[:-1] if unit else text
        whole = digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS
        if name not in LIMIT_NAMES or not whole:
            expected = f"NAME=NUMBER with NAME one of {', '.join(LIMIT_NAMES)}"
            raise ArgumentError.of(
                f"limit '{pair}'", expected, "--limits", "for example --limits heap=32M --limits wall=500"
            )
        limits[LIMIT_NAMES[name]] = int(digits) * (unit or 1)
    return limits


def parse_arguments(text: str) -> list[Any]:
    """The JSON list of --args."""
    try:
        arguments = json.loads(text)
    except json.JSONDecodeError as error:
        raise ArgumentError.of(
            f"--args {text}", "a JSON list", f"position {error.pos}", "for example --args '[1, \"x\"]'"
        ) from None
    if not isinstance(arguments, list):
        raise ArgumentError.of(
            f"--args {text}", "a JSON list", "--args", "put the single argument into brackets"
        )
    return arguments


def parse_names(text: str | None) -> list[str] | None:
    """Names separated by commas; None stays None (no list, no restriction)."""
    return None if text is None else [name for name in text.split(",") if name]
