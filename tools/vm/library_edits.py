"""What stands in modules of the standard library where they need a compiler, files or handlers at exit.

EDITS are replacements (edits/engine.py; the path is the module's name), REGIONS whole parts of a module.
"""

from __future__ import annotations

from edits.engine import because, insert_before, remove, replace
from library_region import Region


def _arguments(count: int) -> str:
    """The parameters a0, a1, ... of the template for so many fields."""
    return ", ".join(f"a{i}" for i in range(count))


# Tuples of up to 16 fields get the code of a template with their own argument names; longer ones are slower.
TEMPLATES = ", ".join(
    f"lambda _cls, {_arguments(n)}: _tuple_new(_cls, ({_arguments(n)},))" for n in range(1, 17)
)

NAMEDTUPLE = f"""
_templates = [lambda _cls: _tuple_new(_cls, ()), {TEMPLATES}]
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

"""

# Constructors of dataclasses: the code of a template with the class's own names in place of f0, a0 ... Beyond
# so many fields, and for InitVar, the general closure of _dataclass_methods.py is 1 us slower.
DATACLASS_FIELDS = 12


def _dataclass_template(kind: str, n: int) -> str:
    """_plain_2: stores its arguments; _made_2: calls factories for those not given; _frozen_2: through
    object.__setattr__.
    """
    lines = [f"def _{kind}_{n}(self, {_arguments(n)}):"]
    for i in range(n):
        value = f"a{i}" if kind == "plain" else f"a{i} if a{i} is not absent else make{i}()"
        lines.append(f"    put(self, 'f{i}', {value})" if kind == "frozen" else f"    self.f{i} = {value}")
    if kind != "plain":
        lines.append("    if post: self.__post_init__()")
    return "\n".join(lines) + "\n"


DATACLASS_TEMPLATES = "".join(
    _dataclass_template(kind, n)
    for kind in ("plain", "made", "frozen")
    for n in range(1, DATACLASS_FIELDS + 1)
)

# Forward references are plain dotted names here: anything else would have to be compiled.
LOOKUP_FORWARD = """\
def _lookup_forward(text, globalns, localns):
    import builtins
    head, *rest = text.split('.')
    for scope in (localns, globalns, vars(builtins)):
        if scope and head in scope:
            value = scope[head]
            break
    else:
        raise NameError(f'name {head!r} is not defined (forward references are plain dotted \
names here)')
    for name in rest:
        value = getattr(value, name)
    return value


"""

