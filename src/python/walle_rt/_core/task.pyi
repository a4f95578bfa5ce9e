"""Manifests of tasks; use walle_rt.task instead."""

from typing import Any

MANIFEST: str

def pack_manifest(manifest: dict[str, Any]) -> bytes: ...
def read_manifest(data: bytes) -> dict[str, Any]: ...
