"""Transformers of the package transformers, small, with random weights, exported by torch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torchvision_operators  # noqa: F401  (before transformers)
import transformers as t
from case import Case, Feeds
from torch_models import export

_TEXT: dict[str, Any] = {
    "vocab_size": 99,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}
_WIDE = {**_TEXT, "intermediate_size": 48}
_SIGHT = {**{k: v for k, v in _WIDE.items() if k != "vocab_size"}, "image_size": 16, "patch_size": 4}


class _Plain(torch.nn.Module):
    """The first result, without caches, as a tensor."""

    def __init__(self, model: torch.nn.Module, name: str) -> None:
        super().__init__()
        self.model, self.name = model, name

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        more = {} if self.name == "pixel_values" else {"use_cache": False} if self.decodes else {}
        return self.model(**{self.name: x}, **more)[0]

    @property
    def decodes(self) -> bool:
        return bool(getattr(self.model.config, "use_cache", False))


MODELS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "BERT": (t.BertConfig, t.BertModel, _WIDE),
    "RoBERTa": (t.RobertaConfig, t.RobertaModel, _WIDE),
    "DistilBERT": (
        t.DistilBertConfig,
        t.DistilBertModel,
        {"vocab_size": 99, "dim": 32, "n_layers": 2, "n_heads": 4},
    ),
    "ALBERT": (t.AlbertConfig, t.AlbertModel, {**_WIDE, "embedding_size": 16}),
    "ELECTRA": (t.ElectraConfig, t.ElectraModel, {**_WIDE, "embedding_size": 16}),
    "GPT-2": (t.GPT2Config, t.GPT2LMHeadModel, {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4}),
    "LLaMA": (t.LlamaConfig, t.LlamaForCausalLM, {**_WIDE, "num_key_value_heads": 2}),
    "Qwen2": (t.Qwen2Config, t.Qwen2ForCausalLM, {**_WIDE, "num_key_value_heads": 2}),
    "ViT": (t.ViTConfig, t.ViTModel, _SIGHT),
    "DeiT": (t.DeiTConfig, t.DeiTModel, _SIGHT),
}


def made_by(name: str, dynamo: bool, path: Path) -> Feeds:
    """Write a model by torch.export or by the older exporter."""
    torch.manual_seed(0)
    config, model, sizes = MODELS[name]
    made = model._from_config(config(**sizes), attn_implementation="eager")
    if "image_size" in sizes:
        return export(_Plain(made, "pixel_values"), (torch.randn(1, 3, 16, 16),), path, dynamo)
    return export(_Plain(made, "input_ids"), (torch.randint(5, 99, (1, 9)),), path, dynamo)


def cases() -> Iterator[Case]:
    """Every model, by torch.export."""
    for name in MODELS:
        yield Case(name, partial(made_by, name, True))
