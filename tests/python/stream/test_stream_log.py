"""The event log from Python: losses, readers, forks, clocks, erasing, keys."""

from __future__ import annotations

import os
import struct
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from commands import run_python, run_walle
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from walle_rt.errors import ArgumentError, ResourceError
from walle_rt.stream import Batch, Catalog, ColumnType, Graph, Sensitivity, aggregate
from walle_rt.stream._log import EventLog
from walle_rt.stream._record import record, replay_into
from walle_rt.stream._triggers import TriggerSet

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fault"))
from seal import crc32c

T0 = 1_700_000_000_000_000
SECOND, MINUTE, HOUR = 1_000_000, 60_000_000, 3_600_000_000


def marks() -> Catalog:
    fields = {"n": ColumnType.INT, "who": (ColumnType.TEXT, Sensitivity.SECRET)}
    return Catalog().declare("mark", fields=fields).page("home", "cart")


def filled(directory: Path, count: int = 30, compact_at: int = 20) -> None:
    with EventLog(directory, marks()) as log:
        for n in range(1, count + 1):
            log.append("mark", "home", {"n": n, "who": "ann" if n % 2 else "bob"}, ts=T0 + n * SECOND)
            if n == compact_at:
                log.compact()


def segment(directory: Path) -> Path:
    (found,) = directory.glob("*.wseg")
    return found


def test_a_damaged_segment_is_told_until_acknowledged(tmp_path: Path) -> None:
    filled(tmp_path)
    data = bytearray(segment(tmp_path).read_bytes())
    data[100] ^= 1
    segment(tmp_path).write_bytes(data)
    for _ in range(2):
        with EventLog(tmp_path) as log:
            (loss,) = log.report.losses
            assert (loss.kind, loss.first_seq, loss.last_seq, loss.events) == ("damaged_segment", 1, 20, 20)
            assert loss.exact and loss.noticed_ts > T0 and loss.cause
            assert log.report.lost == 20
            assert [e.seq for e in log.read()] == list(range(21, 31))
    with EventLog(tmp_path) as log:
        log.acknowledge(log.report.losses)
        assert log.report.losses == () and log.report.lost == 0
    with EventLog(tmp_path) as log:
        assert log.report.losses == ()


@pytest.mark.parametrize("how", ["deleted", "emptied"])
def test_a_lost_journal_is_told_and_no_number_comes_twice(tmp_path: Path, how: str) -> None:
    filled(tmp_path)
    journal = tmp_path / "journal.walj"
    if how == "deleted":
        journal.unlink()
    else:
        journal.write_bytes(b"")
    for _ in range(2):
        with EventLog(tmp_path) as log:
            (loss,) = log.report.losses
            assert (loss.kind, loss.first_seq, loss.last_seq, loss.events) == ("journal", 21, 30, 10)
            assert log.append("mark") > 30
            log.compact()


def test_a_deleted_segment_is_told(tmp_path: Path) -> None:
    filled(tmp_path)
    segment(tmp_path).unlink()
    with EventLog(tmp_path) as log:
        assert [(loss.kind, loss.events) for loss in log.report.losses] == [("missing_segment", 20)]


def test_what_quota_took_from_a_reader_is_told(tmp_path: Path) -> None:
    with EventLog(tmp_path, marks(), journal_bytes=8192, quota_bytes=4000) as log:
        log.append("mark")
        log.set_cursor("slow", 1)
        for n in range(2, 1500):
            log.append("mark", "home", {"n": n * 7919, "who": str(n)})
            log.maintain()
        first = next(iter(log.read())).seq
        (loss,) = log.report.losses
        assert (loss.kind, loss.reader, loss.first_seq) == ("quota", "slow", 2)
        assert loss.last_seq == first - 1
        assert log.report.lost == 0
        with pytest.raises(ArgumentError, match="at most 1499"):
            log.set_cursor("slow", 1500)


