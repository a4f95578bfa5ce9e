"""A gate whose ledger and state are sealed."""

from __future__ import annotations

from pathlib import Path

import pytest

import walle_rt
from walle_rt.stream import Batch, ColumnType, FeatureField, FeaturePolicy, Graph, Sensitivity
from walle_rt.stream._egress import EgressGate

KEY = bytes(range(32))
TASK = "a-canary"


def sent(gate: EgressGate) -> bytes:
    """One send of the most that a day allows."""
    field = FeatureField("x", ColumnType.INT, highest=Sensitivity.PERSONAL)
    gate.allow(TASK, FeaturePolicy("f", [field], bytes_per_day=1000, sends_per_day=1))
    return gate.send(TASK, "f", Graph().select("x").push(Batch({"ts": [1], "x": [2]})))


def test_a_key_seals_and_is_asked_for(tmp_path: Path) -> None:
    with EgressGate(tmp_path, key=KEY) as gate:
        sent(gate)
    assert all(TASK.encode() not in f.read_bytes() for f in tmp_path.iterdir())
    for other in (None, bytes(32)):
        with pytest.raises(walle_rt.ArgumentError):
            EgressGate(tmp_path, key=other)
    with EgressGate(tmp_path, key=KEY) as gate:
        assert [e.task for e in gate.ledger] == [TASK]
        with pytest.raises(walle_rt.TaskError):
            sent(gate)
