"""CPython's own tests of the whitelisted modules, run inside isolates of the full flavour.

    python tests/conformance/cpython/cpython_tests.py [MODULE...] [--update-passing] [--verbose]

The test files come out of the source archive that the VM is built from; none is in the repository. What they
ask of a desktop Python (files, processes, CPython's test extensions) is answered by inside/: absent modules
and helpers raise SkipTest. passing.txt lists what passes; it only grows.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import threading
import time
import unicodedata
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from walle_rt.vm import VM, Isolate, Limits, TaskBundle, TaskFailed
from walle_rt.vm.sources import Sources

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PASSING = HERE / "passing.txt"
STACK = 64 << 20
CLASS_LIMITS = Limits(wall_ms=120_000, heap_bytes=1 << 30)

# "module: its test files", without .py. Without a row: logging, urllib.parse and uuid, whose files import at
# their head what the VM lacks (socket servers, unicodedata, platform), so that none of their tests can be
# loaded; tests/python/vm/test_library.py has ours.
TABLE = """
abc: test_abc
array: test_array
base64: test_base64
binascii: test_binascii
bisect: test_bisect
calendar: test_calendar
cmath: test_cmath
collections: test_collections test_ordered_dict test_defaultdict test_deque test_userdict test_userlist
  test_userstring
colorsys: test_colorsys
contextlib: test_contextlib
contextvars: test_context
copy: test_copy
copyreg: test_copyreg
csv: test_csv
dataclasses: test_dataclasses.__init__
datetime: datetimetester test_strptime
enum: test_enum
fractions: test_fractions test_numeric_tower
functools: test_functools
graphlib: test_graphlib
hashlib: test_hashlib
heapq: test_heapq
hmac: test_hmac
itertools: test_itertools
json: test_json.test_decode test_json.test_default test_json.test_dump test_json.test_encode_basestring_ascii
  test_json.test_enum test_json.test_fail test_json.test_float test_json.test_indent test_json.test_pass1
  test_json.test_pass2 test_json.test_pass3 test_json.test_recursion test_json.test_scanstring
  test_json.test_separators test_json.test_speedups test_json.test_unicode
keyword: test_keyword
language: test_generators test_scope test_with test_patma test_named_expressions test_unpack_ex test_dict
  test_list test_tuple test_set test_int test_float test_long test_range test_slice test_fstring
  test_exceptions test_super test_property test_enumerate test_iter test_sort
