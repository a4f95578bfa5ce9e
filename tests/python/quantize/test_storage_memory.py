"""What a process holds that runs a model whose weights are stored in 16 bits."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run_command
from memory_model import command, write_inside

from walle_rt import quantize

pytestmark = pytest.mark.usefixtures("measured_machine")
LAYERS, SIZE = 9, 1024
BYTES = LAYERS * SIZE * SIZE * 4  # in float32


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The chain of products in both dtypes and kinds of files, and tiny ones: what Python itself takes."""
    folder = tmp_path_factory.mktemp("stored")
    found = {}
    for size in (SIZE, 40):
        write_inside(folder / "floats.onnx", LAYERS, size)
        for dtype in ("float16", "bfloat16"):
            made = quantize.storage(folder / "floats.onnx", dtype=dtype)
            for kind in ("walle", "onnx"):
                name = f"{'' if size == SIZE else 'tiny '}{dtype} {kind}"
                found[name] = folder / f"{name.replace(' ', '_')}.{kind}"
                made.save(found[name])
    return found


@pytest.mark.parametrize("rows", [1, 3, 64])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(("kind", "bar"), [("walle", 0.65), ("onnx", 0.8)])
def test_no_more_than_sixteen_bits_are_in_memory(
    files: dict[str, Path], kind: str, bar: float, dtype: str, rows: int
) -> None:
    """Peaks, in sizes of the float32 weights: half of that, and what the rows need."""
    tiny = run_command(command("walle", files[f"tiny {dtype} {kind}"], rows)).json
    found = run_command(command("walle", files[f"{dtype} {kind}"], rows)).json
    assert 0.4 < (found["peak"] - tiny["peak"]) / BYTES <= bar
