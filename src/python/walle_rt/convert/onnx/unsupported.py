"""Reasons for the report: what the walk notes before it goes on with the rest of the model."""

from __future__ import annotations


class UnsupportedError(Exception):
    """Raised by a rule: the node cannot be converted; the message is the reason for the report."""


class UnsupportedTypeError(Exception):
    """A value of a type walle_rt does not have; the message is the reason for the report."""
