"""All listed cases again under every switch of the planner and on every instruction set of this machine.

With ``--conformance-matrix``: under every switch on every instruction set. What a failure printed repeats it.
"""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
from engines import ISA_FLAGS, SEED, SWITCHES
from pool import run_variants
from random_seed import command
from suite import listed

pytestmark = pytest.mark.timeout(2400)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    switches = list(SWITCHES)
    if metafunc.config.getoption("--conformance-matrix"):
        switches += [f"{isa} {switch}" for isa in ISA_FLAGS for switch in SWITCHES]
    if "switch" in metafunc.fixturenames:
        metafunc.parametrize("switch", switches)


def _missing(variant: str) -> str:
    """Why this machine cannot run a variant; nothing where it can."""
    isa = variant.split()[0]
    if isa not in ISA_FLAGS:
        return ""
    if platform.machine() not in ("x86_64", "AMD64"):
        return f"it is a set of x86-64, not of {platform.machine()}"
    flag = ISA_FLAGS[isa]
    if flag and flag not in Path("/proc/cpuinfo").read_text().split():
        return f"the processor has no {flag}"
    return ""


@pytest.fixture(scope="module")
def failures(request: pytest.FixtureRequest) -> dict[str, str]:
    """Per variant selected in this run, the cases that fail under it and why."""
    chosen = [getattr(item, "callspec", None) for item in request.session.items]
    named = [spec.params.get("switch", spec.params.get("isa")) for spec in chosen if spec]
    variants = [name for name in dict.fromkeys(named) if name and not _missing(name)]
    # The light models take seconds each on the slowest kernels and hold no operator that the others lack.
    cases = sorted(case for case in listed() if not case.startswith("light/"))
    return {
        variant: "\n".join(f"{case}: {why}" for case, why in sorted(verdicts.items()) if why is not None)
        for variant, verdicts in run_variants(cases, variants).items()
    }


def _check(variant: str, failures: dict[str, str]) -> None:
    if missing := _missing(variant):
        pytest.skip(f"this machine cannot run {variant.split()[0]}: {missing}")
    print(f"repeat with: {command(SEED)}")
    assert not failures[variant], f"with {variant}:\n{failures[variant]}"


def test_switch_leaves_results_alone(switch: str, failures: dict[str, str]) -> None:
    _check(switch, failures)


@pytest.mark.parametrize("isa", ["own"])
def test_results_are_memory_of_their_own(isa: str, failures: dict[str, str]) -> None:
    """However often whatever is written into them."""
    _check(isa, failures)


@pytest.mark.parametrize("isa", list(ISA_FLAGS))
def test_every_instruction_set_agrees(isa: str, failures: dict[str, str]) -> None:
    _check(isa, failures)
