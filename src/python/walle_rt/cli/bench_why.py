"""``walle bench --why``: our layers beside the best peer's profile of the same graph."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import ArgumentError, BackendError, ResourceError
from ..loading import load
from ..made_up import made_up_inputs
from .console import emit_json, out, working
from .options import model_dims


def explain_loss(model: Path, dim: list[str] | None, rounds: int, top: int, json_: bool) -> None:
    """Print where our time goes beside the best peer's."""
    for package in ("onnx",):
        if find_spec(package) is None:
            raise ResourceError.of(
                f"the package {package} is missing",
                "the extra [convert] to be installed",
                "--why",
                "pip install 'walle_rt[convert]' and the runtimes to compare with",
            )
    if model.suffix != ".onnx":
        raise ArgumentError.of(
            f"'{model.name}' with --why",
            "an .onnx file: other runtimes read no other",
            "--why",
            "name the ONNX file that it was converted from",
        )
    from ..bench import why
    from ..bench.peers import Unavailable

    loaded = load(model)
    feeds: dict[str, Any] = made_up_inputs(loaded, model_dims(dim, loaded))
    with tempfile.TemporaryDirectory() as folder, working("measuring every engine", json_):
        cache = Path(folder)
        source = with_sizes(model, {name: array.shape for name, array in feeds.items()}, cache)
        try:
            with peers_are_quiet():
                found = why.why(source, feeds, cache, rounds)
        except Unavailable as error:
            raise BackendError.of(
                f"no engine to compare with: {error}",
                "one of onnxruntime, openvino and MNN that runs this model",
                "--why",
                "pip install onnxruntime openvino",
            ) from None
    if json_:
        emit_json({**found.as_dict(), "model": str(model)})
        return
    for line in why.text(found, top):
        out.print(line)


def with_sizes(model: Path, shapes: dict[str, tuple[int, ...]], folder: Path) -> Path:
    """The model with the sizes of its inputs written in; the file itself where it has them all.

    Some engines plan better, or at all, for sizes that they know. A model whose weights lie in other files is
    taken as it is.
    """
    import onnx

    from ..bench.real import Real, fixed

    proto = onnx.load(str(model), load_external_data=False)
    open_sizes = any(
        not dim.HasField("dim_value")
        for value in proto.graph.input
        for dim in value.type.tensor_type.shape.dim
    )
    outside = any(tensor.data_location == onnx.TensorProto.EXTERNAL for tensor in proto.graph.initializer)
    if not open_sizes or outside:
        return model.resolve()
    copy = folder / model.name
    copy.write_bytes(fixed(proto, Real(model.name, shapes)).SerializeToString())
    return copy


@contextmanager
def peers_are_quiet() -> Iterator[None]:
    """Send what other engines print to nowhere: they write past sys.stdout and sys.stderr."""
    streams = (sys.stdout, sys.stderr)
    for stream in streams:
        stream.flush()
    kept = [os.dup(number) for number in (1, 2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for number in (1, 2):
            os.dup2(nowhere, number)
        yield
    finally:
        for stream in streams:
            stream.flush()
        for number, own in zip((1, 2), kept, strict=True):
            os.dup2(own, number)
            os.close(own)
        os.close(nowhere)
