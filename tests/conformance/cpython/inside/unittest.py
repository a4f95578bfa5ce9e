# ruff: noqa: F401, N802, N815, N816 (the names are unittest's)
"""unittest for an isolate: CPython's test cases and suites without command line, signals and runner."""

from unittest import util
from unittest.case import (
    FunctionTestCase,
    SkipTest,
    TestCase,
    addModuleCleanup,
    doModuleCleanups,
    enterModuleContext,
    expectedFailure,
    skip,
    skipIf,
    skipUnless,
)
from unittest.result import TestResult
from unittest.suite import BaseTestSuite, TestSuite

__unittest = True
__path__ = []


class TestLoader:
    """Methods that begin with "test", in alphabetical order."""

    testMethodPrefix = "test"

    def getTestCaseNames(self, case):
        """Names of the test methods of a class."""
        return sorted(name for name in dir(case) if name.startswith("test") and callable(getattr(case, name)))

    def loadTestsFromTestCase(self, case):
        """A suite of one class."""
        return TestSuite(map(case, self.getTestCaseNames(case)))


defaultTestLoader = TestLoader()


def main(*args, **kwargs):
    """Test files end with it; the runner outside decides."""


class IsolatedAsyncioTestCase(TestCase):
    """There is no asyncio."""

    def setUp(self):
        """Skip."""
        raise SkipTest("no asyncio in the VM")
