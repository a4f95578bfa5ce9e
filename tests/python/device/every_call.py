"""Every public method of a device and of what it gives, as one call each; run by programs of their own, since
what they look for is a call that does not end.

    python every_call.py forked|on_result|log|transport DIRECTORY TASK

prints {name: "ok" or the class of what was raised} as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

from walle_rt.device import Device, Results

Call = Callable[[Device], object]


async def _entered(device: Device) -> None:
    async with device.watch():
        pass


def _left(device: Device) -> None:
    with device:
        pass


async def _aleft(device: Device) -> None:
    async with device:
        pass


def _connect(device: Device) -> object:
    return device.connect("http://127.0.0.1:1", root=None, app="a", app_version="1.0.0", transport="python")


# In an order in which each finds what it asks about.
CALLS: dict[str, Call] = {
    "declare": lambda d: d.declare("other"),
    "declare_page": lambda d: d.declare_page("home"),
    "declare_state": lambda d: d.declare_state("wifi"),
    "catalog": lambda d: d.catalog,
    "record": lambda d: d.record("other"),
    "arecord": lambda d: asyncio.run(d.arecord("other")),
    "advance": lambda d: d.advance(),
    "install": lambda d: d.install(sys.argv[3]),
    "ainstall": lambda d: asyncio.run(d.ainstall(sys.argv[3])),
    "install_package": lambda d: d.install_package(b"none", "nowhere"),
    "tasks": lambda d: d.tasks(),
    "task": lambda d: d.task("shop"),
    "call": lambda d: d.call("shop", "nothing"),
    "provide": lambda d: d.provide("price", float),
    "features": lambda d: d.features("shop", "sold", ["x"]),
    "set_params": lambda d: d.set_params("shop", {}),
    "set_facts": lambda d: d.set_facts(charging=True),
    "facts": lambda d: d.facts,
    "set_zone": lambda d: d.set_zone("UTC"),
    "stats": lambda d: d.stats(),
    "trim": lambda d: d.trim(),
    "on_result": lambda d: d.on_result(lambda _: None)(),
    "watch": lambda d: asyncio.run(_entered(d)),
    "results": lambda d: d.results("shop"),
    "tables": lambda d: d.tables("shop"),
    "outbox": lambda d: d.outbox(),
    "read_outbox": lambda d: d.read_outbox("nothing"),
    "acknowledge": lambda d: d.acknowledge("nothing", 0),
    "losses": lambda d: d.losses(),
    "acknowledge_losses": lambda d: d.acknowledge_losses(),
    "set_consents": lambda d: d.set_consents("ads"),
    "consents": lambda d: d.consents,
    "connect": _connect,
    "cloud": lambda d: d.cloud,
    "tunnel": lambda d: d.tunnel,
    "request_headers": lambda d: d.request_headers,
    "saw": lambda d: d.saw({}),
    "pull": lambda d: d.pull(5),
    "disconnect": lambda d: d.disconnect(),
    "wait": lambda d: d.wait(),
    "await_idle": lambda d: asyncio.run(d.await_idle()),
    "closed": lambda d: d.closed,
    "path": lambda d: d.path,
    "remove": lambda d: d.remove("nobody"),
    "__repr__": repr,
    "__enter__, __exit__": _left,
    "__aenter__, __aexit__": lambda d: asyncio.run(_aleft(d)),
    "close": lambda d: d.close(),
    "aclose": lambda d: asyncio.run(d.aclose()),
}
RESULTS: dict[str, Callable[[Results], object]] = {
    "Results.read": lambda r: r.read(),
    "Results.last": lambda r: r.last(2),
    "Results.columns": lambda r: r.columns(),
    "Results.types": lambda r: r.types,
    "Results.newest": lambda r: r.newest,
    "Results.removed": lambda r: r.removed,
    "Results.__iter__": list,
    "Results.__len__": len,
}


def tried(device: Device, results: Results) -> dict[str, str]:
    """What becomes of each call, in order."""
    told: dict[str, str] = {}
    bound = {name: (lambda call=call: call(device)) for name, call in CALLS.items()}
    bound |= {name: (lambda call=call: call(results)) for name, call in RESULTS.items()}
    for name, call in bound.items():
        try:
            call()
            told[name] = "ok"
        except Exception as error:
            told[name] = type(error).__name__
    return told


class Asked:
    """A transport that is asked once."""

    name = "asked"

    def __init__(self, ask: Callable[[], None]) -> None:
        self.ask = ask

    def get(self, url: str, start: int, headers: Any, sink: Any) -> int:
        return self.post(url, "", b"", headers, sink)

    def post(self, url: str, content_type: str, body: bytes, headers: Any, sink: Any) -> int:
        self.ask()
        raise ConnectionError("nobody")

    def cancel(self) -> None:
        pass


def main() -> None:
    where, directory, task = sys.argv[1:]
    warnings.simplefilter("ignore")  # of threads beside a fork, which are what is tried
    told: list[dict[str, str]] = []
    done = threading.Event()

    def ask(*_: object) -> None:
        if not told:
            told.append({})
            told[0] = tried(device, results)
            done.set()

    device = Device(directory, log=ask if where == "log" else None)
    device.install(task)
    results = device.results("shop")
    if where == "on_result":
        device.on_result(ask)
    device.record("buy", contents={"price": 8})
    if where == "forked":
        child = os.fork()
        if child == 0:
            print(json.dumps(tried(device, results)), flush=True)
            os._exit(0)
        os.waitpid(child, 0)
    elif where == "transport":
        try:
            device.connect(
                "http://127.0.0.1:1", root=None, app="a", app_version="1.0.0",
                enrol_code="a-code-of-one-device", transport=Asked(ask),  # type: ignore[arg-type]
            )  # fmt: skip
        except Exception as error:
            print(type(error).__name__, file=sys.stderr)
    if where != "forked":
        assert done.wait(60)
        print(json.dumps(told[0]), flush=True)
    device.close()


def leaves(how: str, directory: str, task: str) -> None:
    """A child that ends in one of the ways in which programs do."""
    device = Device(directory)
    device.install(task)
    device.record("buy", contents={"price": 8})
    child = os.fork()
    if child == 0:
        if how == "with":
            with device:
                sys.exit(3)
        if how == "del":
            del device
            sys.exit(3)
        sys.exit(3)  # the interpreter ends what is left
    end = time.monotonic() + 30
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > end:
            os.kill(child, 9)
            sys.exit("the child hangs")
        time.sleep(0.01)
    assert os.waitstatus_to_exitcode(ended[1]) == 3, ended
    assert device.wait(30)
    print(len(device.results("shop")))
    device.close()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1].startswith("leaves-"):
        leaves(sys.argv[1].removeprefix("leaves-"), *sys.argv[2:])
    else:
        main()
