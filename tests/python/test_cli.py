"""The command line: every command, --json, exit codes."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from build_model import model
from commands import run_command, run_python, run_walle
from onnx.helper import make_node

import walle_rt
from walle_rt.stream import Catalog, ColumnType
from walle_rt.stream._log import EventLog
from walle_rt.stream._record import record


def answer(*arguments: object) -> Any:
    """The JSON a successful command prints."""
    return run_walle(*arguments, "--json").json


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
    run_walle("convert", scaled, "-o", target, "--check", "-i", tmp_path / "x.npz", code=3, says=".npz file")


@pytest.mark.parametrize("stage", ["model", "shapes", "raster", "plan"])
def test_inspect_stages(scaled: Path, stage: str) -> None:
    done = run_walle("inspect", scaled, f"--stage={stage}", "--dim", "n=2")
    assert done.stdout.strip()
    if stage == "shapes":
        assert "d: float32[2, 3, 4, 4]" in done.stdout


def test_inspect_plan_predicts_and_measures(scaled: Path) -> None:
    found = answer("inspect", scaled, "--stage=plan", "--runs", 2)
    assert {r["measured_runs"] for r in found["rows"]} == {2}
    row = next(r for r in found["rows"] if r["op"] == "ReduceMean")
    assert row["output"] == "float32[1, 3]" and row["storage"] == "output" and row["bytes"] > 0
    text = run_walle("inspect", scaled, "--stage=plan", "--runs", 0, "--losers").stdout
    assert "ReduceMean" in text and "time by algorithm" in text


def test_inspect_plan_shows_what_lost(tmp_path: Path) -> None:
    weights = {"w": np.ones((32, 16, 3, 3), np.float32)}
    node = make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
    path = tmp_path / "conv.onnx"
    onnx.save(model([node], {"x": [1, 16, 28, 28]}, ["y"], weights), str(path))
    text = run_walle("inspect", path, "--stage=plan", "--runs", 0, "--losers").stdout
    assert " over " in text and "conv_implicit_gemm_f32" in text
    assert "conv_reference" not in text  # the definition is for nodes that nothing else computes


def test_run_on_a_picture(scaled: Path, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="no package 'PIL' (tools/setup.sh test)")
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


def test_bench_says_what_it_measured(scaled: Path) -> None:
    found = answer("bench", scaled, "--seconds", 0.01)
    assert found["inputs"] == {"x": [1, 3, 4, 4]} and found["assumed"] == {"n": 1}
    text = run_walle("bench", scaled, "--seconds", 0.01).stdout
    assert "input x: float32[1, 3, 4, 4]" in text and "sizes that were not given are 1: n" in text
    found = answer("bench", scaled, "--seconds", 0.01, "--dim", "n=2")
    assert found["inputs"] == {"x": [2, 3, 4, 4]} and found["assumed"] == {}
    text = run_walle("bench", scaled, "--seconds", 0.01, "--dim", "n=2").stdout
    assert "input x: float32[2, 3, 4, 4]" in text and "not given" not in text


def test_sizes_of_symbols_that_are_not_there(scaled: Path, tmp_path: Path) -> None:
    x = tmp_path / "x.npy"
    np.save(x, np.ones((1, 3, 4, 4), np.float32))
    for command in (
        ["bench"],
        ["inspect", "--stage=plan"],
        ["run", "-i", x],
        ["convert", "-o", tmp_path / "m.walle"],
    ):
        done = run_walle(command[0], scaled, *command[1:], "--dim", "nn=8", code=3, says="--dim nn=8")
        assert "did you mean n?" in done.stderr
    made = model([make_node("Relu", ["x"], ["y"])], {"x": [2]}, ["y"])
    onnx.save(made, str(tmp_path / "fixed.onnx"))
    run_walle("bench", tmp_path / "fixed.onnx", "--dim", "n=1", code=3, says="every dimension is fixed")


def test_doctor() -> None:
    found = answer("doctor")
    assert found["self_check"] == "passed"
    assert "scalar" in found["backends"]["cpu"]
    assert found["processors"] >= 1
    assert all(row["count"] > 0 for row in found["cores"])
    narrow = run_walle("doctor", "--json", environment={"WALLE_MACHINE": "board"}).json
    assert set(narrow["capabilities"]) <= {"sse4", "neon"} & set(found["capabilities"])
    text = run_walle("doctor").stdout.split()
    assert set(found["capabilities"]) | {"cores", "capabilities"} <= set(text)


def test_counts_are_those_of_the_paper_and_of_the_table() -> None:
    found = answer("inspect", "ops", "--counts")
    paper = found["work"][0]
    assert (paper["without"], paper["with"], round(paper["saved"], 2)) == (1954, 1055, 0.46)
    assert sum(found["operators"].values()) == len(answer("inspect", "ops")["operators"])
    ours = found["work"][-1]
    assert ours["with"] < ours["without"]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["nonsense"], 2, "No such command 'nonsense'"),
        (["run"], 2, "Missing argument"),
        (["run", "{model}"], 3, "no input"),
        (["run", "{model}", "-i", "x=absent.npy"], 3, "absent.npy"),
        (["run", "{model}", "-i", "x={text}.npy"], 3, "save it with numpy.save"),
        (["run", "{model}", "-i", "{text}.npz"], 3, "save it with numpy.savez"),
        (["run", "{model}", "-i", "x={text}.png"], 3, "expected an image"),
        (["run", "{model}", "-i", "{text}.json"], 3, "that is not JSON"),
        (["run", "{model}", "-i", "{ragged}"], 3, "nested lists of one shape"),
        (["run", "{model}", "-i", "y={good}"], 3, "input 'y'"),
        (["run", "{model}", "-i", "{good}", "--mean", "a"], 3, "comma-separated numbers"),
        (["run", "{model}", "-i", "{good}", "--dim", "n"], 3, "NAME=SIZE"),
        (["run", "{model}", "-i", "{good}", "--top", "1", "--labels", "absent.txt"], 5, "absent.txt"),
        (["run", "{model}", "-i", "{good}", "-o", "absent/out.npz"], 5, "absent/out.npz"),
        (["inspect", "{text}"], 4, "ModelError"),
        (["inspect", "absent.walle"], 5, "absent.walle"),
        (["convert", "absent.onnx"], 5, "absent.onnx"),
        (["bench", "absent.walle"], 5, "absent.walle"),
        (["stream", "explain", "a >"], 3, "line 1"),
        (["stream", "explain", "a", "--catalog", "absent"], 5, "absent"),
        (["stream", "explain", "a", "--catalog", "{text}"], 4, "ModelError"),
        (["stream", "explain", "a", "--picture", "x.png"], 3, "form 'png'"),
        (["stream", "replay", "{text}", "--triggers", "{ragged}"], 4, "line 1"),
        (["stream", "replay", "absent.jsonl", "--triggers", "{ragged}"], 5, "absent.jsonl"),
    ],
    ids=lambda a: " ".join(a) if isinstance(a, list) else str(a),
)
def test_exit_codes(scaled: Path, tmp_path: Path, arguments: list[str], code: int, says: str) -> None:
    text = tmp_path / "text.walle"
    for name in (text, *(text.with_name(text.name + end) for end in (".npy", ".npz", ".png", ".json"))):
        name.write_text("not a model")
    (tmp_path / "ragged.json").write_text('{"x": [[1, 2], [3]]}')
    np.savez(tmp_path / "good.npz", x=np.ones((1, 3, 4, 4), np.float32))
    names = {"model": scaled, "text": text, "ragged": tmp_path / "ragged.json", "good": tmp_path / "good.npz"}
    filled = [a.format(**names) for a in arguments]
    # Wide enough that no message is broken into lines.
    done = run_walle(*filled, code=code, says=says, environment={"COLUMNS": "500"}, folder=tmp_path)
    assert done.stdout == ""


def test_errors_as_json(scaled: Path) -> None:
    done = run_walle("inspect", "absent.walle", "--json", code=5)
    assert done.json["exit"] == 5 and done.stderr == ""
    assert done.json["error"] == "ResourceError"
    assert all(done.json[k] for k in ("given", "expected", "where", "next"))


def test_convert_names_all_unsupported_nodes(tmp_path: Path) -> None:
    first = make_node("Frobnicate", ["x"], ["a"], name="first")
    second = make_node("Quux", ["a"], ["y"], name="second")
    onnx.save(model([first, second], {"x": [1]}, ["y"]), str(tmp_path / "bad.onnx"))
    done = run_walle("convert", tmp_path / "bad.onnx", code=4, says="first: Frobnicate")
    assert "second: Quux" in done.stderr
    found = run_walle("convert", tmp_path / "bad.onnx", "--json", code=4).json
    assert [u["node"] for u in found["unsupported"]] == ["first", "second"]


def test_convert_names_every_one_of_many_nodes(tmp_path: Path) -> None:
    nodes = [make_node("Frobnicate", ["x"], [f"y{i}"], name=f"odd{i}") for i in range(60)]
    onnx.save(model(nodes, {"x": [1]}, ["y0"]), str(tmp_path / "bad.onnx"))
    done = run_walle("convert", tmp_path / "bad.onnx", code=4, says="60 unsupported")
    assert all(f"odd{i}" in done.stderr for i in range(60)), done.stderr


def test_names_are_shown_as_they_are(scaled: Path, tmp_path: Path) -> None:
    """Brackets and colons mean something to the library that prints."""
    odd = tmp_path / "[bold] :smile: [x.onnx"
    odd.write_bytes(scaled.read_bytes())
    assert str(odd) in run_walle("convert", odd, "-o", tmp_path / "y.walle").stdout


def test_the_same_command_by_another_name() -> None:
    module = run_command([sys.executable, "-m", "walle_rt", "--version"])
    assert module.stdout == run_walle("--version").stdout == f"walle {walle_rt.__version__}\n"
    helped = run_walle("--help").stdout
    assert all(name in helped for name in ("convert", "run", "inspect", "bench", "doctor", "task", "stream"))


def test_without_the_extra(tmp_path: Path) -> None:
    """Typer and rich hidden, as in an environment without them."""
    script = """
        import sys, importlib.util
        found = importlib.util.find_spec
        hidden = ("typer", "rich")
        importlib.util.find_spec = lambda name, *more: None if name in hidden else found(name, *more)
        sys.argv = ["walle", "doctor"]
        import runpy
        runpy.run_module("walle_rt", run_name="__main__")
    """
    done = run_python(script, code=5, says="pip install 'walle_rt[cli]'")
    assert len(done.stderr.splitlines()) == 1 and done.stdout == ""


T0 = 1_700_000_000_000_000


def test_stream_explain_and_replay(tmp_path: Path) -> None:
    catalog = Catalog().page("item")
    with EventLog(tmp_path / "log", catalog) as log:
        for second, event in enumerate(("page_enter", "click", "page_exit")):
            log.append(event, "item", ts=T0 + second * 1_000_000)
        record(log, tmp_path / "events.jsonl.gz")
    (tmp_path / "left.trigger").write_text("click > page_exit")
    shown = run_walle("stream", "explain", tmp_path, "--picture", tmp_path / "trie.svg")
    assert "=> left" in shown.stdout and (tmp_path / "trie.svg").read_text().startswith("<svg")
    for recorded in ("log", "events.jsonl.gz"):
        command = ["stream", "replay", tmp_path / recorded, "--triggers", tmp_path]
        assert "left seq=3" in run_walle(*command, says="3 events, 1 firings").stdout
        found = answer(*command)
        assert found["events"] == 3 and [f["trigger"] for f in found["firings"]] == ["left"]
        assert found["firings"][0]["seq"] == 3 and len(found["firings"][0]["idempotency"]) == 16
    found = answer("stream", "explain", tmp_path)
    assert found["triggers"] == {"left": "click > page_exit"} and "=> left" in found["trie"]
    long = " > ".join(["an_event_with_a_rather_long_name"] * 10)
    assert answer("stream", "explain", long)["triggers"] == {"trigger": long}, "longer than any file's name"


def test_stream_tells_what_waits_and_what_it_takes(tmp_path: Path) -> None:
    catalog = Catalog().declare("view", fields={"item": ColumnType.INT})
    start = 1_700_000_000_000_000
    with EventLog(tmp_path / "log", catalog) as log:
        for item in (1, 2):
            log.append("view", contents={"item": item}, ts=start + item * 1_000_000)
    (tmp_path / "alone.trigger").write_text("view !~ view for 1h scope by(item)")
    (tmp_path / "tick.trigger").write_text("every 15m")
    command = ["stream", "replay", tmp_path / "log", "--triggers", tmp_path]
    done = run_walle(*command, says="2 events, 0 firings, 2 absences waiting at the end")
    assert [line.split()[1:3] + line.split()[-1:] for line in done.stdout.splitlines()] == [
        ["alone", "seq=2", "waiting"]
    ] * 2
    found = answer(*command)
    assert found["firings"] == [] and found["evicted"] == {}
    assert [f["ts"] for f in found["waiting"]] == [start + 3_601_000_000, start + 3_602_000_000]
    shown = run_walle("stream", "explain", tmp_path).stdout
    assert "memory: " in shown and "by(item): 4,096 keys of " in shown
    memory = answer("stream", "explain", tmp_path)["memory"]
    assert memory["bytes"] < memory["scopes"][0]["bytes"] < memory["bytes_at_most"] < 1 << 20


def test_stream_replays_a_sealed_log(tmp_path: Path) -> None:
    key = bytes(range(32))
    with EventLog(tmp_path / "log", Catalog().page("item"), key=key) as log:
        log.append("click", "item", ts=1_700_000_000_000_000)
    (tmp_path / "one.trigger").write_text("click\n")
    keys = {"raw": key, "digits": key.hex().encode() + b"\n", "short": b"abc", "other": bytes(32)}
    for name, content in keys.items():
        (tmp_path / name).write_bytes(content)
    command = ["stream", "replay", tmp_path / "log", "--triggers", tmp_path / "one.trigger"]
    for name in ("raw", "digits"):
        assert run_walle(*command, "--key-file", tmp_path / name, says="1 events, 1 firings").stdout
    run_walle(*command, "--key-file", tmp_path / "short", code=3, says="of 3 bytes")
    run_walle(*command, "--key-file", tmp_path / "other", code=3, says="key")
    run_walle(*command, "--key-file", tmp_path / "absent", code=5, says="absent")
    run_walle(*command, code=3, says="key")


def write_recordings(folder: Path) -> None:
    """A good recording and many bad ones."""
    with EventLog(folder / "log", Catalog().page("item")) as log:
        log.append("click", "item", ts=T0)
        record(log, folder / "good.jsonl")
    good = (folder / "good.jsonl").read_bytes()
    head = good.split(b"\n")[0] + b"\n"
    whole = gzip.compress(good)
    bad = {
        "empty.jsonl": b"",
        "binary.jsonl": head + b"\xff\xfe\x00",
        "list.jsonl": head + b"[1]\n",
        "number.jsonl": head + b"5\n",
        "deep.jsonl": head + b"[" * 100_000 + b"\n",
        "huge.jsonl": head + b'{"event": "click", "page": "item", "ts": 1e300}\n',
        "large.jsonl": head + b'{"event": "click", "page": "item", "ts": %d}\n' % 10**30,
        "contents.jsonl": head + b'{"event": "click", "page": "item", "ts": %d, "contents": 5}\n' % T0,
        "catalog.jsonl": b'{"catalog": 5}\n',
        "cut.jsonl.gz": whole[:-20],
        "damaged.jsonl.gz": whole[:20] + bytes(20) + whole[40:],
        "plain.jsonl.gz": good,
    }
    for name, data in bad.items():
        (folder / name).write_bytes(data)
    (folder / "t").mkdir()
    (folder / "t" / "a.trigger").write_text("click")
    (folder / "none").mkdir()
    (folder / "binary.trigger").write_bytes(b"\xff\xfe")
    (folder / "wrong.trigger").write_text("click >")
    (folder / "twice").mkdir()
    (folder / "twice" / "a.trigger").write_text("click")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        *[
            (["replay", name, "--triggers", "t"], 4, name)
            for name in (
                "empty.jsonl",
                "binary.jsonl",
                "list.jsonl",
                "number.jsonl",
                "deep.jsonl",
                "huge.jsonl",
                "large.jsonl",
                "contents.jsonl",
                "catalog.jsonl",
                "cut.jsonl.gz",
                "damaged.jsonl.gz",
                "plain.jsonl.gz",
            )
        ],
        (["replay", "none", "--triggers", "t"], 3, "without an event log"),
        (["replay", "good.jsonl", "--triggers", "none"], 3, "no trigger in none"),
        (["replay", "good.jsonl", "--triggers", "binary.trigger"], 3, "binary.trigger"),
        (["replay", "good.jsonl", "--triggers", "wrong.trigger"], 3, "wrong.trigger, "),
        (["replay", "good.jsonl", "--triggers", "t", "--triggers", "twice"], 3, "second trigger named 'a'"),
        (["explain", "none"], 3, "no trigger in none"),
        (["explain", "binary.trigger"], 3, "binary.trigger"),
        (["explain", "x" * 20_000 + " >"], 3, "expected"),
        (["explain", "click", "--catalog", "none"], 5, "none"),
        (["explain", "click", "--picture", "none/x/y.svg"], 5, "none/x/y.svg"),
    ],
    ids=lambda a: " ".join(a)[:40] if isinstance(a, list) else str(a),
)
def test_stream_errors_are_one_line(tmp_path: Path, arguments: list[str], code: int, says: str) -> None:
    write_recordings(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    wide = {"COLUMNS": "500"}
    done = run_walle("stream", *arguments, code=code, says=says, environment=wide, folder=tmp_path)
    # The text of a trigger is quoted on a line of its own, so that its mark can stand below.
    lines = 2 if "trigger, line" in done.stderr or "[at line" in done.stderr else 1
    assert done.stdout == "" and len(done.stderr.splitlines()) == lines, done.stderr
    told = run_walle("stream", *arguments, "--json", code=code, environment=wide, folder=tmp_path)
    assert told.json["exit"] == code and told.stderr == ""
    assert sorted(tmp_path.rglob("*")) == before, "nothing is made where nothing was asked for"


def test_what_nobody_foresaw_is_one_line(tmp_path: Path) -> None:
    script = """
        import sys
        from walle_rt.cli import bench
        def broken(path): raise ZeroDivisionError("division by zero")
        bench.load = broken
        sys.argv = ["walle", "bench", "m.onnx"]
        from walle_rt.cli.main import main
        main()
    """
    done = run_python(script, code=1, says="ZeroDivisionError: division by zero")
    assert len(done.stderr.splitlines()) == 1 and "report this" in done.stderr
