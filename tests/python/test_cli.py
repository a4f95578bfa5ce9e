"""The command line: every command, --json, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from build_model import model
from onnx.helper import make_node


def walle(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "walle_rt.cli.main", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def answer(*arguments: object) -> Any:
    """The JSON a successful command prints."""
    done = walle(*arguments, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def scaled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model on pictures: y = mean over pixels of 2 x, per channel."""
    nodes = [
        make_node("Mul", ["x", "two"], ["d"], name="double"),
        make_node("ReduceMean", ["d"], ["y"], axes=[2, 3], keepdims=0),
    ]
    made = model(nodes, {"x": ["n", 3, 4, 4]}, {"y": ["n", 3]}, {"two": np.array(2, np.float32)})
    path = tmp_path_factory.mktemp("cli") / "scaled.onnx"
    onnx.save(made, str(path))
    return path


def test_convert_check_and_inspect(scaled: Path) -> None:
    found = answer(
        "convert",
        scaled,
        "-o",
        scaled.with_name("out.walle"),
        "--check",
        "--dim",
        "n=2",
        "--signature",
        "serve:image=x->means=y",
    )
    assert found["nodes"] == 2 and found["operators"] == {"Mul": 1, "ReduceMean": 1}
    assert found["check"]["equal"] and found["bytes"] > 0
    looked = answer("inspect", found["output"])
    assert looked["signatures"]["serve"]["inputs"] == {"image": "x"}
    assert looked["inputs"][0]["shape"] == ["n", 3, 4, 4]


def test_check_on_given_input(scaled: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=np.ones((2, 3, 4, 4), np.float32))
    target = tmp_path / "m.walle"
    assert answer("convert", scaled, "-o", target, "--check", "-i", tmp_path / "x.npz")["check"]["equal"]
    (tmp_path / "x.npz").write_bytes(b"not a zip")
    assert walle("convert", scaled, "-o", target, "--check", "-i", tmp_path / "x.npz").returncode == 3


@pytest.mark.parametrize("stage", ["model", "shapes", "raster", "plan"])
def test_inspect_stages(scaled: Path, stage: str) -> None:
    done = walle("inspect", scaled, f"--stage={stage}", "--dim", "n=2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    if stage == "shapes":
        assert "d: float32[2, 3, 4, 4]" in done.stdout


def test_inspect_plan_predicts_and_measures(scaled: Path) -> None:
    found = answer("inspect", scaled, "--stage=plan", "--runs", 2)
    assert {r["measured_runs"] for r in found["rows"]} == {2}
    row = next(r for r in found["rows"] if r["op"] == "ReduceMean")
    assert row["output"] == "float32[1, 3]" and row["storage"] == "output" and row["bytes"] > 0
    text = walle("inspect", scaled, "--stage=plan", "--runs", 0, "--losers").stdout
    assert "ReduceMean" in text and "time by algorithm" in text and "over eltwise_binary_reference" in text


def test_run_on_a_picture(scaled: Path, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    pixels = np.zeros((8, 8, 3), np.uint8)
    pixels[:] = (255, 0, 51)
    image.fromarray(pixels).save(tmp_path / "p.png")
    (tmp_path / "labels.txt").write_text("red\ngreen\nblue\n")
    found = answer("run", scaled, "-i", tmp_path / "p.png", "--top", 2, "--labels", tmp_path / "labels.txt")
    top = found["outputs"]["y"]["top"]
    assert [t["label"] for t in top] == ["red", "blue"]
    assert top[0]["value"] == pytest.approx(2.0) and top[1]["value"] == pytest.approx(0.4)


def test_run_on_npz_npy_and_json(scaled: Path, tmp_path: Path) -> None:
    x = np.ones((1, 3, 4, 4), np.float32)
    np.savez(tmp_path / "x.npz", x=x)
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "x.json").write_text(json.dumps({"x": x.tolist()}))
    for given in (tmp_path / "x.npz", f"x={tmp_path / 'x.npy'}", tmp_path / "x.json"):
        found = answer("run", scaled, "-i", given, "-o", tmp_path / "out.npz")
        assert found["outputs"]["y"]["data"] == [[2.0, 2.0, 2.0]]
        np.testing.assert_array_equal(np.load(tmp_path / "out.npz")["y"], [[2, 2, 2]])


def test_bench(scaled: Path, tmp_path: Path) -> None:
    found = answer("bench", scaled, "--seconds", 0.05, "--profile", tmp_path / "t.json")
    assert found["runs"] >= 1 and 0 < found["min_ms"] <= found["median_ms"] <= found["p90_ms"]
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]


