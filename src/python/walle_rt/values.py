"""What models declare and what runs take and return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
# A tensor is an array; a sequence a list of arrays; an empty optional None.
Value = Array | list[Array] | None


@dataclass(frozen=True)
class ValueInfo:
    """What a model declares about one of its inputs or outputs."""

    name: str
    kind: str  # "tensor", "sequence", "optional" or "maps" (a list of dictionaries, one per row)
    # "string", NumPy's name, or one that NumPy lacks (bfloat16, float8*, int4); "undefined": not declared
    dtype: str
    shape: tuple[int | str | None, ...] | None  # sizes, symbols, None; None when the rank is not declared

    def __str__(self) -> str:
        """Like ``float32[N, 3, 224, 224]``."""
        dims = (
            "[...]"
            if self.shape is None
            else "[" + ", ".join("?" if d is None else str(d) for d in self.shape) + "]"
        )
        text = f"{self.dtype}{dims}" if self.kind == "tensor" else f"{self.kind} of {self.dtype}"
        return f"{self.name}: {text}"


@dataclass(frozen=True)
class Signature:
    """A named way to call a model: public names for some of its inputs and outputs."""

    name: str
    inputs: dict[str, str]
    outputs: dict[str, str]
