"""Everything planned and computed as other machines: ``WALLE_MACHINE``, which a process reads once."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from commands import run_command, run_python
from places import ROOT
from test_random_graphs import grow

import walle_rt
from walle_rt import _core
from walle_rt.bench import zoo

MACHINES = re.findall(
    r'^WALLE_MACHINE\("(\w+)",[^)]*, (\d+),\s+"([\w+]+)", "(\w+)"\)',
    (ROOT / "src/cpp/base/machines.inc").read_text(),
    re.MULTILINE,
)
MODELS = ["mobilenet_v3_small", "gru_speech", "din_b64"]
GRAPHS = 25
# Random graphs against NumPy, then whole models, whose results the parent compares.
CHILD = """
import json, sys
import numpy as np
import walle_rt
from test_random_graphs import assert_close, grow
from walle_rt import _core
from walle_rt.bench import zoo

folder, models, graphs = sys.argv[1], sys.argv[2].split(","), range(*map(int, sys.argv[3].split(",")))
processors = _core.available_processors()
costs = set()
for seed in graphs:
    model, x, want = grow(seed)
    loaded = walle_rt.load(model)
    for options in ({"threads": 1}, {"threads": processors, "accuracy": "strict"}, {"backend": "null"}):
        session = loaded.session(plan_cache="off", **options)
        assert_close(session.run({"x": x}), want, f"seed {seed} with {options}")
        found = session.explain()
        assert 0 <= found.predicted_ms < float("inf") and 0 <= found.arena_bytes < 1 << 30
        costs.add(found.costs)
for name in models:
    made = zoo.build(name)
    session = walle_rt.load(made).session(threads=processors, plan_cache="off")
    np.savez(f"{folder}/{name}.npz", **session.run(zoo.feeds(made)))
    costs.add(session.explain().costs)
print(json.dumps({**_core.machine(), "costs": sorted(costs)}))
"""


@pytest.fixture(scope="module")
def definitions() -> dict[str, dict[str, np.ndarray]]:
    """Results of the models' operators as they are defined, by this machine."""
    made = {name: zoo.build(name) for name in MODELS}
    return {
        name: walle_rt.load(m).session(threads=2, debug="search=off,layouts=off,fuse=off").run(zoo.feeds(m))
        for name, m in made.items()
    }


def test_there_are_machines_to_be() -> None:
    assert len(MACHINES) >= 8


@pytest.mark.parametrize(("name", "cores", "isa", "costs"), MACHINES)
def test_networks_compute_the_same(
    name: str, cores: str, isa: str, costs: str, tmp_path: Path, definitions: dict[str, dict[str, np.ndarray]]
) -> None:
    first = 1000 * MACHINES.index((name, cores, isa, costs))
    found = run_command(
        [sys.executable, "-c", dedent(CHILD), tmp_path, ",".join(MODELS), f"{first},{first + GRAPHS}"],
        environment={
            "WALLE_MACHINE": name,
            "PYTHONPATH": str(Path(__file__).parent),
            "WALLE_COSTS": "",
            "WALLE_CPU": "",
        },
        seconds=600,
    ).json
    assert found["processors"] == int(cores)
    assert f"cores={cores},isa={isa},costs={costs}" in found["backends"]["cpu"]
    (table,) = found["costs"]
    assert table in (costs, f"zen4 scaled by {costs}", "zen4 scaled by a profile"), table
    for model in MODELS:
        results = np.load(tmp_path / f"{model}.npz")
        for key, want in definitions[model].items():
            np.testing.assert_allclose(
                results[key], want, rtol=1e-3, atol=1e-4 * float(np.abs(want).max()), err_msg=f"{model} {key}"
            )


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("zen6", "zen6"),
        ("l1=48Q", "l1=48Q"),
        ("isa=avx1024", "isa=avx1024"),
        ("costs=zen9", "costs=zen9"),
        ("cores=0", "cores=0"),
    ],
)
def test_what_cannot_be_understood_fails_every_session(value: str, says: str) -> None:
    script = """
        import numpy as np
        import walle_rt
        from test_random_graphs import grow
        model, x, _ = grow(1)
        try:
            walle_rt.load(model).session(plan_cache="off").run({"x": x})
        except walle_rt.ArgumentError as error:
            print(error)
    """
    printed = run_python(
        script, environment={"WALLE_MACHINE": value, "PYTHONPATH": str(Path(__file__).parent)}
    ).stdout
    assert says in printed and "WALLE_MACHINE" in printed and "expected" in printed


def test_what_is_left_of_a_processor_names_its_profile() -> None:
    """One that was measured without a capability is not that of sessions which have it."""

    def target(cpu: str) -> str:
        script = "from walle_rt import _core; print(_core.machine()['backends']['cpu'])"
        return run_python(script, environment={"WALLE_CPU": cpu}).stdout.strip()

    whole = target("")
    assert ", used: " not in whole
    assert target("scalar").endswith(", used: scalar")
    best = whole.partition(" ")[0]
    if {"avx_vnni", "avx512_vnni", "avx512_bf16", "dotprod"} & set(_core.machine()["capabilities"]):
        assert target(best) == f"{whole}, used: {best}"


def test_costs_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    model, x, _ = grow(1)

    def costs() -> str:
        session = walle_rt.load(model).session(plan_cache="off")
        session.run({"x": x})
        return session.explain().costs

    for name in ("phone", "laptop"):
        monkeypatch.setenv("WALLE_COSTS", name)
        assert costs() == f"zen4 scaled by {name}"
    monkeypatch.setenv("WALLE_COSTS", "zen9")
    with pytest.raises(walle_rt.ArgumentError, match=r"'zen9'.*expected profile, or one of zen4, zen3"):
        costs()


def test_a_machine_has_no_more_than_there_is() -> None:
    target = run_python(
        "from walle_rt import _core; print(_core.machine()['backends']['cpu'])",
        environment={"WALLE_MACHINE": "tablet"},
    ).stdout
    assert target.rstrip().endswith(("(of scalar, sse4)", "(of scalar, neon)")), target
