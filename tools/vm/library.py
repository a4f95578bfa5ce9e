"""Gather the sources of the task library: the whitelist below,
adapted where it would need a compiler or files.

    library.py CPYTHON_LIB OWN_LIB OUT    writes OUT/<name>.py and OUT/list.txt ("name file package" per line)

Replacements name their anchors; a missing one ends the build.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

# From the standard library.
STANDARD = [
    "abc",
    "base64",
    "bisect",
    "calendar",
    "codecs",
    "collections",
    "colorsys",
    "contextlib",
    "contextvars",
    "copy",
    "copyreg",
    "dataclasses",
    "datetime",
    "enum",
    "fractions",
    "functools",
    "graphlib",
    "heapq",
    "hmac",
    "json",
    "json.decoder",
    "json.encoder",
    "json.scanner",
    "keyword",
    "numbers",
    "operator",
    "pprint",
    "queue",
    "random",
    "re",
    "re._casefix",
    "re._compiler",
    "re._constants",
    "re._parser",
    "reprlib",
    "secrets",
    "statistics",
    "string",
    "struct",
    "textwrap",
    "threading",
    "types",
    "typing",
    "warnings",
    "weakref",
    "_collections_abc",
    "_strptime",
    "_threading_local",
    "_weakrefset",
]

# Ours, in place of modules that would drag in files, locale or a compiler.
OWN = [
    "_bootstrap",
    "_warm",
    "encodings",
    "hashlib",
    "io",
    "locale",
    "os",
    "traceback",
    "walle",
    "walle.engine",
]

NAMEDTUPLE = """
_templates = [lambda _cls: _tuple_new(_cls, ()), {templates}]
def _namedtuple_new(names, namespace):
    n = len(names)
    if n < len(_templates):
        code = _templates[n].__code__.replace(co_varnames=('_cls', *names))
        return type(_namedtuple_new)(code, namespace)
    tuple_new = namespace['_tuple_new']
    def __new__(_cls, *args, **kwargs):
        values = dict(zip(names, args))
        for name in kwargs:
            if name in values or name not in names:
                raise TypeError(f'__new__() got an unexpected argument {{name!r}}')
        values = {{**_cls._field_defaults, **values, **kwargs}}
        if len(args) > n or len(values) != n:
            raise TypeError(f'__new__() takes {{n}} values')
        return tuple_new(_cls, [values[name] for name in names])
    return __new__


