"""A device of the demo: a process that follows a server, records events and sends features.

    python -m walle_rt.demo.follower FOLDER URL CODE MODEL

It prints a JSON line whenever how it stands with its server changes, and records an event five times a
second. It ends with its standard input.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

from ..device import Device
from ..stream import Catalog, FieldType, Sensitivity

EVERY_S = 0.2


def catalog() -> Catalog:
    """What the demo's app records."""
    fields = {"n": (FieldType.INT, Sensitivity.OPEN), "text": (FieldType.TEXT, Sensitivity.OPEN)}
    return Catalog().declare("say", fields=fields)


def tell(**what: Any) -> None:
    """One line for whoever started us."""
    sys.stdout.write(json.dumps({"at": time.time(), **what}) + "\n")
    sys.stdout.flush()


def main(folder: str, url: str, code: str, model: str) -> None:
    """Follow the server until standard input ends."""
    over = threading.Event()

    def end_with_input() -> None:
        sys.stdin.read()
        over.set()

    threading.Thread(target=end_with_input, daemon=True).start()
    with Device(folder, catalog=catalog()) as device:
        state = device.connect(
            url, root=None, app="demo", app_version="1.0.0", enrol_code=code, device=model, report_after_s=1.0
        )
        tell(device=state.device, transport=state.transport)
        follow(device, over)


def follow(device: Device, over: threading.Event) -> None:
    """Record, and tell what changes."""
    before: Any = None
    n = 0
    while not over.wait(EVERY_S):
        n += 1
        device.record("say", contents={"n": n, "text": f"word {n}"})
        state = device.cloud
        if state is None:
            return
        versions = {name: task.version for name, task in state.tasks.items()}
        steps = [[step.task, step.version, step.what] for step in state.steps]
        now = {"epoch": state.epoch, "versions": versions, "steps": steps}
        if now != before:
            before = now
            tell(**now, error=state.error)


if __name__ == "__main__":
    main(*sys.argv[1:])
