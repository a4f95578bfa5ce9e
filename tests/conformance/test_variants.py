"""Every listed case again with each optimisation off, on two threads, and on every instruction set.

And on the null backend: alone, and split at random between it and the CPU. The bar is the suite's own
tolerance: whatever stage is switched off, and whatever kernel runs where, the results stand.
"""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
from engines import SEED, SWITCHES
from pool import run_all
from suite import listed

# The flag in /proc/cpuinfo without which a set cannot run here.
ISA_FLAGS = {"scalar": "", "sse4": "sse4_2", "avx2": "avx2", "avx512": "avx512f"}


def _failures(verdicts: dict[str, str | None]) -> str:
    return "\n".join(f"{case}: {reason}" for case, reason in sorted(verdicts.items()) if reason is not None)


def _cases() -> list[str]:
    # The light models take seconds each on the slowest kernels
    # and hold no operator that the other suites lack.
    return sorted(case for case in listed() if not case.startswith("light/"))


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("switch", list(SWITCHES))
def test_switch_leaves_results_alone(switch: str) -> None:
    print(f"WALLE_TEST_SEED={SEED}")
    failures = _failures(run_all(_cases(), switch))
    assert not failures, f"with {switch}, WALLE_TEST_SEED={SEED}:\n{failures}"


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("isa", list(ISA_FLAGS))
def test_every_instruction_set_agrees(isa: str) -> None:
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip(f"{isa} is an instruction set of x86-64, this machine is {platform.machine()}")
    flag = ISA_FLAGS[isa]
    if flag and flag not in Path("/proc/cpuinfo").read_text().split():
        pytest.skip(f"this processor has no {flag}")
    failures = _failures(run_all(_cases(), "walle", env={"WALLE_CPU": isa}))
    assert not failures, f"with WALLE_CPU={isa}:\n{failures}"
