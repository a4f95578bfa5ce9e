"""The stubs name exactly what the native module has, submodules included, with the signatures it says.

A missing line would be a hole in what mypy checks, a wrong one worse. pybind11 writes each function's
signature into its docstring; the stubs may say more (what a dict holds), never something else.
"""

from __future__ import annotations

import ast
import re
import types
from pathlib import Path
from typing import Any

import pytest

import walle_rt
from walle_rt import _core

STUBS = Path(walle_rt.__file__).with_name("_core")
MODULES = {
    "__init__": _core,
    "device": _core.device,
    "mqtt": _core.mqtt,
    "names": _core.names,
    "package": _core.package,
    "policy": _core.policy,
    "results": _core.results,
    "stream": _core.stream,
    "task": _core.task,
    "tunnel": _core.tunnel,
    "vm": _core.vm,
}

Function = ast.FunctionDef
# How pybind11 writes what the stubs call a number, and what needs no prefix in a stub.
SHORTER = {
    "typing.SupportsInt | typing.SupportsIndex": "int",
    "typing.SupportsFloat | typing.SupportsIndex": "float",
    "walle_rt._core.device.": "",
    "walle_rt._core.policy.": "",
    "walle_rt._core.results.": "",
    "walle_rt._core.stream.": "",
    "walle_rt._core.tunnel.": "",
    "walle_rt._core.vm.": "",
    "walle_rt._core.": "",
    "collections.abc.": "",
    "numpy.ndarray": "np.ndarray",
}
GIVEN_ARRAY = re.compile(r"typing\.Annotated\[numpy\.typing\.ArrayLike, numpy\.(\w+)\]")
MADE_ARRAY = re.compile(r"numpy\.typing\.NDArray\[numpy\.(\w+)\]")


class Stub:
    """One stub file: its public names, and aliases to see through."""

    def __init__(self, name: str) -> None:
        body = ast.parse((STUBS / f"{name}.pyi").read_text()).body
        assigned = [n for n in body if isinstance(n, ast.Assign)]
        self.functions = {n.name: n for n in body if isinstance(n, Function)}
        self.classes = {n.name: n for n in body if isinstance(n, ast.ClassDef)}
        self.dicts = {n for n, c in self.classes.items() if [name_of(b) for b in c.bases] == ["TypedDict"]}
        self.aliases = {name_of(target): n.value for n in assigned for target in n.targets}
        self.constants = {name_of(n.target) for n in body if isinstance(n, ast.AnnAssign)}
        imports = [alias for n in body if isinstance(n, ast.ImportFrom) for alias in n.names]
        self.modules = {alias.asname for alias in imports if alias.asname}

    def names(self) -> set[str]:
        return public({*self.functions, *self.classes, *self.constants, *self.modules})

    def methods(self, cls: str) -> dict[str, Function]:
        return {n.name: n for n in self.classes[cls].body if isinstance(n, Function)}

    def allows(self, written: ast.expr, native: ast.expr) -> bool:
        """Whether the type a stub has written is the native one, or says more about it."""
        written = self.aliases.get(name_of(written), written)
        plain = ast.unparse(native)
        if plain == "object" or ast.unparse(written) == plain:
            return True
        if name_of(written) in self.dicts:
            return plain == "dict"
        if isinstance(written, ast.Subscript) and not isinstance(native, ast.Subscript):
            return ast.unparse(written.value) == plain
        mine, theirs = parts(written), parts(native)
        same_form = type(written) is type(native) and len(mine) == len(theirs) > 0
        return same_form and all(self.allows(m, t) for m, t in zip(mine, theirs, strict=True))


def name_of(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def parts(node: ast.expr) -> list[ast.expr]:
    """What a type is made of."""
    if isinstance(node, ast.Subscript):
        return [node.value, *(node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice])]
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    return node.elts if isinstance(node, ast.List) else []


def public(names: set[str]) -> set[str]:
    return {n for n in names if not n.startswith("_")}


def signature(doc: str) -> Function | None:
    """The signature in the first line of a docstring, or None where there is none with types."""
    line = doc.partition("\n")[0]
    if "->" not in line:
        return None
    for array in (GIVEN_ARRAY, MADE_ARRAY):
        line = array.sub(r"npt.NDArray[np.\1]", line)
    for long, short in SHORTER.items():
        line = line.replace(long, short)
    if line.startswith("("):  # of a property, whose self has no name
        line = "property" + line.replace("arg0", "self", 1)
    (function,) = ast.parse(f"def {line}: ...").body
    assert isinstance(function, Function)
    return function