EDITS = [
    *because(
        "a named tuple's constructor is compiled from text, which a device cannot",
        replace(
            "collections",
            """\
    code = f'lambda _cls, {arg_list}: _tuple_new(_cls, ({arg_list}))'
    __new__ = eval(code, namespace)
""",
            "    __new__ = _namedtuple_new(field_names, namespace)\n",
        ),
        insert_before("collections", "\ndef namedtuple(typename,", NAMEDTUPLE),
    ),
    *because(
        "a dataclass's constructor is compiled from text, which a device cannot",
        insert_before("dataclasses", "class _FuncBuilder:\n", DATACLASS_TEMPLATES + "\n\n"),
    ),
    *because(
        "a forward reference is compiled and evaluated, which a device cannot",
        replace(
            "typing",
            """\
        try:
            code = compile(arg_to_compile, '<string>', 'eval')
        except SyntaxError:
            raise SyntaxError(f"Forward reference must be an expression -- got {arg!r}")
""",
            "        code = None\n",
        ),
        replace(
            "typing",
            "                eval(self.__forward_code__, globalns, localns),",
            "                _lookup_forward(self.__forward_arg__, globalns, localns),",
        ),
        insert_before("typing", "class ForwardRef(_Final, _root=True):", LOOKUP_FORWARD),
    ),
    *because(
        "a date without a year warns, and names the folder of the file that it skips",
        replace(
            "_strptime", "skip_file_prefixes=(os.path.dirname(__file__),))", "skip_file_prefixes=('<',))"
        ),
    ),
    *because(
        "there are no folders and no processes",
        remove("contextlib", "import os\n"),
        replace("contextlib", '"aclosing",\n           "chdir"]', '"aclosing"]'),
        remove("shlex", "import os\n"),
    ),
    *because(
        "there are no paths, whose case would be as the system's",
        *(remove("fnmatch", f"{line}\n") for line in ("import os", "import posixpath")),
        replace("fnmatch", "    name = os.path.normcase(name)\n    pat = os.path.normcase(pat)\n", ""),
        replace("fnmatch", "    pat = os.path.normcase(pat)\n", ""),
        replace(
            "fnmatch",
            """\
    if os.path is posixpath:
        # normcase on posix is NOP. Optimize it away from the loop.
        for name in names:
            if match(name):
                result.append(name)
    else:
        for name in names:
            if match(os.path.normcase(name)):
                result.append(name)
""",
            """\
    for name in names:
        if match(name):
            result.append(name)
""",
        ),
    ),
    *because(
        "there is no module decimal, so no number is one",
        *(
            replace(
                module,
                "\nfrom decimal import Decimal\n",
                "\nclass Decimal:\n    'There are no decimals here; nothing is one.'\n",
            )
            for module in ("fractions", "statistics")
        ),
    ),
    *because(
        "there is no module inspect: it needs ast, dis and tokenize",
        remove("dataclasses", "import inspect\n"),
        replace(
            "dataclasses",
            "    cls_annotations = inspect.get_annotations(cls)\n",
            "    cls_annotations = dict(cls.__dict__.get('__annotations__') or {})\n",
        ),
        replace("dataclasses", "str(inspect.signature(cls)).replace(' -> None', '')", "''"),
        remove("warnings", "            import inspect\n"),
        remove(
            "warnings",
            """\
            if inspect.iscoroutinefunction(arg):
                wrapper = inspect.markcoroutinefunction(wrapper)
""",
        ),
    ),
    *because(
        "whichever thread of the host runs it, a task sees one thread: the main thread",
        replace(
            "threading",
            """\
    try:
        return _active[get_ident()]
    except KeyError:
        return _DummyThread()

def currentThread""",
            """\
    return _main_thread

def currentThread""",
        ),
    ),
    *because(
        "there are no sockets; a capsule to take the type of is found elsewhere",
        replace(
            "types",
            """\
        import _socket
        return type(_socket.CAPI)""",
            """\
        import _datetime
        return type(_datetime.datetime_CAPI)""",
        ),
    ),
    *because(
        "an isolate ends without running handlers, so there is nothing to register",
        remove(
            "weakref",
            """\
            import atexit
            atexit.register(self._exitfunc)
""",
        ),
    ),
]


REGIONS = [
    # The command lines of modules.
    Region("base64", "def main():\n", "if __name__ == '__main__':\n"),
    Region("calendar", "def main(args=None):\n", 'if __name__ == "__main__":\n'),
    Region("random", "def _test_generator(n, func, args):\n", "if __name__ == '__main__':\n"),
    Region("shlex", "def _print_tokens(lexer):\n"),
    # There are no folders and no files.
    Region("contextlib", "class chdir(AbstractContextManager):\n"),
    Region(
        "shlex",
        "        # This implements cpp-like semantics",
        "    def error_leader(",
        "        return (newfile, open(newfile))\n\n",
    ),
    # inspect.getattr_static without inspect.
    Region(
        "typing",
        "@functools.cache\ndef _lazy_load_getattr_static():\n",
        "_cleanups.append(_lazy_load_getattr_static.cache_clear)\n",
        "_getattr_static.py",
    ),
    # The methods that @dataclass adds are compiled from text; ours are closures.
    Region(
        "dataclasses", "class _FuncBuilder:\n", "def _is_classvar(a_type, typing):\n", "_dataclass_methods.py"
    ),
    Region("dataclasses", "def _hash_add(cls, fields, func_builder):\n    flds", "def _hash_exception("),
    Region(
        "dataclasses",
        "    if repr:\n        flds = [f for f in field_list if f.repr]\n",
        "    if frozen:\n        _frozen_get_del_attr(",
        """\
    if repr:
        func_builder.add('__repr__', _repr_fn(field_list))
    if eq:
        func_builder.add('__eq__', _eq_fn(field_list))
    if order:
        import operator
        for name in ('__lt__', '__le__', '__gt__', '__ge__'):
            func_builder.add(name, _order_fn(field_list, getattr(operator, name)),
                             overwrite_error='Consider using functools.total_ordering')
""",
    ),
]
