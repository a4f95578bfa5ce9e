"""LiteRT reads .tflite alone, and no wheel of it converts ONNX."""

from __future__ import annotations

from pathlib import Path

from . import Feeds, Run, Unavailable, need

SETTINGS = "not run: it takes no ONNX"


def prepare(model: Path, feeds: Feeds, threads: int, cache: Path) -> Run:
    """Always unavailable for ONNX files."""
    need("ai_edge_litert", "ai-edge-litert")
    raise Unavailable("takes no ONNX and has no offline converter from it")
