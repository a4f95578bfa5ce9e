"""Plots of a bench run: a roofline, box plots of rounds, ratio bars, curves, sessions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

COLOURS = {
    "walle": "#c1272d", "onnxruntime": "#1f77b4", "openvino": "#2ca02c", "MNN": "#ff7f0e", "ncnn": "#9467bd",
    "litert": "#8c564b", "torch": "#7f7f7f",
}  # fmt: skip
Figure = Any  # matplotlib's has no types


def draw(folder: Path, found: dict[str, Any]) -> list[str]:
    """Write one PNG per plot there is something for; returns the names of the files."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    written = []
    makers: dict[str, Callable[[Any, dict[str, Any]], Figure | None]] = {
        "roofline": roofline, "rounds": rounds, "ratios": ratios, "curves": curves, "sessions": sessions,
    }  # fmt: skip
    for name, make in makers.items():
        (folder / f"{name}.png").unlink(missing_ok=True)  # not one of an earlier run
        figure = make(pyplot, found)
        if figure is None:
            continue
        figure.savefig(folder / f"{name}.png", dpi=110, bbox_inches="tight")
        pyplot.close(figure)
        written.append(f"{name}.png")
    return written


def roofline(pyplot: Any, found: dict[str, Any]) -> Figure | None:
    """Operators by arithmetic per byte against their rate, under the machine's two roofs."""
    operators, roof = found.get("operators", []), found.get("roof", {})
    if not operators or not roof:
        return None
    figure, axes = pyplot.subplots(figsize=(9, 6))
    for engine in ("walle", "onnxruntime"):
        points = [
            (o["flops"] / o["bytes"], o["flops"] / o["milliseconds"][engine] / 1e6, o["name"])
            for o in operators
            if engine in o["milliseconds"]
        ]
        axes.scatter(
            [p[0] for p in points], [p[1] for p in points], s=22, label=engine, color=COLOURS[engine]
        )
        if engine == "walle":
            for x, y, name in points:
                axes.annotate(name, (x, y), fontsize=6, xytext=(3, 3), textcoords="offset points")
    lowest, highest = (end(o["flops"] / o["bytes"] for o in operators) for end in (min, max))
    span = [lowest / 2, highest * 2]
    peak = roof.get("peak_gflops", roof["gflops"])
    for key, style in (("gbytes", "-"), ("cached_gbytes", "--")):
        xs = sorted({span[0], peak / roof[key], span[1]})
        ys = [min(x * roof[key], peak) for x in xs]
        axes.plot(xs, ys, style, color="black", lw=1, label=f"{roof[key]:.0f} GB/s")
    axes.set(xscale="log", yscale="log", xlim=span, xlabel="FLOP per byte", ylabel="GFLOP/s")
    axes.set_title(f"operators at one thread under the roof of one core ({peak:.0f} GFLOP/s)")
    axes.legend()
    return figure


