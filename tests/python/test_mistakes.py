"""Forty mistakes of a first day with the runtime. Each ends in a walle_rt.Error that says what was given,
what was expected, where, and what to do next - never in a crash, a hang, a foreign exception or a silent
wrong answer."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.helper import make_node

import walle_rt

F = TensorProto.FLOAT


def graph_of(
    nodes: list[onnx.NodeProto],
    inputs: dict[str, Any],
    outputs: dict[str, Any],
    weights: dict[str, Any] | None = None,
) -> onnx.ModelProto:
    """A model that is not checked, because most of these are wrong on purpose."""

    def values(of: dict[str, Any]) -> list[onnx.ValueInfoProto]:
        return [
            helper.make_tensor_value_info(name, *(kind if isinstance(kind, tuple) else (F, kind)))
            for name, kind in of.items()
        ]

    constants = [numpy_helper.from_array(np.asarray(array), name) for name, array in (weights or {}).items()]
    graph = helper.make_graph(nodes, "graph", values(inputs), values(outputs), constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def good() -> onnx.ModelProto:
    """y = x @ w + b with x [n, 4] and an integer input that selects a row."""
    nodes = [
        make_node("MatMul", ["x", "w"], ["product"], name="product"),
        make_node("Gather", ["b", "row"], ["bias"], name="pick", axis=0),
        make_node("Add", ["product", "bias"], ["y"], name="sum"),
    ]
    weights = {"w": np.ones((4, 3), np.float32), "b": np.ones((2, 3), np.float32)}
    return graph_of(nodes, {"x": ["n", 4], "row": (TensorProto.INT64, [])}, {"y": ["n", 3]}, weights)


X = np.ones((2, 4), np.float32)
ROW = np.array(1, np.int64)


def run(**changes: Any) -> Any:
    """Run the good model with some inputs changed; a value of None removes the input."""
    feeds = {"x": X, "row": ROW} | changes
    return (
        walle_rt.load(good())
        .session()
        .run({name: value for name, value in feeds.items() if value is not None})
    )


def outputs_of(outputs: Any) -> Any:
    """The good model with another choice of outputs."""
    return walle_rt.load(good()).session().run({"x": X, "row": ROW}, outputs)


def node(kind: str, inputs: list[str], **attributes: Any) -> onnx.ModelProto:
    """A model of one node on x [2, 4]."""
    return graph_of([make_node(kind, inputs, ["y"], name="only", **attributes)], {"x": [2, 4]}, {"y": None})


def run_picture(shape: tuple[int, ...], dtype: Any = np.float32) -> Any:
    """A model of pictures on an array of this shape."""
    model = graph_of([make_node("Relu", ["x"], ["y"])], {"x": ["n", 3, 8, 9]}, {"y": None})
    return walle_rt.load(model).session().run({"x": np.ones(shape, dtype)})


def run_node(model: onnx.ModelProto) -> Any:
    """Load and run a one-node model."""
    return walle_rt.load(model).session().run({"x": X})


def written(folder: Path, name: str, data: bytes) -> str:
    """A file with the given bytes."""
    (folder / name).write_bytes(data)
    return str(folder / name)


def external(folder: Path, location: str) -> str:
    """A model whose weight lies in another file."""
    model = good()
    weight = model.graph.initializer[0]
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, "offset": "0", "length": "48"}.items():
        entry = weight.external_data.add()
        entry.key, entry.value = key, value
    (folder / "inside").mkdir()
    return written(folder / "inside", "model.onnx", model.SerializeToString())


def outside(folder: Path, location: str) -> Any:
    """The same with the weight's file really existing outside the model's folder."""
    (folder / "secret.bin").write_bytes(np.ones(12, np.float32).tobytes())
    return walle_rt.load(external(folder, location))


def linked(folder: Path) -> Any:
    """A link inside the model's folder that points out of it."""
    path = external(folder, "weight.bin")
    (folder / "secret.bin").write_bytes(np.ones(12, np.float32).tobytes())
    (folder / "inside" / "weight.bin").symlink_to(folder / "secret.bin")
    return walle_rt.load(path)


def saved(folder: Path) -> bytes:
    """The good model as .walle bytes."""
    path = str(folder / "good.walle")
    walle_rt.load(good()).save(path)
    return Path(path).read_bytes()


def unsupported(folder: Path) -> Any:
    """Two operators nobody knows."""
    nodes = [
        make_node("Frobnicate", ["x"], ["a"], name="first"),
        make_node("Quux", ["a"], ["y"], name="second"),
    ]
    return walle_rt.load(graph_of(nodes, {"x": [2, 4]}, {"y": None}))


def cyclic(folder: Path) -> Any:
    """Two nodes that wait for each other."""
    nodes = [
        make_node("Add", ["x", "b"], ["a"], name="first"),
        make_node("Neg", ["a"], ["b"], name="second"),
    ]
    return walle_rt.load(graph_of(nodes, {"x": [2, 4]}, {"b": None}))


