"""Writes the events of some days of a shop for the clicks task.

    python examples/clicks/prepare.py FOLDER [--days 14]

FOLDER gets events.jsonl and truth.json (what every day's summary has to say). The log of a real shop
(DIGINETICA, below WALLE_TEST_DATA) holds item views alone: a visitor's second view of an item stands for
putting it into the cart here, and the third for buying it. Without the data, visits are generated.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

SECOND = 1_000_000
STEPS = ("view", "add", "buy")
ABANDONED = timedelta(minutes=30)
View = tuple[date, int, int, int]  # day, visitor, microseconds since the visit began, item


def of_a_shop() -> list[View]:
    """The views of the log; none where it is not at hand."""
    file = Path(os.environ.get("WALLE_TEST_DATA", "")) / "clickstream" / "sample_train-item-views.csv"
    if not file.is_file():
        return []
    with file.open(encoding="utf-8") as rows:
        return [
            (
                date.fromisoformat(row["eventdate"]),
                int(row["session_id"]),
                int(row["timeframe"]) * 1000,
                int(row["item_id"]),
            )
            for row in csv.DictReader(rows, delimiter=";")
        ]


def generated() -> list[View]:
    """Fourteen days of thirty visits each, from a fixed seed."""
    rng = np.random.default_rng(6)
    out = []
    for visit in range(14 * 30):
        day, at = date(2024, 1, 1) + timedelta(days=visit // 30), 0
        for _ in range(int(rng.integers(1, 8))):
            out.append((day, visit, at, int(rng.integers(1, 5))))
            at += int(rng.integers(5, 200)) * SECOND
    return out


def events_of(views: list[View], days: int) -> list[tuple[int, str, int, int]]:
    """(ts, event, item, visitor) of the last days, in time; visits begin one after another from 9:00 on."""
    last = sorted({view[0] for view in views})[-days:]
    visits: dict[date, dict[int, list[View]]] = {day: defaultdict(list) for day in last}
    for view in views:
        if view[0] in visits:
            visits[view[0]][view[1]].append(view)
    out = []
    for day, of_day in visits.items():
        opens = datetime(day.year, day.month, day.day, 9, tzinfo=UTC)
        for n, (visitor, seen) in enumerate(sorted(of_day.items())):
            begin = int((opens.timestamp() + n * 36_000 / len(of_day)) * SECOND)
            times: Counter[int] = Counter()
            for _, _, at, item in sorted(seen, key=lambda view: view[2]):
                if times[item] < len(STEPS):
                    out.append((begin + at, STEPS[times[item]], item, visitor))
                    times[item] += 1
    return sorted(out)


def truth_of(events: list[tuple[int, str, int, int]]) -> dict[str, dict[str, int]]:
    """{day: {"bought", "abandoned"}}, counted by hand."""
    carts: dict[tuple[int, int], dict[str, int]] = defaultdict(dict)
    for ts, event, item, visitor in events:
        carts[visitor, item][event] = ts
    days: dict[str, dict[str, int]] = {}
    wait = int(ABANDONED.total_seconds()) * SECOND
    for steps in carts.values():
        if "add" not in steps:
            continue
        bought = "buy" in steps and steps["buy"] - steps["view"] <= 2 * wait
        left = "buy" not in steps or steps["buy"] - steps["add"] > wait
        for end, happened, ts in (
            ("bought", bought, steps.get("buy", 0)),
            ("abandoned", left, steps["add"] + wait),
        ):
            if happened:
                day = datetime.fromtimestamp(ts / SECOND, UTC).date().isoformat()
                days.setdefault(day, {"bought": 0, "abandoned": 0})[end] += 1
    return days


def lines_of(events: list[tuple[int, str, int, int]]) -> Iterator[str]:
    """Events as JSON lines."""
    for ts, event, item, visitor in events:
        yield json.dumps({"event": event, "ts": ts, "contents": {"item": item, "visitor": visitor}}) + "\n"


def prepare(folder: Path, days: int = 14) -> dict[str, Any]:
    """Write everything; returns what truth.json says."""
    views = of_a_shop()
    source = "clickstream" if views else "generated"
    events = events_of(views or generated(), days)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "events.jsonl").open("w", encoding="utf-8") as out:
        out.writelines(lines_of(events))
    truth = {"source": source, "events": len(events), "days": truth_of(events)}
    (folder / "truth.json").write_text(json.dumps(truth))
    return truth


def main() -> None:
    """Prepare the folder that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--days", type=int, default=14)
    given = parser.parse_args()
    truth = prepare(given.folder, given.days)
    task = Path(__file__).with_name("task")
    print(f"{truth['source']}: {truth['events']} events of {len(truth['days'])} days")
    print(f"walle task test {task} --events {given.folder / 'events.jsonl'} --after 1d")


if __name__ == "__main__":
    main()
