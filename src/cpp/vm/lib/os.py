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


def getpid():
    return 0


def getenv(key, default=None):
    return default
