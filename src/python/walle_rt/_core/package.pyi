"""Manifests of packages; use walle_rt.task instead."""

from typing import Any

CODE: str
CLOUD_CODE: str
MANIFEST: str

def pack(package: dict[str, Any]) -> bytes: ...
def read(data: bytes) -> dict[str, Any]: ...
