"""Seeds for manifest_fuzz: manifests of a task with everything and of one with as little as may be.

python manifest_seeds.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from walle_rt.stream import ColumnType, EventKind, FeatureField, FeaturePolicy, Sensitivity
from walle_rt.task import EventDecl, PhaseLimits, ResultTable, RetrySpec, RollingSpec, TaskSpec

LEAST = TaskSpec("t", "0.0.0", triggers={"x": "click"}, main="main")
WHOLE = TaskSpec(
    "ipv",
    "1.2.3-rc.1+build.7",
    "3.13",
    triggers={"left": "page_exit@item", "daily": "daily 03:00"},
    zone="Europe/Berlin",
    preprocess="before",
    execute_model="m.walle",
    postprocess="after",
    postprocess_event=True,
    retry=RetrySpec(3, 1_000_000, 60_000_000, 2, 8),
    limits={"execute": PhaseLimits(10, 5)},
    record_events=["note"],
    record_per_firing=3,
    timer_names=["later"],
    timers_most=5,
    rolling={
        "spent": RollingSpec("note[n > 1]", ("n",), "sum", "n", 1_000_000, 0, 16),
        "seen": RollingSpec("exposure", ("item",), "count", "", 0, 9),
    },
    state_keys=7,
    imports=["json", "walle"],
    host_calls=["walle.kv", "walle.log.info"],
    results={"visits": ResultTable({"item": "int", "code": "bytes"}, 4096, 1)},
    egress={
        "ipv": FeaturePolicy(
            "ipv",
            [FeatureField("code", ColumnType.VECTOR, 32, Sensitivity.PERSONAL)],
            4096,
            10,
            12,
            "features",
            5,
        )
    },
    graphs={"ipv": "page.graph"},
    requires=["charging"],
    events={
        "exposure": EventDecl(EventKind.EXPOSURE, {"item": (ColumnType.INT, Sensitivity.OPEN)}),
        "note": EventDecl(EventKind.CUSTOM, {"n": (ColumnType.INT, Sensitivity.OPEN)}),
    },
    pages=["item"],
    states=["wifi"],
)


def main(folder: Path) -> None:
    """Write the seeds once; a folder that has some is left alone."""
    if any(folder.glob("seed_*")):
        return
    for i, spec in enumerate((LEAST, WHOLE)):
        (folder / f"seed_{i}").write_bytes(spec.to_manifest())
    print("2 seeds")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