def test_a_child_of_fork_is_refused_and_its_parent_goes_on(tmp_path: Path) -> None:
    run_python(f"""
        import os
        from walle_rt.errors import ResourceError
        from walle_rt.stream import Catalog
        from walle_rt.stream._log import EventLog
        log = EventLog({str(tmp_path)!r}, Catalog().declare("mark"), maintenance="thread")
        log.append("mark")
        pid = os.fork()
        if pid == 0:
            calls = [lambda: log.append("mark"), log.maintain, log.sync, log.compact, lambda: log.last_seq,
                     lambda: log.report, lambda: log.catalog, lambda: list(log.read()),
                     lambda: log.cursor("r"), lambda: log.set_cursor("r", 1), lambda: log.segment_bytes]
            for call in calls:
                try:
                    call()
                except ResourceError as error:
                    assert "read_only=True" in str(error), error
                else:
                    os._exit(1)
            with EventLog({str(tmp_path)!r}, read_only=True) as own:
                assert [e.seq for e in own.read()] == [1]
            log.close()
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        assert log.append("mark") == 2
        assert [e.seq for e in log.read()] == [1, 2]
        log.close()
    """)


def test_a_reader_beside_a_writer(tmp_path: Path) -> None:
    with EventLog(tmp_path, marks()) as log:
        log.append("mark")
        with EventLog(tmp_path, read_only=True) as reader:
            assert [e.seq for e in reader.read()] == [1]
            log.append("mark")
            log.compact()
            log.append("mark")
            assert [e.seq for e in reader.read()] == [1, 2, 3]
            assert reader.last_seq == 3
            with pytest.raises(ArgumentError, match="only reads"):
                reader.append("mark")
        before = sorted(p.name for p in tmp_path.iterdir())
        triggers = tmp_path.parent / "triggers"
        triggers.mkdir()
        (triggers / "two.trigger").write_text("mark > mark\n")
        assert run_walle("stream", "replay", tmp_path, "--triggers", triggers, says="firings").stdout
        assert sorted(p.name for p in tmp_path.iterdir()) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes where nothing may be written")
def test_a_reader_of_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    filled(tmp_path)
    for path in [*tmp_path.iterdir(), tmp_path]:
        path.chmod(0o500 if path.is_dir() else 0o400)
    try:
        with pytest.raises(ResourceError):
            EventLog(tmp_path)
        with EventLog(tmp_path, read_only=True) as log:
            assert len(list(log.read())) == 30
    finally:
        tmp_path.chmod(0o700)


def test_the_log_maintains_itself(tmp_path: Path) -> None:
    with EventLog(tmp_path, marks(), journal_bytes=8192, sync_s=0.01, maintenance="thread") as log:
        for n in range(500):
            log.append("mark", "home", {"n": n})
        # Ends when the thread has done its work, however slow the machine is.
        while log.segment_bytes == 0:
            pass
        assert [e.seq for e in log.read()] == list(range(1, 501))
    with pytest.raises(ArgumentError, match="maintenance"):
        EventLog(tmp_path, maintenance="never")  # type: ignore[arg-type]


def test_a_closed_log_says_so(tmp_path: Path) -> None:
    log = EventLog(tmp_path, marks())
    log.close()
    log.close()
    with pytest.raises(ArgumentError, match="closed event log"):
        log.append("mark")


def test_durable_events(tmp_path: Path) -> None:
    with EventLog(tmp_path, marks()) as log:
        assert log.append("mark", durable=True) == 1
        assert log.append("mark", durable=True) == 2


@pytest.mark.parametrize(("ts", "factor"), [(1_700_000_000, "1,000,000"), (1_700_000_000_000, "1,000")])
def test_seconds_and_milliseconds_are_refused(tmp_path: Path, ts: int, factor: str) -> None:
    with EventLog(tmp_path, marks()) as log:
        with pytest.raises(ArgumentError, match=f"multiply it by {factor}$"):
            log.append("mark", ts=ts)
        assert log.last_seq == 0


