"""The formatting half of `traceback`, without source lines: a device has no sources."""

import sys
from collections import namedtuple

FrameSummary = namedtuple("FrameSummary", "filename lineno name line", defaults=(None,))


def extract_tb(tb, limit=None):
    frames = []
    while tb is not None and (limit is None or len(frames) < limit):
        code = tb.tb_frame.f_code
        frames.append(FrameSummary(code.co_filename, tb.tb_lineno, code.co_name))
        tb = tb.tb_next
    return frames


def format_list(frames):
    return ['  File "%s", line %s, in %s\n' % (f[0], f[1], f[2]) for f in frames]


def format_tb(tb, limit=None):
    return format_list(extract_tb(tb, limit))


def format_exception_only(exc, value=None):
    if isinstance(exc, type):
        exc = value
    kind = type(exc)
    name = kind.__qualname__
    if kind.__module__ not in ("builtins", "__main__"):
        name = kind.__module__ + "." + name
    text = str(exc)
    notes = [note + '\n' for note in getattr(exc, '__notes__', ())]
    return [name + ': ' + text + '\n' if text else name + '\n', *notes]


def format_exception(exc, value=None, tb=None, limit=None, chain=True):
    if isinstance(exc, type):
        exc = value
    if exc is None:
        return ["NoneType: None\n"]
    lines = []
    if chain and exc.__cause__ is not None:
        lines += format_exception(exc.__cause__)
        lines.append("\nThe above exception was the direct cause of the following exception:\n\n")
    elif chain and exc.__context__ is not None and not exc.__suppress_context__:
        lines += format_exception(exc.__context__)
        lines.append("\nDuring handling of the above exception, another exception occurred:\n\n")
    if exc.__traceback__ is not None:
        lines.append("Traceback (most recent call last):\n")
        lines += format_tb(exc.__traceback__, limit)
    lines += format_exception_only(exc)
    for member in getattr(exc, 'exceptions', ()) if isinstance(exc, BaseExceptionGroup) else ():
        lines += ['\nOne of the group:\n', *format_exception(member)]
    return lines


def extract_stack(f=None, limit=None):
    f = f or sys._getframe(1)
    frames = []
    while f is not None and (limit is None or len(frames) < limit):
        frames.insert(0, FrameSummary(f.f_code.co_filename, f.f_lineno, f.f_code.co_name))
        f = f.f_back
    return frames


def print_stack(f=None, limit=None, file=None):
    frames = extract_stack(f or sys._getframe(1), limit)
    (file or sys.stderr).write(''.join(format_list(frames)))


def format_exc(limit=None, chain=True):
    return "".join(format_exception(sys.exception(), limit=limit, chain=chain))


def print_exception(exc, value=None, tb=None, limit=None, file=None, chain=True):
    (file or sys.stderr).write("".join(format_exception(exc, value, tb, limit, chain)))


def print_exc(limit=None, file=None, chain=True):
    print_exception(sys.exception(), limit=limit, file=file, chain=chain)
