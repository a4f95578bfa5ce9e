"""walle.engine: a task runs the models of its own bundle, and no others."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fresh import fresh_call

from walle_rt import _core
from walle_rt.vm import VM, Isolate, LimitExceeded, Limits, TaskBundle, TaskFailed
from walle_rt.vm.pool import Pool

WEIGHTS = np.arange(12, dtype=np.float32).reshape(4, 3) - 5
SOURCE = """
import walle
from walle import engine
def run(x):
    return engine.load('models/relu.walle').run({'x': x})
def load(name, threads=1):
    model = engine.load(name, threads)
    return [model.name, model.inputs, model.outputs]
def call(inputs):
    return engine.load('models/relu.walle').run(inputs)
def many(n):
    return len([engine.load('models/relu.walle') for _ in range(n)])
held = []
def hold(n):
    held.extend(engine.load('models/relu.walle') for _ in range(n))
    return len(held)
class Holder:
    pass
def cycles(n, collect=True):
    import gc
    if not collect:
        gc.disable()
    for _ in range(n):
        holder = Holder()
        holder.me = holder
        holder.model = engine.load('models/relu.walle')
    return n
def again(n):
    for _ in range(n):
        engine.load('models/relu.walle').close()
    return n
def closed():
    model = engine.load('models/relu.walle')
    model.close()
    model.close()
    return model.run({'x': walle.Tensor('float32', (1, 4))})
def names():
    return engine.resources()
def read(name):
    view = engine.read(name)
    return [bytes(view).decode(), view.readonly]
def write(name):
    engine.read(name)[0] = 1
def chain(x, n):
    model = engine.load('models/relu.walle')
    kept = [model.run({'x': x}) for _ in range(n)]
    return len(kept)
