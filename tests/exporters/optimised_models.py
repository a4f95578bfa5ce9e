"""What onnxruntime's optimisers make of small transformers: fused operators of com.microsoft.

Its optimiser for transformers fuses by itself; the session's own, of level extended, fuses and writes the
model that it would run.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import onnxruntime as ort
from case import Case, Feeds
from onnxruntime.transformers import optimizer
from transformers_models import _made

# Model -> what the optimiser for transformers calls its kind. Written by the older exporter, whose patterns
# the optimiser looks for.
KINDS = {
    "BERT": "bert",
    "RoBERTa": "bert",
    "DistilBERT": "bert",
    "ELECTRA": "bert",
    "GPT-2": "gpt2",
    "ViT": "vit",
}
HEADS, HIDDEN = 4, 32


def _fused(name: str, kind: str, level: int, path: Path) -> Feeds:
    plain = path.with_suffix(".plain.onnx")
    feeds = _made(name, False, plain)
    made: Any = optimizer.optimize_model(
        str(plain), kind, num_heads=HEADS, hidden_size=HIDDEN, opt_level=level, use_gpu=False
    )
    made.save_model_to_file(str(path))
    return feeds


def _by_session(name: str, dynamo: bool, path: Path) -> Feeds:
    plain = path.with_suffix(".plain.onnx")
    feeds = _made(name, dynamo, plain)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(path)
    ort.InferenceSession(str(plain), options, providers=["CPUExecutionProvider"])
    return feeds


def cases() -> Iterator[Case]:
    """Each model by both optimisers, and from both exporters for the session's."""
    for name, kind in KINDS.items():
        yield Case(f"{name}, fused", partial(_fused, name, kind, 0))
        yield Case(f"{name}, fused and optimised", partial(_fused, name, kind, 1))
        for dynamo in (True, False):
            made_by = "torch.export" if dynamo else "the older exporter"
            yield Case(f"{name}, extended, from {made_by}", partial(_by_session, name, dynamo))
