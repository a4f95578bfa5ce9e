"""Manifests of tasks; use walle_rt.task instead."""

from typing import Any

MANIFEST: str
MANIFEST_FIELDS: tuple[str, ...]
CALL_TYPES: tuple[str, ...]
ROLLING_KINDS: tuple[str, ...]

def pack_manifest(manifest: dict[str, Any]) -> bytes: ...
def read_manifest(data: bytes) -> dict[str, Any]: ...
def pack_params(params: dict[str, bool | int | float | str]) -> bytes: ...
def check_params(manifest: bytes, params: dict[str, Any]) -> dict[str, bool | int | float | str]: ...
def rolling_event(text: str) -> tuple[str, str]:
    """The event of a rolling feature, and its canonical text."""
