"""Many devices of one server in one process: each has its agent, its tunnel and its own thread for either.

    python device_fleet.py FOLDER URL CODE...

Prints {"ready": ...} when all have enrolled and are online, then {"device", "version", "at"} whenever what
runs on one of them changes ("" is nothing). Ends with its standard input.
"""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

from walle_rt.device import Device
from walle_rt.stream import Catalog, ColumnType, Sensitivity

TASK = "words"
LOOKS_EVERY_S = 0.02  # a change is told at most so much too late


def catalog() -> Catalog:
    return Catalog().declare("say", fields={"n": (ColumnType.INT, Sensitivity.OPEN)})


def tell(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def version_of(device: Device) -> str:
    tasks = device.tasks()
    return tasks[TASK].version if TASK in tasks else ""


def main(folder: Path, url: str, codes: list[str]) -> None:
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
    with contextlib.ExitStack() as held:
        devices = []
        for number, code in enumerate(codes):
            device = held.enter_context(Device(folder / str(number), catalog=catalog(), workers=1, ready=1))
            device.connect(url, root=None, app="fleet", app_version="1.0.0", enrol_code=code)
            devices.append(device)
        for device in devices:
            assert device.tunnel is not None
            while device.tunnel.stats().epochs == 0 and not over.is_set():
                time.sleep(0.01)
        tell(ready=len(devices))
        before = [""] * len(devices)
        while not over.wait(LOOKS_EVERY_S):
            for number, device in enumerate(devices):
                version = version_of(device)
                if version != before[number]:
                    before[number] = version
                    tell(device=number, version=version, at=time.time())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
