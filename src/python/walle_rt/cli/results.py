"""Results of a model, for people and as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..values import Array
from .console import out


def best(value: Array, top: int, names: list[str] | None) -> list[dict[str, Any]]:
    """The k largest entries of a flattened result."""
    flat = value.astype(np.float64).ravel()
    order = np.argsort(-flat, kind="stable")[:top]
    rows: list[dict[str, Any]] = [{"index": int(i), "value": float(flat[i])} for i in order]
    if names is not None:
        for row in rows:
            row["label"] = names[int(row["index"])] if int(row["index"]) < len(names) else "?"
    return rows


def as_json(value: Any, top: int, names: list[str] | None) -> Any:
    """A result for --json: everything, or the best entries with --top."""
    if value is None:
        return None
    if isinstance(value, list):
        return [as_json(v, top, names) for v in value]
    head = {"dtype": value.dtype.name, "shape": list(value.shape)}
    return {**head, "top": best(value, top, names)} if top else {**head, "data": value.tolist()}


def show(name: str, value: Any, top: int, names: list[str] | None) -> None:
    """A result for people."""
    if not isinstance(value, np.ndarray):
        out.print(f"{name}: {'empty' if value is None else f'sequence of {len(value)}'}")
        return
    out.print(f"{name}: {value.dtype.name}{list(value.shape)}")
    if top:
        for row in best(value, top, names):
            out.print(f"  {row['value']:12.5f}  {row['index']:6d}  {row.get('label', '')}")
    else:
        out.print(np.array2string(value, threshold=20, precision=5))
