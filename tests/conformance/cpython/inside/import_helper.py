"""Imports for tests: absent modules skip, fresh ones come without their C half."""

import sys
import unittest
from importlib import import_module as _import


def import_module(name, deprecated=False, *, required_on=()):
    """The module, or a skipped test."""
    try:
        return _import(name)
    except ImportError as why:
        raise unittest.SkipTest(str(why)) from None


def import_fresh_module(name, fresh=(), blocked=(), *, deprecated=False, usefrozen=False):
    """A second copy, with copies of `fresh` and without `blocked`; None when that cannot be imported."""
    names = {name, *fresh, *blocked}
    before = {
        key: value
        for key, value in sys.modules.items()
        if any(key == n or key.startswith(n + ".") for n in names)
    }
    for key in before:
        del sys.modules[key]
    for key in blocked:
        sys.modules[key] = None
    try:
        for key in fresh:
            __import__(key)
        return _import(name)
    except ImportError:
        return None
    finally:
        for key in [key for key in sys.modules if any(key == n or key.startswith(n + ".") for n in names)]:
            del sys.modules[key]
        sys.modules.update(before)


class CleanImport:
    """`with`: the named modules are imported anew inside."""

    def __init__(self, *names, usefrozen=False):
        self.names = names

    def __enter__(self):
        """Forget them."""
        self.before = dict(sys.modules)
        for name in self.names:
            sys.modules.pop(name, None)
        return self

    def __exit__(self, *details):
        """Remember them."""
        sys.modules.update(self.before)


def ensure_lazy_imports(*args, **kwargs):
    """Needs a process of its own."""
    raise unittest.SkipTest("no processes")
