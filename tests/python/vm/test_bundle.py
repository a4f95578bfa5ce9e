"""Bundles: compiling folders, and refusing everything that compile did not write."""

from __future__ import annotations

import random
import struct
import zlib
from pathlib import Path

import pytest

from walle_rt import ArgumentError, TaskError
from walle_rt.vm import VM, Isolate, SourceWarning, TaskBundle

HEADER = 44
SOURCE = """
import json
class A:
    def m(self, *args, key=1, **rest):
        try:
            for i in range(3):
                with self as s:
                    yield from (x for x in args if x)
        except (ValueError, TypeError) as e:
            return f"{e!r:>{key}}"
        finally:
            del i
def outer(a, b=2, /, c=3):
    def inner():
        nonlocal a
        a += b
        return lambda: (a, {*()}, [1, 2.5, 1j, b'x', 'y', None, ..., 10**30])
    match c:
        case {"k": [1, *rest]}: return rest
        case 3 | 4: pass
    return inner
async def co():
    async with x as y:
        async for z in y:
            await z
"""


@pytest.fixture(scope="module")
def good(vm: VM) -> bytes:
    return TaskBundle.from_source({"main": SOURCE}, vm).data


def resealed(data: bytes) -> bytes:
    """The same bytes with a matching checksum, so that the structural verifier is what refuses."""
    return data[:40] + struct.pack("<I", zlib.crc32(data[HEADER:])) + data[HEADER:]


# Source, and what the compiler warns of in its second line.
WARNED = {
    "escape": (r're.findall("\d+", "1")', r"invalid escape sequence '\d'"),
    "escape in bytes": (r'b"\d"', r"invalid escape sequence '\d'"),
    "octal": (r'"\777"', r"invalid octal escape sequence '\777'"),
    "is": ("n is 5", '"is" with \'int\' literal. Did you mean "=="?'),
    "is not": ("n is not 'a'", '"is not" with \'str\' literal. Did you mean "!="?'),
    "assert": ("[] or 0\nassert (1, 2)", "assertion is always true, perhaps remove parentheses?"),
    "call": ("1(2)", "'int' object is not callable; perhaps you missed a comma?"),
    "index": ("(1)['a']", "'int' object is not subscriptable; perhaps you missed a comma?"),
    "number": ("1and 2", "invalid decimal literal"),
}


@pytest.mark.parametrize("what", WARNED)
def test_what_the_compiler_warns_of_is_told_with_file_and_line(vm: VM, what: str) -> None:
    line, text = WARNED[what]
    bundle = TaskBundle.from_source({"main": "n = 1\n" + line + "\n", "other": "n = 2\n"}, vm)
    number = 2 + line.count("\n")
    assert bundle.warnings == (SourceWarning("main.py", number, text),)
    assert TaskBundle(bundle.data, vm).warnings == ()


def test_warnings_of_many_files_and_lines_come_in_order(vm: VM) -> None:
    text = "n = 1\ntry:\n    pass\nfinally:\n    n is 5\n" + "n is 5\n" * 300
    found = TaskBundle.from_source({"a": text, "b.c": text}, vm).warnings
    assert [(w.file, w.line) for w in found] == [
        (file, line) for file in ("a.py", "b/c.py") for line in [5, *range(6, 306)]
    ]


def test_folder_with_packages(vm: VM, tmp_path: Path) -> None:
    (tmp_path / "pkg" / "sub").mkdir(parents=True)
    (tmp_path / "main.py").write_text(
        "from pkg.sub.deep import value\nfrom pkg import name\ndef f():\n    return [value, name, __name__]\n"
    )
    (tmp_path / "pkg" / "__init__.py").write_text("name = 'pkg'\n")
    (tmp_path / "pkg" / "sub" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "sub" / "deep.py").write_text(
        "from . import __name__ as n\nfrom .. import name\nvalue = n + name\n"
    )
    bundle = TaskBundle.compile(tmp_path, vm)
    assert bundle.modules == ["main", "pkg", "pkg.sub", "pkg.sub.deep"]
    bundle.save(tmp_path / "x.wtask")
    with Isolate(vm) as isolate:
        isolate.load(TaskBundle.load(tmp_path / "x.wtask", vm))
        assert isolate.call("f") == ["pkg.subpkg", "pkg", "main"]


