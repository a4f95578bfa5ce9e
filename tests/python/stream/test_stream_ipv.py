"""The worked example: pages of generated and real events, their features, and codes made by the engine."""

from __future__ import annotations

import importlib.util
import sys
from itertools import islice
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from commands import run_command
from places import DATA, ROOT, need

from walle_rt.errors import ArgumentError
from walle_rt.stream import Batch, Graph, Sensitivity
from walle_rt.stream._ipv import IPV_FLOATS, IpvEncoder, ipv_network


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ipv_example", ROOT / "examples" / "ipv" / "ipv.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_visit_gets_small(
    example: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw, sent = example.report("generated", [example.generated()], str(tmp_path))
    assert "116 events" in capsys.readouterr().out
    assert 128 < sent < 180  # the code, its time and framing
    assert raw > 100 * sent


def test_the_command(tmp_path: Path) -> None:
    """Without data sets it shows what it made up itself, and says what it lacks."""
    script = ROOT / "examples" / "ipv" / "ipv.py"
    lacks = f"no data sets in {tmp_path}"
    done = run_command([sys.executable, script], environment={"WALLE_TEST_DATA": str(tmp_path)}, says=lacks)
    assert done.stdout.startswith("generated: 1 pages, 116 events\n") and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("source", ["open_bandit", "clickstream"])
def test_real_pages_get_small(example: ModuleType, tmp_path: Path, source: str) -> None:
    need(DATA / source)
    visits = list(islice(getattr(example, f"of_{source}")(DATA), 40))
    assert len(visits) >= 20
    raw, sent = example.report(source, visits, str(tmp_path))
    assert sent < 150 * len(visits)
    assert raw > 10 * sent


def test_engine_and_native_layer_agree() -> None:
    encoder = IpvEncoder.seeded(7)
    session = ipv_network([(encoder.weights, encoder.bias)]).session(threads=1)
    rng = np.random.default_rng(1)
    features = rng.standard_normal((9, IPV_FLOATS)).astype(np.float32)
    rows = Batch(
        {
            "ts": list(range(9)),
            "feature": list(features[:, :300]),
            "more": list(features[:, 300:]),
            "n": [1] * 9,
        },
        {"feature": Sensitivity.SECRET, "more": Sensitivity.OPEN},
    )
    graph = Graph().encode("code", session, "feature", "more")
    made = graph.push(rows)
    codes = np.stack(made.columns["code"])
    assert codes.dtype == np.float32
    assert np.allclose(codes, np.tanh(features @ encoder.weights.T + encoder.bias), atol=2e-5)
    assert list(made.columns) == ["ts", "n", "code"]
    assert made.labels["code"] == Sensitivity.SECRET and made.paths["code"] == "feature, more > encode"
    pieces = Batch({})
    for at in (0, 4, 5):
        pieces.append(
            graph.push(Batch({k: v[at : at + (4 if at != 4 else 1)] for k, v in rows.columns.items()}))
        )
    assert np.allclose(np.stack(pieces.columns["code"]), codes, atol=1e-6)


def test_wrong_encoders_are_refused() -> None:
    encoder = IpvEncoder.seeded()
    session = ipv_network([(encoder.weights, encoder.bias)]).session(threads=1)
    with pytest.raises(ArgumentError, match="332"):
        Graph().encode("code", session, "x").push(Batch({"ts": [1], "x": [1.0]}))
    with pytest.raises(ArgumentError, match="no number in column 'x'"):
        Graph().encode("code", session, "x").push(Batch({"ts": [1], "x": ["a"]}))
    with pytest.raises(ArgumentError, match="as in the first row"):
        vectors = [np.zeros(332, np.float32), np.zeros(331, np.float32)]
        Graph().encode("code", session, "x").push(Batch({"ts": [1, 2], "x": vectors}))
    with pytest.raises(ArgumentError, match="behind 332 values"):
        ipv_network([(encoder.weights, encoder.bias[:3])])