math: test_math
operator: test_operator
pprint: test_pprint
queue: test_queue
random: test_random
re: test_re
reprlib: test_reprlib
secrets: test_secrets
statistics: test_statistics
string: test_string
struct: test_struct
textwrap: test_textwrap
threading: test_threading_local test_thread
time: test_time
types: test_types
typing: test_typing
weakref: test_weakref test_weakset
"""
FILES: dict[str, list[str]] = {
    module: files.split()
    for module, _, files in (part.partition(": ") for part in re.split(r"\n(?=\w)", TABLE.strip()))
}

# Helpers of the archive that test files import; those in inside/ replace theirs.
HELPERS = [
    "test.seq_tests",
    "test.list_tests",
    "test.string_tests",
    "test.mapping_tests",
    "test.re_tests",
    "test.test_json",
]
HELPERS += [f"test.support.{name}" for name in ("hypothesis_helper", "_hypothesis_stubs")]
HELPERS += ["test.support._hypothesis_stubs._helpers", "test.support._hypothesis_stubs.strategies"]
HELPERS += [
    "test.support.numbers",
    "test.support.testcase",
    "test.support.warnings_helper",
    "test.typinganndata",
]
HELPERS += [f"test.typinganndata.ann_module{number}" for number in ("", *range(2, 10), 695)]
HELPERS += [
    f"test.typinganndata.{name}" for name in ("_typed_dict_helper", "mod_generics_cache", "partialexecution")
]
HELPERS += ["test.test_contextlib", "test.test_math", "test.lock_tests"]
UNITTEST = ["unittest.case", "unittest.result", "unittest.suite", "unittest.util", "difflib"]
PURE = [
    "pickle",
    "_compat_pickle",
    "decimal",
    "_pydecimal",
    "_pydatetime",
    "genericpath",
    "posixpath",
    "stat",
    "_py_abc",
    "__future__",
]
# Files that spell characters by name outside raw strings: the VM has no table of names.
NAMED_CHARACTERS = {
    "test.re_tests",
    "test.test_textwrap",
    "test.test_json.test_unicode",
    "test.test_float",
    "test.test_int",
}
OWN = {"unittest": "unittest", "test.support": "support", "test.support.import_helper": "import_helper"}
OWN |= {"importlib": "importlib", "cpython_run": "run", "absent": "absent"}
OWN |= {f"test.support.{name}": name for name in ("threading_helper", "hashlib_helper")}
OWN |= {
    "test.test_import": "test_import",
    "unittest.mock": "mock",
    "sysconfig": "sysconfig",
    "platform": "platform",
}
ABSENT = [f"test.support.{name}" for name in ("os_helper", "script_helper")]
ABSENT += [f"test.support.{name}" for name in ("socket_helper", "interpreters", "i18n_helper")]
ABSENT += [
    "test.pickletester",
    "asyncio",
    "ast",
    "concurrent",
    "concurrent.futures",
]
ABSENT += [
    "ctypes",
    "dis",
    "doctest",
    "errno",
    "gettext",
    "importlib.resources",
    "importlib.util",
    "importlib.machinery",
]
ABSENT += ["inspect", "optparse", "pathlib", "pickletools", "pydoc", "select", "shelve"]
ABSENT += ["shutil", "signal", "site", "socket", "subprocess", "tempfile", "tokenize", "unicodedata"]
ABSENT += [
    "urllib.request",
    "zipfile",
    "argparse",
    "faulthandler",
    "sqlite3",
    "xml",
    "http",
    "http.client",
    "builtins_types",
]


@dataclass
class Report:
    """What one module's files gave: test ids, and reasons for those that did not pass."""

    passed: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        """Counts."""
        return f"{len(self.passed)} passed, {len(self.skipped)} skipped, {len(self.failed)} failed"


