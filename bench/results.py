"""Where the comparisons of one bench run are kept until the table at its end."""

from __future__ import annotations

import pytest

from walle_rt.bench.compare import Comparison

RESULTS = pytest.StashKey[list[Comparison]]()
