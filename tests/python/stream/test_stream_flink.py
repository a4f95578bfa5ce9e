"""The matcher beside Flink CEP: what Flink's own NFA answered, recorded in tests/golden/flink_cep.xz."""

from __future__ import annotations

import contextlib

import pytest
from tests.golden.flink_cep import DIFFERENCES, END, Event, Golden, catalog, read

from walle_rt.errors import ArgumentError
from walle_rt.stream._triggers import Firing, TriggerSet


def fire(stream: list[Event], texts: list[str]) -> list[list[Firing]]:
    """Firings of each trigger, all of them in one set."""
    triggers = TriggerSet(catalog(), queue=4096)
    for i, text in enumerate(texts):
        with contextlib.suppress(ArgumentError):  # a bound whose guards leave nothing to match never fires
            triggers.add(str(i), text)
    out: list[list[Firing]] = [[] for _ in texts]
    found = []
    for i, e in enumerate(stream):
        contents = {"x": e.x, "who": e.who or None}
        at = {"ts": e.ts, "seq": i + 1, "session": e.session, "page_instance": e.instance}
        found += triggers.step(e.event, e.page, contents, **at)
    for firing in found + triggers.advance(stream[-1].ts + END):
        out[int(firing.trigger)].append(firing)
    return out


def ends(firings: list[Firing]) -> set[int]:
    return {f.seq - 1 for f in firings}


@pytest.fixture(scope="module")
def answers() -> list[tuple[list[Event], list[tuple[Golden, list[Firing]]]]]:
    return [(s, list(zip(cases, fire(s, [c.text for c in cases]), strict=True))) for s, cases in read()]


Answers = list[tuple[list[Event], list[tuple[Golden, list[Firing]]]]]


def test_common_subset_agrees(answers: Answers) -> None:
    count = fired = 0
    for stream, cases in answers:
        for case, ours in cases:
            if case.kind != "same":
                continue
            count, fired = count + 1, fired + len(ours)
            assert all(emitted == end for end, _, emitted in case.matches), case.text
            assert sorted(f.seq - 1 for f in ours) == [end for end, _, _ in case.matches], (case.text, stream)
            if not case.text.endswith(" every"):
                continue
            latest = {end: stream[start].ts for end, start, _ in case.matches}
            starts = {f.seq - 1: f.start_ts for f in ours}
            if "?" in case.text:  # of several variants that end at an event, one says its latest start
                assert all(starts[end] <= latest[end] for end in latest), (case.text, stream)
            else:
                assert starts == latest, (case.text, stream)
    print(f"{count} cases, {fired} firings")
    assert count >= 20_000
    assert fired > count / 2


@pytest.mark.parametrize("kind", [k for k in DIFFERENCES if k != "absence"])
def test_differences_are_as_explained(answers: Answers, kind: str) -> None:
    count = different = 0
    for stream, cases in answers:
        for case, ours in cases:
            if case.kind != kind:
                continue
            flink = {end for end, _, _ in case.matches}
            lower, upper = fire(stream, [case.lower or case.text, case.upper])
            assert not case.lower or ends(lower) <= flink, (case.text, stream)
            assert flink <= ends(upper), (case.text, stream)
            count, different = count + 1, different + (flink != ends(ours))
    print(f"{kind}: {DIFFERENCES[kind]}; {different} of {count} cases differ")
    assert count > 200
    assert different > 0


def test_flink_waits_for_every_match_and_we_for_the_first(answers: Answers) -> None:
    count = different = 0
    for stream, cases in answers:
        for case, ours in cases:
            if case.kind != "absence":
                continue
            absent_us = int(case.text.split(" for ")[1].split("us")[0])
            deadlines = {stream[end].ts + absent_us for end, _, _ in case.matches}
            assert all(-emitted > stream[end].ts + absent_us for end, _, emitted in case.matches)
            assert {f.ts for f in ours} <= deadlines, (case.text, stream)
            assert bool(ours) == bool(deadlines), (case.text, stream)
            count, different = count + 1, different + (len(ours) != len(deadlines))
    print(f"absence: {DIFFERENCES['absence']}; {different} of {count} cases differ")
    assert count > 300
    assert different > 0
