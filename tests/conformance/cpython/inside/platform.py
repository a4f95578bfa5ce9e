"""The machine as far as test files ask: not known."""

from absent import Absent


def libc_ver():
    """Of the host, which tasks do not see."""
    return ("", "")


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Absent(f"platform.{name}")
