# ruff: noqa: N801, N816 (the names are unittest's)
"""test.support for an isolate: what does not need files, processes,
a compiler of C or CPython's own test modules.

Whatever else a test asks for is absent: whoever uses it is reported as skipped, with the name.
"""

import contextlib
import functools
import gc
import io
import sys
import unittest

__path__ = []
verbose = 0
Py_DEBUG = Py_GIL_DISABLED = False
HAVE_DOCSTRINGS = HAVE_PY_DOCSTRINGS = False
MISSING_C_DOCSTRINGS = True
is_android = is_apple = is_apple_mobile = is_emscripten = is_jython = is_wasi = False
has_fork_support = has_subprocess_support = has_socket_support = has_strftime_extensions = False
_1M, _1G, _2G, _4G = 1 << 20, 1 << 30, 2 << 30, 4 << 30
MAX_Py_ssize_t = sys.maxsize
SHORT_TIMEOUT, LONG_TIMEOUT, LOOPBACK_TIMEOUT = 30.0, 300.0, 10.0
NHASHBITS = 61
TEST_MODULES_ENABLED = True


def __getattr__(name):
    if (
        name.startswith("__")
        or name.endswith("_helper")
        or name in ("numbers", "testcase", "_hypothesis_stubs")
    ):
        raise AttributeError(name)  # submodules are looked for next
    from absent import Absent

    return Absent(f"test.support.{name}")


def _unchanged(*args, **kwargs):
    """A decorator, with or without arguments, that changes nothing."""
    if len(args) == 1 and callable(args[0]) and not kwargs:
        return args[0]
    return lambda decorated: decorated


cpython_only = impl_detail = no_tracing = suppress_immortalization = skip_if_pgo_task = skip_if_sanitizer = (
    _unchanged
)
requires_IEEE_754 = thread_unsafe = _unchanged


def _skipping(reason):
    """A decorator, with or without arguments, that skips."""

    def decorate(*args, **kwargs):
        if len(args) == 1 and callable(args[0]) and not kwargs:
            return unittest.skip(reason)(args[0])
        return unittest.skip(reason)

    return decorate


bigmemtest = bigaddrspacetest = requires_resource = _skipping("too large")
requires_docstrings = _skipping("compiled without docstrings")
requires_subprocess = requires_fork = requires_mac_ver = _skipping("no processes")
run_with_locale = run_with_locales = run_with_tz = _skipping("no locales and time zones")
requires_limited_api = requires_specialization = _skipping("CPython's own modules are absent")
skip_on_s390x = skip_if_buggy_ucrt_strfptime = skip_wasi_stack_overflow = skip_emscripten_stack_overflow = (
    _unchanged
)


def linked_to_musl():
    """The VM is built for glibc here."""
    return False


def is_resource_enabled(name):
    """None is."""
    return False


def requires(resource, msg=None):
    """No resource is enabled."""
    raise unittest.SkipTest(msg or f"resource {resource!r}")


def check_impl_detail(**guards):
    """This is CPython."""
    return guards.get("cpython", not any(guards.values()))


def check_sanitizer(**kinds):
    """Not asked for here."""
    return False


def gc_collect():
    """Cycles of cycles."""
    gc.collect()
    gc.collect()
    gc.collect()


@contextlib.contextmanager
def disable_gc():
    """No collection inside."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextlib.contextmanager
def infinite_recursion(max_depth=None):
    """A test of endless recursion gets there sooner."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(list(_frames())) + (max_depth or 150))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _frames():
    frame = sys._getframe()
    while frame is not None:
        yield frame
        frame = frame.f_back


def get_c_recursion_limit():
    """Far below what CPython reports, since stacks are small here."""
    return 1000


def exceeds_recursion_limit():
    """Deeper than any limit of an isolate."""
    return 200_000


@contextlib.contextmanager
def adjust_int_max_str_digits(digits):
    """Another limit for int <-> str inside."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(digits)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(before)


@contextlib.contextmanager
def setswitchinterval(interval):
    """One thread: nothing switches."""
    yield


@contextlib.contextmanager
def captured_output(name):
    """A stream of sys as a StringIO."""
    before = getattr(sys, name)
    setattr(sys, name, io.StringIO())
    try:
        yield getattr(sys, name)
    finally:
        setattr(sys, name, before)


captured_stdout = functools.partial(captured_output, "stdout")
captured_stderr = functools.partial(captured_output, "stderr")


@contextlib.contextmanager
def swap_attr(target, name, new):
    """target.name is `new` inside."""
    missing = object()
    before = getattr(target, name, missing)
    setattr(target, name, new)
    try:
        yield None if before is missing else before
    finally:
        if before is missing:
            if hasattr(target, name):
                delattr(target, name)
        else:
            setattr(target, name, before)


@contextlib.contextmanager
def swap_item(target, key, new):
    """target[key] is `new` inside."""
    missing = object()
    before = target.get(key, missing)
    target[key] = new
    try:
        yield None if before is missing else before
    finally:
        if before is missing:
            target.pop(key, None)
        else:
            target[key] = before


def check_free_after_iterating(test, iterate, cls, args=()):
    """An exhausted iterator lets go of what it iterated."""
    done = False

    class Watched(cls):
        def __del__(self):
            nonlocal done
            done = True
            next(iterator, None)

    iterator = iterate(Watched(*args))
    test.assertRaises(StopIteration, next, iterator)
    gc_collect()
    test.assertTrue(done)


def check_disallow_instantiation(test, kind, *args, **kwargs):
    """The type refuses to be called."""
    test.assertRaisesRegex(TypeError, "cannot create", kind, *args, **kwargs)


def check__all__(test, module, name_of_module=None, extra=(), not_exported=()):
    """__all__ names every public name that the module itself defines."""
    names = name_of_module or (module.__name__,)
    names = (names,) if isinstance(names, str) else names
    kind = type(sys)
    expected = set(extra)
    for name, value in vars(module).items():
        if name.startswith("_") or name in not_exported:
            continue
        home = getattr(value, "__module__", None)
        if home in names or (home is None and not isinstance(value, kind)):
            expected.add(name)
    test.assertCountEqual(module.__all__, expected)


def check_syntax_error(test, statement, errtext="", *, lineno=None, offset=None):
    """The statement does not compile."""
    with test.assertRaisesRegex(SyntaxError, errtext):
        compile(statement, "<test string>", "exec")


class catch_unraisable_exception:
    """The last exception that had nowhere to go."""

    def __enter__(self):
        """Watch."""
        self.unraisable = None
        self._before, sys.unraisablehook = (
            sys.unraisablehook,
            lambda event: setattr(self, "unraisable", event),
        )
        return self

    def __exit__(self, *details):
        """Stop watching."""
        sys.unraisablehook = self._before
        del self.unraisable


class _Same:
    """Equal to everything, or to nothing."""

    def __init__(self, equal):
        self._equal = equal

    def __eq__(self, other):
        """As told."""
        return self._equal

    def __ne__(self, other):
        """As told."""
        return not self._equal

    __hash__ = None


@functools.total_ordering
class _End:
    """Greater than everything else, or less."""

    def __init__(self, greatest):
        self._greatest = greatest

    def __eq__(self, other):
        """One of a kind."""
        return self is other

    def __lt__(self, other):
        """Only the least is."""
        return not self._greatest and self is not other

    __hash__ = None


ALWAYS_EQ, NEVER_EQ, LARGEST, SMALLEST = _Same(True), _Same(False), _End(True), _End(False)