def archive_lib() -> Path:
    """Lib/ of the unpacked CPython source; LookupError when there is none."""
    command = [sys.executable, str(ROOT / "tools" / "vm" / "fetch_cpython.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 3:
        raise LookupError(done.stderr.strip())
    done.check_returncode()
    return Path(done.stdout.strip()) / "Lib"


def source_of(lib: Path, name: str) -> tuple[str, str, bool]:
    """File name, text and whether it is a package, of a module of the archive."""
    path = lib.joinpath(*name.split("."))
    package = path.is_dir()
    path = path / "__init__.py" if package else path.with_suffix(".py")
    text = path.read_text(encoding="utf-8")
    if name in NAMED_CHARACTERS:
        text = re.sub(r"\\N\{([^}]+)\}", lambda found: unicodedata.lookup(found[1]), text)
    file = path.relative_to(lib).as_posix()
    if re.search(r"^from __future__", text, re.MULTILINE) is None:
        text = f"__file__ = {file!r}; {text}"  # on the first line: line numbers stay
    return file, text, package


def helpers(lib: Path) -> dict[str, tuple[str, str, bool]]:
    """Everything but the test files themselves."""
    absent = (HERE / "inside" / "absent.py").read_text()
    found = {name: ("absent.py", absent, True) for name in ABSENT}
    found["test"] = ("test/__init__.py", "", True)
    for name in HELPERS + UNITTEST + PURE:
        if (
            lib.joinpath(*name.split(".")).is_dir()
            or lib.joinpath(*name.split(".")).with_suffix(".py").is_file()
        ):
            found[name] = source_of(lib, name)
    for name, file in OWN.items():
        found[name] = (f"inside/{file}.py", (HERE / "inside" / f"{file}.py").read_text(), True)
    return found


def in_thread(body: Any) -> Any:
    """The outcome of `body` on a thread with a large stack:
    how deep C may recurse follows from the caller's.
    """
    outcome: list[Any] = []
    threading.stack_size(STACK)
    thread = threading.Thread(target=lambda: outcome.append(body()))
    thread.start()
    threading.stack_size(0)
    thread.join()
    return outcome[0]


def run_file(vm: VM, base: TaskBundle, lib: Path, name: str) -> Report:
    """One test file, class by class in one isolate."""
    report = Report()
    full = "test." + name.removesuffix(".__init__")
    try:
        bundle = TaskBundle._compile(Sources({full: source_of(lib, full)}), vm)
    except Exception as error:
        report.failed[full] = str(error)
        return report
    with Isolate(vm, limits=CLASS_LIMITS) as isolate:
        isolate.load(bundle)
        isolate.load(base)
        try:
            found = isolate.call("classes", full, module="cpython_run")
        except TaskFailed as error:
            report.failed[full] = error.formatted()
            return report
        if "skipped" in found:
            report.skipped[full] = found["skipped"]
        for case in found.get("classes", []):
            try:
                outcome = isolate.call("run", full, case, module="cpython_run")
            except TaskFailed as error:
                report.failed[f"{full}.{case}"] = f"the whole class: {error}"
                continue
            report.passed += outcome["passed"]
            report.skipped |= outcome["skipped"]
            report.failed |= outcome["failed"]
    return report


def run_module(vm: VM, base: TaskBundle, lib: Path, module: str) -> Report:
    """All test files of one whitelisted module."""
    total = Report()
    for name in FILES[module]:
        one = in_thread(lambda name=name: run_file(vm, base, lib, name))
        total.passed += one.passed
        total.skipped |= one.skipped
        total.failed |= one.failed
    return total


def make_base(vm: VM, lib: Path) -> TaskBundle:
    """The helpers as one bundle."""
    return TaskBundle._compile(Sources(helpers(lib)), vm)


def short(test: str) -> tuple[str, str]:
    """("json.test_decode.TestPyDecode", "test_float") of a test's id."""
    home, _, method = test.removeprefix("test.").rpartition(".")
    return home, method


def read_passing() -> set[tuple[str, str]]:
    """passing.txt as (class, method) pairs."""
    pairs = set()
    for line in PASSING.read_text().splitlines() if PASSING.is_file() else []:
        home, _, methods = line.partition(": ")
        if not line.startswith("#"):
            pairs |= {(home, method) for method in methods.split()}
    return pairs


def write_passing(pairs: set[tuple[str, str]]) -> None:
    """One line per class."""
    by_class = defaultdict(list)
    for home, method in pairs:
        by_class[home].append(method)
    lines = [
        "# CPython 3.13.5's own tests that pass in an isolate and must go on passing. This list only grows:"
    ]
    lines += ["# python tests/conformance/cpython/cpython_tests.py --update-passing"]
    lines += [f"{home}: {' '.join(sorted(by_class[home]))}" for home in sorted(by_class)]
    PASSING.write_text("\n".join(lines) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="default: all")
    parser.add_argument("--update-passing", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="say why tests were skipped or failed")
    options = parser.parse_args()
    vm, lib = VM("full"), archive_lib()
    base = make_base(vm, lib)
    known = read_passing()
    passed: set[tuple[str, str]] = set()
    broken = 0
    for module in options.modules or FILES:
        started = time.monotonic()
        report = run_module(vm, base, lib, module)
        passed |= {short(test) for test in report.passed}
        print(f"{module:12s} {report}, {time.monotonic() - started:.1f} s", flush=True)
        for kind, reasons in (("skipped", report.skipped), ("failed", report.failed)):
            for test, why in reasons.items():
                lost = short(test) in known
                broken += lost
                if options.verbose or lost:
                    print(f"  {kind} {test}: {why}{' - it passed before' if lost else ''}")
    if options.update_passing:
        write_passing(known | passed)
    print(f"{len(passed)} passed, {len(passed - known)} of them new; {broken} of the list did not")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
