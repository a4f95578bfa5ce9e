"""Tables of costs: kernels measured on random shapes, and coefficients fitted to what was measured.

Used by ``walle tune fit`` and by the benchmarks of the search; needs the extra [convert] for the models.
"""

from __future__ import annotations

from .draw import Shape
from .fit import Fit, Quality, fit, quality
from .measure import Measured, measure
from .shapes import GROUPS, shapes
from .table import write_table

__all__ = [
    "GROUPS",
    "Fit",
    "Measured",
    "Quality",
    "Shape",
    "fit",
    "measure",
    "quality",
    "shapes",
    "write_table",
]
