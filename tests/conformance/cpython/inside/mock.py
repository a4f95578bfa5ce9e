"""unittest.mock as far as test files name it: what is patched is skipped, and only that."""

import unittest

from absent import Absent

_REASON = "unittest.mock is not in the VM"


class _Patch:
    def __init__(self, *args, **kwargs):
        """Whatever is to be replaced."""

    def __call__(self, decorated):
        """The test that asked for it is skipped."""
        return unittest.skip(_REASON)(decorated)

    def __enter__(self):
        """So is the one that gets here."""
        raise unittest.SkipTest(_REASON)

    def __exit__(self, *details):
        """Never entered."""

    start = __enter__


class patch(_Patch):  # noqa: N801 (unittest's name)
    """patch(), patch.object(), patch.dict() and patch.multiple() alike."""

    object = dict = multiple = _Patch


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Absent(f"unittest.mock.{name}")
