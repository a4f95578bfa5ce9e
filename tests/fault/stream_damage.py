"""Damage every file of an event log, an egress gate and a processor, one at a time: nothing goes unseen.

    python -m tests.fault.stream_damage --cases 5000

A log with segments, a journal, readers, a privacy account, secret and personal columns, and a gate with two
of three sends spent, is copied; one file of the copy is flipped, zeroed, cut or deleted; then it is opened
twice, as a program would. Of every case is asked: are the events what was written, is every missing one told
as lost at both opens, is a number given out twice, is epsilon or a day's budget back, is a label lower, is a
reader's place lost without an error. Of a processor is asked: is every firing handed out once under its
number, or told as lost. Cases run in child processes, so that a crash is one case's and is counted.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from walle_rt.errors import Error
from walle_rt.stream import (
    Batch,
    Catalog,
    ColumnType,
    FeatureField,
    FeaturePolicy,
    Graph,
    Sensitivity,
    aggregate,
)
from walle_rt.stream._egress import EgressGate
from walle_rt.stream._log import EventLog
from walle_rt.stream._privacy import spend_epsilon, spent_epsilon
from walle_rt.stream._processor import Processor

EVENTS, PER_SEGMENT, IN_JOURNAL = 400, 60, 40
JOURNAL_BYTES = 16384
PLACE, SPENT = 123, 0.75
SENDS_A_DAY, SENT = 3, 2
CASES_PER_CHILD = 50
KINDS = ("flip", "zero", "truncate", "delete")
WRONGS = (
    "contents",  # an event that is not what was written
    "unreported",  # a missing event that no loss tells of, at the first open or the second
    "numbers",  # a number given out twice
    "epsilon",
    "budget",
    "label",
    "place",  # a reader's place that is another one, without an error
    "firings",  # one that is missing and nobody tells of, or that comes twice
    "unopened",  # a log that one damaged file keeps from opening
    "crash",
)


def catalog() -> Catalog:
    fields = {
        "n": (ColumnType.INT, Sensitivity.OPEN),
        "who": (ColumnType.TEXT, Sensitivity.SECRET),
        "price": ColumnType.FLOAT,
    }
    return Catalog().declare("mark", fields=fields).page("home", "cart")


LABELS = {"n": Sensitivity.OPEN, "who": Sensitivity.SECRET, "price": Sensitivity.PERSONAL}


def contents(n: int) -> dict[str, int | float | str]:
    return {"n": n, "who": chr(97 + n % 26) * (n % 17), "price": n / 4}


def open_log(directory: Path) -> EventLog:
    return EventLog(directory, catalog(), journal_bytes=JOURNAL_BYTES, max_age_s=1e9)


POLICY = FeaturePolicy(
    "counts",
    [FeatureField("count", ColumnType.INT)],
    bytes_per_day=1 << 20,
    sends_per_day=SENDS_A_DAY,
)


def send(gate: EgressGate, log: EventLog) -> None:
    rows = Graph().key_by("page").reduce(aggregate("count")).run(Batch.of_log(log, ["n"]))
    gate.send("task", "counts", Graph().select("count").run(rows))


def build(directory: Path, killed: bool) -> None:
    """The log and the gate that are damaged; ``killed``: as a killed process leaves them."""
    log = open_log(directory)
    for n in range(1, EVENTS + 1):
        log.append("mark", "home" if n % 3 else "cart", contents(n))
        if n % PER_SEGMENT == 0 and n <= EVENTS - IN_JOURNAL:
            log.compact()
    log.set_cursor("reader", PLACE)
    spend_epsilon(log, "account", SPENT, 1.0)
    gate = EgressGate(directory)
    gate.allow("task", POLICY)
    for _ in range(SENT):
        send(gate, log)
    if killed:
        os._exit(0)
    gate.close()
    log.close()


TASKS = {"each": {"all": "mark"}, "some": {"third": "mark[n % 7 == 3]", "pair": "mark[n == 1] ~ mark"}}
SETTLED, CHECKPOINT = 100, 250


def open_processor(directory: Path, settled: dict[str, int]) -> Processor:
    return Processor(
        directory, catalog(), settled=settled, journal_bytes=JOURNAL_BYTES, max_age_s=1e9, key_bytes=1 << 20
    )


def drain(processor: Processor, task: str) -> list[int]:
    """Numbers of what waits, which is settled."""
    out = []
    while (firing := processor.take(task)) is not None:
        out.append(firing.number)
        processor.settle(task, firing.number)
    return out


def build_processor(directory: Path) -> None:
    """A processor as a killed process leaves it: behind a checkpoint, with firings done and not done."""
    processor = open_processor(directory, {})
    for task, triggers in TASKS.items():
        processor.install(task, triggers, queue=4096)
    for n in range(1, EVENTS + 1):
        processor.record("mark", "home", contents(n))
        if n % PER_SEGMENT == 0:
            processor.maintain()
        if n == CHECKPOINT:
            for _ in range(SETTLED):
                firing = processor.take("each")
                assert firing is not None
                processor.settle("each", firing.number)
            processor.checkpoint()
    os._exit(0)


class ProcessorCase:
    """What one damaged processor turns out to be."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.wrong: set[str] = set()
        self.settled = {"each": SETTLED}
        self.newest = 0

    def run(self) -> set[str]:
        for number in range(2):
            try:
                processor = open_processor(self.directory, self.settled)
            except Error:
                self.wrong.add("unopened")
                return self.wrong
            with processor:
                self.look(processor, first=number == 0)
        return self.wrong

    def look(self, processor: Processor, first: bool) -> None:
        report = processor.report
        if report.lost:
            for task, triggers in TASKS.items():
                processor.install(task, triggers, queue=4096)
        got = {task: drain(processor, task) for task in TASKS}
        want = {
            "each": list(range(SETTLED + 1, EVENTS + 1)),
            "some": list(range(1, 2 + sum(n % 7 == 3 for n in range(1, EVENTS + 1)))),
        }
        told = report.lost or report.missed > 0 or self.log_lost()
        if got != (want if first else {task: [] for task in TASKS}) and not told:
            self.wrong.add("firings")
        seq = processor.record("mark", "home", contents(8))
        if seq <= self.newest:
            self.wrong.add("numbers")
        self.newest = seq
        got["each"] += drain(processor, "each")
        for task, numbers in got.items():
            before = self.settled.get(task, 0)
            if numbers != sorted(set(numbers)) or (numbers and numbers[0] <= before):
                self.wrong.add("firings")
            self.settled[task] = max([before, *numbers])

    def log_lost(self) -> bool:
        with EventLog(self.directory / "log", read_only=True) as log:
            return log.report.lost > 0


