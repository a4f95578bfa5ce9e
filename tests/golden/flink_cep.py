"""Golden vectors of trigger matching, made with Flink CEP's own NFA (FlinkCep.java).

    tools/setup.sh golden                      JDK 17; Flink's jars come with the package
                                               apache-flink-libraries, or lie in FLINK_JARS
    python -m tests.golden.flink_cep make      writes tests/golden/flink_cep.xz
    python -m tests.golden.flink_cep header    prints how the file was made

tests/python/stream/test_stream_flink.py compares the matcher with them.

The same random trigger is written in both languages. MAPPING says how a construct of ours is said in Flink's
pattern API so that both mean the same; where a plain translation means something else in Flink, DIFFERENCES
keeps cases of it in a class of their own, with the relation that holds between the two answers: it is checked
for every case.

The file: a line of JSON saying how it was made, then "S <events>" for a stream and "C <class> <trigger>
<lower> <upper> <matches>" (by tabs) for each case of the stream above it. For a class of differences, Flink's
ends lie between those of the triggers lower and upper (empty: no such bound). An event is
event,page,x,who,instance,session,ts. Matches are those Flink gave, reduced to ends: "end:start:emitted",
positions of the last event and of the latest first event of a match that ends there, and of the event at
which Flink gave it (or minus the time, where time gave it).
"""

from __future__ import annotations

import argparse
import itertools
import json
import lzma
import os
import random
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
VECTORS = HERE / "flink_cep.xz"
FLINK = "2.3.0"
JARS = ("flink-cep", "flink-dist", "log4j-api", "log4j-core", "log4j-slf4j-impl")
STREAMS, CASES, LENGTH = 1250, 17, 13  # CASES of the common subset per stream, and two of the differences
END = 40  # time after the last event, in which absences come true

MAPPING = {
    "a > b": "a.next(b)",
    "a ~ b": "a.followedByAny(b)",
    "a !x ~ b": "a.notFollowedBy(x).followedByAny(b where not x): "
    "Flink's guard ends before the event that completes b",
    "a{k}": "times(k).allowCombinations()",
    "a alone": "also oneOrMore().allowCombinations(), which ends matches at the same events",
    "b?": "optional()",
    "within W": "within(W + 1): Flink's window excludes its upper end",
    "gap G": "within(G + 1, PREVIOUS_AND_CURRENT) on step and guard; not before a count, "
    "not behind a loop or b?",
    "every": "noSkip(); start is the latest of all combinations that end at the event",
    "skip_past": "skipPastLastEvent(); ends alone, because Flink gives the match with the earliest start",
    "scope": "keyBy: one NFA per session, page instance or value",
}


@dataclass(frozen=True)
class Event:
    """One event of a stream; x and who may be absent."""

    event: str
    page: str
    x: int | None
    who: str
    instance: int
    session: int
    ts: int

    def text(self) -> str:
        x = "" if self.x is None else str(self.x)
        return f"{self.event},{self.page},{x},{self.who},{self.instance},{self.session},{self.ts}"

    @classmethod
    def parse(cls, text: str) -> Event:
        event, page, x, who, instance, session, ts = text.split(",")
        return cls(event, page, int(x) if x else None, who, int(instance), int(session), int(ts))


@dataclass(frozen=True)
class Atom:
    """event@page[x op value], or its negation."""

    event: str = "*"
    page: str = "*"
    op: str = ""
    value: int = 0
    negated: bool = False

    def ours(self) -> str:
        test = f"x {self.op} {self.value}"
        predicate = f"[not {test}]" if self.negated else f"[{test}]"
        return self.event + (f"@{self.page}" if self.page != "*" else "") + (predicate if self.op else "")

    def flink(self) -> str:
        value = str(self.value) if self.op else ""
        return f"{self.event},{self.page},{self.op},{value},{'not' if self.negated else ''}"

    def accepts(self, e: Event) -> bool:
        if self.event not in ("*", e.event) or self.page not in ("*", e.page):
            return False
        if not self.op:
            return True
        tests = {"==": int.__eq__, "!=": int.__ne__, "<": int.__lt__, "<=": int.__le__, ">": int.__gt__}
        holds = e.x is not None and tests.get(self.op, int.__ge__)(e.x, self.value)
        return holds != self.negated


def any_of(atoms: tuple[Atom, ...], e: Event) -> bool:
    return any(a.accepts(e) for a in atoms)


