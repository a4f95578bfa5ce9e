"""The task that the tests of devices install, and what their fixtures give."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from walle_rt.device import Device

TOML = """
[task]
name = "{name}"
version = "{version}"
{more}
[triggers]
bought = "buy"
[entry]
main = "main"
[capabilities]
host_calls = ["walle.log", "walle.kv"]
[limits.main]
wall_ms = {wall_ms}
[results.sales]
columns = {{ price = "int", name = "text", ratio = "float", big = "bool", raw = "bytes" }}
[events.buy]
fields = {{ price = {{ type = "int", sensitivity = "open" }}, name = "text" }}
"""

MAIN = """
def main(event):
    fields = event["fields"]
    price = fields["price"]
    return {"price": price, "name": fields.get("name"), "ratio": price / 4, "big": price > 5, "raw": b"x"}
"""

Folder = Callable[..., Path]
Open = Callable[..., Device]