def in_child(work: Callable[[], None]) -> int:
    """Run ``work`` in a child of this process; its wait status."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1]


def damage(path: Path, kind: str, rng: random.Random) -> str:
    """Damage one file and say how."""
    if kind == "delete" or path.stat().st_size == 0:
        path.unlink()
        return "deleted"
    data = bytearray(path.read_bytes())
    at = rng.randrange(len(data))
    if kind == "flip":
        # Half of them in the first page: of large files most bytes are content.
        at = rng.randrange(min(len(data), 512)) if rng.random() < 0.5 else at
        data[at] ^= 1 << rng.randrange(8)
    elif kind == "zero":
        size = rng.choice((16, 512, 4096, len(data)))
        at = 0 if size == len(data) or rng.random() < 0.3 else at
        data[at : at + size] = bytes(len(data[at : at + size]))
    else:
        at = rng.choice((0, at))
        del data[at:]
    path.write_bytes(data)
    return f"{kind} at {at}"


class Case:
    """What one damaged log turns out to be."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.wrong: set[str] = set()
        self.newest = EVENTS
        self.sends = 0

    def run(self) -> set[str]:
        for _ in range(2):
            try:
                log = open_log(self.directory)
            except Error:
                self.wrong.add("unopened")
                return self.wrong
            with log:
                self.look(log)
        return self.wrong

    def look(self, log: EventLog) -> None:
        seen = self.events(log)
        told = [loss for loss in log.report.losses if not loss.reader]
        missing = [n for n in range(1, EVENTS + 1) if n not in seen]
        if any(not any(loss.first_seq <= n <= loss.last_seq for loss in told) for n in missing):
            self.wrong.add("unreported")
        if len(missing) > sum(loss.events for loss in told) or len(missing) > log.report.lost:
            self.wrong.add("unreported")
        self.labels(log)
        self.state(log)
        self.budget(log)
        seq = log.append("mark", "home", contents(log.last_seq + 1))
        if seq <= self.newest:
            self.wrong.add("numbers")
        self.newest = seq

    def events(self, log: EventLog) -> set[int]:
        seen: set[int] = set()
        before = 0
        for e in log.read():
            page = "home" if e.seq % 3 or e.seq > EVENTS else "cart"
            if e.contents != contents(e.seq) or e.page != page or e.seq <= before or e.event != "mark":
                self.wrong.add("contents")
            before = e.seq
            seen.add(e.seq)
        return seen

    def labels(self, log: EventLog) -> None:
        declared = {name: label for name, _, fields in log.catalog.events for name, _, label in fields}
        if declared != LABELS:
            self.wrong.add("label")

    def state(self, log: EventLog) -> None:
        try:
            if spent_epsilon(log, "account") < SPENT:
                self.wrong.add("epsilon")
        except Error:
            pass  # fails closed
        try:
            if log.cursor("reader") != PLACE:
                self.wrong.add("place")
        except Error:
            pass

    def budget(self, log: EventLog) -> None:
        """Over both opens no more sends than were left."""
        try:
            with EgressGate(self.directory) as gate:
                gate.allow("task", POLICY)
                for _ in range(SENDS_A_DAY):
                    send(gate, log)
                    self.sends += 1
        except Error:
            pass
        if self.sends > SENDS_A_DAY - SENT:
            self.wrong.add("budget")


