"""One node of com.microsoft with inputs and what NumPy in float64 says it must give."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Case:
    """Inputs in the node's order; None: left out. `fixed`: which of them are constants of the model."""

    name: str
    op: str
    inputs: list[Array | None]
    want: list[Array | None]  # None: a result nobody asks for
    attributes: dict[str, Any] = field(default_factory=dict)
    fixed: tuple[int, ...] = ()
    domain: str = "com.microsoft"
    opset: int = 17
    tolerance: float = 1e-5
    steps: int = 0  # for codes: how far two correct roundings may differ

    def names(self) -> list[str]:
        return ["" if value is None else f"i{k}" for k, value in enumerate(self.inputs)]

    def feeds(self) -> dict[str, Array]:
        return {
            f"i{k}": value for k, value in enumerate(self.inputs) if value is not None and k not in self.fixed
        }

    def model(self) -> onnx.ModelProto:
        """The ranks of the inputs are declared, and no sizes."""
        outputs = ["" if value is None else f"o{k}" for k, value in enumerate(self.want)]
        node = helper.make_node(
            self.op, self.names(), outputs, domain=self.domain, name="node", **self.attributes
        )
        graph = helper.make_graph(
            [node],
            "graph",
            [
                helper.make_tensor_value_info(name, _element(value), [None] * value.ndim)
                for name, value in self.feeds().items()
            ],
            [onnx.ValueInfoProto(name=name) for name in outputs if name],
            [numpy_helper.from_array(np.asarray(self.inputs[k]), f"i{k}") for k in self.fixed],
        )
        imports = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=imports, ir_version=8)

    def difference(self, got: Iterable[Array]) -> str | None:
        """What is wrong with these results, or None."""
        for k, (value, want) in enumerate(zip(got, (w for w in self.want if w is not None), strict=True)):
            if value.dtype != want.dtype or value.shape != want.shape:
                return f"result {k}: {value.dtype}{value.shape}, want {want.dtype}{want.shape}"
            said = ~np.isnan(want)  # NaN: may be anything
            off = np.abs(value.astype(np.float64) - want.astype(np.float64))[said]
            exact = want.dtype.kind in "iu"
            limit = self.steps if exact else self.tolerance * (1 + np.abs(want.astype(np.float64)[said]))
            if not (off <= limit).all():
                return f"result {k}: off by up to {off.max()}"
        return None


def _element(value: Array) -> int:
    return int(helper.np_dtype_to_tensor_dtype(value.dtype))
