"""Stands in for a module that the VM does not have: it imports, and whoever uses it is skipped.

`Absent` is also what test.support gives for names that it does not know.
"""

__path__ = []


class Absent:
    """Skips whoever calls it, decorates with it or derives from it; its attributes are as absent."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self._name}.{name}")

    def __call__(self, *args, **kwargs):
        """As a decorator: the decorated test is skipped; as anything else: whoever calls is."""
        import unittest  # it needs absent modules itself

        reason = f"{self._name} is not in the VM"
        if len(args) == 1 and not kwargs and hasattr(args[0], "__qualname__"):
            return unittest.skip(reason)(args[0])
        raise unittest.SkipTest(reason)

    def __mro_entries__(self, bases):
        """A class that derives from it has one base less."""
        return ()

    def __iter__(self):
        """Whoever iterates is skipped."""
        return self()

    __enter__ = __bool__ = __len__ = __index__ = __fspath__ = __iter__

    def __exit__(self, *details):
        """Never entered."""


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Absent(f"{__name__}.{name}")
