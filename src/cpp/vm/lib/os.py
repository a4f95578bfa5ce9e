"""The part of `os` that library modules ask for. There are no files, processes or environment behind it."""

import abc
from _walle import urandom

name = "walle"
environ = {}
sep = "/"
linesep = "\n"


class PathLike(abc.ABC):
    @abc.abstractmethod
    def __fspath__(self):
        raise NotImplementedError

    @classmethod
    def __subclasshook__(cls, subclass):
        return hasattr(subclass, "__fspath__") if cls is PathLike else NotImplemented


def fspath(path):
    if isinstance(path, (str, bytes)):
        return path
    raise TypeError("expected str or bytes, not " + type(path).__name__)


def __getattr__(name):
    raise AttributeError("module 'os' has no attribute %r in this VM: there are no files and processes; "
                         "walle.kv keeps state, walle.engine.read gives resources" % name)


def getpid():
    return 0


def getenv(key, default=None):
    return default