@dataclass(frozen=True)
class Step:
    """One step; ``flink_loop`` says it as oneOrMore in Flink, ``skip_till_next`` as followedBy."""

    atoms: tuple[Atom, ...]
    strict: bool = False
    guard: tuple[Atom, ...] = ()
    gap: int = 0
    count: int = 1
    optional: bool = False
    flink_loop: bool = False
    skip_till_next: bool = False


@dataclass(frozen=True)
class Case:
    """A trigger in both languages."""

    steps: tuple[Step, ...]
    within: int = 0
    scope: str = "device"
    every: bool = True
    absent: tuple[Atom, ...] = ()
    absent_for: int = 0
    exclusive: bool = False  # the same W in Flink, whose window excludes its end
    plain_guard: bool = False  # Flink's guarded step may be an event of the guard
    plain_count: bool = False  # Flink's times() stays before a guard
    plain_optional: bool = False  # Flink's optional() stays even where it loses a gap
    kind: str = "same"

    def ours(self) -> str:
        text = ""
        for i, s in enumerate(self.steps):
            gap = f"({s.gap}us)" if s.gap else ""
            if i:
                guard = f" !{_set(s.guard)} ~" if s.guard else " >" if s.strict else " ~"
                text += guard + gap + " "
            text += _set(s.atoms) + (f"{{{s.count}}}" if s.count > 1 else "") + ("?" if s.optional else "")
        if self.absent:
            text += f" !~ {_set(self.absent)} for {self.absent_for}us"
        if self.within:
            text += f" within {self.within}us"
        if self.scope != "device":
            text += " scope " + ("by(who)" if self.scope == "by" else self.scope)
        return text + (" every" if self.every and not self.absent else "")

    def flink(self, end: int) -> list[str]:
        """Lines of the Java driver, one for each of the
        independent patterns whose ends together are the trigger's.
        """
        drop = [i for i, s in enumerate(self.steps) if s.optional] if self.split() else []
        lines = []
        for skipped in itertools.chain.from_iterable(
            itertools.combinations(drop, n) for n in range(len(drop) + 1)
        ):
            kept = tuple(
                replace(s, optional=s.optional and not drop)
                for i, s in enumerate(self.steps)
                if i not in skipped
            )
            window = self.within + (not self.exclusive) if self.within else 0
            skip = "every" if self.every else "past"
            if kept:
                lines.append(f"C\t{skip}\t{window}\t{self.scope}\t{';'.join(self._flink_steps(kept))}\t{end}")
        return lines

    def split(self) -> bool:
        """Flink refuses a guard behind an optional step,
        and forgets an optional step's gap after ignoring an event.
        """
        if self.plain_optional:
            return False
        pairs = zip(self.steps, (*self.steps[1:], Step(())), strict=True)
        return self.every and any(s.optional and (s.gap or s.guard or after.guard) for s, after in pairs)

    def _flink_steps(self, steps: tuple[Step, ...]) -> list[str]:
        out: list[str] = []
        for i, s in enumerate(steps):
            gap = min(s.gap, self.within or s.gap) + 1 if s.gap and i else -1
            join = "begin" if not i else "next" if s.strict else "follow" if s.skip_till_next else "any"
            if s.guard and i:
                out.append(f"not 1 {gap} {_flink(s.guard)} -")
            excluded = _flink(s.guard) if s.guard and i and not self.plain_guard else "-"
            guarded_next = i + 1 < len(steps) and steps[i + 1].guard and not self.plain_count
            count = 1 if guarded_next or excluded != "-" else s.count
            said = "+" if s.flink_loop else str(count)
            out.append(f"{join} {said}{'?' if s.optional else ''} {gap} {_flink(s.atoms)} {excluded}")
            out += [f"any 1 -1 {_flink(s.atoms)} -"] * (s.count - count)
        if self.absent:
            out.append(f"not 1 {self.absent_for + 1} {_flink(self.absent)} -")
        return out


def _set(atoms: tuple[Atom, ...]) -> str:
    return atoms[0].ours() if len(atoms) == 1 else "(" + " | ".join(a.ours() for a in atoms) + ")"


def _flink(atoms: tuple[Atom, ...]) -> str:
    return "|".join(a.flink() for a in atoms)


