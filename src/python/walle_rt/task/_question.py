"""A question as the server's half of a task gets it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..stream import unpack_batch


def question_of(task: str, version: str, seq: int, ts: int, data: bytes) -> dict[str, Any]:
    """What ``answer(question)`` is called with; vectors of one length are one array, a row each."""
    columns: dict[str, Any] = {}
    rows = 0
    for name, values in unpack_batch(data).columns.items():
        rows = len(values)
        vectors = [v for v in values if isinstance(v, np.ndarray)]
        if vectors and len(vectors) == len(values) and len({v.shape for v in vectors}) == 1:
            columns[name] = np.stack(vectors)
        else:
            columns[name] = list(values)
    return {"task": task, "version": version, "seq": seq, "ts": ts, "columns": columns, "rows": rows}