def test_a_clock_that_was_ahead_holds_time_for_minutes_only(tmp_path: Path) -> None:
    with EventLog(tmp_path, marks()) as log:
        triggers = TriggerSet(log.catalog)
        triggers.add("soon", "mark > mark within 1m every")
        log.append("mark", ts=T0 + 23 * HOUR)
        for n in range(60):
            log.append("mark", ts=T0 + n * 10 * SECOND)
        events = list(log.read())
        assert all(a.ts <= b.ts for a, b in pairwise(events))
        assert [e.own_ts for e in events[1:]] == [T0 + n * 10 * SECOND for n in range(60)]
        stood = [e for e in events if e.ts == T0 + 23 * HOUR]
        assert len(stood) <= 1 + 12
        assert log.report.rebased_clocks == 1
        # Five minutes apart is not within one, and half an hour ends a session.
        fired = len(triggers.replay(log))
        log.append("mark", ts=T0 + 15 * MINUTE)
        triggers = TriggerSet(log.catalog)
        triggers.add("soon", "mark > mark within 1m every")
        assert len(triggers.replay(log)) == fired
        log.append("mark", ts=T0 + 50 * MINUTE)
        *_, last = log.read()
        assert last.session == last.seq


def test_late_events_are_late_in_windows(tmp_path: Path) -> None:
    with EventLog(tmp_path, marks()) as log:
        for at in (0, 30, 90, 20, 100, 200):
            log.append("mark", "home", {"n": at}, ts=T0 + at * SECOND)
        rows = Batch.of_log(log, ["n"])
        assert rows.columns["ts"] == Batch.of_events(log.read(), ["n"], log.catalog).columns["ts"]
        assert rows.columns["ts"] == [T0 + at * SECOND for at in (0, 30, 90, 20, 100, 200)]
        counts = Graph().tumbling(60, aggregate("count"), lateness_s=120).run(rows)
        # The window of the late event is given again, with one event more.
        windows = zip(*(counts.columns[n] for n in ("window_start", "revision", "count")), strict=True)
        revised = [(start, count) for start, revision, count in windows if revision == 1]
        assert [start for start, _ in revised] == [(T0 + 20 * SECOND) // MINUTE * MINUTE]


def test_a_recording_keeps_own_times(tmp_path: Path) -> None:
    with EventLog(tmp_path / "a", marks()) as log:
        for at in (0, 60, 20, 7200, 100, 200, 300, 8000):
            log.append("mark", ts=T0 + at * SECOND)
        record(log, tmp_path / "a.jsonl")
        before = [(e.ts, e.own_ts, e.flags, e.session) for e in log.read()]
    with replay_into(tmp_path / "a.jsonl", tmp_path / "b") as log:
        assert [(e.ts, e.own_ts, e.flags, e.session) for e in log.read()] == before


def test_erase(tmp_path: Path) -> None:
    filled(tmp_path)
    with EventLog(tmp_path) as log:
        assert log.erase(field="who", value="bob") == 15
        assert {e.contents["who"] for e in log.read()} == {"ann"}
        assert log.report.erased == 15 and log.report.losses == ()
        assert log.append("mark") == 31
        with pytest.raises(ArgumentError, match="field 'whom'"):
            log.erase(field="whom", value="bob")
        with pytest.raises(ArgumentError, match="nothing in particular"):
            log.erase()
    for path in tmp_path.iterdir():
        assert b"bob" not in path.read_bytes(), path.name
    with EventLog(tmp_path) as log:
        assert len(list(log.read())) == 16


def test_a_secret_is_in_no_file_but_segments_and_journal(tmp_path: Path) -> None:
    """A canary: its value in plain sight, in whatever a log writes down beside its events."""
    canary = "xCANARYx8261"
    with EventLog(tmp_path, marks(), journal_bytes=8192, quota_bytes=3000) as log:
        log.set_cursor("r", 0)
        for n in range(600):
            log.append("mark", "home", {"n": n, "who": f"{canary}{n}"})
            log.maintain()
        log.erase(field="who", value=f"{canary}599")
        assert log.report.losses
        shown = repr(log.report)
    assert canary not in shown
    for path in tmp_path.iterdir():
        if path.suffix not in (".wseg", ".walj"):
            assert canary.encode() not in path.read_bytes(), path.name


KEY = bytes(range(32))


def test_a_key_seals_everything(tmp_path: Path) -> None:
    """Canary: with a key, a value is in plain sight in no file at all."""
    canary = "xCANARYx8261"
    with EventLog(tmp_path, marks().page(canary), key=KEY) as log:
        for n in range(1, 41):
            log.append("mark", canary, {"n": n, "who": canary})
            if n == 20:
                log.compact()
        log.set_cursor(canary, 20)
    for path in tmp_path.iterdir():
        assert canary.encode() not in path.read_bytes(), path.name
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for wrong in (bytes(32), None):
        for read_only in (False, True):
            with pytest.raises(ArgumentError, match="key"):
                EventLog(tmp_path, key=wrong, read_only=read_only)
    for bad in (b"", b"short"):
        with pytest.raises(ArgumentError, match="32 bytes"):
            EventLog(tmp_path, key=bad)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    with EventLog(tmp_path, key=KEY) as log:
        assert [e.contents["who"] for e in log.read()] == [canary] * 40
        assert log.cursor(canary) == 20 and log.report.losses == ()
        record(log, tmp_path / "plain.jsonl")
    with replay_into(tmp_path / "plain.jsonl", tmp_path / "again", key=KEY) as log:
        assert len(list(log.read())) == 40


def without_libcrypto(scratch: Path) -> dict[str, str]:
    """A loader that finds no libcrypto: a process whose dlopen is told to look into an empty one."""
    scratch.mkdir()
    for name in ("libcrypto.so.3", "libcrypto.so.1.1"):
        (scratch / name).write_bytes(b"")
    return {"LD_LIBRARY_PATH": str(scratch)}


def test_a_key_needs_no_libcrypto(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    program = f"""
        from walle_rt.stream import Catalog
        from walle_rt.stream._log import EventLog
        for n in range(2):
            with EventLog({str(folder)!r}, Catalog().declare("mark"), key={KEY!r}) as log:
                log.append("mark")
                log.compact()
                assert len(list(log.read())) == n + 1
        """
    run_python(program, environment=without_libcrypto(tmp_path / "none"))
    assert folder.joinpath("catalog.walc").read_bytes().startswith(b"WALSEAL2")
    with EventLog(folder, key=KEY) as log:
        assert len(list(log.read())) == 2


def note_of_before(folder: Path) -> None:
    """The note of a folder whose files are sealed with AES-256-GCM, as the page of the format has it."""
    known, nonce = b"walle_rt log key", bytes(12)
    content = nonce + AESGCM(KEY).encrypt(nonce, known, known)
    body = struct.pack("<Q4sI", 1, b"KEYC", len(content)) + content
    folder.mkdir()
    for name in ("key.walk", "key.walk.mirror"):
        (folder / name).write_bytes(b"WALMIRR1" + struct.pack("<I", crc32c(body)) + body)


def test_a_log_of_before_keeps_its_cipher(tmp_path: Path) -> None:
    """AES-256-GCM is libcrypto's: without it such a log is an error that says so, and stays as it was."""
    folder = tmp_path / "log"
    note_of_before(folder)
    with EventLog(folder, Catalog().declare("mark"), key=KEY) as log:
        log.append("mark")
        log.compact()
    assert folder.joinpath("catalog.walc").read_bytes().startswith(b"WALSEAL1")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    run_python(
        f"""
        from walle_rt.errors import ResourceError
        from walle_rt.stream._log import EventLog
        try:
            EventLog({str(folder)!r}, key={KEY!r})
        except ResourceError as error:
            assert "AES-256-GCM" in str(error) and "install OpenSSL" in str(error), error
        else:
            raise SystemExit("opened")
        """,
        environment=without_libcrypto(tmp_path / "none"),
    )
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    with EventLog(folder, key=KEY) as log:
        assert len(list(log.read())) == 1


def test_damage_to_any_file_goes_never_unseen() -> None:
    from tests.fault.stream_damage import run

    told: list[str] = []
    found = run(160, seed=3, say=told.append)  # every file meets every kind of damage
    assert not any(found.values()), told
