"""Peak memory of a large model: a chain of nine products of 8192 x 8192 float32 (2.4 GB).

Every row is a process of its own, and its peak is what the kernel says of it (VmHWM), mapped pages included.
The files take 5 GB in a temporary folder, saving takes 2.4 more. onnxruntime stands beside it where it is
installed.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python"))

from memory_model import command, write_beside  # noqa: E402 - a folder beside

LAYERS, SIZE = 9, 8192
BYTES = LAYERS * SIZE * SIZE * 4
FREE_BYTES = 4 * BYTES
BARS = {
    ("walle", "walle", 1): 1.1,
    ("walle", "onnx", 1): 1.3,
}  # engine, file, rows: peak in sizes of the weights
SAVE_BAR = 1.1


def run(engine: str, path: Path, rows: int, saved: Path | None = None) -> dict[str, Any]:
    done = subprocess.run(
        list(map(str, command(engine, path, rows, saved))), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    folder = tmp_path_factory.mktemp("memory")
    if (free := shutil.disk_usage(folder).free) < FREE_BYTES:
        pytest.skip(f"{free / 1e9:.1f} GB free in {folder}, {FREE_BYTES / 1e9:.0f} needed")
    found = {"onnx": folder / "chain.onnx", "walle": folder / "chain.walle"}
    write_beside(found["onnx"], LAYERS, SIZE)
    converted = run("walle", found["onnx"], 1, found["walle"])
    print(
        f"\nconverted and saved: peak {converted['peak'] / BYTES:.2f}x, {converted['seconds']['save']:.1f} s"
    )
    yield found
    shutil.rmtree(folder)


def engines() -> list[tuple[str, str]]:
    peers = [("onnxruntime", "onnx")] if importlib.util.find_spec("onnxruntime") else []
    return [("walle", "walle"), ("walle", "onnx"), *peers]


@pytest.mark.parametrize("rows", [1, 64])
def test_peak_memory(files: dict[str, Path], rows: int) -> None:
    print(f"\n{'engine':<12} {'file':<6} {'peak/file':>9} {'load s':>7} {'first s':>7} {'run ms':>7}")
    for engine, kind in engines():
        found = run(engine, files[kind], rows)
        seconds = found["seconds"]
        print(
            f"{engine:<12} {kind:<6} {found['peak'] / BYTES:>9.2f} {seconds['load']:>7.2f}"
            f" {seconds['first run']:>7.2f} {1e3 * seconds['run']:>7.1f}"
        )
        bar = BARS.get((engine, kind, rows))
        assert bar is None or found["peak"] <= bar * BYTES


@pytest.mark.parametrize("rows", [1, 64])
def test_saving(files: dict[str, Path], tmp_path: Path, rows: int) -> None:
    found = run("walle", files["walle"], rows, tmp_path / "again.walle")
    more = (found["peak"] - found["ran"]) / BYTES
    seconds = found["seconds"]["save"]
    peak = found["peak"] / BYTES
    print(f"\nsave() after {rows} rows: peak {peak:.2f}x, {more:.2f}x above the runs', {seconds:.1f} s")
    assert found["peak"] <= found["ran"] + SAVE_BAR * BYTES
    (tmp_path / "again.walle").unlink()