class Draw:
    """Random triggers and streams over three events, two pages and one number,
    dense enough that most triggers fire.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def atom(self) -> Atom:
        event = "*" if self.chance(8) else self.random.choice("abc")
        page = self.random.choice("pq") if self.chance(20) else "*"
        if not self.chance(18):
            return Atom(event, page)
        op = self.random.choice(["==", "!=", "<", "<=", ">", ">="])
        return Atom(event, page, op, self.random.randrange(3), self.chance(20))

    def atoms(self) -> tuple[Atom, ...]:
        return tuple(self.atom() for _ in range(1 + self.chance(15)))

    def step(self, first: bool) -> Step:
        strict = not first and self.chance(30)
        guard = self.atoms() if not first and not strict and self.chance(25) else ()
        gap = 1 + self.random.randrange(6) if not first and self.chance(15) else 0
        count = 2 + self.chance(40) if self.chance(10) else 1
        return Step(self.atoms(), strict, guard, gap, count, self.chance(12))

    def case(self) -> Case:
        steps = tuple(self.step(i == 0) for i in range(self.random.choice([1, 2, 2, 3, 3, 4])))
        within = 1 + self.random.randrange(14) if self.chance(40) else 0
        scope = self.random.choices(["device", "session", "page", "by"], [55, 15, 15, 15])[0]
        return Case(steps, within, scope, self.chance(50))

    def stream(self) -> list[Event]:
        out: list[Event] = []
        ts, session = 1000, 1
        for i in range(LENGTH):
            ts += self.random.randrange(3)
            session = i + 1 if self.chance(10) else session
            x = self.random.randrange(3) if self.chance(85) else None
            who = self.random.choice("uvw") if self.chance(85) else ""
            page, instance = self.random.choice(["", "p", "q"]), self.random.randrange(3)
            out.append(Event(self.random.choice("abc"), page, x, who, instance, session, ts))
        return out


def agreeing(draw: Draw) -> Case:
    """A trigger of the common subset."""
    while True:
        case = draw.case()
        optional = [s.optional for s in case.steps]
        if all(optional) or (any(optional) and not case.every):
            continue  # skip_past with optional steps: the class order
        loops = [s.count == 1 and not s.optional and not s.strict and draw.chance(10) for s in case.steps]
        guarded = [bool(s.guard) for s in (*case.steps[1:], Step(()))]
        steps = zip(case.steps, loops, guarded, strict=True)
        made = tuple(
            replace(s, flink_loop=loop and not s.guard and not s.gap and not g) for s, loop, g in steps
        )
        made_case = replace(case, steps=made)
        return replace(made_case, kind=_kind(made_case))


def _kind(case: Case) -> str:
    """Common subset, or a class of differences that gaps bring along."""
    if without_counted_gaps(case.steps) != case.steps:
        return "count_gap"
    return "gap_behind" if without_gaps_behind(case) != case.steps else "same"


def without_counted_gaps(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps without the gaps that Flink forgets because their step is a times(k)."""
    out = list(steps)
    for i, s in enumerate(steps):
        guarded = s.guard or (i + 1 < len(steps) and steps[i + 1].guard)  # said step by step in Flink, too
        if i and s.gap and s.count > 1 and not guarded:
            out[i] = replace(s, gap=0)
    return tuple(out)


def without_gaps_behind(case: Case) -> tuple[Step, ...]:
    """The steps without the gaps that Flink forgets because
    the match waits in the loop or optional step before.
    """
    out, behind = list(case.steps), False
    for i, s in enumerate(case.steps):
        out[i] = replace(s, gap=0) if behind and s.gap else s
        behind = s.flink_loop or (s.optional and (behind or not case.split()))
    return tuple(out)


def _differing(kind: str, draw: Draw) -> Case | None:
    """A trigger of one class of differences, or None when this draw has none of what the class is about."""
    case = replace(draw.case(), kind=kind)
    steps, last = case.steps, case.steps[-1]
    optional = any(s.optional for s in steps)
    if kind == "order":
        plain = not any(s.gap or s.guard for s in steps)
        return (
            replace(case, every=False) if optional and plain and not all(s.optional for s in steps) else None
        )
    if kind == "absence":
        simple = tuple(replace(s, optional=False, guard=(), gap=0, count=1) for s in steps[:2])
        absent, time = (replace(draw.atom(), event=draw.random.choice("abc")),), 1 + draw.random.randrange(6)
        return replace(
            case, steps=simple, within=0, scope="device", every=True, absent=absent, absent_for=time
        )
    if optional and kind != "optional_gap":
        return None
    if kind == "window_end":
        return (
            replace(case, every=True, exclusive=True)
            if case.within > 1 and not any(s.gap for s in steps)
            else None
        )
    if kind == "guard_end":
        return (
            replace(case, every=True, plain_guard=True)
            if last.guard and len(steps) > 1 and last.count == 1
            else None
        )
    if kind == "count_guard":
        found = any(s.count > 1 and t.guard for s, t in itertools.pairwise(steps))
        return replace(case, every=True, plain_count=True) if found else None
    if kind == "skip_till_next":
        said = tuple(
            replace(s, skip_till_next=bool(i) and not s.strict and not s.guard) for i, s in enumerate(steps)
        )
        return replace(case, every=True, steps=said) if any(s.skip_till_next for s in said) else None
    found = any(s.optional and s.gap for s in steps[1:]) and not any(s.guard for s in steps)
    return (
        replace(case, every=True, plain_optional=True)
        if found and not all(s.optional for s in steps)
        else None
    )