"""


def relu_model(folder: Path) -> bytes:
    """y = max(x w, 0) as a .walle file."""
    builder = _core.GraphBuilder("relu")
    x = builder.input("x", "tensor", "float32", ["n", 4])
    product = builder.node("MatMul", "m", [x, builder.constant("w", WEIGHTS, "float32")], ["p"], [])[0]
    builder.outputs(builder.node("Relu", "r", [product], ["y"], []))
    path = folder / "relu.walle"
    _core.Model.create(builder.finish([], {})).save(str(path))
    return path.read_bytes()


@pytest.fixture(scope="module")
def resources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    model = relu_model(tmp_path_factory.mktemp("model"))
    return {
        "models/relu.walle": model,
        "labels.txt": b"cat dog",
        "models/cut.walle": model[: len(model) // 2],
    }


@pytest.fixture
def make(vm: VM, resources: dict[str, bytes]) -> Callable[..., Isolate]:
    def made(**limits: Any) -> Isolate:
        isolate = Isolate(vm, limits=Limits(**limits))
        isolate.load(TaskBundle.from_source({"main": SOURCE}, vm, resources=resources))
        return isolate

    return made


def expected(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.maximum(x @ WEIGHTS, 0)


def test_a_task_runs_its_model(make: Any) -> None:
    x = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)
    got = make().call("run", x)
    assert list(got) == ["y"]
    np.testing.assert_allclose(got["y"], expected(x), rtol=1e-5)


def test_from_a_folder_and_a_file(vm: VM, device: VM, tmp_path: Path, resources: dict[str, bytes]) -> None:
    folder = tmp_path / "task"
    (folder / "models").mkdir(parents=True)
    (folder / "__pycache__").mkdir()
    (folder / "main.py").write_text(SOURCE)
    for name, data in resources.items():
        (folder / name).write_bytes(data)
    (folder / ".hidden").write_text("x")
    (folder / "__pycache__" / "main.pyc").write_bytes(b"x")
    TaskBundle.compile(folder, vm).save(tmp_path / "x.wtask")
    bundle = TaskBundle.load(tmp_path / "x.wtask", device)
    assert bundle.resources == {name: len(data) for name, data in resources.items()}
    with Isolate(device) as isolate:
        isolate.load(bundle)
        assert isolate.call("names") == sorted(resources)
        x = np.ones((2, 4), np.float32)
        np.testing.assert_allclose(isolate.call("run", x)["y"], expected(x), rtol=1e-5)


def test_the_model_describes_itself(make: Any) -> None:
    name, inputs, outputs = make().call("load", "models/relu.walle")
    assert name == "models/relu.walle"
    assert inputs == [{"name": "x", "dtype": "float32", "shape": [None, 4]}]
    assert [o["name"] for o in outputs] == ["y"]


@pytest.mark.parametrize(
    "name",
    [
        "relu.walle",
        "../relu.walle",
        "/etc/passwd",
        "models/../models/relu.walle",
        "",
        "models",
        "models/relu.walle\0x",
    ],
)
def test_only_the_bundles_own_resources(make: Any, name: str) -> None:
    with pytest.raises(TaskFailed, match=r"expected one of: labels\.txt"):
        make().call("load", name)


def test_other_isolates_resources_are_out_of_reach(make: Any, vm: VM) -> None:
    make().call("load", "models/relu.walle")
    isolate = Isolate(vm)
    isolate.load(TaskBundle.from_source({"main": SOURCE}, vm))
    with pytest.raises(TaskFailed, match="a bundle with resources"):
        isolate.call("load", "models/relu.walle")


def test_damaged_models_and_other_files_are_refused(make: Any) -> None:
    isolate = make()
    for name in ("models/cut.walle", "labels.txt"):
        with pytest.raises(TaskFailed) as caught:
            isolate.call("load", name)
        assert caught.value.type == "ValueError" and name in caught.value.detail
    assert isolate.call("again", 1) == 1


@pytest.mark.parametrize(
    ("inputs", "match", "kind"),
    [
        ({}, "no value for input 'x'", "ValueError"),
        ({"z": np.ones((1, 4), np.float32)}, "input 'z'", "ValueError"),
        ({"x": np.ones((1, 5), np.float32)}, "x", "ValueError"),
        ({"x": np.ones((1, 4), np.int64)}, "x", "ValueError"),
        ({"x": [1.0, 2.0]}, "which is no tensor", "TypeError"),
        ([1], "not a dict", "TypeError"),
    ],
)
def test_wrong_inputs_are_errors_of_the_task(make: Any, inputs: Any, match: str, kind: str) -> None:
    isolate = make()
    with pytest.raises(TaskFailed, match=match) as caught:
        isolate.call("call", inputs)
    assert caught.value.type == kind and caught.value.limit == "" and "walle.engine.run" in str(caught.value)
    assert isolate.call("again", 1) == 1


def test_models_are_bounded_and_closed(make: Any) -> None:
    isolate = make()
    assert isolate.call("many", 16) == 16
    assert isolate.call("again", 50) == 50
    with pytest.raises(TaskFailed, match="at most 16 loaded models"):
        isolate.call("many", 17)
    with pytest.raises(TaskFailed, match="a model that was closed"):
        make().call("closed")
    for threads in (-1, 17):
        with pytest.raises(TaskFailed, match=f"threads={threads}"):
            make().call("load", "models/relu.walle", threads)


@pytest.mark.parametrize("collect", [True, False])
def test_models_in_cycles_are_collected_before_one_is_refused(make: Any, collect: bool) -> None:
    isolate = make()
    assert isolate.call("cycles", 17, collect) == 17
    assert isolate.call("cycles", 100, collect) == 100
    assert isolate.call("hold", 16) == 16  # the cycles' last ones have gone as well
    with pytest.raises(TaskFailed, match="at most 16 loaded models"):
        isolate.call("cycles", 1, collect)


def test_reset_gives_models_up_and_keeps_the_bundle(make: Any) -> None:
    isolate = make()
    assert isolate.call("hold", 16) == 16
    with pytest.raises(TaskFailed, match="at most 16"):
        isolate.call("hold", 1)
    isolate.reset()
    assert isolate.call("hold", 16) == 16


def test_pools_run_models(vm: VM, resources: dict[str, bytes]) -> None:
    bundle = TaskBundle.from_source({"main": SOURCE}, vm, resources=resources)
    pool = Pool(vm, size=2, limits=Limits(wall_ms=20_000))
    x = np.ones((2, 4), np.float32)
    for _ in range(5):
        np.testing.assert_allclose(fresh_call(pool, bundle, "run", x)["y"], expected(x), rtol=1e-5)
        assert fresh_call(pool, bundle, "hold", 16) == 16


def test_other_files_are_read_in_place(make: Any) -> None:
    isolate = make()
    assert isolate.call("read", "labels.txt") == ["cat dog", True]
    with pytest.raises(TaskFailed) as caught:
        isolate.call("write", "labels.txt")
    assert caught.value.type == "TypeError"


def test_host_calls_can_be_forbidden(make: Any) -> None:
    isolate = make(host_calls=["walle.engine.resources"])
    assert len(isolate.call("names")) == 3
    with pytest.raises(LimitExceeded) as caught:
        isolate.call("load", "models/relu.walle")
    assert caught.value.limit == "host_call"


def test_results_count_against_the_heap(make: Any) -> None:
    x = np.ones((10_000, 4), np.float32)  # 120 KB per result
    isolate = make(heap_bytes=16 << 20)
    assert isolate.call("chain", x, 50) == 50
    with pytest.raises(LimitExceeded) as caught:
        isolate.call("chain", x, 1000)
    assert caught.value.limit == "heap"
    assert isolate.call("chain", x, 50) == 50


def test_isolates_run_one_model_at_the_same_time(make: Any) -> None:
    isolates = [make() for _ in range(4)]
    failures: list[BaseException] = []

    def body(number: int) -> None:
        try:
            for i in range(20):
                x = np.full((3, 4), number + i, np.float32)
                np.testing.assert_allclose(isolates[number].call("run", x)["y"], expected(x), rtol=1e-5)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=body, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


def test_a_small_stack_is_enough(make: Any) -> None:
    isolate, x = make(), np.ones((64, 4), np.float32)
    got: list[Any] = []
    before = threading.stack_size(256 << 10)
    try:
        thread = threading.Thread(target=lambda: got.append(isolate.call("run", x)["y"]))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    np.testing.assert_allclose(got[0], expected(x), rtol=1e-5)


def test_a_result_outlives_its_isolate(make: Any) -> None:
    isolate, x = make(), np.ones((2, 4), np.float32)
    got = isolate.call("run", x)["y"]
    isolate.close()
    del isolate
    _core.vm.drain()
    np.testing.assert_allclose(got, expected(x), rtol=1e-5)


@pytest.mark.parametrize("name", ["../x", "/x", "a//b", "a/./b", "", "a\\b", "x" * 256, "a\n"])
def test_resource_names_are_checked_while_compiling(vm: VM, name: str) -> None:
    from walle_rt import ArgumentError

    with pytest.raises(ArgumentError, match="a relative path of plain parts"):
        TaskBundle.from_source({"main": "x = 1\n"}, vm, resources={name: b"x"})
