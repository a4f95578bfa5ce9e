"""Names through every way in: each says yes to the same ones, and of the others the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from commands import run_walle

from walle_rt import Error, _core
from walle_rt._core import names
from walle_rt.results import ResultStore
from walle_rt.stream import (
    Catalog,
    ColumnType,
    EventKind,
    FeatureField,
    FeaturePolicy,
    Sensitivity,
    load_triggers,
)
from walle_rt.stream._egress import EgressGate
from walle_rt.stream._processor import Processor
from walle_rt.stream._triggers import catalog_of
from walle_rt.task import EventDecl, ResultTable, TaskSpec, check
from walle_rt.task._package import FileKind, Package, PackageFile
from walle_rt.vm import VM

ROOT = Path(__file__).parents[2]
Told = tuple[str, str, str]  # given, expected, next step
Ask = Callable[[str, str], Told | None]  # kind and name to what is said of it; None: it is one

_WORDS = (["a", "a-b_c9", "z" * 64], ["", "A", "9", "a.b", "a/b", "../x", "-a", "a b", "ä", "z" * 65, "a\n"])
_RESERVED = (_WORDS[0], [*_WORDS[1], "con", "lpt9"])
_ACCOUNTS = (["a", "0", "ann.b-c_9", "z" * 64], ["", "Ann", ".a", "a b", "a@b", "z" * 65])
_CODE = (["a", "_A9", "z" * 64], ["", "9a", "a-b", "a b", "ä", "z" * 65])
_DOTTED = (["a", "a.b", "_.a9", "z" * 64], ["", ".a", "a.", "a..b", "a.9", "a b", "z" * 65])
_TEXTS = (["a", "Größe an alle", "'<>", "e" * 128], ["", 'a"b', "a\tb", "\x7f", "e" * 129, "ä" * 65])
_IDS = (["a", "cpython-3.13.5/walle-2", "a+b_c.d", "z" * 64], ["A", "a b", "a,b", "z" * 65])
# By kind: names that are ones, and names that are none.
CASES: dict[str, tuple[list[str], list[str]]] = {
    "task": _RESERVED,
    "trigger": _WORDS,
    "table": _WORDS,
    "feature": _WORDS,
    "consent": _WORDS,
    "scenario": (["a", "shop-2", "z" * 64], [*_RESERVED[1], "root", "director"]),
    "release": (["a", "rank-12", "z" * 96], ["", "A-1", "1", "a.b", "z" * 97]),
    "login": _ACCOUNTS,
    "token": _ACCOUNTS,
    "label": _ACCOUNTS,
    "device": (["d-0", "A_9", "z" * 64], ["", "a.b", "a+", "a b", "ä", "z" * 65]),
    "code": (["12345678", "z" * 64], ["", "1234567", "1234567.", "z" * 65]),
    "function": _CODE,
    "column": _CODE,
    "fact": _CODE,
    "library": _CODE,
    "task_module": _DOTTED,
    "host_call": _DOTTED,
    "event": _TEXTS,
    "field": _TEXTS,
    "page": _TEXTS,
    "state": _TEXTS,
    "version": (
        ["0.0.0", "1.20.300", "1.0.0-rc.1", "1.0.0+b1", "1.0.0-0a.7+001.-", "1.0.0-" + "a" * 58],
        ["", "1.0", "1.0.0.0", "01.0.0", "1.0.0-01", "1.0.0-", "1.0.0+", "v1.0.0", "1.0.0-a_b",
         "1.0.0+b.lock", "1.0.1234567890", "1.0.0-" + "a" * 59],
    ),
    "python": (["3.13", "3.13.5"], ["", "3", "3.13.5.1", "3.x", "3.1000"]),
    "vm": (_IDS[0], ["", *_IDS[1]]),
    "op_set": _IDS,
    "file": (
        ["a", "a/b.txt", "grüße", "..a", "a b", "x" * 255],
        ["", "/a", "a/", "a//b", "..", "a/../b", "a\\b", "a\nb", ".git/x", "a/.GIT", "x" * 256],
    ),
    "zone": (["UTC", "Europe/Berlin", "z" * 64], ["", "/UTC", "../UTC", "a//b", "a\\b", "z" * 65]),
    "stored_table": (["a", "Shop.visits", "t" * 160], ["", ".a", "a/b", "a b", "ä", "t" * 161]),
    "author": (["Ann B.", "ä"], ["", "  ", "Ann <x>", "a\nb"]),
    "sha256": (["0" * 64, "ab" * 32], ["", "0" * 63, "0" * 65, "A" * 64, "g" * 64]),
}  # fmt: skip


REFUSED: Told = ("", "", "")  # in words of its own


def told(kind: str, name: str) -> Told | None:
    """What the rule itself says."""
    try:
        names.check(kind, name, "here")
    except Error as error:
        return of_error(error)
    return None


def of_error(error: Error) -> Told:
    return error.given, error.expected, error.next_step


def about(kind: str, said: Told | None) -> Told | None:
    """What a way in said, where it is about the name: a good one may be refused for what is not there."""
    return said if said and said[1].startswith(names.expected(kind)) else None


def asked(call: Callable[[], Any], kind: str) -> Told | None:
    """What a call says of a name."""
    try:
        call()
    except Error as error:
        return about(kind, of_error(error))
    return None


def test_every_kind_has_names_to_try() -> None:
    assert set(CASES) == set(names.KINDS)
    for kind, (good, bad) in CASES.items():
        assert [name for name in good if told(kind, name)] == [], kind
        assert [name for name in bad if not told(kind, name)] == [], kind
        assert all(names.valid(kind, name.encode()) is (name in good) for name in good + bad)
    assert not names.valid("page", "\ud800")


def test_the_page_says_the_rules() -> None:
    page = (ROOT / "docs/reference/names.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| (.+) \|$", page, re.MULTILINE))
    assert rows == {kind: names.expected(kind) for kind in names.KINDS}
    assert all(f"`{word}`" in page for word in ("con", "com9", "lpt9", "root", "director"))


# -- a task's folder, and what is made of it ---------------------------------------------------------------

TOML = {
    "task": "name = {}", "version": "version = {}", "python": "vm = {}", "fact": "requires = [{}]",
    "zone": "zone = {}",
    "trigger": '[triggers]\n{} = "tap"', "task_module": "[entry]\nmodule = {}", "function": "preprocess = {}",
    "file": "execute = {}", "library": "[capabilities]\nimports = [{}]", "host_call": "host_calls = [{}]",
    "table": "[results.{}]", "column": 'columns = {{ {} = "int" }}',
    "feature": "[egress.{}]\nbytes_per_day = 1\nsends_per_day = 1",
    "consent": "fields = {{ a = 'int' }}\nconsent = {}",
    "event": "[events.{}]", "field": 'fields = {{ {} = "int" }}', "page": "[catalog]\npages = [{}]",
    "state": "states = [{}]",
}  # fmt: skip
DEFAULTS = {
    "task": "t", "version": "1.0.0", "python": "3.13", "zone": "UTC", "fact": "f", "trigger": "a",
    "task_module": "main", "function": "main", "file": "m.walle", "library": "json",
    "host_call": "walle.kv", "table": "t", "column": "c", "feature": "f", "consent": "c", "event": "tap",
    "field": "f", "page": "p", "state": "s",
}  # fmt: skip


# The same with the column of a feature instead of that of a table.
FEATURE_TOML = {kind: line for kind, line in TOML.items() if kind not in ("column", "consent")} | {
    "table": "[results.{}]\ncolumns = {{ c = 'int' }}",
    "feature": TOML["feature"] + "\n# column",
    "column": "fields = {{ {} = 'int' }}",
}


def toml_of(kind: str, name: str, lines: dict[str, str]) -> str:
    used = DEFAULTS | {kind: name}
    written = {key: line.format(json.dumps(used[key])) for key, line in lines.items()}
    if "# column" in written["feature"]:
        written["feature"] = written["feature"].replace("# column", written.pop("column"))
    return "[task]\n" + "\n".join(written.values())


def lint(folder: Path, lines: dict[str, str] = TOML) -> Ask:
    def ask(kind: str, name: str) -> Told | None:
        (folder / "task.toml").write_text(toml_of(kind, name, lines).replace("\x7f", "\\u007f"))
        (folder / "main.py").write_text("def main(event): ...\n")
        said = [about(kind, (m.given, m.expected, m.next_step)) for m in check(folder)]
        return next(filter(None, said), None)

    return ask


def manifest(kind: str, name: str) -> Told | None:
    """Of a task whose file was made by hand: what a device reads, from Python and from C."""
    policy = FeaturePolicy("f", [FeatureField("a", ColumnType.INT)], 1, 1)
    spec = TaskSpec("t", "1.0.0", triggers={"a": "click"}, main="main")
    phased = replace(spec, main="", preprocess="f", execute_function="g")
    field = (ColumnType.INT, Sensitivity.OPEN)
    made = {
        "task": lambda: replace(spec, name=name),
        "version": lambda: replace(spec, version=name),
        "python": lambda: replace(spec, vm=name),
        "fact": lambda: replace(spec, requires=[name]),
        "trigger": lambda: replace(spec, triggers={name: "click"}),
        "task_module": lambda: replace(spec, module=name),
        "function": lambda: replace(spec, main=name),
        "file": lambda: replace(phased, execute_function="", execute_model=name),
        "library": lambda: replace(spec, imports=[name]),
        "host_call": lambda: replace(spec, host_calls=[name]),
        "table": lambda: replace(spec, results={name: ResultTable({"a": "int"})}),
        "column": lambda: replace(spec, results={"t": ResultTable({name: "int"})}),
        "feature": lambda: replace(spec, egress={name: replace(policy, feature=name)}),
        "consent": lambda: replace(spec, egress={"f": replace(policy, consent=name)}),
        "event": lambda: replace(spec, events={name: EventDecl(EventKind.CUSTOM, {})}),
        "field": lambda: replace(spec, events={"e": EventDecl(EventKind.CUSTOM, {name: field})}),
        "page": lambda: replace(spec, pages=[name]),
        "state": lambda: replace(spec, states=[name]),
    }  # fmt: skip
    if kind == "zone":  # with offsets that no database has
        given = _core.task.read_manifest(spec.to_manifest()) | {"zone": (name, [(0, 0)])}
        return asked(lambda: _core.task.pack_manifest(given), kind)
    return asked(made[kind]().to_manifest, kind)


def feature_column(kind: str, name: str) -> Told | None:
    policy = FeaturePolicy("f", [FeatureField(name, ColumnType.INT)], 1, 1)
    spec = TaskSpec("t", "1.0.0", triggers={"a": "click"}, main="main", egress={"f": policy})
    return asked(spec.to_manifest, kind)


def package(kind: str, name: str) -> Told | None:
    files = [
        PackageFile(file, "00" * 32, 1, FileKind(of))
        for file, of in ((".walle/code", 0), (".walle/manifest", 2))
    ]
    whole = Package("s", "t", "1.0.0", "v", files=files)
    made = {
        "fact": {"facts": [name]}, "host_call": {"capabilities": [name]}, "library": {"imports": [name]},
        "file": {"files": [*files, PackageFile(name, "00" * 32, 1, FileKind.RESOURCE)]},
    }  # fmt: skip
    return asked(replace(whole, **made.get(kind, {kind: name})).to_bytes, kind)


# -- what a server sends to devices, and they to it --------------------------------------------------------


def plan(kind: str, name: str) -> Told | None:
    of = {"release": "r", "scenario": "s", "task": "t", "version": "1.0.0"} | {kind: name}
    path = names.package_path(of["scenario"], of["task"], of["version"])
    release = (of["release"], of["scenario"], of["task"], of["version"], path, bytes(32), 1, [], None, b"")
    return asked(lambda: _core.policy.write_plan(1, [release], []), kind)


def kill(kind: str, name: str) -> Told | None:
    of = {"scenario": "s", "task": "t"} | {kind: name}
    return asked(lambda: _core.policy.write_plan(1, [], [(of["scenario"], of["task"])]), kind)


def report(kind: str, name: str) -> Told | None:
    of = {"release": "r", "scenario": "s", "task": "t", "version": "1.0.0"} | {kind: name}
    row = (1, of["release"], of["scenario"], of["task"], of["version"], False, 1, "", "", "", 1, 0, 1, 1)
    return asked(lambda: _core.policy.write_reports([row]), kind)


# -- events, and the device's own ways in ------------------------------------------------------------------


def catalogue(kind: str, name: str) -> Told | None:
    made = Catalog()
    calls = {
        "event": lambda: made.declare(name),
        "field": lambda: made.declare("e", fields={name: ColumnType.INT}),
        "page": lambda: made.page(name),
        "state": lambda: made.state(name),
    }
    return asked(calls[kind], kind)


def trigger_file(folder: Path) -> Ask:
    texts = {"event": '"{}"', "page": 'click@"{}"', "field": 'click["{}" > 1]', "state": 'click when "{}"'}

    def ask(kind: str, name: str) -> Told | None:
        file = folder / f"{name if kind == 'trigger' else 'a'}.trigger"
        file.write_text(texts.get(kind, "click").format(name))
        try:
            return asked(lambda: catalog_of(load_triggers([file]).values()), kind)
        finally:
            file.unlink()

    return ask


def processor(folder: Path) -> Ask:
    def ask(kind: str, name: str) -> Told | None:
        task, trigger = (name, "a") if kind == "task" else ("t", name)
        with Processor(folder / "processor") as made:
            return asked(lambda: made.install(task, {trigger: "click"}), kind)

    return ask


def gate(folder: Path) -> Ask:
    def ask(kind: str, name: str) -> Told | None:
        of = {"task": "t", "feature": "f", "column": "c", "consent": ""} | {kind: name}
        policy = FeaturePolicy(of["feature"], [FeatureField(of["column"], ColumnType.INT)], 1, 1)
        with EgressGate(folder / "gate") as made:
            if kind == "consent":
                return asked(lambda: made.set_consents([name]), kind)
            return asked(lambda: made.allow(of["task"], policy), kind)

    return ask


def tables(folder: Path) -> Ask:
    def ask(kind: str, name: str) -> Told | None:
        table, column = (name, "c") if kind == "stored_table" else ("t", name)
        with ResultStore(folder / f"results{len(list(folder.iterdir()))}") as made:
            return asked(lambda: made.declare(table, {column: "int"}), kind)

    return ask


def device(folder: Path) -> Ask:
    from cloud.certificates import TestAuthority

    from walle_rt.device import Device
    from walle_rt.device._tunnel import Tunnel

    authority = TestAuthority(folder / "ca")
    held = authority.issue("d1")
    files = {"authorities": authority.path, "certificate": held.certificate, "key": held.key}

    def ask(kind: str, name: str) -> Told | None:
        with Device(folder / "device") as made:
            if kind == "fact":
                return asked(lambda: made.set_facts(**{name: True}), kind)
            return asked(lambda: Tunnel(made, "mqtts://localhost:1", name, **files).close(), kind)

    return ask


# -- the command -------------------------------------------------------------------------------------------


def init(folder: Path) -> Ask:
    def ask(kind: str, name: str) -> Told | None:
        said = told(kind, name)
        place = folder / f"i{len(list(folder.iterdir()))}"
        run_walle(
            "task", "init", place, f"--name={name}", code=3 if said else 0, says=said[0] if said else ""
        )
        return said

    return ask


# -- the server --------------------------------------------------------------------------------------------


def release_text(kind: str, name: str) -> Told | None:
    from walle_rt.cloud.release.release import read_wish

    of = {"scenario": "s", "task": "t", "version": "1.0.0"} | {kind: name}
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in of.items())
    return asked(lambda: read_wish(f"[release]\n{lines}"), kind)


def trust(folder: Path) -> Ask:
    from walle_rt.cloud.trust import KeyFolder, TaskRepository

    keys = [KeyFolder(folder / name) for name in ("offline", "online", "team")]
    made = TaskRepository(folder / "repository", keys)
    made.create(offline=keys[0], online=keys[1])
    made.add_scenario("s0", keys[2])

    def ask(kind: str, name: str) -> Told | None:
        if kind == "scenario":
            return asked(lambda: made.add_scenario(name, keys[2]), kind)
        of = {"task": "t", "version": "1.0.0"} | {kind: name}
        return asked(lambda: made.publish("s0", of["task"], of["version"], b"bytes"), kind)

    return ask


def git(folder: Path) -> Ask:
    from walle_rt.cloud.git import Author, ScenarioRepository
    from walle_rt.cloud.git.rules import task_of, version_of

    made = ScenarioRepository.create(folder, "s0")
    first = made.commit("t", {"task.toml": b""}, "First", Author("Ann"))

    def ask(kind: str, name: str) -> Told | None:
        if kind == "task":  # a branch; of one that is none it is said what branches look like
            return None if task_of(b"refs/heads/" + name.encode()) else told(kind, name) or REFUSED
        if kind == "version" and version_of(b"refs/tags/t/" + name.encode()) is None:
            return told(kind, name) or REFUSED
        calls = {
            "scenario": lambda: ScenarioRepository.create(folder, name),
            "author": lambda: Author(name),
            "file": lambda: made.commit("t", {"task.toml": b"", name: b""}, "Message", Author("Ann")),
            "version": lambda: made.tag("t", name, "ab" * 32, first, Author("Ann")),
        }
        return asked(calls[kind], kind)

    return ask


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from cloud.servers import opened_server

    with opened_server(tmp_path_factory.mktemp("names")) as made:
        made.done("POST", "/scenarios", json={"name": "s0"})
        yield made


BODIES: dict[str, tuple[str, dict[str, Any], str]] = {
    "scenario": ("/scenarios", {}, "name"),
    "login": ("/operators", {}, "name"),
    "token": ("/tokens", {"scenario": "s0", "role": "viewer"}, "name"),
    "label": ("/device-codes", {}, "label"),
    "task": ("/scenarios/s0/releases", {"version": "1.0.0"}, "task"),
    "version": ("/scenarios/s0/releases", {"task": "t"}, "version"),
}
PATHS = {
    "scenario": ("GET", "/scenarios/{}/tasks"), "task": ("GET", "/scenarios/s0/tasks/{}/versions"),
    "version": ("PUT", "/scenarios/s0/tasks/t/versions/{}"), "login": ("PATCH", "/operators/{}"),
    "release": ("GET", "/releases/{}"), "device": ("DELETE", "/devices/{}"),
    "sha256": ("PUT", "/scenarios/s0/blobs/{}"),
}  # fmt: skip


def of_reply(kind: str, reply: Any) -> Told | None:
    if reply.status_code < 300:
        return None
    said = reply.json()
    return about(kind, (said["given"], said["expected"], said["next"]))


def body(local: Any) -> Ask:
    def ask(kind: str, name: str) -> Told | None:
        path, more, key = BODIES[kind]
        return of_reply(kind, local.ask("POST", "/api/v1" + path, local.admin, json={**more, key: name}))

    return ask


def path(local: Any) -> Ask:
    from urllib.parse import quote

    def ask(kind: str, name: str) -> Told | None:
        method, form = PATHS[kind]
        if not name or "/" in name or name == "..":  # another path
            return told(kind, name)
        given = {"json": {}} if method == "PATCH" else {}
        return of_reply(
            kind, local.ask(method, "/api/v1" + form.format(quote(name, safe="")), local.admin, **given)
        )

    return ask


# -- all of them -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Door:
    """A way in; ``ask`` is made with a folder of its own, or with the server."""

    kinds: tuple[str, ...]
    ask: Callable[[Any], Ask]
    passes_over: Callable[[str, str], bool] = lambda kind, name: False  # what it cannot be asked about


def _same(ask: Ask) -> Callable[[Any], Ask]:
    return lambda _: ask


def _no_text(kind: str, name: str) -> bool:
    """The text or the name of a file cannot hold it."""
    return not name or bool(set(name) & set('"/\x7f\n\t'))


def _left_out(kind: str, name: str) -> bool:
    return not name and kind in ("consent", "python", "file", "function", "page", "zone")


_PACKED = ("scenario", "task", "version", "vm", "op_set", "fact", "host_call", "library", "file")
_RELEASED = ("release", "scenario", "task", "version")
DOORS = {
    "lint": Door(tuple(TOML), lint),
    "lint of a feature": Door(("column",), lambda folder: lint(folder, FEATURE_TOML)),
    "manifest": Door(tuple(TOML), _same(manifest), _left_out),
    "manifest of a feature": Door(("column",), _same(feature_column)),
    "package": Door(_PACKED, _same(package)),
    "plan": Door(_RELEASED, _same(plan)),
    "kill": Door(("scenario", "task"), _same(kill)),
    "report": Door(_RELEASED, _same(report), lambda kind, name: kind == "version" and not name),
    "release": Door(_RELEASED[1:], _same(release_text)),
    "catalogue": Door(("event", "field", "page", "state"), _same(catalogue), _left_out),
    "trigger file": Door(("trigger", "event", "page", "field", "state"), trigger_file, _no_text),
    "processor": Door(("task", "trigger"), processor),
    "gate": Door(("task", "feature", "column", "consent"), gate),
    "device": Door(("fact", "device"), device),
    "result store": Door(("stored_table", "column"), tables),
    "trust": Door(_RELEASED[1:], trust),
    "git": Door(("scenario", "task", "version", "file", "author"), git),
    "walle task init": Door(("task",), init, lambda kind, name: _no_text(kind, name) or len(name) > 60),
}  # fmt: skip
SERVER = {"body": (tuple(BODIES), body), "path": (tuple(PATHS), path)}


def sweep(kind: str, ask: Ask, passes_over: Callable[[str, str], bool] = Door.passes_over) -> None:
    for name in (name for names_ in CASES[kind] for name in names_):
        if not passes_over(kind, name):
            assert ask(kind, name) == told(kind, name), name


@pytest.mark.parametrize("door,kind", [(door, kind) for door in DOORS for kind in DOORS[door].kinds])
def test_a_door_says_what_the_rule_says(tmp_path: Path, door: str, kind: str) -> None:
    if (door.startswith("lint") or door == "device") and not (
        VM.available("full") and VM.available("device")
    ):
        pytest.skip("no VM library")
    sweep(kind, DOORS[door].ask(tmp_path), DOORS[door].passes_over)


@pytest.mark.parametrize("door,kind", [(door, kind) for door in SERVER for kind in SERVER[door][0]])
def test_the_server_says_what_the_rule_says(local: Any, door: str, kind: str) -> None:
    sweep(kind, SERVER[door][1](local))


def test_every_kind_has_a_door() -> None:
    doors = {kind for door in DOORS.values() for kind in door.kinds}
    served = {kind for kinds, _ in SERVER.values() for kind in kinds}
    assert set(names.KINDS) - doors - served == {"code"}  # of one that is none a server does not say why


def test_the_openapi_document_says_the_same(local: Any) -> None:
    document = local.ask("GET", "/api/v1/openapi.json").json()
    found: dict[str, int] = {}
    for schema in schemas_in(document):
        for kind in BODIES.keys() | PATHS.keys():
            rule = names.schema(kind)
            if schema.get("description") == rule["description"]:
                assert {key: schema[key] for key in rule} == rule
                found[kind] = found.get(kind, 0) + 1
    assert set(found) == BODIES.keys() | PATHS.keys()
    for kind in found:
        for name in (name for names_ in CASES[kind] for name in names_):
            fits = fits_schema(names.schema(kind), name)
            assert fits or told(kind, name), name
            assert not fits or not told(kind, name) or "pattern" not in names.schema(kind), name


def schemas_in(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if value.get("type") == "string":
            yield value
        for inner in value.values():
            yield from schemas_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from schemas_in(inner)


def fits_schema(schema: dict[str, Any], name: str) -> bool:
    return (
        schema["minLength"] <= len(name) <= schema["maxLength"]
        and name not in schema.get("not", {}).get("enum", [])
        and bool(re.search(schema.get("pattern", ""), name))
        and not name.endswith("\n")  # which Python's $ passes over, and no other reader's
    )


def test_paths_of_packages() -> None:
    path = names.package_path("shop", "rank", "1.0.0+b1")
    assert names.package_names(path) == ("shop", "rank", "1.0.0+b1")
    assert names.package_names("shop/rank/sort-1.0.0.walp") is None


def test_no_pattern_of_a_name_is_left_in_python() -> None:
    """Where a device's or the server's side still uses regular expressions, they read something else: headers
    of HTTP, what another program says, grammars, numbers with their units."""
    package = ROOT / "src/python/walle_rt"
    users = {
        str(file.relative_to(package))
        for folder in ("cloud", "task", "device", "stream", "link")
        for file in (package / folder).rglob("*.py")
        if re.search(r"^import re$|pattern=", file.read_text(), re.MULTILINE)
    }
    assert users == {
        "cloud/blobs/_ranges.py", "cloud/broker/_mosquitto.py", "cloud/release/_tokens.py",
        "cloud/release/_versions.py", "cloud/service/lane.py", "task/_kinds.py",
        "task/_lines.py", "task/_read.py", "task/_to_spec.py",
    }  # fmt: skip
