"""No node case crashes, hangs or fails without a reason when its inputs have no elements."""

from __future__ import annotations

import empty
import pytest
from pool import run_all
from suite import cases, fetch, listed


@pytest.mark.timeout(1200)
def test_inputs_without_elements() -> None:
    fetch()
    nodes = [case for case in cases() if case.suite == "node" and case.id in listed()]
    wanted = [way for case in nodes for way in empty.ids(case)]
    verdicts = run_all(wanted, "walle")
    faults = [f"{way}: {reason}" for way, reason in sorted(verdicts.items()) if reason is not None]
    assert len(verdicts) > 3000
    assert not faults, f"{len(faults)} of {len(verdicts)}:\n" + "\n".join(faults)
