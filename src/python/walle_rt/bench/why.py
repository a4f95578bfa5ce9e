"""Where our time goes beside the best peer's, layer by layer, and why."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from . import layers, profiles, reasons, roof
from .layers import Layer
from .peers import NAMES, Feeds, Run, Unavailable, prepare
from .reasons import Verdict
from .rounds import measure

ROUNDS = 5


@dataclass
class Why:
    """Whole times of every engine, and the layers beside one of them."""

    model: str
    milliseconds: dict[str, float]  # minimum of interleaved rounds, without profiling
    missing: dict[str, str]
    peer: str  # whose profile it is
    roof: roof.Roof
    layers: list[tuple[Layer, Verdict]]
    thrown: int
    disturbed: bool

    @property
    def best_peer(self) -> str:
        """The fastest; not always one with a profile."""
        peers = {name: ms for name, ms in self.milliseconds.items() if name != "walle"}
        return min(peers, key=lambda name: peers[name])

    def by_reason(self) -> dict[str, float]:
        """Milliseconds lost, the largest first."""
        lost: dict[str, float] = {}
        for layer, verdict in self.layers:
            if verdict.reason:
                lost[verdict.reason] = lost.get(verdict.reason, 0.0) + layer.lost_ms
        return dict(sorted(lost.items(), key=lambda item: -item[1]))

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "model": self.model,
            "milliseconds": self.milliseconds,
            "missing": self.missing,
            "best_peer": self.best_peer,
            "peer": self.peer,
            "thrown": self.thrown,
            "disturbed": self.disturbed,
            "roof": self.roof.as_dict(),
            "lost_ms": sum(layer.lost_ms for layer, _ in self.layers),
            "by_reason": self.by_reason(),
            "layers": [layer_dict(layer, verdict) for layer, verdict in self.layers],
        }


def layer_dict(layer: Layer, verdict: Verdict) -> dict[str, Any]:
    """One layer for JSON."""
    return {
        "nodes": layer.nodes,
        "op": layer.op,
        "ours_ms": layer.ours_ms,
        "peer_ms": layer.theirs_ms,
        "lost_ms": layer.lost_ms,
        "flops": sum(row.flops for row in layer.ours),
        "bytes": sum(row.bytes for row in layer.ours),
        "roof_share": verdict.roof_share,
        "reason": verdict.reason,
        "estimates_ms": verdict.estimates,
        "ours": [
            {"kind": r.kind, "algorithm": r.algorithm, "ms": r.ms, "output": r.output} for r in layer.ours
        ],
        "peer": [{"kind": r.kind, "algorithm": r.algorithm, "ms": r.ms} for r in layer.theirs],
    }


def why(
    model: Path, feeds: Feeds, cache: Path, rounds: int = ROUNDS, ceiling: roof.Roof | None = None
) -> Why:
    """Time every installed engine on one thread, then set our profile beside the best one's that has one.

    ``ceiling`` is the roof that steps are held against: that of float32 unless another one is given.

    Raises:
        Unavailable: no engine beside ours runs the model and offers a profile.
    """
    runs: dict[str, Run] = {"walle": prepare("walle", model, feeds, 1, cache)}
    missing: dict[str, str] = {}
    for engine in NAMES[1:]:
        try:
            run = prepare(engine, model, feeds, 1, cache)
            run()
        except Exception as error:  # engines raise what they like; a message is all that is wanted of it
            missing[engine] = str(error).strip().splitlines()[0][:200] if str(error).strip() else repr(error)
        else:
            runs[engine] = run
    found = measure(runs, rounds)
    milliseconds = {name: found.least_ms(name) for name in runs}
    nodes = profiles.Nodes(onnx.load(str(model), load_external_data=False))
    theirs, peer = _best_profile(milliseconds, missing, model, feeds, cache)
    ours = profiles.profile("walle", model, feeds, cache)
    ceiling = ceiling or roof.measured()
    pairs = [(layer, reasons.judge(layer, ceiling)) for layer in layers.side_by_side(nodes, ours, theirs)]
    return Why(model.name, milliseconds, missing, peer, ceiling, pairs, found.thrown, found.disturbed)


def _best_profile(
    milliseconds: dict[str, float], missing: dict[str, str], model: Path, feeds: Feeds, cache: Path
) -> tuple[list[profiles.Row], str]:
    peers = sorted((name for name in milliseconds if name != "walle"), key=lambda name: milliseconds[name])
    notes = []
    for engine in peers:
        try:
            rows = profiles.profile(engine, model, feeds, cache)
        except Unavailable as error:
            notes.append(f"{engine}: {error}")
            continue
        if rows:
            return rows, engine
        notes.append(f"{engine}: an empty profile")
    notes += [f"{engine}: {reason}" for engine, reason in missing.items()]
    raise Unavailable("; ".join(notes) or "no peer is installed")


def text(found: Why, top: int = 20) -> list[str]:
    """The report as lines: whole times, the layers that lose most, time lost by reason."""
    times = sorted(found.milliseconds.items(), key=lambda item: item[1])
    lines = ["whole model, 1 thread: " + ", ".join(f"{name} {ms:.3f} ms" for name, ms in times)]
    if found.disturbed:
        lines.append("the machine was hardly ever quiet: figures of rounds with other load")
    elif found.thrown:
        lines.append(f"{found.thrown} rounds with other load on the machine were thrown away")
    if found.peer != found.best_peer:
        lines.append(f"{found.best_peer} is the fastest peer and offers no profile; beside {found.peer}")
    peak, speed, near = (rate / 1e9 for rate in (found.roof.flops, found.roof.bytes, found.roof.cached))
    lines.append(
        f"roof of one core, measured now: {peak:.0f} GFLOP/s, memory {speed:.1f} GB/s, caches {near:.0f} GB/s"
    )
    head = f"{'layer':34s}{'op':18s}{'ours us':>10s}{'peer us':>10s}{'lost us':>10s}{'GFLOP/s':>9s}"
    lines += ["", f"{head}{'of roof':>9s}  reason"]
    ordered = sorted(found.layers, key=lambda pair: -pair[0].lost_ms)
    losing = [pair for pair in ordered if pair[1].reason]
    lines += [_line(layer, verdict) for layer, verdict in losing[:top]]
    rest = losing[top:]
    if rest:
        lost = sum(layer.lost_ms for layer, _ in rest)
        lines.append(f"... and {len(rest)} more layers that lose {lost * 1e3:.1f} us")
    level = [layer for layer, verdict in found.layers if not verdict.reason]
    won = sum(layer.lost_ms for layer in level)
    lines.append(f"{len(level)} layers are level or ahead: {won * 1e3:+.1f} us")
    total = sum(layer.lost_ms for layer, _ in found.layers)
    by_reason = ", ".join(f"{reason} {ms * 1e3:.1f}" for reason, ms in found.by_reason().items())
    lines += ["", f"lost us by reason: {by_reason or 'none'}; all layers together {total * 1e3:+.1f} us"]
    return lines


def _line(layer: Layer, verdict: Verdict) -> str:
    name = layer.nodes[0] + (f" +{len(layer.nodes) - 1}" if len(layer.nodes) > 1 else "")
    name = name if len(name) <= 33 else "…" + name[-32:]
    flops = sum(row.flops for row in layer.ours)
    rate = f"{flops / layer.ours_ms / 1e6:9.1f}" if layer.ours_ms > 0 and flops else f"{'-':>9s}"
    times = "".join(f"{ms * 1e3:10.1f}" for ms in (layer.ours_ms, layer.theirs_ms, layer.lost_ms))
    return f"{name:34s}{layer.op:18.17s}{times}{rate}{verdict.roof_share:9.0%}  {verdict.reason}"
