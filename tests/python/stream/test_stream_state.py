"""What a log and a gate must not forget: accounts, readers' places, labels, budgets, policies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import run_command

from walle_rt.errors import ArgumentError, ModelError, ResourceError, TaskError
from walle_rt.stream import (
    Batch,
    Catalog,
    ColumnType,
    FeatureField,
    FeaturePolicy,
    Graph,
    Sensitivity,
    aggregate,
    unpack_batch,
)
from walle_rt.stream._egress import EgressGate
from walle_rt.stream._log import EventLog, is_event_log
from walle_rt.stream._privacy import spend_epsilon, spent_epsilon

INT, TEXT = ColumnType.INT, ColumnType.TEXT
OPEN, PERSONAL, SECRET = Sensitivity.OPEN, Sensitivity.PERSONAL, Sensitivity.SECRET


def views() -> Catalog:
    return Catalog().declare("view", fields={"item": (INT, OPEN), "name": (TEXT, SECRET)})


def used(directory: Path) -> None:
    """A log with an account, a cursor and events in a segment and in the journal."""
    with EventLog(directory, views()) as log:
        for n in range(50):
            log.append("view", contents={"item": n, "name": "n"})
        log.compact()
        log.append("view", contents={"item": 50})
        log.set_cursor("reader", 7)
        spend_epsilon(log, "clicks", 0.9, 1.0)


def check(log: EventLog) -> None:
    assert spent_epsilon(log, "clicks") == 0.9
    with pytest.raises(TaskError, match="at most 1"):
        spend_epsilon(log, "clicks", 0.2, 1.0)
    assert log.cursor("reader") == 7
    assert [e.contents["item"] for e in log.read()] == list(range(51))


def test_a_lost_account_opens_with_what_is_known_of_it(tmp_path: Path) -> None:
    used(tmp_path)
    for name in ("state.wals", "state.wals.mirror"):
        (tmp_path / name).unlink()
    with EventLog(tmp_path) as log:
        with pytest.raises(ResourceError, match="acknowledge"):
            spent_epsilon(log, "clicks")
        with pytest.raises(ArgumentError, match="at least 0"):
            log.acknowledge_state_loss({"clicks": float("nan")})
        log.acknowledge_state_loss({"clicks": 0.9})
        assert not log.report.state_lost
        assert log.cursor("reader") == 0
    with EventLog(tmp_path) as log:
        assert spent_epsilon(log, "clicks") == 0.9


# Killed in the middle of spending, again and again: what was told to be spent is spent.
SPENDER = """
import sys
from walle_rt.stream._log import EventLog
from walle_rt.stream._privacy import spend_epsilon
log = EventLog(sys.argv[1])
while True:
    print(spend_epsilon(log, "clicks", 1.0, 1e9), flush=True)
"""


def test_a_killed_process_has_spent_what_it_told(tmp_path: Path) -> None:
    EventLog(tmp_path / "log").close()
    told = 0.0
    for lines in range(1, 12):
        child = subprocess.Popen(
            [sys.executable, "-c", SPENDER, str(tmp_path / "log")], stdout=subprocess.PIPE
        )
        assert child.stdout is not None
        for _ in range(lines):
            told = float(child.stdout.readline())
        child.kill()
        rest = child.stdout.read().split()
        told = float(rest[-1]) if rest else told
        child.wait()
        child.stdout.close()
        with EventLog(tmp_path / "log") as log:
            spent = spent_epsilon(log, "clicks")
            assert told <= spent <= told + 1
            assert not log.report.state_lost and not log.report.mended_copies


# Both would send what the policy allows once.
FORKED = """
import os, sys
from walle_rt.errors import ResourceError
from walle_rt.stream import *
from walle_rt.stream._egress import EgressGate
from walle_rt.stream._log import EventLog
from walle_rt.stream._privacy import spend_epsilon
log, gate = EventLog(sys.argv[1] + "/log"), EgressGate(sys.argv[1] + "/gate")
gate.allow("t", FeaturePolicy("f", [FeatureField("x", highest=Sensitivity.PERSONAL)], 1000, 1))
made = Graph().select("x").push(Batch({"ts": [1], "x": [1]}))
def use():
    for spend in (lambda: spend_epsilon(log, "a", 1.0, 1.0), lambda: gate.send("t", "f", made)):
        try:
            spend()
        except ResourceError as e:
            assert "fork()" in str(e), e
            print("refused", flush=True)
        else:
            print("spent", flush=True)
pid = os.fork()
if pid == 0:
    use()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
