"""What the larger modules of the standard library lose or get instead, because a task has no files, no
processes, no command line and no table of Unicode names, and because every kilobyte of the library travels to
every device. EDITS and REGIONS as in library_edits.py.
"""

from __future__ import annotations

from edits.engine import because, remove, replace
from library_region import Region

# Characters whose compatibility form (NFKC) contains one of / ? # @ : - all there are in Unicode 15.1.
DISGUISED = (
    "\u2047\u2048\u2049\u2100\u2101\u2105\u2106\u2a74\ufe13\ufe16"
    "\ufe55\ufe56\ufe5f\ufe6b\uff03\uff0f\uff1a\uff1f\uff20"
)

CHECK_NETLOC = f"""\
def _checknetloc(netloc):
    # IDNA normalises host names to NFKC; these characters then are separators.
    if not netloc.isascii() and not set(netloc).isdisjoint({DISGUISED!a}):
        raise ValueError("netloc '" + netloc + "' contains invalid " +
                         "characters under NFKC normalization")

"""

CHECK_HOST = """\
def _check_bracketed_host(hostname):
    if hostname.startswith('v'):
        if not re.match(r"\\Av[a-fA-F0-9]+\\..+\\Z", hostname):
            raise ValueError("IPvFuture address is invalid")
        return
    address, percent, zone = hostname.partition('%')
    head, double, tail = address.partition('::')
    groups = [group for half in (head, tail) if half for group in half.split(':')]
    count = len(groups)
    if groups and '.' in groups[-1]:
        numbers = groups.pop().split('.')
        count += 1
        if len(numbers) != 4 or not all(re.fullmatch('[0-9]{1,3}', n) and int(n) < 256 for n in numbers):
            raise ValueError(f"{hostname!r} does not appear to be an IPv4 or IPv6 address")
    fits = count < 8 if double else count == 8
    if ':' not in address or '::' in tail or (percent and not zone) or not fits \\
            or not all(re.fullmatch('[0-9a-fA-F]{1,4}', group) for group in groups):
        raise ValueError(f"{hostname!r} does not appear to be an IPv4 or IPv6 address")

"""

# A handler without a stream of its own reaches the host with the record's level, line by line.
EMIT = """\
            if stream is sys.stderr:
                level = min(max(record.levelno // 10 - 1, 0), 3)
                for line in msg.split('\\n'):
                    _host_log(level, line)
                return
            # issue 35046: merged two stream.writes into one.
"""

EDITS = [
    *because(
        "there are no paths, processes and handlers at exit",
        replace(
            "logging",
            "import sys, os, time, io,",
            "from _walle import log as _host_log\nimport sys, time, io,",
        ),
        replace(
            "logging",
            "_srcfile = os.path.normcase(addLevelName.__code__.co_filename)",
            "_srcfile = addLevelName.__code__.co_filename",
        ),
        replace(
            "logging",
            "filename = os.path.normcase(frame.f_code.co_filename)",
            "filename = frame.f_code.co_filename",
        ),
        replace(
            "logging",
            """\
            self.filename = os.path.basename(pathname)
            self.module = os.path.splitext(self.filename)[0]
""",
            """\
            self.filename = pathname.rpartition('/')[2]
            self.module = self.filename.rpartition('.')[0] or self.filename
""",
        ),
        replace(
            "logging",
            """\
        if logProcesses and hasattr(os, 'getpid'):
            self.process = os.getpid()
""",
            """\
        if logProcesses:
            self.process = 0
""",
        ),
        replace(
            "logging",
            """\
                while (frame and os.path.dirname(frame.f_code.co_filename) ==
                       __path__[0]):
""",
            """\
                while frame and frame.f_code.co_filename == _srcfile:
""",
        ),
        replace(
            "logging",
            """\
            import pickle
            raise pickle.PicklingError('logger cannot be pickled')
""",
            """\
            raise TypeError('logger cannot be pickled')
""",
        ),
        remove("logging", "import atexit\natexit.register(shutdown)\n"),
        replace(
            "logging",
            """\
                    if 'b' in mode:
                        errors = None
                    else:
                        encoding = io.text_encoding(encoding)
                    h = FileHandler(filename, mode,
                                    encoding=encoding, errors=errors)
""",
            """\
                    raise ValueError('a task has no files; without a filename lines go to the host')
""",
        ),
    ),
    *because(
        "print() to sys.stderr arrives as an error whatever its level",
        replace("logging", "            # issue 35046: merged two stream.writes into one.\n", EMIT),
    ),
    *because(
        "it guesses dialects, and is 1.8 KB of deflated bytecode",
        remove("csv", ' "Sniffer",'),
    ),
    *because(
        "2,440 lines for one check of an address in brackets",
        remove("urllib.parse", "import ipaddress\n"),
    ),
    *because(
        "a task must not know the hardware's address; RFC 4122 allows a random one",
        replace("uuid", "for getter in _GETTERS + [_random_getnode]:", "for getter in [_random_getnode]:"),
    ),
]

REGIONS = [
    # Documentation that is assigned, which compiling without docstrings does not see: 9 KB, 4 KB deflated.
    Region("heapq", '__about__ = """Heap queues', "__all__ = ['heappush'"),
    Region("typing", "Callable.__doc__ = \\\n", "AbstractSet = _alias("),
    Region("typing", "Tuple.__doc__ = \\\n", "List = _alias(list"),
    Region("typing", "Type.__doc__ = \\\n", "@runtime_checkable\nclass SupportsInt("),
    Region("urllib.parse", '_DefragResultBase.__doc__ = """', "# For backwards compatibility, alias _Netloc"),
    Region("base64", "_B32_ENCODE_DOCSTRING = '''", "_b32alphabet = "),
    Region("base64", "b32encode.__doc__ = ", "def b32decode(s, casefold"),
    Region("base64", "b32decode.__doc__ = ", "def b32hexencode(s)"),
    Region("base64", "b32hexencode.__doc__ = ", "def b32hexdecode(s, "),
    Region("base64", "b32hexdecode.__doc__ = ", "# RFC 3548, Base 16 Alphabet"),
    # Guessing a dialect: 1.8 KB deflated.
    Region("csv", "class Sniffer:\n"),
    Region(
        "logging",
        "def _prepareFork():\n",
        "class LogRecord(object):\n",
        "\ndef _register_at_fork_reinit_lock(instance):\n    pass\n\n",
    ),
    Region("logging", "class FileHandler(StreamHandler):\n", "class _StderrHandler(StreamHandler):\n"),
    Region(
        "urllib.parse", "def _checknetloc(netloc):\n", "def _check_bracketed_netloc(netloc):\n", CHECK_NETLOC
    ),
    Region(
        "urllib.parse",
        "def _check_bracketed_host(hostname):\n",
        "# typed=True avoids BytesWarnings",
        CHECK_HOST,
    ),
    # Deprecated since 3.8.
    Region("urllib.parse", "def to_bytes(url):\n"),
    Region("uuid", "# The recognized platforms - known behaviors\n", "RESERVED_NCS, RFC_4122"),
    Region(
        "uuid", "def _get_command_stdout(", "def _random_getnode():\n", "_generate_time_safe = None\n\n\n"
    ),
    Region("uuid", "# _OS_GETTERS, when known, are", "_node = None\n\ndef getnode():\n"),
    Region("uuid", "def main():\n", "NAMESPACE_DNS = "),
]
