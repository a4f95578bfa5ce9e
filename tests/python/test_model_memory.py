"""Weights lie in memory once, whatever they came from; files that are written over are noticed."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from build_model import model
from commands import run_command, run_python, run_walle
from memory_model import command, write_beside, write_inside
from onnx.helper import make_node

import walle_rt

pytestmark = pytest.mark.usefixtures("measured_machine")
LAYERS, SIZE = 9, 1024
BYTES = LAYERS * SIZE * SIZE * 4


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The chain as files of each kind, and tiny ones, whose processes show what Python itself takes."""
    folder = tmp_path_factory.mktemp("memory")
    found = {kind: folder / f"{kind}.onnx" for kind in ("inside", "beside", "tiny")}
    write_inside(found["inside"], LAYERS, SIZE)
    write_beside(found["beside"], LAYERS, SIZE)
    write_inside(found["tiny"], LAYERS, 8)
    for kind, source in (("walle", "beside"), ("tiny walle", "tiny")):
        found[kind] = folder / f"{source}.walle"
        walle_rt.load(found[source]).save(found[kind])
    return found


def growth(files: dict[str, Path], kind: str, rows: int, saved: Path | None = None) -> float:
    """Peak memory above that of a tiny model, in sizes of the weights."""
    tiny = run_command(command("walle", files["tiny walle" if kind == "walle" else "tiny"], rows)).json
    found = run_command(command("walle", files[kind], rows, saved)).json
    return float(found["peak"] - tiny["peak"]) / BYTES


@pytest.mark.parametrize(("kind", "rows", "bar"), [
    ("walle", 1, 1.1),
    ("beside", 1, 1.3),
    ("inside", 1, 1.3),
    ("walle", 64, 1.5),
    ("beside", 64, 1.5),
    ("inside", 64, 1.5),
])  # fmt: skip
def test_weights_are_in_memory_once(files: dict[str, Path], kind: str, rows: int, bar: float) -> None:
    """With 64 rows they are packed: a matrix of the nine, and what 64 rows need, comes on top."""
    assert 0.9 < growth(files, kind, rows) <= bar


@pytest.mark.parametrize("rows", [1, 64])
def test_saving_takes_no_second_copy(files: dict[str, Path], tmp_path: Path, rows: int) -> None:
    assert growth(files, "walle", rows, tmp_path / "again.walle") <= 1.5
    assert (tmp_path / "again.walle").read_bytes() == files["walle"].read_bytes()