use()
"""


def test_a_child_of_fork_spends_nothing(tmp_path: Path) -> None:
    done = run_command([sys.executable, "-c", FORKED, tmp_path])
    assert done.stdout.split() == ["refused", "refused", "spent", "spent"]


def test_either_copy_of_the_catalogue_is_a_log(tmp_path: Path) -> None:
    used(tmp_path)
    assert is_event_log(tmp_path)
    (tmp_path / "catalog.walc").unlink()
    assert is_event_log(tmp_path)
    with EventLog(tmp_path) as log:
        check(log)
        assert log.report.mended_copies == 1


def test_labels_fall_for_new_events_alone(tmp_path: Path) -> None:
    with EventLog(tmp_path, views()) as log:
        log.append("view", contents={"name": "a"})
        log.lower("view", "name", OPEN)
        log.append("view", contents={"name": "b"})
        assert Batch.of_log(log, ["name"]).labels["name"] == SECRET
        assert Batch.of_log(log, ["name"], from_seq=2).labels["name"] == OPEN
        assert Batch.of_events(log.read(), ["name"], log.catalog).labels["name"] == SECRET
        with pytest.raises(ArgumentError, match="field 'nam'"):
            log.lower("view", "nam", OPEN)
    lower = Catalog().declare("view", fields={"item": (INT, OPEN), "name": (TEXT, OPEN)})
    with EventLog(tmp_path, lower) as log:
        assert log.catalog.label_at("name", 1) == SECRET and log.catalog.label_at("name", 2) == OPEN
    with EventLog(tmp_path, views()) as log:  # the older program raises it again
        assert log.catalog.label_at("name", 2) == SECRET
    with pytest.raises(ArgumentError, match="lower it"):
        views().declare("view", fields={"item": (INT, OPEN), "name": (TEXT, PERSONAL)})


def test_an_older_program_opens_its_log(tmp_path: Path) -> None:
    newer = views().extend("view", "price", ColumnType.FLOAT, OPEN).declare("buy")
    with EventLog(tmp_path, newer) as log:
        log.append("view", contents={"item": 1, "price": 2.5})
    with EventLog(tmp_path, Catalog().declare("view", fields={"item": (INT, OPEN)})) as log:
        log.append("view", contents={"item": 2})
        assert [e.contents for e in log.read()] == [{"item": 1, "price": 2.5}, {"item": 2}]
        assert log.catalog.label_at("name", 0) == SECRET
        log.append("buy")
    with pytest.raises(ArgumentError, match="another declaration"):
        EventLog(tmp_path, Catalog().declare("view", fields={"item": TEXT}))


def policy(highest: Sensitivity = PERSONAL, **more: int) -> FeaturePolicy:
    return FeaturePolicy("f", [FeatureField("x", ColumnType.INT, highest=highest)], 1 << 20, 1000, **more)


def test_only_what_a_graph_made_leaves(tmp_path: Path) -> None:
    with EgressGate(tmp_path) as gate:
        gate.allow("t", policy())
        rows = Batch({"ts": [1], "x": [1]}, {"x": OPEN}, support=[1000])
        with pytest.raises(TaskError, match="no graph made"):
            gate.send("t", "f", rows)
        made = Graph().select("x").push(rows)
        assert made.labels["x"] == PERSONAL
        assert unpack_batch(gate.send("t", "f", made)).columns == {"ts": [1], "x": [1]}
        made.columns["x"][0] = 2
        with pytest.raises(TaskError, match="no graph made"):
            gate.send("t", "f", made)


def test_a_program_says_neither_label_nor_support(tmp_path: Path) -> None:
    with EgressGate(tmp_path) as gate:
        gate.allow("t", policy(OPEN, minimum_events=3))
        made = Graph().select("x").push(Batch({"ts": [1], "x": [1]}, {"x": OPEN}, support=[1000]))
        made.labels["x"] = OPEN
        made.support = [1000]
        with pytest.raises(TaskError, match="labelled personal"):
            gate.send("t", "f", made)
        gate.allow("t", policy(minimum_events=3))
        with pytest.raises(TaskError, match="summarises 1 events"):
            gate.send("t", "f", made)
        summed = Graph().reduce(aggregate("count", out="x")).select("x")
        gate.send("t", "f", summed.run(Batch({"ts": [1, 2, 3], "y": [1, 2, 3]})))
        forged = Batch({"ts": [1], "x": [1]}, {"x": OPEN})
        forged._rows = summed.run(Batch({"ts": [1], "y": [1]}))._rows
        with pytest.raises(TaskError, match="no graph made"):
            gate.send("t", "f", forged)
        raised = Graph().select("x").push(Batch({"ts": [1], "x": [1]}))
        raised.labels["x"] = SECRET  # upwards the program's word counts
        with pytest.raises(TaskError, match="labelled secret"):
            gate.send("t", "f", raised)


def test_rows_of_a_log_leave_as_they_are_declared(tmp_path: Path) -> None:
    with EventLog(tmp_path / "log", views()) as log, EgressGate(tmp_path / "gate") as gate:
        log.append("view", contents={"item": 3, "name": "n"})
        gate.allow("t", policy(OPEN))
        rows = Batch.of_log(log, ["item", "name"])
        assert rows.columns["item"] == [3] and rows.columns["event"] == ["view"]
        fields = [FeatureField(n, ColumnType.TEXT, highest=SECRET) for n in ("event", "page")]
        fields += [
            FeatureField(n, ColumnType.INT, highest=SECRET) for n in ("session", "page_instance", "item")
        ]
        gate.allow("t", FeaturePolicy("raw", fields, 1 << 20, 9))
        with pytest.raises(TaskError, match="no graph made"):
            gate.send("t", "raw", Batch.of_log(log, ["item"]))
        gate.send("t", "f", Graph().map("x", "item").select("x").run(rows))
        with pytest.raises(TaskError, match="labelled secret"):
            gate.send("t", "f", Graph().map("x", "name").select("x").run(rows))
        with pytest.raises(ArgumentError, match="field 'price'"):
            Batch.of_log(log, ["price"])


def test_pieces_of_a_stream_stay_a_graphs_work(tmp_path: Path) -> None:
    with EgressGate(tmp_path) as gate:
        gate.allow("t", policy())
        graph, out = Graph().select("x"), Batch({})
        for n in range(3):
            out.append(graph.push(Batch({"ts": [n], "x": [n]})))
        out.append(graph.finish())
        gate.send("t", "f", out)
        out.append(Batch({"ts": [9], "x": [9]}))
        assert out.columns["x"] == [0, 1, 2, 9]
        with pytest.raises(TaskError, match="no graph made"):
            gate.send("t", "f", out)
        with pytest.raises(ArgumentError, match="column 'y'"):
            out.append(Batch({"ts": [9], "y": [9]}))


def test_vectors_and_missing_values_are_what_the_graph_gave(tmp_path: Path) -> None:
    fields = [FeatureField("v", ColumnType.VECTOR, highest=PERSONAL), FeatureField("d", highest=PERSONAL)]
    with EgressGate(tmp_path) as gate:
        gate.allow("t", FeaturePolicy("f", fields, 1 << 20, 9))
        vector = np.array([1, np.nan], np.float32)
        made = (
            Graph().select("v", "d").push(Batch({"ts": [1, 2], "v": [vector, None], "d": [float("nan"), 1]}))
        )
        sent = unpack_batch(gate.send("t", "f", made))
        assert np.array_equal(sent.columns["v"][0], vector, equal_nan=True)
        assert np.isnan(sent.columns["d"][0]) and sent.columns["v"][1] is None
        made.columns["v"][0][0] = 7
        with pytest.raises(TaskError, match="no graph made"):
            gate.send("t", "f", made)
    for data in (b"", b"\x01", b"\xff" * 40):
        with pytest.raises(ModelError, match="damaged rows"):
            unpack_batch(data)


def test_a_gate_without_its_counters_is_closed(tmp_path: Path) -> None:
    made = Graph().select("x").push(Batch({"ts": [1], "x": [1]}))
    with EgressGate(tmp_path) as gate:
        gate.allow("t", policy())
        gate.send("t", "f", made)
    for name in ("egress.wals", "egress.wals.mirror"):
        (tmp_path / name).unlink()
    for _ in range(2):
        with EgressGate(tmp_path) as gate:
            gate.allow("t", policy())
            assert gate.report.lost
            with pytest.raises(TaskError, match="acknowledge"):
                gate.send("t", "f", made)
    with EgressGate(tmp_path) as gate:
        gate.allow("t", policy())
        gate.acknowledge_loss()
        assert not gate.report.lost and len(gate.ledger) == 1
        with pytest.raises(TaskError, match="send tomorrow"):
            gate.send("t", "f", made)


def test_a_closed_gate_says_so(tmp_path: Path) -> None:
    gate = EgressGate(tmp_path)
    gate.close()
    gate.close()
    for use in (lambda: gate.ledger, lambda: gate.set_consents([]), lambda: gate.report):
        with pytest.raises(ArgumentError, match="a closed gate"):
            use()
    with EgressGate(tmp_path) as again:  # the lock is free
        assert again.ledger == []
