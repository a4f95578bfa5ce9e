"""The item page view feature: from a page's raw events to 332 floats and to a code of 128 bytes, with the sizes.

python examples/ipv/ipv.py
"""

from __future__ import annotations

import json
import tempfile
import zlib

import numpy as np

from walle_rt.stream import Catalog, EventKind, EventLog, FieldType, IpvEncoder, Sensitivity, TriggerSet

START = 1_700_000_000_000_000


def catalog() -> Catalog:
    seen = (FieldType.INT, Sensitivity.PERSONAL)
    info = {"item": seen, "title": FieldType.TEXT, "position": FieldType.INT, "price": FieldType.FLOAT}
    return (
        Catalog()
        .declare("page_scroll", EventKind.PAGE_SCROLL, {"depth": FieldType.FLOAT, "speed": FieldType.FLOAT})
        .declare("exposure", EventKind.EXPOSURE, info)
        .declare("click", EventKind.CLICK, {"item": seen, "widget": FieldType.TEXT})
        .page("item")
    )


def visit(log: EventLog) -> None:
    """One visit of 116 events, from a fixed seed."""
    rng = np.random.default_rng(4)
    log.append("page_enter", "item", ts=START)
    for i in range(114):
        ts = START + i * 270_000
        kind = rng.random()
        if kind < 0.4:
            log.append("page_scroll", "item", {"depth": float(rng.random()), "speed": float(rng.random())}, ts=ts)
        elif kind < 0.9:
            item = int(rng.integers(40))
            shown = {
                "item": item,
                "title": f"article {item} of the recommendations below",
                "position": i,
                "price": item * 1.5,
            }
            log.append("exposure", "item", shown, ts=ts)
        else:
            log.append("click", "item", {"item": int(rng.integers(40)), "widget": "recommendation"}, ts=ts)
    log.append("page_exit", "item", ts=START + 114 * 270_000)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, EventLog(folder, catalog()) as log:
        visit(log)
        triggers = TriggerSet(log.catalog)
        triggers.add("ipv", "page_enter@item ~ page_exit@item scope page")
        firing = triggers.replay(log)[0]
        events = list(log.read())
        made = IpvEncoder.seeded()(log, events[0].seq)
        raw = json.dumps([e.__dict__ for e in events]).encode()
        print(f"trigger '{firing.trigger}' fired at event {firing.seq}")
        print(
            f"raw events   {len(raw):6d} bytes of JSON ({made.events} events), {len(zlib.compress(raw, 9))} after zlib"
        )
        print(f"feature      {made.feature.nbytes:6d} bytes, {1 - made.feature.nbytes / len(raw):.1%} less")
        print(f"code         {made.code.nbytes:6d} bytes, {1 - made.code.nbytes / len(raw):.1%} less")


if __name__ == "__main__":
    main()
