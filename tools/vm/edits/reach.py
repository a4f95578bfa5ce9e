"""Reach: what a task could see or touch beyond its isolate."""

from __future__ import annotations

from .engine import because, remove, replace

EDITS = [
    *because(
        "frames and exceptions of all interpreters, whose threads are running",
        remove(
            "Python/sysmodule.c",
            """\
    SYS__CURRENT_FRAMES_METHODDEF
    SYS__CURRENT_EXCEPTIONS_METHODDEF
""",
        ),
    ),
    *because(
        "the C library trusts the thread that it is given",
        replace(
            "Modules/timemodule.c",
            """\
#ifdef HAVE_PTHREAD_GETCPUCLOCKID
    {""",
            """\
#if 0
    {""",
        ),
    ),
]
