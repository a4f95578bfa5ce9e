"""PyTorch reads no ONNX; eager mode was never the fastest peer on these models."""

from __future__ import annotations

from pathlib import Path

from . import Feeds, Run, Unavailable, need

SETTINGS = "not run: it takes no ONNX"


def prepare(model: Path, feeds: Feeds, threads: int, cache: Path) -> Run:
    """Always unavailable for ONNX files."""
    need("torch", "torch")
    raise Unavailable("takes no ONNX")
