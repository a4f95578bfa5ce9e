"""Manifests of tasks; use walle_rt.task instead."""

from typing import Any

MANIFEST: str
MANIFEST_FIELDS: tuple[str, ...]
CALL_TYPES: tuple[str, ...]

def pack_manifest(manifest: dict[str, Any]) -> bytes: ...
def read_manifest(data: bytes) -> dict[str, Any]: ...