def namedtuple(typename,"""

EDITS: dict[str, list[tuple[str, str]]] = {
    "collections": [
        (
            "    code = f'lambda _cls, {arg_list}: _tuple_new(_cls, ({arg_list}))'\n"
            "    __new__ = eval(code, namespace)\n",
            "    __new__ = _namedtuple_new(field_names, namespace)\n",
        ),
        (
            "\ndef namedtuple(typename,",
            NAMEDTUPLE.format(
                templates=", ".join(
                    "lambda _cls, "
                    + ", ".join(f"a{i}" for i in range(n))
                    + ": _tuple_new(_cls, ("
                    + ", ".join(f"a{i}" for i in range(n))
                    + ",))"
                    for n in range(1, 17)
                )
            ),
        ),
    ],
    "typing": [
        (
            "        try:\n            code = compile(arg_to_compile, '<string>', 'eval')\n"
            "        except SyntaxError:\n"
            '            raise SyntaxError(f"Forward reference must be an expression -- got {arg!r}")\n',
            "        code = None\n",
        ),
        (
            "                eval(self.__forward_code__, globalns, localns),",
            "                _lookup_forward(self.__forward_arg__, globalns, localns),",
        ),
        (
            "class ForwardRef(_Final, _root=True):",
            "def _lookup_forward(text, globalns, localns):\n"
            "    import builtins\n"
            "    head, *rest = text.split('.')\n"
            "    for scope in (localns, globalns, vars(builtins)):\n"
            "        if scope and head in scope:\n"
            "            value = scope[head]\n"
            "            break\n"
            "    else:\n"
            " "
            "       raise NameError(f'name {head!r} is not defined (forward references are plain dotted "
            "names here)')\n"
            "    for name in rest:\n"
            "        value = getattr(value, name)\n"
            "    return value\n\n\n"
            "class ForwardRef(_Final, _root=True):",
        ),
    ],
    "fractions": [
        (
            "\nfrom decimal import Decimal\n",
            "\nclass Decimal:\n    'There are no decimals here; nothing is one.'\n",
        )
    ],
    "statistics": [
        (
            "\nfrom decimal import Decimal\n",
            "\nclass Decimal:\n    'There are no decimals here; nothing is one.'\n",
        )
    ],
    "dataclasses": [
        ("import inspect\n", ""),
        (
            "    cls_annotations = inspect.get_annotations(cls)\n",
            "    cls_annotations = dict(cls.__dict__.get('__annotations__') or {})\n",
        ),
        ("str(inspect.signature(cls)).replace(' -> None', '')", "''"),
    ],
    # Whichever thread of the host runs it, a task sees one thread: the main thread.
    "threading": [
        (
            "    try:\n        return _active[get_ident()]\n    except KeyError:\n"
            "        return _DummyThread()\n\n"
            "def currentThread",
            "    return _main_thread\n\ndef currentThread",
        ),
    ],
    "types": [
        (
            "        import _socket\n        return type(_socket.CAPI)",
            "        import _datetime\n        return type(_datetime.datetime_CAPI)",
        )
    ],
    "warnings": [
        ("            import functools\n            import inspect\n", "            import functools\n"),
        (
            "            if inspect.iscoroutinefunction(arg):\n"
            "                wrapper = inspect.markcoroutinefunction(wrapper)\n",
            "",
        ),
    ],
    # An isolate ends without running handlers, so there is nothing to register.
    "weakref": [("            import atexit\n            atexit.register(self._exitfunc)\n", "")],
}

# (module, first line of the region, first line after it, replacement or name of one of our files)
REGIONS = [
    # The command lines of modules.
    ("base64", "def main():\n", "if __name__ == '__main__':\n", ""),
    ("calendar", "def main(args=None):\n", 'if __name__ == "__main__":\n', ""),
    ("random", "def _test_generator(n, func, args):\n", "if __name__ == '__main__':\n", ""),
    (
        "typing",
        "@functools.cache\ndef _lazy_load_getattr_static():\n",
        "_cleanups.append(_lazy_load_getattr_static.cache_clear)\n",
        "_getattr_static.py",
    ),
    ("dataclasses", "class _FuncBuilder:\n", "def _is_classvar(a_type, typing):\n", "_dataclass_methods.py"),
    ("dataclasses", "def _hash_add(cls, fields, func_builder):\n    flds", "def _hash_exception(", ""),
    (
        "dataclasses",
        "    if repr:\n        flds = [f for f in field_list if f.repr]\n",
        "    if frozen:\n        _frozen_get_del_attr(",
        "    if repr:\n"
        "        func_builder.add('__repr__', _repr_fn(field_list))\n"
        "    if eq:\n"
        "        func_builder.add('__eq__', _eq_fn(field_list))\n"
        "    if order:\n"
        "        import operator\n"
        "        for name in ('__lt__', '__le__', '__gt__', '__ge__'):\n"
        "            func_builder.add(name, _order_fn(field_list, getattr(operator, name)),\n"
        "                             overwrite_error='Consider using functools.total_ordering')\n",
    ),
]


# Imports that are not there, and why nothing is lost: each is tried and done without, or belongs to a part
# that tasks have no use for (decimals, Unicode names).
OPTIONAL = {
    "abc": {"_py_abc"},
    "datetime": {"_pydatetime"},
    "fractions": {"decimal"},
    "heapq": {"doctest"},
    "hmac": {"_hashlib"},
    "queue": {"_queue"},
    "re._parser": {"unicodedata"},
    "warnings": {"linecache", "tracemalloc"},
}
IMPORT = re.compile(r"^\s*(?:import|from)\s+([A-Za-z_][\w.]*)\s*(?:import\b|as\b|,|#|$)", re.MULTILINE)


def check_imports(texts: dict[str, str], built_in: set[str]) -> None:
    """End the build when a module asks for one that does not exist:
    the task that needs it would fail on the device.
    """
    known = (
        set(texts) | built_in | {"sys", "builtins", "_warnings", "_walle", "__future__", "collections.abc"}
    )
    for name, text in texts.items():
        missing = set(IMPORT.findall(text)) - known - OPTIONAL.get(name, set())
        if missing:
            raise SystemExit(
                f"{name}: imports {', '.join(sorted(missing))}, which the VM has not; edit it or say why not"
            )


def replaced(name: str, text: str, own: Path) -> str:
    for anchor, new in EDITS.get(name, []):
        if text.count(anchor) != 1:
            raise SystemExit(f"{name}: anchor found {text.count(anchor)} times, expected once: {anchor!r}")
        text = text.replace(anchor, new)
    for module, first, after, new in REGIONS:
        if module != name:
            continue
        start = text.find(first)
        end = text.find(after, start)
        if start < 0 or end < 0 or text.count(first) != 1:
            raise SystemExit(f"{name}: region not found: {first!r} .. {after!r}")
        body = (own / new).read_text() + "\n\n" if new.endswith(".py") else new
        text = text[:start] + body + text[end:]
    return text


def locate(root: Path, name: str) -> tuple[Path, bool]:
    path = root.joinpath(*name.split("."))
    return (path / "__init__.py", True) if path.is_dir() else (path.with_suffix(".py"), False)


def main() -> int:
    standard, own, out = (Path(argument) for argument in sys.argv[1:4])
    out.mkdir(parents=True, exist_ok=True)
    lines, texts = [], {}
    for root, names in ((own, OWN), (standard, STANDARD)):
        for name in names:
            path, is_package = locate(root, name)
            text = replaced(name, path.read_text(encoding="utf-8"), own)
            texts[name] = text
            target = out / f"{name}.py"
            target.write_text(text, encoding="utf-8")
            lines.append(f"{name} {target} {int(is_package)}\n")
    inittab = (own.parent / "inside" / "inittab.c").read_text(encoding="utf-8")
    check_imports(texts, set(re.findall(r"X\((\w+)\)", inittab)))
    (out / "list.txt").write_text("".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
