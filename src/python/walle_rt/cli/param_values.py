"""What the command line gives in the application's place: values of parameters, and its functions."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ..errors import ArgumentError

if TYPE_CHECKING:
    from ..task import ParamSpec

Value = bool | int | float | str


def given_params(specs: Mapping[str, ParamSpec], given: Iterable[str]) -> dict[str, Value]:
    """What ``--param`` names, of the types that the task declares; the device checks the rest.

    Raises:
        ArgumentError: no NAME=VALUE, a name that is not declared, a text that is no value of its type.
    """
    out: dict[str, Value] = {}
    for each in given:
        name, equals, text = each.partition("=")
        if not equals:
            raise _wrong(each, "NAME=VALUE")
        if name not in specs:
            known = "one of " + ", ".join(specs) if specs else "a task that declares [params]"
            raise _wrong(f"parameter '{name}'", known)
        out[name] = _value(specs[name].type, name, text)
    return out


def with_params(text: str, given: Iterable[str]) -> str:
    """A release's text with what ``--param`` names in its ``[params]``; the server knows their types.

    Raises:
        ArgumentError: no NAME=VALUE, or a text that has [params] of its own.
    """
    lines: list[str] = []
    for each in given:
        name, equals, value = each.partition("=")
        if not equals:
            raise _wrong(each, "NAME=VALUE")
        lines.append(f"params.{name.strip()} = {_toml(value)}")
    if lines and "params" in _tables(text):
        raise _wrong("a text with [params]", "one without, beside --param")
    return "\n".join([*lines, text]) if lines else text


def _tables(text: str) -> Iterable[str]:
    """None where it is no TOML, which the server tells."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return ()


def _toml(value: str) -> str:
    """Of a bool, a number or a text in quotes itself, else of a text: one line, whatever it holds."""
    try:
        read = tomllib.loads(f"value = {value}")
    except tomllib.TOMLDecodeError:
        read = {}
    kept = read.get("value", value)
    if len(read) != 1 or not isinstance(kept, bool | int | float | str):
        kept = value
    return repr(kept) if isinstance(kept, float) else json.dumps(kept, ensure_ascii=False)


def _value(kind: str, name: str, text: str) -> Value:
    if kind == "text":
        return text
    if kind == "bool":
        if text in ("true", "false"):
            return text == "true"
        raise _wrong(f"{name}={text}", "true or false")
    try:
        return int(text) if kind == "int" else float(text)
    except ValueError:
        raise _wrong(f"{name}={text}", f"a value of type {kind}") from None


def _wrong(given: str, expected: str) -> ArgumentError:
    return ArgumentError.of(given, expected, "--param", "write --param threshold=0.5")
