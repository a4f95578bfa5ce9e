"""Quantisation of ONNX models: 8-bit layers, weights of few bits, short floats.

Needs the extra ``convert``.
"""

from __future__ import annotations

from .api import dynamic, static, storage, weights
from .inputs import Folder
from .quantised import Quantised
from .report import LayerReport, OutputReport, Report

__all__ = [
    "Folder",
    "LayerReport",
    "OutputReport",
    "Quantised",
    "Report",
    "dynamic",
    "static",
    "storage",
    "weights",
]