DIFFERENCES = {
    "window_end": "within(W) in Flink is within W - 1 here: its window excludes the upper end",
    "guard_end": "Flink's guard ends before the completing event: "
    "it also ends matches at events of the guard itself",
    "count_guard": "a guard behind times(k) acts in Flink between the counted events too",
    "count_gap": "a gap before times(k) is forgotten in Flink",
    "gap_behind": "a gap behind oneOrMore() or optional() is forgotten in Flink: "
    "the match waits in the step before",
    "skip_till_next": "followedBy takes the next fitting event alone: it ends no match that ~ does not end",
    "order": "a skip strategy gives matches by their start: one that ends first waits for older partial "
    "matches, or is"
    " lost with them; what Flink gives is among the ends under every",
    "optional_gap": "a gap on an optional step ends the path without the step too, "
    "and is forgotten once an event was"
    " ignored; what Flink gives is among the ends without gaps",
    "absence": "Flink waits for every match, here the first completed match waits for all: "
    "ours are among Flink's, and"
    " there is one where Flink has one",
}


# Draws of the common subset bring the other two along.
DRAWN = [k for k in DIFFERENCES if k not in ("count_gap", "gap_behind")]


def bounds(case: Case) -> tuple[str, str]:
    """Triggers whose ends are among Flink's, and among whose ends Flink's are."""
    if case.kind == "count_gap":
        freed = replace(case, steps=without_counted_gaps(case.steps))
        every = replace(freed, steps=without_gaps_behind(freed), every=True).ours()
        return (freed.ours(), every) if case.every else ("", every)
    if case.kind == "gap_behind":
        every = replace(case, steps=without_gaps_behind(case), every=True)
        return case.ours() if case.every else "", every.ours()
    if case.kind == "window_end":
        same = replace(case, within=case.within - 1).ours()
        return same, same
    if case.kind == "guard_end":
        return case.ours(), replace(case, steps=(*case.steps[:-1], replace(case.steps[-1], guard=()))).ours()
    if case.kind == "count_guard":
        steps: list[Step] = []
        for s, after in zip(case.steps, (*case.steps[1:], Step(())), strict=True):
            single = replace(s, count=1, gap=0 if s.count > 1 and not s.guard else s.gap)
            again = replace(single, strict=False, guard=after.guard, gap=0)
            steps += [single, *[again] * (s.count - 1)] if after.guard else [replace(single, count=s.count)]
        same = replace(case, steps=tuple(steps)).ours()
        return same, same
    if case.kind == "skip_till_next":
        steps = [replace(s, strict=s.strict or s.skip_till_next) for s in case.steps]
        return replace(case, steps=tuple(steps)).ours(), case.ours()
    if case.kind == "order":
        return "", replace(case, every=True).ours()
    if case.kind == "optional_gap":
        return "", replace(case, steps=tuple(replace(s, gap=0) for s in case.steps)).ours()
    return "", ""


def difference(kind: str, draw: Draw) -> Case:
    """A trigger of this class."""
    while True:
        case = _differing(kind, draw)
        if case:
            return case


def run_flink(lines: list[str]) -> list[str]:
    """Results of the Java driver, a line per case."""
    with tempfile.TemporaryDirectory() as folder:
        jars = os.environ.get("FLINK_JARS") or _jars(Path(folder))
        command = ["java", "-cp", f"{jars}/*", str(HERE / "FlinkCep.java")]
        done = subprocess.run(
            command, input="\n".join(lines) + "\n", capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise SystemExit(f"the Java driver failed:\n{done.stderr[-2000:]}")
    return done.stdout.split("\n")[:-1]


def _jars(folder: Path) -> Path:
    """Flink's jars out of the source package of apache-flink-libraries."""
    package = f"apache-flink-libraries=={FLINK}"
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--no-binary",
        ":all:",
        "-d",
        str(folder),
        package,
    ]
    subprocess.run(command, check=True)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        for member in archive:
            name = Path(member.name)
            if name.suffix == ".jar" and name.parent.name == "lib" and name.name.startswith(JARS):
                member.name = name.name
                archive.extract(member, folder, filter="data")
    return folder