def test_all_kinds_of_files_mean_the_same(files: dict[str, Path]) -> None:
    x = np.random.default_rng(1).standard_normal((64, SIZE)).astype(np.float32)
    sessions = {k: walle_rt.load(files[k]).session(threads=2) for k in ("walle", "inside", "beside")}
    few = [s.run({"x": x[:3]})["y"] for s in sessions.values()]  # in place
    many = [s.run({"x": x})["y"] for s in sessions.values()]  # packed
    again = [s.run({"x": x[:3]})["y"] for s in sessions.values()]  # from what the others packed
    for group in (few, many, again):
        assert all(np.array_equal(group[0], y) for y in group[1:])
    np.testing.assert_allclose(few[0], many[0][:3], rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(few[0], again[0], rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize(("k", "n"), [(1031, 257), (300, 1001), (70_000, 5), (17, 20_000)])
def test_weights_read_in_place_give_the_product(k: int, n: int) -> None:
    random = np.random.default_rng(k)
    w = random.standard_normal((k, n)).astype(np.float32) / np.float32(k**0.5)
    b = random.standard_normal(n).astype(np.float32)
    nodes = [make_node("MatMul", ["x", "w"], ["p"]), make_node("Add", ["p", "b"], ["s"])]
    made = model([*nodes, make_node("Relu", ["s"], ["y"])], {"x": ["m", k]}, ["y"], {"w": w, "b": b})
    loaded = walle_rt.load(made)
    for rows in (1, 2, 6, 7, 3):
        x = random.standard_normal((rows, k)).astype(np.float32)
        for threads in (1, 2):
            got = loaded.session(threads=threads).run({"x": x})["y"]
            expected = np.maximum(x.astype(np.float64) @ w + b, 0)
            np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)


def test_a_plan_says_which_weights_stay_in_place(files: dict[str, Path]) -> None:
    session = walle_rt.load(files["walle"]).session(threads=1)
    session.run({"x": np.ones((1, SIZE), np.float32)})
    algorithms = [row.algorithm for row in session.explain().rows]
    assert sum("gemm_in_place_f32" in a for a in algorithms) == LAYERS


def test_one_session_packs_while_another_reads(files: dict[str, Path]) -> None:
    loaded = walle_rt.load(files["walle"])
    x = np.random.default_rng(2).standard_normal((64, SIZE)).astype(np.float32)
    expected = loaded.session(threads=1).run({"x": x[:1]})["y"]
    wrong: list[Any] = []

    def read() -> None:
        session = loaded.session(threads=1)
        for _ in range(30):
            y = session.run({"x": x[:1]})["y"]
            if not np.allclose(y, expected, rtol=2e-4, atol=2e-5):
                wrong.append(y)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    loaded.session(threads=1).run({"x": x})
    for reader in readers:
        reader.join()
    assert not wrong


def test_weights_at_odd_addresses_and_models_of_several_tensors(tmp_path: Path) -> None:
    """In an ONNX file they lie anywhere; whatever is odd in the file is left to the parser."""
    random = np.random.default_rng(3)
    weights = {f"w{i}": random.standard_normal(400_000 + i).astype(np.float32) for i in range(3)}
    weights["n"] = np.arange(200_001, dtype=np.int64)
    nodes = [make_node("Add", [k, k], [f"y{k}"]) for k in weights]
    nodes += [make_node("Add", ["x", f"y{k}"], [f"z{k}"]) for k in weights if k != "n"]
    made = model(nodes, {"x": [1]}, ["zw0", "zw1", "zw2", "yn"], weights)
    path = tmp_path / "m.onnx"
    onnx.save(made, path)
    feeds = {"x": np.ones(1, np.float32)}
    for source in (path, made, path.read_bytes()):
        got = walle_rt.load(source).session(threads=1).run(feeds)
        for k, w in weights.items():
            np.testing.assert_array_equal(got["yn" if k == "n" else f"z{k}"], w + w + (k != "n"))
    data = bytearray(path.read_bytes())
    for cut in (len(data) - 1, len(data) // 2, (1 << 20) + 1):
        path.write_bytes(data[:cut])
        with pytest.raises(walle_rt.ModelError):
            walle_rt.load(path)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_saved_file_has_the_mode_that_others_have(tmp_path: Path) -> None:
    small = model([make_node("Neg", ["x"], ["y"])], {"x": [1]}, ["y"])
    onnx.save(small, tmp_path / "m.onnx")
    script = f"""
        import os, walle_rt
        os.umask(0o027)
        model = walle_rt.load({str(tmp_path / "m.onnx")!r})
        model.save({str(tmp_path / "new.walle")!r})
        model.save({str(tmp_path / "link.walle")!r})
    """
    (tmp_path / "old.walle").write_bytes(b"anything")
    (tmp_path / "old.walle").chmod(0o604)
    (tmp_path / "link.walle").symlink_to("old.walle")
    run_python(script)
    assert mode(tmp_path / "new.walle") == 0o640
    assert mode(tmp_path / "old.walle") == 0o604
    assert (tmp_path / "link.walle").is_symlink()
    assert (tmp_path / "old.walle").read_bytes() == (tmp_path / "new.walle").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.walle", "m.onnx", "new.walle", "old.walle"]


def copy_of(files: dict[str, Path], kind: str, folder: Path) -> Path:
    for file in (files[kind], files[kind].with_suffix(".data")):
        if file.exists() and (kind == "beside" or file == files[kind]):
            (folder / file.name).write_bytes(file.read_bytes())
    return folder / files[kind].name


@pytest.mark.parametrize("kind", ["walle", "beside", "inside"])
@pytest.mark.parametrize("how", ["truncate(1000)", "write(b'0')"])
def test_a_file_that_is_written_over_is_an_error_and_no_signal(
    files: dict[str, Path], tmp_path: Path, kind: str, how: str
) -> None:
    path = copy_of(files, kind, tmp_path)
    data = path.with_suffix(".data") if kind == "beside" else path
    run_python(f"""
        import time
        import numpy as np
        import walle_rt
        model = walle_rt.load({str(path)!r})
        session = model.session(threads=1)
        x = {{"x": np.ones((1, {SIZE}), np.float32)}}
        session.run(x)
        time.sleep(0.02)
        with open({str(data)!r}, "r+b") as file:
            file.{how}
        for step in (lambda: session.run(x), lambda: model.session(threads=1), lambda: model.to_bytes()):
            try:
                step()
            except walle_rt.ResourceError as error:
                assert {str(data)!r} in error.given and "load" in error.next_step, error
            else:
                raise SystemExit("a file that was written to went unnoticed")
    """)


def test_a_small_file_may_be_written_over(tmp_path: Path) -> None:
    w = np.arange(1000, dtype=np.float32)
    walle_rt.load(model([make_node("Add", ["x", "w"], ["y"])], {"x": [1]}, ["y"], {"w": w})).save(
        tmp_path / "m.walle"
    )
    run_python(f"""
        import numpy as np
        import walle_rt
        session = walle_rt.load({str(tmp_path / "m.walle")!r}).session(threads=1)
        open({str(tmp_path / "m.walle")!r}, "w").close()
        y = session.run({{"x": np.ones(1, np.float32)}})["y"]
        assert y.tolist() == [i + 1 for i in range(1000)]
    """)


def test_damaged_weights_are_found_when_asked_for(files: dict[str, Path], tmp_path: Path) -> None:
    path = copy_of(files, "walle", tmp_path)
    assert run_walle("inspect", path, "--verify", "--json").json == {
        "file": str(path),
        "bytes": path.stat().st_size,
        "verified": True,
    }
    assert "every checksum is right" in run_walle("inspect", path, "--verify").stdout
    walle_rt.load(path, verify=True)
    data = bytearray(path.read_bytes())
    data[-5000] ^= 1
    path.write_bytes(data)
    walle_rt.load(path)
    with pytest.raises(walle_rt.ModelError, match=f"segment {LAYERS - 1}"):
        walle_rt.load(path, verify=True)
    run_walle("inspect", path, "--verify", code=4, says="wrong checksum")
    run_walle("inspect", files["tiny"], "--verify", code=3, says="no .walle file")
    with pytest.raises(walle_rt.ModelError, match="wrong checksum"):
        walle_rt.load(bytes(data))


def test_a_file_cut_short_says_so(files: dict[str, Path], tmp_path: Path) -> None:
    path = copy_of(files, "walle", tmp_path)
    os.truncate(path, BYTES // 2)
    with pytest.raises(walle_rt.ModelError, match="cut short"):
        walle_rt.load(path)
