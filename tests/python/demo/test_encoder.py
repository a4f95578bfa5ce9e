"""The sentence encoder's ONNX graph, run on the engine,
against its float64 evaluation - on small random weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import walle_rt
from walle_rt.bench.models.bert import Size, sentence_encoder
from walle_rt.demo import reference
from walle_rt.demo.minilm import Encoder

SIZE = Size(layers=2, width=32, heads=4, inner=64)
WORDS, PLACES = 50, 24


def random_weights() -> dict[str, np.ndarray[Any, Any]]:
    """Weights of the right names and shapes."""
    rng = np.random.default_rng(4)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (WORDS, SIZE.width),
        "embeddings.position_embeddings.weight": (PLACES, SIZE.width),
        "embeddings.token_type_embeddings.weight": (2, SIZE.width),
        "embeddings.LayerNorm.weight": (SIZE.width,),
        "embeddings.LayerNorm.bias": (SIZE.width,),
    }
    for i in range(SIZE.layers):
        at = f"encoder.layer.{i}."
        linear = {
            "attention.self.query": 1,
            "attention.self.key": 1,
            "attention.self.value": 1,
            "attention.output.dense": 1,
        }
        for name in linear:
            shapes |= {f"{at}{name}.weight": (SIZE.width, SIZE.width), f"{at}{name}.bias": (SIZE.width,)}
        shapes |= {
            f"{at}intermediate.dense.weight": (SIZE.inner, SIZE.width),
            f"{at}intermediate.dense.bias": (SIZE.inner,),
        }
        shapes |= {
            f"{at}output.dense.weight": (SIZE.width, SIZE.inner),
            f"{at}output.dense.bias": (SIZE.width,),
        }
        for norm in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"{at}{norm}.weight": (SIZE.width,), f"{at}{norm}.bias": (SIZE.width,)}
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.mark.parametrize("lengths", [[7], [1], [16], [5, 12, 9]])
def test_engine_equals_float64(lengths: list[int]) -> None:
    encoder = Encoder(random_weights(), SIZE, tokenizer=None)
    session = walle_rt.load(sentence_encoder(encoder.weights, SIZE)).session(threads=1)
    rng = np.random.default_rng(5)
    texts = [rng.integers(0, WORDS, length) for length in lengths]
    ids = np.zeros((len(texts), max(lengths)), np.int64)
    mask = np.zeros_like(ids)
    for row, text in enumerate(texts):
        ids[row, : len(text)] = text
        mask[row, : len(text)] = 1
    got = session.run({"input_ids": ids, "attention_mask": mask})["embedding"]
    want = np.stack([reference.embed(encoder, text) for text in texts])
    np.testing.assert_allclose(got, want, atol=1e-4, rtol=0)
