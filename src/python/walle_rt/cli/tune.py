"""``walle tune``: tables of costs, measured and fitted."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from .. import _core
from ..errors import ArgumentError, ResourceError
from .console import emit_json, err, out
from .exits import command
from .options import Json

app = typer.Typer(help="Tables of costs for the search: measure kernels, fit.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Keeps ``fit`` a command of its own while it is the only one."""


def _tune() -> ModuleType:
    try:
        from .. import tune
    except ModuleNotFoundError as error:
        raise ResourceError.of(
            f"no package '{error.name}'",
            "the extra [convert]",
            "walle tune",
            "pip install 'walle_rt[convert]'",
        ) from None
    return tune


@contextmanager
def _progress(total: int, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A bar on stderr; nothing when quiet or not on a terminal."""
    if quiet or not err.is_terminal:
        yield lambda _: None
        return
    columns = (BarColumn(), TextColumn("{task.percentage:>3.0f}%"), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.description}"), console=err) as bar:
        task = bar.add_task("", total=total)
        yield lambda text: bar.update(task, advance=1, description=text)


# Kernels of the best set and of all that stands beside it, such as VNNI.
_MACHINE = "machine"


def _sets(wanted: str | None) -> list[str]:
    """The instruction sets to measure; "cpu"'s target is "avx512 (of scalar, sse4, avx2, avx512)"."""
    target = _core.machine()["backends"]["cpu"]
    known = [*target.partition("(of ")[2].rstrip(")").split(", "), _MACHINE]
    chosen = [name.strip() for name in wanted.split(",")] if wanted else known
    for name in chosen:
        if name.partition("+")[0] not in known:
            raise ArgumentError.of(
                f"--isa {name}",
                f"sets of this machine: {', '.join(known)}",
                "walle tune fit",
                "leave --isa out",
            )
    return chosen


def _families(wanted: str | None) -> tuple[str, ...]:
    """The families of shapes of the groups that are asked for."""
    groups = _tune().GROUPS
    chosen = [name.strip() for name in wanted.split(",")] if wanted else list(groups)
    for name in chosen:
        if name not in groups:
            raise ArgumentError.of(
                f"--shapes {name}",
                f"some of {', '.join(groups)}",
                "walle tune fit",
                "leave --shapes out for all of them",
            )
    return tuple(family for name in chosen for family in groups[name])


def _described() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


@app.command("fit")
@command
def fit(
    table: Annotated[Path, typer.Argument(help="The file to write: src/cpp/search/tables/CPU.inc.")],
    count: Annotated[int, typer.Option("--count", min=20, help="Shapes to fit, per instruction set.")] = 400,
    held_out: Annotated[int, typer.Option("--held-out", min=20, help="Shapes to judge by.")] = 100,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Times each shape is measured.")] = 3,
    seed: Annotated[int, typer.Option("--seed", help="Of the shapes.")] = 0,
    isa: Annotated[str | None, typer.Option("--isa", help="Sets to fit, like avx2,machine; all.")] = None,
    groups: Annotated[str | None, typer.Option("--shapes", help="float32,integers,bf16; all.")] = None,
    name: Annotated[str, typer.Option("--name", help="Of the table; the file's.")] = "",
    devices: Annotated[str, typer.Option("--devices", help="Processors it is for; this one.")] = "",
    json_: Json = False,
) -> None:
    """Measure kernels on random shapes and fit the table that the search predicts with."""
    tune = _tune()
    from ..tune.measure import instruction_set
    from ..tune.table import Machine, table_text

    sets, families = _sets(isa), _families(groups)
    if not table.parent.is_dir():
        raise ResourceError.of(
            f"'{table}'", "a file in a folder that exists", "walle tune fit", "make it first"
        )
    learned, judged = (list(tune.shapes(*drawn, families)) for drawn in ((count, seed), (held_out, seed + 1)))
    measured: list[Any] = []
    judges: dict[str, list[Any]] = {}
    profiles: list[Any] = []
    with _progress((len(learned) + len(judged)) * rounds * len(sets), json_) as advance:
        for set_ in sets:
            with instruction_set("" if set_ == _MACHINE else set_):
                profile = _core.machine_profile()
                if profile["isa"] not in [p["isa"] for p in profiles]:
                    profiles.append(profile)
                measured += tune.measure(learned, rounds=rounds, advance=advance)
                judges[set_] = tune.measure(judged, rounds=rounds, advance=advance)
    fitted = tune.fit(measured)
    best = tune.quality(judges[sets[-1]], fitted)
    machine = Machine(
        name=name or table.stem,
        devices=devices or profiles[0]["device"],
        described=f"{_described()} ({profiles[0]['device']})",
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
    )
    tune.write_table(table, table_text(fitted, best, profiles, machine))
    qualities = {set_: asdict(tune.quality(found, fitted)) for set_, found in judges.items()}
    if json_:
        rows = {f"{kernel} {set_}".strip(): asdict(row) for (kernel, set_), row in fitted.rows.items()}
        emit_json({"table": str(table), "kernels": rows, "held_out": qualities, "profiles": profiles})
        return
    for set_, q in qualities.items():
        out.print(
            f"{set_}: regret median {q['median_regret']:.3f}, worst {q['worst_regret']:.3f} ({q['worst']});"
            f" predicted / measured {q['median_ratio']:.2f} ({q['low_ratio']:.2f} to {q['high_ratio']:.2f})"
        )
    out.print(f"{len(fitted.rows)} kernels written to {table}; build again to use it")
