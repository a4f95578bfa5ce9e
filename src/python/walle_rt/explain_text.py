"""Explanations laid out as text: every row in order, or the costliest with the time in groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .explain import ExplainRow, Explanation

REST = "not accounted for"  # what a profiled run takes beside its rows
_GROUPS = 10  # lines of a group's table
_SOURCES = {
    "search": "searched",
    "kept": "searched and kept",
    "not_kept": "searched, which the cache could not keep",
    "mended": "searched because the cache held a damaged or stale one",
    "cache": "from the cache",
}


def table(found: Explanation, losers: bool) -> str:
    """Every row, plan after plan."""
    many = _many(found)
    lines = [*summary(found), "", _head(many)]
    place = None
    for row in found.rows:
        if found.plans > 1 and (row.plan, row.graph) != place:
            place = (row.plan, row.graph)
            lines.append(f"-- {f'plan {row.plan}' if row.plan else 'executor'}, graph '{row.graph}'")
        lines += _lines(row, found, many, losers)
    return "\n".join([*lines, *_rest(found)])


def best(found: Explanation, count: int, losers: bool) -> str:
    """The costliest rows, then the time by algorithm and by the nodes' names."""
    many = _many(found)
    chosen = found.costliest(count)
    lines = [*summary(found), ""]
    if chosen:
        lines += [f"the {len(chosen)} costliest of {len(found.rows)} rows, {_how(found)}", _head(many)]
    for row in chosen:
        lines += _lines(row, found, many, losers)
    others = sum(map(found.time_of, found.rows)) - sum(map(found.time_of, chosen))
    if chosen and len(found.rows) > len(chosen):
        lines.append(_part(f"{len(found.rows) - len(chosen)} other rows", others, found))
    lines += _rest(found) if chosen else []
    lines += ["", "by algorithm", *_group(found.by_algorithm(), found)]
    lines += ["", "by name", *_group(found.by_name(), found)]
    return "\n".join(lines)


def summary(found: Explanation) -> list[str]:
    """Steps and memory, work, time by algorithm, the table of costs, what it mispredicts most."""
    rows = found.rows
    if not rows:
        return ["no plan yet: the first run, or session.prepare(shapes), makes one"]
    flops, moved = sum(r.flops for r in rows), sum(r.bytes for r in rows if r.op != "copy")
    total = found.total_ms or 1.0
    shares = [f"{name} {ms / total:.0%}" for name, ms in found.by_algorithm()[:5]]
    if found.profiled_runs:
        shares.append(f"{REST} {found.unaccounted_ms / total:.0%}")
    return [
        f"{len(rows)} steps on {', '.join(sorted({r.backend for r in rows})) or 'nothing'},"
        f" {found.aliases} aliases (no copy); arena {found.arena_bytes / 1e6:.2f} MB for"
        f" {found.activation_bytes / 1e6:.2f} MB of activations",
        f"{flops / 1e6:.1f} MFLOP, {moved / 1e6:.1f} MB read and written;"
        f" predicted {found.predicted_ms:.3f} ms{_measured(found)}",
        f"time by algorithm: {', '.join(shares) or 'none'}",
        *_plans(found),
        *_mispredicted(found),
        *_copies(found),
    ]


def _plans(found: Explanation) -> list[str]:
    if not found.plan_sources:
        return []
    sources = ", ".join(f"{count} {_SOURCES[name]}" for name, count in sorted(found.plan_sources.items()))
    return [f"costs: {found.costs}; plans: {sources}, in {found.search_ms:.1f} ms"]


def _mispredicted(found: Explanation) -> list[str]:
    worst = [
        f"{r.node or r.op} ({r.algorithm}) {r.predicted_ms * 1e3:.0f} for {r.measured_ms * 1e3:.0f} us"
        for r in found.mispredicted(3)
    ]
    return [f"worst predictions: {', '.join(worst)}"] if worst else []


def _measured(found: Explanation) -> str:
    if not found.profiled_runs:
        return ""
    runs = f"{found.profiled_runs} run{'s'[: found.profiled_runs > 1]}"
    return f", measured {found.measured_ms:.3f} ms of {found.wall_ms:.3f} ms over {runs}"


def _copies(found: Explanation) -> list[str]:
    copies = [r for r in found.rows if r.op == "copy"]
    if len(found.arenas) < 2:
        return []
    arenas = ", ".join(f"{name} {size / 1e6:.2f} MB" for name, size in found.arenas.items())
    moved, ms = sum(r.bytes for r in copies), sum(r.predicted_ms for r in copies)
    said = f"{len(copies)} copies between memories: {moved / 1e6:.2f} MB, predicted {ms:.3f} ms"
    return [f"{said}; arenas: {arenas}"]


def _many(found: Explanation) -> bool:
    return len({r.backend for r in found.rows}) > 1


def _how(found: Explanation) -> str:
    return "measured" if found.profiled_runs else "predicted"


def _part(name: str, ms: float, found: Explanation) -> str:
    return f"{ms * 1e3:>11.1f}us {ms / (found.total_ms or 1.0):>6.1%}  {name}"


def _rest(found: Explanation) -> list[str]:
    return [_part(REST, found.unaccounted_ms, found)] if found.profiled_runs else []


def _group(parts: Iterable[tuple[str, float]], found: Explanation) -> list[str]:
    all_parts = list(parts)
    lines = [_part(name, ms, found) for name, ms in all_parts[:_GROUPS]]
    if len(all_parts) > _GROUPS:
        others = sum(ms for _, ms in all_parts[_GROUPS:])
        lines.append(_part(f"{len(all_parts) - _GROUPS} others", others, found))
    return lines


def _head(many: bool) -> str:
    return (
        f"{'op':<13} {'on ' if many else ''}{'algorithm':<35} {'result':<24} {'at':<14} {'MFLOP':>7} "
        f"{'kB':>7} "
        f"{'predicted':>9} {'measured':>9} {'GFLOP/s':>7} {'GB/s':>5} {'share':>6}  node"
    )


def _lines(row: ExplainRow, found: Explanation, many: bool, losers: bool) -> list[str]:
    lines = [_line(row, found, many)]
    if losers:
        lines += [f"{'':<14}over {name} ({ms * 1e3:.1f} us)" for name, ms in row.losers]
    return lines


def _line(row: ExplainRow, found: Explanation, many: bool) -> str:
    parameters = ",".join(f"{k}={v}" for k, v in row.parameters.items())
    algorithm = row.algorithm + (f"({parameters})" if parameters else "")
    place = f"{row.storage}+{row.offset}" if row.storage == "arena" or row.offset else row.storage
    if not row.plan:
        place = "-"
    measured = f"{row.measured_ms * 1e3:.1f}us" if row.measured_runs else "-"
    seconds = (row.measured_ms if row.measured_runs else row.predicted_ms) / 1e3 or 1e-12
    speed = f"{row.flops / seconds / 1e9:.1f}" if row.flops else "-"
    times = f" x{row.per_run:.4g}" if row.per_run > 1 else ""
    share = found.time_of(row) / (found.total_ms or 1.0)
    return (
        f"{row.op:<13} {f'{row.backend} ' if many else ''}{algorithm:<35} {row.output:<24} {place:<14} "
        f"{row.flops / 1e6:>7.2f} {row.bytes / 1e3:>7.1f} {row.predicted_ms * 1e3:>7.1f}us {measured:>9} "
        f"{speed:>7} "
        f"{row.bytes / seconds / 1e9:>5.1f} {share:>6.1%}  {row.node}{times}"
    )
