"""CPython's own tests of the whitelisted modules: what is in passing.txt passes."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from cpython_tests import FILES, archive_lib, make_base, read_passing, run_module, short

from walle_rt.vm import VM, TaskBundle, library_path


@pytest.fixture(scope="module")
def setting() -> tuple[VM, TaskBundle, Path]:
    if not VM.available("full"):
        pytest.skip(
            f"no VM library at {library_path()}: it was built with WALLE_VM=OFF or without the CPython source"
        )
    try:
        vm, lib = VM("full"), archive_lib()
    except LookupError as nowhere:
        pytest.skip(f"the VM library is of an earlier build: {nowhere}")
    return vm, make_base(vm, lib), lib


@pytest.mark.parametrize("module", FILES)
def test_module(setting: tuple[VM, TaskBundle, Path], module: str, counts: Counter[str]) -> None:
    report = run_module(*setting, module)
    counts.update(passed=len(report.passed), skipped=len(report.skipped), failed=len(report.failed))
    passed = {short(test) for test in report.passed}
    homes = tuple(f"{file.removesuffix('.__init__')}." for file in FILES[module])
    expected = {(home, method) for home, method in read_passing() if f"{home}.".startswith(homes)}
    assert len(expected) > 0
    reasons = {short(test): why for test, why in (report.skipped | report.failed).items()}
    assert {test: reasons.get(test, "did not run") for test in expected - passed} == {}