def parameters(function: Function) -> list[ast.arg]:
    """Those a caller gives."""
    args = function.args
    return [a for a in [*args.posonlyargs, *args.args, *args.kwonlyargs] if a.arg != "self"]


def defaults(function: Function) -> tuple[int, list[bool]]:
    """How many positional parameters have one, and which of those by keyword."""
    return len(function.args.defaults), [d is not None for d in function.args.kw_defaults]


def faults(stub: Stub, where: str, written: Function, native: Function) -> list[str]:
    given, wanted = parameters(written), parameters(native)
    if native.args.kwarg is not None:  # a list of options, of which the stub says more
        given = [a for a in given if a.arg in {w.arg for w in wanted}]
    if [a.arg for a in given] != [a.arg for a in wanted]:
        return [f"{where}: parameters {[a.arg for a in given]}, natively {[a.arg for a in wanted]}"]
    found = []
    if native.args.kwarg is None and len(written.args.kwonlyargs) != len(native.args.kwonlyargs):
        found.append(f"{where}: others by keyword alone")
    if native.args.kwarg is None and defaults(written) != defaults(native):
        found.append(f"{where}: other defaults")
    if (written.args.vararg is None) != (native.args.vararg is None):
        found.append(f"{where}: *args on one side only")
    pairs = [(w.arg, w.annotation, n.annotation) for w, n in zip(given, wanted, strict=True)]
    for name, mine, theirs in [*pairs, ("the result", written.returns, native.returns)]:
        assert mine is not None and theirs is not None, where
        if not stub.allows(mine, theirs):
            found.append(f"{where}: {name} is {ast.unparse(mine)}, natively {ast.unparse(theirs)}")
    return found


def documented(member: Any) -> str:
    if isinstance(member, staticmethod):
        return member.__func__.__doc__ or ""
    return (member.fget.__doc__ if isinstance(member, property) else member.__doc__) or ""


@pytest.mark.parametrize("name", MODULES)
def test_names(name: str) -> None:
    stub, native = Stub(name), MODULES[name]
    assert stub.names() == public(set(dir(native)))
    assert stub.modules == {n for n, v in vars(native).items() if isinstance(v, types.ModuleType)}
    for cls in public(set(stub.classes)):
        assert public(set(stub.methods(cls))) == public(set(vars(getattr(native, cls)))), cls
        constructed = "-> None" in (getattr(native, cls).__init__.__doc__ or "")
        assert ("__init__" in stub.methods(cls)) == constructed, cls


@pytest.mark.parametrize("name", MODULES)
def test_signatures(name: str) -> None:
    stub, native = Stub(name), MODULES[name]
    members = [(n, f, getattr(native, n)) for n, f in stub.functions.items()]
    for cls in public(set(stub.classes)):
        held = vars(getattr(native, cls))
        # PEP 688 names what C offers as a slot; classes show it as a method from Python 3.12 on.
        written_methods = {n: f for n, f in stub.methods(cls).items() if n != "__buffer__"}
        members += [(f"{cls}.{n}", f, held[n]) for n, f in written_methods.items()]
    found, silent = [], []
    for where, written, member in members:
        decorators = {ast.unparse(d) for d in written.decorator_list}
        assert ("staticmethod" in decorators) == isinstance(member, staticmethod), where
        assert ("property" in decorators) == isinstance(member, property), where
        function = signature(documented(member))
        if function is None:
            silent.append(where)
        else:
            found += faults(stub, where, written, function)
    assert not found, "\n".join(found)
    # No function of pybind11's: it takes too long to get through there (pybind/vm_call.cc).
    assert silent == (["Isolate.call"] if name == "vm" else [])


@pytest.mark.parametrize(
    ("written", "native", "fits"),
    [
        ("list[str]", "list", True),
        ("_Rows", "dict[str, list[int]]", True),
        ("_Rows", "dict[str, int]", False),
        ("_Rows", "Mapping[str, list[int]]", False),
        ("int", "float", False),
        ("int | None", "int | None", True),
        ("Any", "object", True),
        ("tuple[int]", "tuple[int, int]", False),
        ("Callable[[int], str]", "Callable[[str], str]", False),
    ],
)
def test_a_stub_says_more_or_the_same(written: str, native: str, fits: bool) -> None:
    stub = Stub("vm")
    stub.aliases["_Rows"] = ast.parse("dict[str, list[int]]", mode="eval").body
    mine, theirs = (ast.parse(text, mode="eval").body for text in (written, native))
    assert stub.allows(mine, theirs) == fits
