"""What onnxruntime's optimisers make of small transformers: fused operators of com.microsoft.

Its optimiser for transformers fuses by itself; the session's own, of level extended, fuses and writes the
model that it would run. Attention is fused in what the older exporter writes of a model with a mask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import onnxruntime as ort
import torch
import torchvision_operators  # noqa: F401  (before transformers)
import transformers as t
from case import Case, Feeds
from onnxruntime.transformers import optimizer
from torch_models import export
from transformers_models import MODELS, made_by

Write = Callable[[Path], Feeds]

# Model -> what the optimiser for transformers calls its kind.
KINDS = {
    "BERT": "bert",
    "RoBERTa": "bert",
    "DistilBERT": "bert",
    "ELECTRA": "bert",
    "GPT-2": "gpt2",
    "ViT": "vit",
    "LLaMA": "gpt2",
}
HEADS, HIDDEN = 4, 32


class _Masked(torch.nn.Module):
    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=x, attention_mask=mask)[0]


def _masked(path: Path) -> Feeds:
    torch.manual_seed(0)
    config, model, sizes = MODELS["BERT"]
    made: t.PreTrainedModel = model._from_config(config(**sizes), attn_implementation="eager")
    mask = torch.ones(2, 9, dtype=torch.int64)
    mask[1, 6:] = 0
    return export(_Masked(made), (torch.randint(5, 99, (2, 9)), mask), path, False)


def _fused(write: Write, kind: str, level: int, path: Path) -> Feeds:
    plain = path.with_suffix(".plain.onnx")
    feeds = write(plain)
    made: Any = optimizer.optimize_model(
        str(plain), kind, num_heads=HEADS, hidden_size=HIDDEN, opt_level=level, use_gpu=False
    )
    made.save_model_to_file(str(path))
    return feeds


def _by_session(write: Write, path: Path) -> Feeds:
    plain = path.with_suffix(".plain.onnx")
    feeds = write(plain)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(path)
    ort.InferenceSession(str(plain), options, providers=["CPUExecutionProvider"])
    return feeds


def cases() -> Iterator[Case]:
    """Each model by both optimisers."""
    written: dict[str, tuple[Write, str]] = {
        name: (partial(made_by, name, True), kind) for name, kind in KINDS.items()
    }
    written["BERT with a mask"] = (_masked, "bert")
    for name, (write, kind) in written.items():
        yield Case(f"{name}, fused", partial(_fused, write, kind, 0))
        yield Case(f"{name}, optimised and fused", partial(_fused, write, kind, 1))
        yield Case(f"{name}, extended", partial(_by_session, write))
