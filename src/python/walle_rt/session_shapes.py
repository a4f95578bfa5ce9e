"""What ``Session.prepare`` is given, as the core takes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import maps, strings
from .errors import ArgumentError

if TYPE_CHECKING:
    from .model import Model


def shapes_of(model: Model, given: Any, signature: str | None) -> dict[str, Any]:
    """Input name -> shape or value, by the graph's own names; ArgumentError for what is no dictionary."""
    if not isinstance(given, Mapping):
        raise ArgumentError.of(
            f"shapes of type {type(given).__name__}",
            "a dictionary {input name: shape}, or several",
            "prepare",
            "name the inputs",
        )
    if signature is not None:
        known = model.signature(signature).inputs
        unknown = [name for name in given if name not in known]
        if unknown:
            raise ArgumentError.of(
                f"'{unknown[0]}'",
                f"inputs of signature '{signature}': {', '.join(known)}",
                "prepare",
                "check the spelling",
            )
        given = {known[name]: value for name, value in given.items()}
    return {name: _translated(model, name, value) for name, value in given.items()}


def _translated(model: Model, name: str, value: Any) -> Any:
    """Strings and dictionaries as ``run`` would give them to the core: their shape there is not known."""
    text = name in model._strings
    if not text and name not in model._map_inputs:
        return value
    if isinstance(value, tuple):
        raise ArgumentError.of(
            f"the shape {value}",
            "an array of strings" if text else "the dictionaries themselves",
            f"input '{name}'",
            "give prepare() values like those of the runs",
        )
    if text:
        return strings.encode(value, name)
    return maps.encode(value, model._maps[name], model._map_inputs[name], name)