def rounds(pyplot: Any, found: dict[str, Any]) -> Figure | None:
    """Each engine's rounds, in parts of the best peer's minimum: how far figures can be trusted."""
    models = [m for m in found.get("models", []) if m["ratio"] is not None and m["threads"] == 1]
    models = models or [m for m in found.get("models", []) if m["ratio"] is not None]
    if not models:
        return None
    columns = 5
    lines = -(-len(models) // columns)
    figure, grid = pyplot.subplots(lines, columns, figsize=(3 * columns, 2.3 * lines), squeeze=False)
    for axes, model in zip(grid.flat, models, strict=False):
        names = [name for name in COLOURS if name in model["rounds"]]
        least = min(ms for name, ms in model["milliseconds"].items() if name != "walle")
        boxes = axes.boxplot(
            [[ms / least for ms in model["rounds"][name]] for name in names], patch_artist=True, widths=0.6
        )
        for box, name in zip(boxes["boxes"], names, strict=True):
            box.set_facecolor(COLOURS[name])
        axes.set_xticks(range(1, len(names) + 1), [name[:6] for name in names], fontsize=6)
        axes.tick_params(axis="y", labelsize=6)
        axes.set_title(f"{model['model']}, {model['threads']}t", fontsize=8)
        axes.axhline(1, color="black", lw=0.5)
    for axes in list(grid.flat)[len(models) :]:
        axes.axis("off")
    figure.suptitle("median call of each round over the best peer's fastest call")
    figure.tight_layout()
    return figure


def ratios(pyplot: Any, found: dict[str, Any]) -> Figure | None:
    """Our time over the best peer's per model, a bar per number of threads."""
    models = [m for m in found.get("models", []) if m["ratio"] is not None]
    if not models:
        return None
    names = list(dict.fromkeys(m["model"] for m in models))
    threads = sorted({m["threads"] for m in models})
    figure, axes = pyplot.subplots(figsize=(9, 1.2 + 0.28 * len(names)))
    height = 0.8 / len(threads)
    for i, count in enumerate(threads):
        values = {m["model"]: m["ratio"] for m in models if m["threads"] == count}
        places = [names.index(name) + i * height for name in values]
        axes.barh(places, list(values.values()), height, label=f"{count} thread(s)")
    axes.set_yticks([i + 0.4 - height / 2 for i in range(len(names))], names, fontsize=7)
    axes.invert_yaxis()
    axes.axvline(1, color="black", lw=1)
    axes.set_xlabel("our time over the best peer's: shorter is faster")
    axes.legend()
    return figure


def curves(pyplot: Any, found: dict[str, Any]) -> Figure | None:
    """Time against the size of the input, ours and the best peer's, both axes logarithmic."""
    points = [p for p in found.get("curves", []) if p["ratio"] is not None]
    if not points:
        return None
    models = list(dict.fromkeys(p["model"] for p in points))
    columns = min(4, len(models))
    lines = -(-len(models) // columns)
    figure, grid = pyplot.subplots(lines, columns, figsize=(3.2 * columns, 2.8 * lines), squeeze=False)
    for axes, model in zip(grid.flat, models, strict=False):
        own = sorted((p for p in points if p["model"] == model), key=lambda p: p["size"])
        for engine in [name for name in COLOURS if any(name in p["milliseconds"] for p in own)]:
            line = [(p["size"], p["milliseconds"][engine]) for p in own if engine in p["milliseconds"]]
            xs, ys = zip(*line, strict=True)
            axes.plot(xs, ys, "o-", ms=3, lw=1, color=COLOURS[engine], label=engine)
        axes.set(xscale="log", yscale="log", title=model)
        axes.set_xticks([p["size"] for p in own], [str(p["size"]) for p in own])
        axes.minorticks_off()
        axes.tick_params(labelsize=6)
    for axes in list(grid.flat)[len(models) :]:
        axes.axis("off")
    grid[0][0].legend(fontsize=6)
    grid[0][0].set_ylabel("ms")
    figure.tight_layout()
    return figure


def sessions(pyplot: Any, found: dict[str, Any]) -> Figure | None:
    """Runs per second of all sessions together, and the slowest one's share of the fastest one's."""
    entries = found.get("sessions", [])
    if not entries:
        return None
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.5))
    for engine in dict.fromkeys(e["engine"] for e in entries):
        for threads, style in ((1, "o-"), (2, "s--")):
            own = [e for e in entries if e["engine"] == engine and e["threads"] == threads]
            if not own:
                continue
            xs, label = [e["sessions"] for e in own], f"{engine}, {threads} thread(s) each"
            left.plot(xs, [e["per_second"] for e in own], style, color=COLOURS[engine], label=label)
            right.plot(xs, [e["fairness"] for e in own], style, color=COLOURS[engine])
    left.set(xlabel="sessions", ylabel="runs per second, all together", ylim=(0, None))
    right.set(xlabel="sessions", ylabel="runs of the slowest over the fastest", ylim=(0, 1.05))
    left.legend(fontsize=6)
    figure.tight_layout()
    return figure
