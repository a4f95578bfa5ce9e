"""walle.params: a mapping of what [params] of task.toml declares to what holds in this firing."""

import sys

import _walle

_values = _walle.host("walle.params").values


class Params:
    """Read-only. It never changes within a firing."""

    __slots__ = ()

    def __getitem__(self, name):
        return _values()[name]

    def __iter__(self):
        return iter(_values())

    def __len__(self):
        return len(_values())

    def __contains__(self, name):
        return name in _values()

    def __repr__(self):
        return "walle.params(%r)" % (_values(),)

    def get(self, name, default=None):
        return _values().get(name, default)

    def keys(self):
        return _values().keys()

    def values(self):
        return _values().values()

    def items(self):
        return _values().items()


sys.modules[__name__] = Params()
