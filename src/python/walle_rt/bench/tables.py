"""Comparisons as lines of text: one model per row, one engine per column, reasons and shortcomings below."""

from __future__ import annotations

from collections.abc import Sequence

from .compare import ERROR_LIMIT, Comparison, geometric_mean
from .curves import Point, growth
from .peers import PEERS


def _number(value: float | None, width: int = 8, digits: int = 2) -> str:
    return f"{value:{width}.{digits}f}" if value is not None else f"{'-':>{width}s}"


def _time(value: float | None) -> str:
    if value is None:
        return f"{'-':>12s}"
    return f"{value:12.4f}" if value < 1 else f"{value:12.3f}"


def table(results: Sequence[Comparison]) -> list[str]:
    """Latency, ratio of minima and of medians, our error, its ratio, and rounds thrown away."""
    engines = ["walle", *[peer for peer in PEERS if any(peer in r.milliseconds for r in results)]]
    width = max([20, *(len(r.model) for r in results)]) + 1
    columns = ["ratio", "median", "error", "x peer", "thrown"]
    head = f"{'model':{width}s}" + "".join(f"{engine:>12s}" for engine in engines)
    lines = [head + "".join(f"{column:>9s}" for column in columns) + "  best peer"]
    for r in results:
        times = "".join(_time(r.milliseconds.get(engine)) for engine in engines)
        error = f"{r.errors['walle']:9.1e}" if "walle" in r.errors else f"{'-':>9s}"
        thrown = f"{r.thrown:8d}{'*' if r.disturbed else ' '}"
        lines.append(
            f"{r.model:{width}s}{times}{_number(r.ratio, 9)}{_number(r.median_ratio, 9)}{error}"
            f"{_number(r.error_ratio, 9)}{thrown}  {r.best_peer or 'none'}"
        )
    means = [geometric_mean(r.ratio for r in results), geometric_mean(r.median_ratio for r in results)]
    if len(results) > 1 and means[0] is not None:
        shown = "".join(_number(mean, 9) for mean in means)
        lines.append(f"{'geometric mean':{width}s}{'':{12 * len(engines)}s}{shown}")
    if any(r.disturbed for r in results):
        lines.append("* the machine was hardly ever quiet: rounds with other load count too")
    return lines + left_out(results) + shortcomings(results)


def left_out(results: Sequence[Comparison]) -> list[str]:
    """Which engine is missing where, and why."""
    lines = []
    for peer in PEERS:
        by_reason: dict[str, list[str]] = {}
        for r in results:
            if peer in r.reasons:
                by_reason.setdefault(r.reasons[peer], []).append(r.model)
        for reason, models in by_reason.items():
            where = "all models" if len(models) == len(results) else ", ".join(models)
            lines.append(f"{peer} is left out of {where}: {reason}")
    for r in results:
        if r.no_reference:
            lines.append(f"{r.model} has no float64 reference: {r.no_reference}")
    return lines


def shortcomings(results: Sequence[Comparison]) -> list[str]:
    """Models that are slower than the best peer, and those whose error is more than twice the best peer's."""
    slow = [r for r in results if r.ratio is not None and r.ratio > 1]
    coarse = [r for r in results if r.error_ratio is not None and r.error_ratio > ERROR_LIMIT]
    lines = []
    if slow:
        named = ", ".join(f"{r.model} {r.ratio:.2f} ({r.best_peer})" for r in slow)
        lines.append(f"slower than the best peer: {named}")
        lines += [f"  {r.model}: {r.cause}" for r in slow if r.cause]
    if coarse:
        named = ", ".join(f"{r.model} {r.error_ratio:.1f}x" for r in coarse)
        lines.append(f"error over {ERROR_LIMIT:g}x the best peer's: {named}")
    return lines


def curve_table(points: Sequence[Point]) -> list[str]:
    """Per model and size: ours and the best peer's, the ratio, and the power that time grows with."""
    lines = [
        f"{'model':18s}{'size':>6s}{'walle':>12s}{'best peer':>12s}{'ratio':>8s}{'grows':>8s}{'peer':>8s}"
    ]
    for model in dict.fromkeys(point.model for point in points):
        own = [p for p in points if p.model == model and p.found.best_peer is not None]
        own.sort(key=lambda point: point.size)
        ours = [p.found.milliseconds["walle"] for p in own]
        best = [p.found.milliseconds[p.found.best_peer or ""] for p in own]
        sizes = [p.size for p in own]
        powers = list(zip([None, *growth(sizes, ours)], [None, *growth(sizes, best)], strict=True))
        for point, mine, theirs, (power, other) in zip(own, ours, best, powers, strict=True):
            lines.append(
                f"{model:18s}{point.size:6d}{_time(mine)}{_time(theirs)}{_number(mine / theirs)}"
                f"{_number(power)}{_number(other)}  {point.found.best_peer}"
            )
    return lines