def test_doctor() -> None:
    found = answer("doctor")
    assert found["self_check"] == "passed"
    assert "scalar" in found["backends"]["cpu"]
    assert found["processors"] >= 1


def test_counts_are_those_of_the_paper_and_of_the_table() -> None:
    found = answer("inspect", "ops", "--counts")
    paper = found["work"][0]
    assert (paper["without"], paper["with"], round(paper["saved"], 2)) == (1954, 1055, 0.46)
    assert sum(found["operators"].values()) == len(answer("inspect", "ops")["operators"])
    ours = found["work"][-1]
    assert ours["with"] < ours["without"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["nonsense"], 2),
        (["run"], 2),
        (["run", "{model}"], 3),
        (["run", "{model}", "-i", "x=absent.npy"], 3),
        (["run", "{model}", "-i", "x={text}.npy"], 3),
        (["run", "{model}", "-i", "{text}.npz"], 3),
        (["run", "{model}", "-i", "x={text}.png"], 3),
        (["run", "{model}", "-i", "{text}.json"], 3),
        (["run", "{model}", "-i", "{ragged}"], 3),
        (["run", "{model}", "-i", "{good}", "--top", "1", "--labels", "absent.txt"], 5),
        (["run", "{model}", "-i", "{good}", "-o", "absent/out.npz"], 5),
        (["inspect", "{text}"], 4),
        (["inspect", "absent.walle"], 5),
    ],
    ids=lambda a: " ".join(a) if isinstance(a, list) else str(a),
)
def test_exit_codes(scaled: Path, tmp_path: Path, arguments: list[str], code: int) -> None:
    text = tmp_path / "text.walle"
    for name in (text, *(text.with_name(text.name + end) for end in (".npy", ".npz", ".png", ".json"))):
        name.write_text("not a model")
    (tmp_path / "ragged.json").write_text('{"x": [[1, 2], [3]]}')
    np.savez(tmp_path / "good.npz", x=np.ones((1, 3, 4, 4), np.float32))
    names = {"model": scaled, "text": text, "ragged": tmp_path / "ragged.json", "good": tmp_path / "good.npz"}
    done = walle(*(a.format(**names) for a in arguments))
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_errors_as_json(scaled: Path) -> None:
    done = walle("inspect", "absent.walle", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == found["exit"] == 5
    assert found["error"] == "ResourceError" and all(found[k] for k in ("given", "expected", "where", "next"))


def test_convert_names_all_unsupported_nodes(tmp_path: Path) -> None:
    nodes = [
        make_node("Frobnicate", ["x"], ["a"], name="first"),
        make_node("Quux", ["a"], ["y"], name="second"),
    ]
    onnx.save(model(nodes, {"x": [1]}, ["y"]), str(tmp_path / "bad.onnx"))
    done = walle("convert", tmp_path / "bad.onnx")
    assert done.returncode == 4
    assert "first: Frobnicate" in done.stderr and "second: Quux" in done.stderr
    found = json.loads(walle("convert", tmp_path / "bad.onnx", "--json").stdout)
    assert [u["node"] for u in found["unsupported"]] == ["first", "second"]


def test_convert_names_every_one_of_many_nodes(tmp_path: Path) -> None:
    nodes = [make_node("Frobnicate", ["x"], [f"y{i}"], name=f"odd{i}") for i in range(60)]
    onnx.save(model(nodes, {"x": [1]}, ["y0"]), str(tmp_path / "bad.onnx"))
    done = walle("convert", tmp_path / "bad.onnx")
    assert done.returncode == 4 and "60 unsupported" in done.stderr
    assert all(f"odd{i}" in done.stderr for i in range(60)), done.stderr
