"""Makes the item page view task ready to run: fits its encoder and its ranking, and writes events of pages.

    python examples/ipv/prepare.py FOLDER [--pages 40]

FOLDER gets task/, events.jsonl and truth.json (what every page's row and code have to be). The pages are
those of the shop in WALLE_TEST_DATA/open_bandit, or generated.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from din import network, scores_by_hand, vectors_of
from ipv import START, Visit, catalog, fitted, of_open_bandit, record

from walle_rt.stream import Graph
from walle_rt.stream._ipv import ipv_feature
from walle_rt.stream._log import EventLog

TASK = Path(__file__).with_name("task")
SECOND = 1_000_000


def generated(pages: int) -> list[Visit]:
    """Pages about one of four themes each, from a fixed seed."""
    rng = np.random.default_rng(4)
    out: list[Visit] = []
    for _ in range(pages):
        theme, page = int(rng.integers(4)), []
        for step in range(int(rng.integers(12, 60))):
            ts, kind = START + step * 300_000, rng.random()
            item = theme * 10 + int(rng.integers(10))
            if kind < 0.4:
                page.append(("page_scroll", ts, {"depth": float(rng.random()), "speed": float(rng.random())}))
            elif kind < 0.9:
                shown = {"item": item, "title": f"item {item}", "position": step, "price": item * 1.5}
                page.append(("exposure", ts, shown))
            else:
                page.append(("click", ts, {"item": item, "widget": "recommendation"}))
        out.append(page)
    return out


def prepare(folder: Path, pages: int = 40) -> dict[str, Any]:
    """Write everything; returns what truth.json says."""
    data = Path(os.environ.get("WALLE_TEST_DATA", ""))
    real = (data / "open_bandit").is_dir()
    visits = list(islice(of_open_bandit(data), 200)) if real else generated(200)
    shutil.copytree(TASK, folder / "task", dirs_exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as scratch,
        EventLog(Path(scratch) / "log", catalog(), max_age_s=1e9) as log,
    ):
        instances = record(log, visits)
        features = np.stack([ipv_feature(log, i) for i in instances])
    encoder = fitted(features)
    encoder.save(folder / "task" / "encoder.walle")
    session = encoder.session(threads=1)
    graph = Graph().ipv("feature").encode("code", session, "feature", model="encoder.walle").select("code")
    (folder / "task" / "page.graph").write_bytes(graph.to_bytes())
    items = sorted({int(item) for visit in visits for item in _items(visit)})
    vectors = vectors_of([_items(visit) for visit in visits], items)
    network(vectors).save(folder / "task" / "din.walle")
    (folder / "task" / "items.json").write_text(json.dumps(items))
    (folder / "events.jsonl").write_text("".join(_lines(visits[:pages])))
    truth = {
        "source": "open_bandit" if real else "generated",
        "events": [len(visit) + 2 for visit in visits[:pages]],
        "best": [_best(vectors, items, _items(visit)) for visit in visits[:pages]],
        "codes": [_code(session, feature) for feature in features[:pages]],
        "raw_bytes": len(json.dumps(visits[:pages]).encode()),
    }
    (folder / "truth.json").write_text(json.dumps(truth))
    return truth


def _items(visit: Visit) -> list[int]:
    return [int(contents["item"]) for _, _, contents in visit if "item" in contents]


def _best(vectors: Any, items: list[int], seen: list[int]) -> int | None:
    rows = {item: row for row, item in enumerate(items)}
    history = [rows[item] for item in seen]
    others = [row for row in range(len(items)) if row not in set(history)]
    return (
        items[others[int(scores_by_hand(vectors, history, others).argmax())]] if history and others else None
    )


def _code(session: Any, feature: Any) -> list[float]:
    out = session.run({session.model.inputs[0].name: feature[None]})
    return [float(value) for value in next(iter(out.values()))[0]]


def _lines(visits: list[Visit]) -> list[str]:
    lines, late = [], START
    for visit in visits:
        shift, end = late - visit[0][1], late - visit[0][1] + visit[-1][1] + 270_000
        lines.append({"event": "page_enter", "page": "item", "ts": late})
        lines += [
            {"event": name, "page": "item", "ts": ts + shift, "contents": contents}
            for name, ts, contents in visit
        ]
        lines.append({"event": "page_exit", "page": "item", "ts": end})
        late = end + SECOND
    return [json.dumps(line) + "\n" for line in lines]


def main() -> None:
    """Prepare the folder that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", type=int, default=40)
    given = parser.parse_args()
    truth = prepare(given.folder, given.pages)
    print(f"{truth['source']}: {sum(truth['events'])} events on {len(truth['events'])} pages")
    print(f"walle task test {given.folder / 'task'} --events {given.folder / 'events.jsonl'}")


if __name__ == "__main__":
    main()
