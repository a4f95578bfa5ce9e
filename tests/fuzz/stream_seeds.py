"""Seeds for the stream room's targets: journal rings, segments, trigger texts.

python stream_seeds.py frame_fuzz|segment_fuzz|trigger_fuzz FOLDER
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from walle_rt.stream import Catalog, EventKind, EventLog, FieldType

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
]


def log_files(folder: Path) -> tuple[bytes, list[bytes]]:
    """A journal's ring with frames of all kinds of contents,
    and the segments it was compacted into before.
    """
    fields = {"i": FieldType.INT, "d": FieldType.FLOAT, "b": FieldType.BOOL, "t": FieldType.TEXT}
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


def main(target: str, folder: Path) -> None:
    """Write the target's seeds once; a folder that has some is left alone."""
    if any(folder.glob("seed_*")):
        return
    with tempfile.TemporaryDirectory() as scratch:
        ring, segments = log_files(Path(scratch))
    seeds = {"frame_fuzz": [ring], "segment_fuzz": segments, "trigger_fuzz": [t.encode() for t in TEXTS]}[
        target
    ]
    for i, seed in enumerate(seeds):
        (folder / f"seed_{i}").write_bytes(seed)
    print(f"{len(seeds)} seeds")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
