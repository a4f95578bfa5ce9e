"""A bench run's figures as one JSON file, and plots of them where matplotlib is installed."""

from __future__ import annotations

import json
import os
import platform
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from . import peers

FORMAT = 1
FILE = "bench.json"
# Section -> what each of its entries has. A reader that knows this knows the file.
SECTIONS: dict[str, tuple[str, ...]] = {
    "models": ("model", "threads", "milliseconds", "medians", "errors", "rounds", "reasons", "thrown",
               "disturbed", "best_peer", "ratio", "median_ratio", "error_ratio"),
    "curves": ("model", "size", "milliseconds", "ratio"),
    "operators": ("name", "flops", "bytes", "milliseconds", "errors", "thrown"),
    "sessions": ("engine", "sessions", "threads", "per_second", "fairness"),
    "startup": ("model", "engine", "seconds", "peak_bytes"),
}  # fmt: skip


def processor() -> str:
    """The processor's name, as the kernel says it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def document(found: dict[str, Any]) -> dict[str, Any]:
    """The whole file: the figures and what they are of."""
    return {
        "format": FORMAT,
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": {"processor": processor(), "cores": os.cpu_count(), "system": platform.platform()},
        "environment": {k: v for k, v in os.environ.items() if k.startswith("WALLE_") and "TEST" not in k},
        "engines": {
            name: {"version": peers.version(name), "settings": peers.settings(name)} for name in peers.NAMES
        },
        **found,
    }


def check(value: Any) -> list[str]:
    """What is wrong with a document, one line each; empty: nothing."""
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        return [f"not a document of format {FORMAT}"]
    wrong = [f"'{key}' is missing" for key in ("date", "machine", "engines", "roof") if key not in value]
    for section, keys in SECTIONS.items():
        entries = value.get(section)
        if not isinstance(entries, list):
            wrong.append(f"'{section}' is no list")
            continue
        for i, entry in enumerate(entries):
            wrong += [f"{section}[{i}] has no '{key}'" for key in keys if key not in entry]
    return wrong


def write(folder: Path, found: dict[str, Any]) -> list[str]:
    """Write the JSON file and the plots; returns what to say about it."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = document(found)
    unfinished = folder / f"{FILE}.part"
    # Not a number has no place in JSON: an infinite error is null.
    unfinished.write_text(json.dumps(finite(whole), indent=1, allow_nan=False))
    unfinished.rename(folder / FILE)
    if find_spec("matplotlib") is None:
        return [f"figures: {folder / FILE}; no plots without matplotlib"]
    from .plots import draw

    return [f"figures: {folder / FILE}; plots: {', '.join(draw(folder, whole)) or 'none'}"]


def write_table(folder: Path, name: str, title: str, rows: list[dict[str, Any]]) -> Path:
    """One table of a run as a JSON file of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = {**document({}), "title": title, "rows": rows}
    path = folder / f"{name}.json"
    unfinished = path.with_name(f"{path.name}.part")
    unfinished.write_text(json.dumps(finite(whole), indent=1, allow_nan=False))
    unfinished.rename(path)
    return path


def finite(value: Any) -> Any:
    """The same without infinities and NaN, which become None."""
    if isinstance(value, dict):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value