def claimed(dims: list[int]) -> onnx.ModelProto:
    """A weight that claims far more elements than it has bytes."""
    model = good()
    del model.graph.initializer[0].dims[:]
    model.graph.initializer[0].dims.extend(dims)
    return model


def expanded(folder: Path) -> Any:
    """An output of exabytes."""
    model = node("Expand", ["x", "size"])
    model.graph.initializer.append(numpy_helper.from_array(np.array([1 << 40, 2, 4], np.int64), "size"))
    return run_node(model)


class Elsewhere:
    """A tensor of another library that lives on another device."""

    def __dlpack__(self, **_: Any) -> Any:
        raise BufferError("cannot export from device 2")

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)


def pipe(folder: Path, name: str) -> Any:
    """A named pipe nobody writes to; opening it the ordinary way waits for ever."""
    os.mkfifo(folder / name)
    return walle_rt.load(folder / name)


@dataclass(frozen=True)
class Mistake:
    """What somebody does, the error it must end in, and words the message must hold."""

    name: str
    make: Callable[[Path], Any]
    error: type[walle_rt.Error]
    words: tuple[str, ...] = ()


A, M = walle_rt.ArgumentError, walle_rt.ModelError
ANY = walle_rt.Error

MISTAKES = [
    # Files
    Mistake("file_is_absent", lambda f: walle_rt.load(str(f / "absent.walle")), ANY, ("absent.walle",)),
    Mistake("file_is_a_folder", lambda f: walle_rt.load(str(f)), ANY, (".",)),
    Mistake("file_is_empty", lambda f: walle_rt.load(written(f, "empty.walle", b"")), M, ("empty.walle",)),
    Mistake("file_is_text", lambda f: walle_rt.load(written(f, "notes.walle", b"hello " * 40)), M),
    Mistake(
        "file_is_a_picture_named_onnx",
        lambda f: walle_rt.load(written(f, "p.onnx", b"\x89PNG\r\n\x1a\n" * 9)),
        M,
    ),
    Mistake("file_is_cut_short", lambda f: walle_rt.load(written(f, "cut.walle", saved(f)[:100])), M),
    Mistake(
        "file_has_a_strange_suffix", lambda f: walle_rt.load(written(f, "model.tflite", b"TFL3" * 20)), ANY
    ),
    Mistake("bytes_are_empty", lambda f: walle_rt.load(b""), ANY),
    Mistake("load_of_a_number", lambda f: walle_rt.load(42), A, ("int",)),  # type: ignore[arg-type]
    Mistake("load_of_none", lambda f: walle_rt.load(None), A, ("None",)),  # type: ignore[arg-type]
    Mistake(
        "save_into_an_absent_folder", lambda f: walle_rt.load(good()).save(f"{f}/no/m.walle"), ANY, ("no",)
    ),
    Mistake(
        "external_data_is_absent", lambda f: walle_rt.load(external(f, "weight.bin")), ANY, ("weight.bin",)
    ),
    Mistake("external_data_climbs_out", lambda f: outside(f, "../secret.bin"), ANY, ("secret.bin",)),
    Mistake("external_data_is_absolute", lambda f: outside(f, str(f / "secret.bin")), ANY, ("secret.bin",)),
    Mistake("external_data_is_a_link_out", linked, ANY, ("weight.bin",)),
    Mistake("file_is_a_pipe", lambda f: pipe(f, "p.walle"), ANY, ("p.walle",)),
    Mistake("file_is_a_pipe_named_onnx", lambda f: pipe(f, "p.onnx"), ANY, ("p.onnx",)),
    Mistake("save_to_a_number", lambda f: walle_rt.load(good()).save(7), A, ("int",)),  # type: ignore[arg-type]
    Mistake("save_to_a_path_with_nul", lambda f: walle_rt.load(good()).save(f"{f}/a\0b"), A, ("NUL",)),
    # Inputs of run
    Mistake("input_name_is_misspelt", lambda f: run(x=None, X=X), A, ("X",)),
    Mistake("input_is_missing", lambda f: run(row=None), A, ("row",)),
    Mistake("input_is_one_too_many", lambda f: run(z=X), A, ("z",)),
    Mistake("input_is_float64", lambda f: run(x=X.astype(np.float64)), A, ("float64", "float32")),
    Mistake("input_is_int32_for_int64", lambda f: run(row=np.array(1, np.int32)), A, ("int32", "int64")),
    Mistake("input_is_strings", lambda f: run(x=np.full((2, 4), "a")), A),
    Mistake("input_is_complex", lambda f: run(x=X.astype(np.complex64)), A, ("complex64",)),
    Mistake("input_is_objects", lambda f: run(x=np.full((2, 4), None, object)), A),
    Mistake("input_has_another_rank", lambda f: run(x=X[0]), A, ("x",)),
    Mistake("input_has_another_size", lambda f: run(x=np.ones((2, 5), np.float32)), A, ("5", "4")),
    Mistake(
        "input_is_none", lambda f: walle_rt.load(good()).session().run({"x": None, "row": ROW}), A, ("x",)
    ),
    Mistake("inputs_are_a_list", lambda f: walle_rt.load(good()).session().run([X, ROW]), A, ("list",)),  # type: ignore[arg-type]
    Mistake("inputs_are_one_array", lambda f: walle_rt.load(good()).session().run(X), A, ("ndarray",)),  # type: ignore[arg-type]
    Mistake("input_key_is_a_number", lambda f: walle_rt.load(good()).session().run({0: X, "row": ROW}), A),  # type: ignore[dict-item]
    Mistake("input_is_on_another_device", lambda f: run(x=Elsewhere()), A, ("Elsewhere", "device", "'x'")),
    Mistake("input_is_a_ragged_list", lambda f: run(x=[[1.0] * 4, [1.0]]), A, ("list", "'x'")),
    Mistake("input_is_a_list_of_words", lambda f: run(x=[["a"] * 4]), A, ("float32", "'x'")),
    Mistake("input_is_a_fraction_for_an_integer", lambda f: run(row=1.5), A, ("float64", "int64", "'row'")),
    Mistake("input_is_nhwc", lambda f: run_picture((1, 8, 9, 3)), A, ("NHWC", "x.transpose(0, 3, 1, 2)")),
    Mistake("input_is_one_picture", lambda f: run_picture((3, 8, 9)), A, ("x[None]",)),
    Mistake("input_is_bytes_of_pixels", lambda f: run_picture((1, 3, 8, 9), np.uint8), A, ("/ 255",)),
    Mistake("outputs_are_one_name", lambda f: outputs_of("y"), A, ("'y'", "list")),
    Mistake("outputs_are_a_number", lambda f: outputs_of(3), A, ("3", "list")),
    Mistake("output_is_misspelt", lambda f: outputs_of(["Y"]), A, ("'Y'", "did you mean 'y'")),
    Mistake("index_is_out_of_range", lambda f: run(row=np.array(7, np.int64)), ANY, ("7",)),
    # Sessions
    Mistake("backend_is_unknown", lambda f: walle_rt.load(good()).session(backend="gpu9"), ANY, ("gpu9",)),
    Mistake("backend_is_a_number", lambda f: walle_rt.load(good()).session(backend=3), A, ("3",)),  # type: ignore[arg-type]
    Mistake("threads_are_zero", lambda f: walle_rt.load(good()).session(threads=0), A, ("0",)),
    Mistake("threads_are_negative", lambda f: walle_rt.load(good()).session(threads=-2), A, ("-2",)),
    Mistake(
        "precision_is_unknown", lambda f: walle_rt.load(good()).session(precision="float7"), A, ("float7",)
    ),
    # Models
    Mistake("operators_are_unknown", unsupported, M, ("Frobnicate", "Quux")),
    Mistake("graph_has_a_cycle", cyclic, M),
    Mistake("value_is_undefined", lambda f: walle_rt.load(node("Add", ["x", "nowhere"])), M, ("nowhere",)),
    Mistake("shapes_do_not_fit", lambda f: run_node(node("MatMul", ["x", "x"])), M, ("MatMul",)),
    Mistake("attribute_is_out_of_range", lambda f: run_node(node("Softmax", ["x"], axis=9)), M, ("9",)),
    Mistake("weight_is_shorter_than_its_shape", lambda f: walle_rt.load(claimed([4000, 3000])), M, ("w",)),
    Mistake("weight_size_overflows", lambda f: walle_rt.load(claimed([1 << 62, 1 << 62])), M),
    Mistake("weight_has_rank_200", lambda f: walle_rt.load(claimed([1] * 200)), M, ("200",)),
    Mistake("weight_has_a_negative_size", lambda f: walle_rt.load(claimed([-4, -3])), M, ("-4",)),
    Mistake("output_is_of_exabytes", expanded, ANY),
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_mistake(mistake: Mistake, tmp_path: Path) -> None:
    with pytest.raises(mistake.error) as caught:
        mistake.make(tmp_path)
    error = caught.value
    for part in ("given", "expected", "where", "next_step"):
        assert getattr(error, part), f"'{part}' is empty in: {error}"
    text = str(error)
    for word in mistake.words:
        assert word in text, f"'{word}' is not in: {text}"


def test_there_are_forty() -> None:
    assert len(MISTAKES) >= 40
    assert len({mistake.name for mistake in MISTAKES}) == len(MISTAKES)


def test_the_good_model_runs() -> None:
    """So that a mistake fails for its own reason and not because the model is wrong."""
    np.testing.assert_array_equal(run()["y"], np.full((2, 3), 5, np.float32))
