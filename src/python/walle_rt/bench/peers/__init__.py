"""The engines of a comparison, ours among them: one file each, all behind one small protocol.

A peer takes the ONNX file itself or what its own wheel makes of it. One that is not installed, has no offline
way from ONNX, or fails on a model raises :class:`Unavailable` with the reason, and the reason is printed
instead of a figure.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import walle_rt

from ..builder import Array

Feeds = dict[str, Array]
Run = Callable[[], list[Array]]

NAMES = ("walle", "onnxruntime", "openvino", "MNN", "ncnn", "litert", "torch")
PEERS = NAMES[1:]
_PACKAGES = {"litert": "ai-edge-litert"}  # whose name is not the engine's


class Unavailable(Exception):  # noqa: N818 - an answer, not a failure
    """This engine cannot run this model here; the message says why."""


def need(module: str, package: str) -> ModuleType:
    """Import a peer's module or say which package is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Unavailable(f"not installed (pip install {package})") from error


def version(name: str) -> str:
    """The installed version of an engine's package, "none" without it; ours of a checkout, too."""
    if name == "walle":
        return str(walle_rt.__version__)
    try:
        return importlib.metadata.version(_PACKAGES.get(name, name))
    except importlib.metadata.PackageNotFoundError:
        return "none"


def settings(name: str) -> str:
    """In words, how an engine is set: what its documentation recommends for latency on a CPU in float32."""
    return str(importlib.import_module(f".{name.lower()}", __name__).SETTINGS)


def prepare(name: str, model: Path, feeds: Feeds, threads: int, cache: Path) -> Run:
    """A closure that runs the model once on the engine called ``name`` and returns its outputs in order.

    Loading, conversion and compilation happen here; the closure is what is timed.
    """
    engine: Any = importlib.import_module(f".{name.lower()}", __name__)
    run: Run = engine.prepare(model, feeds, threads, cache)
    return run
