"""Why a layer takes longer than a peer's: estimates from what the plan says of its steps.

The largest estimate is the reason:

    roof      our steps run at the machine's roof: the peer does less work (Winograd, a fused operator)
packing   operands and borders are copied into scratch memory first
tails     lanes of the register tile that hold no result, because its sizes do not divide the layer's
layout    steps that only move values
overhead  steps so short that calling them is what takes time
kernel    none of these explains a quarter of it: the inner loop itself
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from .layers import Layer
from .profiles import Row
from .roof import Roof

REASONS = ("roof", "packing", "tails", "layout", "overhead", "kernel")
AT_ROOF = 0.85  # of the roof: where the large kernels end
EXPLAINS = 0.25  # of the loss, that a reason has to account for
SHORT_MS = 0.010
LEVEL_SHARE, LEVEL_MS = 0.03, 0.002  # what two profiles of the same steps differ by
_TILE = re.compile(r"_(\d+)x(\d+)_")
_SHAPE = re.compile(r"\[([\d, ]*)\]")


@dataclass(frozen=True)
class Verdict:
    """Why a layer is slower: the reason, and milliseconds that each estimate accounts for."""

    reason: str  # one of REASONS, or "" where nothing is lost
    estimates: dict[str, float]
    roof_share: float  # the roof's time over ours


def judge(layer: Layer, roof: Roof) -> Verdict:
    """The reason of a layer's loss."""
    least = sum(roof.seconds(row.flops, row.bytes) for row in layer.ours) * 1e3
    share = min(least / layer.ours_ms, 1.0) if layer.ours_ms > 0 else 0.0
    estimates = {
        "packing": sum(packing_ms(row, roof) for row in layer.ours),
        "tails": sum((1 - useful(row)) * row.ms for row in layer.ours),
        "layout": max(_moved(layer.ours) - _moved(layer.theirs), 0.0),
        "overhead": sum(short_ms(row, roof) for row in layer.ours),
    }
    if layer.lost_ms <= max(LEVEL_SHARE * layer.theirs_ms, LEVEL_MS):
        return Verdict("", estimates, share)
    if share >= AT_ROOF:
        return Verdict("roof", estimates, share)
    reason = max(estimates, key=lambda name: estimates[name])
    if estimates[reason] < EXPLAINS * layer.lost_ms:
        reason = "kernel"
    return Verdict(reason, estimates, share)


def packing_ms(row: Row, roof: Roof) -> float:
    """Writing and reading a step's scratch memory once, and no more than half of the step."""
    return min(2 * row.workspace_bytes / roof.cached * 1e3, row.ms / 2)


def short_ms(row: Row, roof: Roof) -> float:
    """Of a short step, or of what lies between steps, what is not work."""
    if row.kind == "call":
        return row.ms
    return max(row.ms - roof.seconds(row.flops, row.bytes) * 1e3, 0.0) if row.ms < SHORT_MS else 0.0


def useful(row: Row) -> float:
    """The share of a register tile's places that hold results; 1 where no tile is named.

    ``8x48`` is 8 rows of 48: of a convolution channels times pixels, or pixels times channels where the
    algorithm says "lanes"; of a product rows times columns.
    """
    tile, shape = _TILE.search(row.algorithm), _SHAPE.search(row.output)
    if tile is None or shape is None or row.kind not in ("Conv", "MatMul", "Gemm"):
        return 1.0
    sizes = [int(size) for size in shape[1].split(",") if size.strip()]
    if row.kind == "Conv" and len(sizes) >= 3:
        rows, columns = sizes[1], math.prod(sizes[2:])
        if "lanes" in row.algorithm:
            rows, columns = columns, rows
    elif len(sizes) >= 2:
        rows, columns = sizes[-2], sizes[-1]
    else:
        return 1.0
    return filled(rows, int(tile[1])) * filled(columns, int(tile[2]))


def filled(size: int, tile: int) -> float:
    """The share of whole tiles that a size fills."""
    return size / (math.ceil(size / tile) * tile) if size > 0 and tile > 0 else 1.0


def _moved(rows: list[Row]) -> float:
    return sum(row.ms for row in rows if row.moves)
