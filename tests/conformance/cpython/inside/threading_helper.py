"""Threads of tasks exist but run one at a time; what tests do with them beyond that is skipped."""

import contextlib
import unittest


def requires_working_threading(*, module=False):
    """Tests that start threads are skipped, those that say so here, the others where they try (run.py)."""
    return None if module else unittest.skip("no threads in the VM")


def reap_threads(function):
    """Nothing to reap."""
    return function


def threading_setup():
    """Nothing to remember."""
    return ()


def threading_cleanup(*original):
    """Nothing to end."""


@contextlib.contextmanager
def wait_threads_exit(timeout=None):
    """Nothing to wait for."""
    yield


@contextlib.contextmanager
def catch_threading_exception():
    """None can happen."""
    yield


def start_threads(threads, unlock=None):
    """Refused."""
    raise unittest.SkipTest("no threads in the VM")


def join_thread(thread, timeout=None):
    """Refused."""
    raise unittest.SkipTest("no threads in the VM")


def run_concurrently(*args, **kwargs):
    """Refused."""
    raise unittest.SkipTest("no threads in the VM")
