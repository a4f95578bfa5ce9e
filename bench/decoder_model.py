"""A decoder of random weights of 4 bits in blocks of 32, as exporters of language models write it."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HIDDEN, FEED, LAYERS, HEADS, KEPT, SIZE, WORDS = 768, 2048, 24, 12, 4, 64, 32_000
BLOCK, LONGEST = 32, 1024
MICROSOFT = "com.microsoft"


class _Decoder:
    def __init__(self, level: int, layers: int) -> None:
        self.rng = np.random.default_rng(40)
        self.level = level
        self.layers = layers
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, name: str, array: Any) -> str:
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, op: str, inputs: list[str], *outputs: str, domain: str = "", **attributes: Any) -> str:
        self.nodes.append(
            helper.make_node(op, inputs, list(outputs), outputs[0], domain=domain, **attributes)
        )
        return outputs[0]

    def quantised(self, name: str, rows: int, columns: int) -> list[str]:
        """Codes and scales of [rows, columns]: weights of about 1 / sqrt(columns)."""
        codes = self.rng.integers(0, 256, (rows, columns // BLOCK, BLOCK // 2), np.uint8)
        scales = (self.rng.random((rows, columns // BLOCK), np.float32) + 0.5) / (4.6 * columns**0.5)
        return [self.constant(f"{name}.codes", codes), self.constant(f"{name}.scales", scales)]

    def product(self, x: str, name: str, inner: int, columns: int) -> str:
        codes, scales = self.quantised(name, columns, inner)
        return self.node(
            "MatMulNBits",
            [x, codes, self.flat(scales)],
            name,
            domain=MICROSOFT,
            K=inner,
            N=columns,
            bits=4,
            block_size=BLOCK,
            accuracy_level=self.level,
        )

    def flat(self, name: str) -> str:
        self.constants[-1].dims[:] = [int(np.prod(self.constants[-1].dims))]
        return name

    def norm(self, x: str, name: str) -> str:
        scale = self.constant(f"{name}.scale", np.ones(HIDDEN, np.float32))
        return self.node("SimplifiedLayerNormalization", [x, scale], name, axis=-1, epsilon=1e-5)

    def layer(self, x: str, i: int) -> str:
        at = f"layer{i}."
        seen = self.norm(x, at + "norm")
        q = self.product(seen, at + "q", HIDDEN, HEADS * SIZE)
        k = self.product(seen, at + "k", HIDDEN, KEPT * SIZE)
        v = self.product(seen, at + "v", HIDDEN, KEPT * SIZE)
        mixed = self.node(
            "GroupQueryAttention",
            [q, k, v, f"past_k{i}", f"past_v{i}", "last", "total", "cos", "sin"],
            at + "mixed",
            f"k{i}",
            f"v{i}",
            domain=MICROSOFT,
            num_heads=HEADS,
            kv_num_heads=KEPT,
            do_rotary=1,
        )
        x = self.node("Add", [x, self.product(mixed, at + "out", HEADS * SIZE, HIDDEN)], at + "x")
        seen = self.norm(x, at + "norm2")
        gate = self.product(seen, at + "gate", HIDDEN, FEED)
        up = self.product(seen, at + "up", HIDDEN, FEED)
        open_ = self.node("Mul", [gate, self.node("Sigmoid", [gate], at + "sigmoid")], at + "open")
        wide = self.node("Mul", [open_, up], at + "wide")
        return self.node("Add", [x, self.product(wide, at + "down", FEED, HIDDEN)], at + "y")

    def model(self) -> onnx.ModelProto:
        angles = np.outer(np.arange(LONGEST), 10_000.0 ** (-np.arange(SIZE // 2) / (SIZE // 2)))
        self.constant("cos", np.cos(angles).astype(np.float32))
        self.constant("sin", np.sin(angles).astype(np.float32))
        codes = self.constant("words", self.rng.integers(0, 256, (WORDS, HIDDEN // 2), np.uint8))
        scales = self.constant("words.scales", self.rng.random((WORDS, HIDDEN // BLOCK), np.float32) * 0.2)
        x = self.node(
            "GatherBlockQuantized",
            [codes, "tokens", scales],
            "x",
            domain=MICROSOFT,
            bits=4,
            block_size=BLOCK,
            gather_axis=0,
            quantize_axis=1,
        )
        for i in range(self.layers):
            x = self.layer(x, i)
        self.product(self.norm(x, "norm"), "logits", HIDDEN, WORDS)
        past = ["batch", KEPT, "past", SIZE]
        caches = [f"{part}{i}" for i in range(self.layers) for part in "kv"]
        inputs = [
            helper.make_tensor_value_info("tokens", TensorProto.INT64, ["batch", "new"]),
            helper.make_tensor_value_info("last", TensorProto.INT32, ["batch"]),
            helper.make_tensor_value_info("total", TensorProto.INT32, []),
        ]
        inputs += [helper.make_tensor_value_info(f"past_{c}", TensorProto.FLOAT, past) for c in caches]
        kept = ["batch", KEPT, "all", SIZE]
        outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "new", WORDS])]
        outputs += [helper.make_tensor_value_info(c, TensorProto.FLOAT, kept) for c in caches]
        graph = helper.make_graph(self.nodes, "decoder", inputs, outputs, self.constants)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def decoder(level: int, layers: int = LAYERS) -> onnx.ModelProto:
    """The model; ``level`` is the accuracy_level of its products."""
    return _Decoder(level, layers).model()


def parameters(layers: int = LAYERS) -> int:
    """Weights of the products: those that are read for each token."""
    attention = HIDDEN * SIZE * 2 * (HEADS + KEPT)
    return layers * (attention + 3 * HIDDEN * FEED) + HIDDEN * WORDS


def empty_caches(layers: int = LAYERS) -> dict[str, Any]:
    """Keys and values of no tokens."""
    return {f"past_{p}{i}": np.zeros((1, KEPT, 0, SIZE), np.float32) for i in range(layers) for p in "kv"}
