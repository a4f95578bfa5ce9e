"""Models as exporters write them, on onnxruntime and on walle_rt: one table per exporter.

    python tests/exporters/run.py [exporter ...] [-v]

A model the exporter itself cannot write, or onnxruntime cannot run, is left out of the total and named with
the reason. The exit status is 1 when an exporter stays below 95 %. Models lie in a temporary folder and go
with it.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from case import Case
from compare import difference, reference

EXPORTERS = {
    "skl2onnx": "sklearn_models",
    "xgboost": "xgboost_models",
    "lightgbm": "lightgbm_models",
    "torch": "torch_models",
    "transformers": "transformers_models",
    "timm": "timm_models",
    "tf2onnx": "tensorflow_models",
    "onnxruntime": "quantised_models",
    "optimisers": "optimised_models",
}
WANTED = 0.95


@dataclass
class Table:
    """What became of an exporter's models."""

    passed: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        total = len(self.passed) + len(self.failed)
        return len(self.passed) >= WANTED * total


def short(error: Exception) -> str:
    """An error in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def attempt(action: Callable[[], Any]) -> tuple[Any, str | None]:
    """A result, or why there is none."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # exporters print whole graphs
            return action(), None
    except Exception as error:  # whatever an exporter or a runtime raises is a row of the table
        return None, short(error)


def run_case(case: Case, path: Path, table: Table) -> None:
    """Export, run on both, compare."""
    import walle_rt

    feeds, reason = attempt(lambda: case.make(path))
    if reason is None:
        wanted, reason = attempt(lambda: reference(path, feeds))
    if reason is not None:
        table.left_out[case.name] = reason
        return
    got, reason = attempt(lambda: walle_rt.load(str(path)).session(threads=1).run(feeds))
    if reason is None:
        found = (difference(got.get(name), want, name) for name, want in wanted.items())
        reason = next(filter(None, found), None)
    if reason is None:
        table.passed.append(case.name)
    else:
        table.failed[case.name] = reason


def run_exporter(module: str, verbose: bool) -> Table:
    """All cases of one exporter."""
    table = Table()
    for number, case in enumerate(importlib.import_module(module).cases()):
        with tempfile.TemporaryDirectory() as folder:
            started = time.monotonic()
            run_case(case, Path(folder) / f"{number}.onnx", table)
            if verbose:
                state = table.failed.get(case.name) or table.left_out.get(case.name) or "equal"
                print(f"  {time.monotonic() - started:6.1f} s  {case.name}: {state}", flush=True)
    return table


def show(name: str, table: Table) -> None:
    """The table's rows that need a word, and its count."""
    total = len(table.passed) + len(table.failed)
    print(f"\n== {name}: {len(table.passed)} of {total} equal to onnxruntime")
    for case, reason in table.failed.items():
        print(f"  differs   {case}: {reason}")
    for case, reason in table.left_out.items():
        print(f"  left out  {case}: {reason}")


def main() -> int:
    """Run the exporters named, or all."""
    warnings.simplefilter("ignore")
    verbose = "-v" in sys.argv
    names = [name for name in sys.argv[1:] if not name.startswith("-")] or list(EXPORTERS)
    results = {}
    for name in names:
        try:
            results[name] = run_exporter(EXPORTERS[name], verbose)
        except ImportError as error:
            print(f"\n== {name}: skipped, because {error}")
            continue
        show(name, results[name])
    print("\nexporter        equal   total   left out")
    for name, table in results.items():
        total = len(table.passed) + len(table.failed)
        print(f"{name:14s} {len(table.passed):6d}  {total:6d}  {len(table.left_out):9d}")
    return 0 if results and all(table.good for table in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
