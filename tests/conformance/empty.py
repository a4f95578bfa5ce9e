"""Cases without elements: every node case again with dimensions of its inputs set to 0.

An id is ``case#k``: the k-th way to empty the case's inputs. A way sets one dimension of one input to 0, or
at once all dimensions of one size (so that operands still agree, as when a batch is empty).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from suite import Case, data_sets

Inputs = dict[str, Any]


def _emptied(array: np.ndarray[Any, Any], axes: list[int]) -> np.ndarray[Any, Any]:
    return array[tuple(slice(0, 0) if axis in axes else slice(None) for axis in range(array.ndim))].copy()


def ways(inputs: Inputs) -> Iterator[tuple[str, Inputs]]:
    """What is emptied, and the inputs without it."""
    arrays = {name: v for name, v in inputs.items() if isinstance(v, np.ndarray) and v.ndim}
    for name, array in arrays.items():
        for axis in range(array.ndim):
            yield f"{name} axis {axis}", {**inputs, name: _emptied(array, [axis])}
    sizes = sorted({size for array in arrays.values() for size in array.shape if size > 0})
    for size in sizes:
        axes = {name: [axis for axis, s in enumerate(a.shape) if s == size] for name, a in arrays.items()}
        if sum(map(len, axes.values())) > 1:
            emptied = {name: _emptied(arrays[name], axes[name]) for name in arrays}
            yield f"every size {size}", {**inputs, **emptied}


def without_shapes(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the ranks of its inputs declared, but no sizes, and nothing said of other values."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    for info in model.graph.input:
        if info.type.HasField("tensor_type"):
            for dim in info.type.tensor_type.shape.dim:
                dim.Clear()
    for info in model.graph.output:
        if info.type.HasField("tensor_type"):
            info.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    return model


def ids(case: Case) -> list[str]:
    """The ids of all ways to empty the case's first data set."""
    sets = data_sets(case, onnx.load(str(case.model)))
    return [f"{case.id}#{k}" for k, _ in enumerate(ways(sets[0][0]))] if sets else []


def verdict(case: Case, way: int) -> str | None:
    """None when the model answers or refuses with an error of its own; anything else is a fault."""
    import walle_rt

    model = onnx.load(str(case.model))
    label, inputs = list(ways(data_sets(case, model)[0][0]))[way]
    try:
        walle_rt.load(without_shapes(model).SerializeToString()).session(threads=1).run(inputs)
    except walle_rt.Error as error:
        if "internal" in type(error).__name__.lower():
            return f"{label}: {error}"
    except Exception as error:
        return f"{label}: {type(error).__name__}: {error}"
    return None
