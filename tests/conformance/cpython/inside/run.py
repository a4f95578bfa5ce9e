# ruff: noqa: N802, N815 (the names are unittest's)
"""Runs test classes inside an isolate and reports plain values."""

import os
import posixpath
import sys
import traceback

# What unittest asks of modules that are cut short here.
os.path = sys.modules["os.path"] = posixpath
os.curdir = "."
traceback.clear_frames = lambda tb: None

import unittest  # noqa: E402
from importlib import import_module  # noqa: E402

NO_THREADS = "thread is not supported for isolated subinterpreters"


class Result(unittest.TestResult):
    """Outcome per test id; a failing subtest fails its test."""

    def __init__(self):
        super().__init__()
        self.passed, self.skips, self.faults = [], {}, {}

    def addSuccess(self, test):
        """Passed, unless one of its subtests did not."""
        if test.id() not in self.faults:
            self.passed.append(test.id())

    def addExpectedFailure(self, test, error):
        """Passed."""
        self.passed.append(test.id())

    def addSkip(self, test, reason):
        """Skipped: a subtest that skips leaves its test as it is."""
        self.skips[test.id()] = str(reason)

    def addError(self, test, error):
        """Failed; SkipTest out of an absent module counts as skipped."""
        kind, value, tb = error
        if issubclass(kind, unittest.SkipTest):
            return self.addSkip(test, value)
        if kind is RuntimeError and str(value) == NO_THREADS:
            return self.addSkip(test, "no threads in the VM")
        line = 0
        while tb is not None:
            if "test" in tb.tb_frame.f_code.co_filename:
                line = tb.tb_lineno
            tb = tb.tb_next
        self.faults[test.id()] = f"{kind.__name__}: {str(value)[:300]} (line {line})"

    addFailure = addError

    def addSubTest(self, test, subtest, error):
        """Only failures matter."""
        if error is not None and not issubclass(error[0], unittest.SkipTest):
            self.addError(test, error)

    def addUnexpectedSuccess(self, test):
        """Counted as a failure, as unittest does."""
        self.faults[test.id()] = "unexpected success"


def classes(module):
    """Names of a module's test classes; a module that cannot be imported says why."""
    try:
        loaded = import_module(module)
    except unittest.SkipTest as why:
        return {"skipped": str(why)}
    found = []
    for name, value in vars(loaded).items():
        if (
            isinstance(value, type)
            and issubclass(value, unittest.TestCase)
            and unittest.TestLoader().getTestCaseNames(value)
        ):
            found.append(name)
    return {"classes": sorted(found)}


def run(module, name):
    """Every test of one class."""
    result = Result()
    case = vars(sys.modules[module])[name]
    setup = vars(sys.modules[module]).get("setUpModule")
    try:
        if setup is not None:
            setup()
        unittest.TestLoader().loadTestsFromTestCase(case).run(result)
    except unittest.SkipTest as why:
        return {"passed": [], "skipped": {module: str(why)}, "failed": {}}
    return {"passed": result.passed, "skipped": result.skips, "failed": result.faults}