def test_compiling_twice_gives_the_same_bytes(vm: VM, good: bytes) -> None:
    assert TaskBundle.from_source({"main": SOURCE}, vm).data == good


def test_syntax_errors_name_file_and_line(vm: VM, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("x = 1\ndef f(:\n    pass\n")
    with pytest.raises(TaskError, match=r"SyntaxError.*main\.py, line 2"):
        TaskBundle.compile(tmp_path, vm)


@pytest.mark.parametrize("name", ["json", "math", "sys", "walle", "_json"])
def test_names_of_the_library_are_taken(vm: VM, name: str) -> None:
    with pytest.raises(ArgumentError, match=f"module {name}"):
        TaskBundle.from_source({"main": "x = 1\n", name: "x = 2\n"}, vm)


def test_empty_folder(vm: VM, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"no \.py file"):
        TaskBundle.compile(tmp_path, vm)


@pytest.mark.parametrize("size", [0, 1, 7, 8, 43, 59, 60, 61, -1])
def test_truncated(vm: VM, good: bytes, size: int) -> None:
    with pytest.raises(TaskError):
        TaskBundle(good[:size], vm)
    with pytest.raises(TaskError):
        TaskBundle(resealed(good[:size]) if len(good[:size]) >= HEADER else good[:size], vm)


def test_another_vm_id(vm: VM, good: bytes) -> None:
    with pytest.raises(TaskError, match="another VM"):
        TaskBundle(good[:8] + good[8:].replace(b"walle-2", b"walle-9", 1), vm)


def test_marshal_and_pyc_are_not_bundles(vm: VM) -> None:
    import marshal

    for data in (marshal.dumps(compile("1", "x", "exec")), b"", b"WVMB", bytes(1000)):
        with pytest.raises(TaskError, match="not a bytecode container"):
            TaskBundle(data, vm)


def test_every_flipped_bit_breaks_the_checksum(vm: VM, good: bytes) -> None:
    rng = random.Random(1)
    for _ in range(300):
        data = bytearray(good)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        with pytest.raises(TaskError):
            TaskBundle(bytes(data), vm)


def test_resealed_damage_is_refused_or_harmless(vm: VM, good: bytes) -> None:
    """With a right checksum only the verifier stands between the bytes and the interpreter:
    it must never crash.
    """
    rng = random.Random(2)
    refused = 0
    for _ in range(3000):
        data = bytearray(good)
        for _ in range(rng.choice((1, 1, 2, 5))):
            data[rng.randrange(HEADER, len(data))] = rng.randrange(256)
        try:
            TaskBundle(resealed(bytes(data)), vm)
        except TaskError:
            refused += 1
    assert refused > 1500


def module_bytes(
    code: bytes,
    *,
    stack: int = 10,
    consts: bytes = b"\x01N",
    names: int = 0,
    locals_: bytes = b"\x00",
    lines: bytes = b"",
    handlers: bytes = b"",
) -> bytes:
    """One code object around raw instructions."""
    fields = bytes([0, 0, 0, stack, 0, 1, 0, 0])
    return (
        b"C"
        + fields
        + bytes([len(code)])
        + code
        + consts
        + bytes([names])
        + b"\x00" * names
        + locals_
        + bytes([len(lines)])
        + lines
        + bytes([len(handlers)])
        + handlers
    )


def container(vm: VM, module: bytes, text: bytes = b"main") -> bytes:
    strings = varint(len(text)) + text
    body = (
        struct.pack("<4I", 1, len(strings), len(strings), 1)
        + strings
        + struct.pack("<5I", 0, 0, 0, len(module), len(module))
        + module
    )
    return b"WVMB\x01\0\0\0" + vm.id.encode().ljust(32, b"\0") + struct.pack("<I", zlib.crc32(body)) + body


def opcodes() -> dict[str, int]:
    """The numbers of 3.13 that the table below needs (Include/opcode_ids.h)."""
    return {
        "RESUME": 149,
        "RETURN_CONST": 103,
        "RETURN_VALUE": 36,
        "POP_TOP": 32,
        "LOAD_CONST": 83,
        "NOP": 30,
        "JUMP_FORWARD": 79,
        "JUMP_BACKWARD": 77,
        "LOAD_FAST": 85,
        "LOAD_GLOBAL": 91,
        "EXTENDED_ARG": 71,
        "BINARY_OP": 45,
    }


def test_hand_made_code_passes(vm: VM) -> None:
    op = opcodes()
    TaskBundle(container(vm, module_bytes(bytes([op["RESUME"], 0, op["RETURN_CONST"], 0]))), vm)


@pytest.mark.parametrize(
    ("what", "code", "match"),
    [
        ("no instructions", [], "no instructions"),
        ("half an instruction", ["RETURN_CONST"], "half"),
        ("runs off the end", ["NOP", 0], "past its end"),
        ("pops nothing", ["POP_TOP", 0, "RETURN_CONST", 0], "underflow"),
        ("returns nothing", ["RETURN_VALUE", 0], "underflow"),
        ("too many values", ["LOAD_CONST", 0] * 11 + ["RETURN_CONST", 0], "overflow"),
        ("constant out of range", ["RETURN_CONST", 1], "operand"),
        ("local out of range", ["LOAD_FAST", 0, "RETURN_VALUE", 0], "operand"),
        ("name out of range", ["LOAD_GLOBAL", 0, "RETURN_VALUE", 0], "operand"),
        (
            "unknown operator",
            ["LOAD_CONST", 0, "LOAD_CONST", 0, "BINARY_OP", 99, "RETURN_VALUE", 0],
            "operand",
        ),
        ("jump out of the code", ["JUMP_FORWARD", 9, "RETURN_CONST", 0], "jump"),
        ("jump before the code", ["JUMP_BACKWARD", 200], "jump"),
        ("prefix at the end", ["RETURN_CONST", 0, "EXTENDED_ARG", 1], "inside an instruction"),
        ("unequal stacks", ["LOAD_CONST", 0, "JUMP_BACKWARD", 3], "different stacks"),
        ("opcode 255", [255, 0, "RETURN_CONST", 0], "opcode"),
        ("opcode 0", [0, 0, "RETURN_CONST", 0], "opcode"),
        ("specialised opcode", [200, 0, "RETURN_CONST", 0], "opcode"),
    ],
)
def test_bytecode_that_no_compiler_emits(vm: VM, what: str, code: list[int | str], match: str) -> None:
    op = opcodes()
    raw = bytes(op[x] if isinstance(x, str) else x for x in code)
    with pytest.raises(TaskError, match=match):
        TaskBundle(container(vm, module_bytes(raw)), vm)


def test_unknown_tags_and_deep_nesting(vm: VM) -> None:
    op = opcodes()
    code = bytes([op["RETURN_CONST"], 0])
    with pytest.raises(TaskError, match="unknown value tag"):
        TaskBundle(container(vm, module_bytes(code, consts=b"\x01Z")), vm)
    with pytest.raises(TaskError, match="nest too deep"):
        TaskBundle(container(vm, module_bytes(code, consts=b"\x01" + b"(\x01" * 200 + b"N")), vm)
    with pytest.raises(TaskError, match="count is larger"):
        TaskBundle(container(vm, module_bytes(code, consts=b"\xff\xff\xff\xff\x07N")), vm)
    with pytest.raises(TaskError, match="exception"):
        TaskBundle(container(vm, module_bytes(code, handlers=b"\x80\x05\x00\x00")), vm)


@pytest.mark.parametrize(
    ("what", "lines", "match"),
    [
        ("no mark at a head", b"\x00", "start mark"),
        ("short form without its byte", b"\x80", "ends early"),
        ("short form followed by a mark", b"\x80\x80", "cut short"),
        ("one-line form without its columns", b"\xd0\x01", "ends early"),
        ("long form of three numbers", b"\xf0\x01\x01\x01", "ends early"),
        ("long form with a mark inside", b"\xf0\x01\x80\x01\x01", "cut short"),
        ("endless number", b"\xe8" + b"\x7f" * 7, "too many digits"),
        ("eight units of code where one is", b"\xff", "more code than there is"),
    ],
)
def test_line_tables_that_would_be_read_past_their_end(vm: VM, what: str, lines: bytes, match: str) -> None:
    code = bytes([opcodes()["RETURN_CONST"], 0])
    with pytest.raises(TaskError, match=match):
        TaskBundle(container(vm, module_bytes(code, lines=lines)), vm)


@pytest.mark.parametrize("handlers", [b"\x00\x01\x00\x00", b"\x80\x81\x00\x00", b"\x80\x01\x00\x80"])
def test_exception_table_marks_at_wrong_bytes(vm: VM, handlers: bytes) -> None:
    code = bytes([opcodes()["RETURN_CONST"], 0])
    with pytest.raises(TaskError, match="start marks"):
        TaskBundle(container(vm, module_bytes(code, handlers=handlers)), vm)


@pytest.mark.parametrize("kind", [0x00, 0x10, 0xA0, 0xC0, 0xE0, 0xB0, 0x01])
def test_variables_that_are_free_and_something_else(vm: VM, kind: int) -> None:
    """CPython makes room for the free variables it counts, and writes those it names:
    they must be the same.
    """
    code = bytes([opcodes()["RETURN_CONST"], 0])
    with pytest.raises(TaskError, match="no kind"):
        TaskBundle(container(vm, module_bytes(code, locals_=bytes([1, 0, kind]))), vm)


@pytest.mark.parametrize("kind", [0x20, 0x40, 0x60, 0x80, 0x30])
def test_kinds_of_variables_that_the_compiler_makes(vm: VM, kind: int) -> None:
    code = bytes([opcodes()["RETURN_CONST"], 0])
    TaskBundle(container(vm, module_bytes(code, locals_=bytes([1, 0, kind]))), vm)


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def test_few_bytes_that_become_many_objects(vm: VM) -> None:
    code = bytes([opcodes()["RETURN_CONST"], 0])
    inner = module_bytes(code)
    empty_sets, tuples = b"<\0" * 1_100_000, b"(\x01N" * 5000
    rows = [
        ("too many constants", varint(1_100_000) + empty_sets, b"main"),
        ("too long together", varint(100) + b"s\0" * 100, b"m" * 1_000_000),
        ("inside another constant", b"\x01(\x01" + inner, b"main"),
        ("inside another constant", b"\x01<\x01" + inner, b"main"),
        ("inside another constant", b"\x01(\x01<\0", b"main"),
        ("too many tuples", b"\x01<" + varint(5000) + tuples, b"main"),
    ]
    for match, consts, text in rows:
        with pytest.raises(TaskError, match=match):
            TaskBundle(container(vm, module_bytes(code, consts=consts), text), vm)
    TaskBundle(container(vm, module_bytes(code, consts=b"\x01<\x02(\x01N(\x01T")), vm)


def test_a_table_in_the_source_is_refused_when_it_is_compiled(vm: VM) -> None:
    with pytest.raises(TaskError, match="over a million: tables belong into a file of the task"):
        TaskBundle.from_source({"main": f"TABLE = ({'0.5,' * 1_050_000})"}, vm)


def test_random_bytecode(vm: VM) -> None:
    rng = random.Random(3)
    passed = 0
    for _ in range(5000):
        raw = bytes(rng.randrange(256) for _ in range(2 * rng.randrange(1, 12)))
        try:
            TaskBundle(container(vm, module_bytes(raw)), vm)
            passed += 1
        except TaskError:
            pass
    assert passed < 500
