"""Seeds for the small targets: questions to a reader of bytes, journal rings, segments, trigger texts.

python stream_seeds.py bytes_fuzz|feature_fuzz|frame_fuzz|graph_fuzz|segment_fuzz|trigger_fuzz FOLDER
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from walle_rt.results import ResultStore
from walle_rt.stream import Catalog, ColumnType, EventKind, Graph, aggregate
from walle_rt.stream._log import EventLog

TEXTS = [
    "a",
    "a > b > c",
    "a@p ~ b@q within 5s",
    'a[x > 1 and not s == "k"] !b ~(1m) c[x in (1, 2)] within 10m every',
    "a{3} ~ (b@p | c) ~ b? scope session cooldown 1h",
    "a ** b !~ c for 10s scope by(x) rate 3 per 1h",
    "*@p > a@* gap 2s scope page once",
    "a ~ b when wifi or not wifi",
    "every 15m when wifi",
    "daily 03:00",
    "idle 5s",
    "a ~>(2s..9s) a !b ~> c[x < $a.x] scope by(s, page)",
    "!(b | c) ~(3s) a or all(a, b, c@p)? ~ c once per x keep 3",
    "count(a | b) == 3 every within 1m cooldown 5s per (s, session)",
    "sum(x of a) > 2 keep 4 within 9s rate 2 per 1m per page",
    "distinct(x) >= 1 scope session during mon-fri 08:00-20:00 or not sun",
    'a[x * 2 + 1 > -(x) % 3 and s contains "k"] > b[x - $a.x != 0] !~ c for 3s scope session once per s',
]

# As many questions (tests/fuzz/bytes_fuzz.cc) as bytes to read, which come behind them.
QUESTIONS = [
    (bytes([0, 1, 2, 3, 4, 8 + 10 * 3]), bytes(range(26))),
    (bytes([5, 5, 0]), b"\x02\0\0\0ab" + b"\xff\xff\xff\xffcut"),
    (bytes([6, 6 + 10 * 7]), b"\x02\0\0\0" + bytes(8) + b"\x01\0\0\0" + bytes(8)),
    (bytes([7, 7, 7, 7]), b"\x7f" + b"\x80\x00" + b"\xff" * 9 + b"\x01" + b"\xff" * 9 + b"\x02"),
    (bytes([9, 0, 9]), bytes(9)),
]

# Rows of a feature, entries of a state file, and one copy of that.
FEATURES = [
    b"\1\0\0\0\1\0\0\0n\2\0\0\0" + bytes(8) + b"\1" + bytes(8) + bytes(8) + b"\4\1\0\0\0" + bytes(4),
    b"\1\0\0\0\1\0\0\0n\1\0\0\0" + bytes(8) + b"\3\2\0\0\0ab",
    b"\2\0\0\0\1\0\0\0\2\0\0\0kvv\1\0\0\0\0\0\0\0l",
    b"WALMIRR1" + bytes(4) + b"\1" + bytes(7) + b"STAT" + bytes(4),
]


def graphs() -> list[bytes]:
    """Graphs with every operator but noise, whole and without their envelope."""
    some = [aggregate("count"), aggregate("top_k", "k", k=2), aggregate("histogram", "x", k=3, high=9.0)]
    made = [
        Graph().filter('x > 1 and event in ("click", "b")').map("w", "x", "*", 2).select("w", "k"),
        Graph().dedupe("k", within_s=2.0).key_by("k").state("s", "previous", "x").state("r", some[0]),
        Graph().key_by("k").tumbling(10, *some, disorder_s=1.0, lateness_s=2.0).filter("count > 0"),
        Graph().sliding(9, 3, some[0]).reduce(aggregate("sum", "count")),
        Graph().key_by("k").session(5, *some),
        Graph().page(*some, idle_s=30.0),
        Graph().ipv(depth="x", item="page_instance").map("v", "ipv"),
        Graph().as_of_join(Graph().map("y", "x").select("k", "y"), "k", within_s=3.0),
    ]
    whole = [g.to_bytes() for g in made]
    return whole + [data[12:-4] for data in whole]


def question(asked: bytes, given: bytes) -> bytes:
    """Both as halves of one input."""
    return asked.ljust(len(given), b"\x08")[: len(given)] + given


def log_files(folder: Path) -> tuple[bytes, list[bytes]]:
    """A journal's ring with frames of all kinds of contents,
    and the segments it was compacted into before.
    """
    fields = {"i": ColumnType.INT, "d": ColumnType.FLOAT, "b": ColumnType.BOOL, "t": ColumnType.TEXT}
    catalog = Catalog().declare("click", EventKind.CLICK, fields).declare("mark", fields=fields).page("home")
    with EventLog(folder, catalog.state("wifi"), journal_bytes=8192) as log:
        for n in range(80):
            contents = {"i": n * n, "d": n / 8, "b": n % 2 == 0, "t": "x" * (n % 7)}
            log.append(
                "click" if n % 3 else "mark", "home", {k: v for k, v in contents.items() if (n + len(k)) % 5}
            )
            log.set_state("wifi", n % 2 == 0)
            if n % 20 == 9:
                log.compact()
    return (folder / "journal.walj").read_bytes()[4096:], [
        f.read_bytes() for f in sorted(folder.glob("*.wseg"))
    ]


def commits(folder: Path) -> list[bytes]:
    """Every file that result tables of a device leave: the redo ring, the manifest, segments."""
    columns = {"i": "int", "f": "float", "b": "bool", "t": "text", "y": "bytes"}
    with ResultStore(folder) as store:
        store.declare("t", columns)
        for n in range(40):
            row = {"i": n * n, "f": n / 8, "b": n % 2 == 0, "t": "x" * (n % 7), "y": b"y" * (n % 3)}
            store.append("t", [{k: v for k, v in row.items() if (n + ord(k)) % 5}])
    return [f.read_bytes()[-16384:] for f in sorted(folder.rglob("*")) if f.is_file()]


def main(target: str, folder: Path) -> None:
    """Write the target's seeds once; a folder that has some is left alone."""
    if any(folder.glob("seed_*")):
        return
    with tempfile.TemporaryDirectory() as scratch:
        ring, segments = log_files(Path(scratch) / "log")
        of_commits = commits(Path(scratch) / "results") if target == "commits_fuzz" else []
    seeds = {
        "commits_fuzz": of_commits,
        "bytes_fuzz": [question(*q) for q in QUESTIONS],
        "feature_fuzz": FEATURES,
        "frame_fuzz": [ring],
        "graph_fuzz": graphs(),
        "segment_fuzz": segments,
        "trigger_fuzz": [t.encode() for t in TEXTS],
    }[target]
    for i, seed in enumerate(seeds):
        (folder / f"seed_{i}").write_bytes(seed)
    print(f"{len(seeds)} seeds")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
