"""The edits that turn CPython's source into the VM's, one module per theme (see docs/concepts/vm.md).

Themes are applied in this order. It matters where two insert behind the same line: `stopping` declares before
`depth` includes.
"""

from __future__ import annotations

from . import (
    asking,
    depth,
    kinds,
    laziness,
    memory,
    ordering,
    out_of_memory,
    reach,
    reentrancy,
    sharing,
    size,
    slots,
    speed,
    state,
    stopping,
    uninitialised,
    upstream,
)
from .engine import Themes

THEMES: Themes = {
    "sharing": sharing.EDITS,
    "laziness": laziness.EDITS,
    "memory": memory.EDITS,
    "size": size.EDITS,
    "speed": speed.EDITS,
    "stopping": stopping.EDITS,
    "asking": asking.EDITS,
    "depth": depth.EDITS,
    "reentrancy": reentrancy.EDITS,
    "reach": reach.EDITS,
    "out_of_memory": out_of_memory.EDITS,
    "uninitialised": uninitialised.EDITS,
    "kinds": kinds.EDITS,
    "state": state.EDITS,
    "slots": slots.EDITS,
    "upstream": upstream.EDITS,
    "ordering": ordering.EDITS,
}
