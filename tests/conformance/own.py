"""Results are memory of their own: whatever is written into one changes no other, no later run, no session
and no saved file. Asked of every case as it is, and with its inputs turned into constants, which are folded.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from narrow import elements, to_bits, to_values
from onnx import numpy_helper

import walle_rt

Values = dict[str, Any]


def _arrays(value: Any) -> list[np.ndarray]:
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, np.ndarray) and item.dtype != object]


def _scribble(results: Values) -> None:
    """Turn every bit of every array."""
    for value in results.values():
        for array in _arrays(value):
            assert array.flags.writeable
            array.reshape(-1).view(np.uint8)[...] ^= 0xFF


def _same(got: Values, want: Values) -> bool:
    """To the bit: NaN equals NaN, strings and lists as they are."""
    for name, value in want.items():
        mine, theirs = _arrays(got[name]), _arrays(value)
        if len(mine) != len(theirs) or any(
            a.tobytes() != b.tobytes() for a, b in zip(mine, theirs, strict=True)
        ):
            return False
    return True


def _apart(results: Values) -> bool:
    """Turning one result's bits leaves all others alone."""
    for name in results:
        before = copy.deepcopy(results)
        _scribble({name: results[name]})
        others = [other for other in results if other != name]
        if not _same({n: results[n] for n in others}, {n: before[n] for n in others}):
            return False
        _scribble({name: results[name]})
    return True


def _check(model: walle_rt.Model, feeds: Values) -> Values:
    saved, given = model.to_bytes(), copy.deepcopy(feeds)
    session, other = model.session(threads=1), model.session(threads=1)
    results = session.run(feeds)
    want = copy.deepcopy(results)
    if not _same(session.run(feeds), want):
        return want  # it draws numbers: nothing to compare with
    assert _apart(results), "two results share memory"
    _scribble(results)
    assert _same(feeds, given), "a result is an input's memory"
    for run in (session.run, other.run, lambda fed: session.run_async(fed).result()):
        results = run(feeds)
        assert _same(results, want), "writing into a result changed a later run"
        _scribble(results)
    assert _same(session.run(feeds), want), "writing into a result changed a later run"
    assert model.to_bytes() == saved, "writing into a result changed the model"
    return want


def _with_constants(model: onnx.ModelProto, feeds: Values) -> onnx.ModelProto | None:
    """The model with its inputs as initializers; None where one is no tensor."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    for value in model.graph.input:
        if value.name in {known.name for known in model.graph.initializer}:
            continue
        if not isinstance(feeds.get(value.name), np.ndarray) or not value.type.HasField("tensor_type"):
            return None
        array = numpy_helper.from_array(np.asarray(feeds[value.name], order="C"), value.name)
        if array.data_type != value.type.tensor_type.elem_type:
            return None  # of a type that NumPy does not have
        made.graph.initializer.append(array)
    del made.graph.input[:]
    return made


def own(path: Path, model: onnx.ModelProto, inputs: Values) -> Values:
    """Run a case and check that its results are its own; results for the usual comparison."""
    kinds = elements(model)
    feeds = {name: to_bits(value, kinds.get(name, 0)) for name, value in inputs.items()}
    results = _check(walle_rt.load(str(path)), feeds)
    constant = _with_constants(model, inputs)
    if constant is not None:
        _check(walle_rt.load(constant), {})
    return {name: to_values(value, kinds.get(name, 0)) for name, value in results.items()}