def plan(templates: list[Path], cases: int, seed: int) -> Iterator[tuple[int, Path, str, str]]:
    """Number, template, file and kind of each case; every file meets every kind in turn."""
    for n in range(cases):
        template = templates[n % len(templates)]
        names = sorted(str(p.relative_to(template)) for p in template.rglob("*") if p.is_file())
        turn = n // len(templates)
        yield n, template, names[turn % len(names)], KINDS[turn // len(names) % len(KINDS)]


def in_batches(
    waiting: list[Any],
    size: int,
    work: Callable[[list[Any], Path], None],
    results: Path,
    found: Counter[str],
    say: Callable[[str], None],
) -> None:
    """``work(batch, results)`` in a child each, which writes a line of JSON per case that is done."""
    while waiting:
        batch, waiting = waiting[:size], waiting[size:]
        results.write_text("")
        status = in_child(partial(work, batch, results))
        done = [line for line in map(json.loads, results.read_text().splitlines()) if "wrong" in line]
        for line in done:
            found.update(line["wrong"])
            if line["wrong"]:
                say(str(line))
        if status == 0:
            continue
        # The child died in the case after those it told of: that one is counted, the rest run again.
        found["crash"] += 1
        say(f"crash (status {status}) in case {batch[len(done)]}")
        waiting = batch[len(done) + 1 :] + waiting


def run_cases(batch: list[tuple[int, Path, str, str]], results: Path, seed: int, folder: Path) -> None:
    with results.open("a") as out:
        for n, template, name, kind in batch:
            print(json.dumps({"case": n}), file=out, flush=True)
            copy = folder / f"case{n}"
            shutil.copytree(template, copy)
            how = damage(copy / name, kind, random.Random(seed * 1_000_003 + n))
            case = ProcessorCase(copy) if template.name == "processor" else Case(copy)
            wrong = sorted(case.run())
            shutil.rmtree(copy)
            told = {"case": n, "file": name, "how": how, "template": template.name, "wrong": wrong}
            print(json.dumps(told), file=out, flush=True)


def run(cases: int = 1000, seed: int = 0, say: Callable[[str], None] = lambda _: None) -> Counter[str]:
    """How many cases went wrong in each way; all zeros when all is well."""
    found: Counter[str] = Counter(dict.fromkeys(WRONGS, 0))
    with tempfile.TemporaryDirectory(prefix="walle-damage-") as scratch:
        folder = Path(scratch)
        templates = [folder / "closed", folder / "killed"]
        for template in templates:
            status = in_child(partial(build, template, template.name == "killed"))
            assert status == 0, f"the log {template.name} could not be built"
        templates.append(folder / "processor")
        assert in_child(partial(build_processor, templates[-1])) == 0, "the processor could not be built"
        waiting = list(plan(templates, cases, seed))
        work = partial(run_cases, seed=seed, folder=folder)
        in_batches(waiting, CASES_PER_CHILD, work, folder / "results", found, say)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found = run(given.cases, given.seed, print)
    print(f"{given.cases} cases: " + ", ".join(f"{name} {count}" for name, count in found.items()))
    sys.exit(1 if any(found.values()) else 0)


if __name__ == "__main__":
    main()