def _accepted(case: Case) -> bool:
    """Whether our linter lets the trigger pass: the others cannot fire."""
    from walle_rt.errors import ArgumentError
    from walle_rt.stream import Trigger

    try:
        Trigger(case.ours()).check(catalog())
    except ArgumentError:
        return False
    return True


def catalog() -> Any:
    """The world of the streams."""
    from walle_rt.stream import Catalog, ColumnType

    out = Catalog().page("p", "q")
    for name in "abc":
        out.declare(name, fields={"x": ColumnType.INT, "who": ColumnType.TEXT})
    return out


def make(streams: int, seed: int) -> None:
    """Draw, ask Flink, and write the vectors."""
    plan: list[tuple[list[Event], list[tuple[Case, int]]]] = []
    lines: list[str] = []
    for number in range(streams):
        draw = Draw(seed * 1_000_003 + number)
        stream = draw.stream()
        lines.append("S\t" + " ".join(e.text() for e in stream))
        wanted = [agreeing] * CASES + [
            partial(difference, DRAWN[(2 * number + k) % len(DRAWN)]) for k in range(2)
        ]
        cases = []
        for kind in wanted:
            case = next(c for c in (kind(draw) for _ in itertools.count()) if _accepted(c))
            patterns = case.flink(stream[-1].ts + END)
            lines += patterns
            cases.append((case, len(patterns)))
        plan.append((stream, cases))
    answers = iter(run_flink(lines))
    counts: Counter[str] = Counter()
    body = []
    for stream, cases in plan:
        body.append("S " + " ".join(e.text() for e in stream))
        for case, patterns in cases:
            found = [next(answers) for _ in range(patterns)]
            if any(f.startswith("refused") for f in found):
                raise SystemExit(f"Flink refused {case.ours()}: {found}")
            body.append("\t".join(["C", case.kind, case.ours(), *bounds(case), _ends(found)]))
            counts[case.kind] += 1
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr.split(
        "\n"
    )[0]
    header = {
        "made_by": f"python -m tests.golden.flink_cep make --streams {streams} --seed {seed}",
        "flink": FLINK,
    }
    header |= {"java": java, "python": sys.version.split()[0], "cases": counts}
    header |= {"mapping": MAPPING, "differences": DIFFERENCES}
    text = "\n".join([json.dumps(header), *body]) + "\n"
    VECTORS.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{VECTORS.name}: {len(text)} bytes as text, {VECTORS.stat().st_size} compressed, {dict(counts)}")


def _ends(found: list[str]) -> str:
    """Matches of all independent patterns by (end, time Flink gave them), with the latest start of each."""
    best: dict[tuple[int, int], int] = {}
    for match in " ".join(found).split():
        end, start, emitted = map(int, match.split(":"))
        best[end, emitted] = max(best.get((end, emitted), -1), start)
    return " ".join(f"{end}:{start}:{emitted}" for (end, emitted), start in sorted(best.items()))


@dataclass(frozen=True)
class Golden:
    """One case of the file: the trigger, its bounds, and Flink's matches as (end, start, emitted)."""

    kind: str
    text: str
    lower: str
    upper: str
    matches: list[tuple[int, int, int]]


def read(path: Path = VECTORS) -> Iterator[tuple[list[Event], list[Golden]]]:
    """Streams with their cases."""
    stream: list[Event] = []
    cases: list[Golden] = []
    for line in lzma.decompress(path.read_bytes()).decode().splitlines()[1:]:
        if line.startswith("S "):
            if stream:
                yield stream, cases
            stream, cases = [Event.parse(e) for e in line[2:].split(" ")], []
            continue
        _, kind, text, lower, upper, found = line.split("\t")
        numbers = [tuple(map(int, m.split(":"))) for m in found.split()]
        cases.append(Golden(kind, text, lower, upper, [(e, s, at) for e, s, at in numbers]))
    yield stream, cases


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make", help="ask Flink and write the vectors")
    making.add_argument("--streams", type=int, default=STREAMS)
    making.add_argument("--seed", type=int, default=1)
    commands.add_parser("header", help="print how the vectors were made")
    given = parser.parse_args()
    if given.command == "make":
        make(given.streams, given.seed)
    else:
        print(json.dumps(json.loads(lzma.decompress(VECTORS.read_bytes()).split(b"\n", 1)[0]), indent=2))


if __name__ == "__main__":
    main()
