"""What windows, states and reductions compute."""

from __future__ import annotations

from typing import NamedTuple


class Aggregate(NamedTuple):
    """What a window computes; made by ``aggregate``."""

    function: str
    column: str
    out: str
    k: int
    low: float
    high: float


def aggregate(
    function: str, column: str = "", out: str = "", *, k: int = 10, low: float = 0.0, high: float = 1.0
) -> Aggregate:
    """An aggregate of a window.

    Args:
        function: count, sum, mean, min, max, var (of the population), distinct (approximate, 3.3 %), top_k
            (``k`` entries as "value:count,...", of the first 4,096 values; "*" counts the rows of others) or
            histogram (``k`` bins from ``low`` to ``high``, outliers in the outer bins).
        column: what it is computed of; nothing for count.
        out: the result's name; default: function_column.
        k: entries of top_k, bins of histogram.
        low: lower bound of histogram.
        high: upper bound of histogram.
    """
    return Aggregate(function, column, out or (f"{function}_{column}" if column else function), k, low, high)
