"""task.toml: every mistake names file, line, what was expected and the nearest valid name."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from random_seed import random_seed

from walle_rt.errors import ArgumentError, ResourceError, TaskError
from walle_rt.stream import ColumnType, EventKind, Graph, Sensitivity
from walle_rt.task import Mistake, Task, TaskSpec, check
from walle_rt.task._lines import Lines
from walle_rt.task._package import Package
from walle_rt.task._page import rewritten
from walle_rt.task._spec import PhaseLimits
from walle_rt.vm import VM

needs_vm = pytest.mark.skipif(not VM.available(), reason="no VM library")
PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "task-toml.md"

RIGHT = """\
[task]
name = "visits"
version = "1.0.0"

[triggers]
seen = "click ~ page_exit within 10m"

[entry]
main = "main"

[capabilities]
imports = ["json"]
host_calls = ["walle.kv", "walle.log.info"]

[results.visits]
columns = { item = "int", title = "text" }

[egress.visit]
fields = { item = "int" }
bytes_per_day = "4K"
sends_per_day = 10

[events.click]
fields = { item = { type = "int", sensitivity = "open" }, title = "text" }
"""
MAIN = """\
import json
import walle

def main(event):
    walle.log.info(json.dumps(walle.kv.get("n")))
    return {"item": 1, "title": ""}
"""


def task(folder: Path, toml: str = RIGHT, **files: str) -> Path:
    """A folder with a task.toml, main.py and other files; '__' in their names stands for a dot."""
    folder.mkdir(exist_ok=True)
    (folder / "task.toml").write_text(toml)
    for name, text in ({"main__py": MAIN} | files).items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def test_a_right_one_has_no_mistakes(tmp_path: Path) -> None:
    assert check(task(tmp_path)) == []
    spec = Task(tmp_path).spec
    assert (spec.name, spec.version, spec.main, spec.queue) == ("visits", "1.0.0", "main", 256)
    assert spec.results["visits"].columns == {"item": "int", "title": "text"}
    assert spec.egress["visit"].bytes_per_day == 4096
    assert spec.events["click"].kind is EventKind.CLICK
    assert spec.events["click"].fields["title"] == (ColumnType.TEXT, Sensitivity.PERSONAL)
    assert spec.imports == ["json", "walle"]


# What stands instead of what, the line of the mistake, and what its message holds.
WRONG = [
    ('name = "visits"', 'nme = "visits"', 2, "did you mean 'name'?"),
    ('name = "visits"', 'name = "My Visits"', 2, "1 to 64 of a-z"),
    ('name = "visits"', "name = 7", 2, "task.name = 7; expected 1 to 64"),
    ('version = "1.0.0"', 'version = "1.0"', 3, "a semantic version"),
    ('version = "1.0.0"', "", 1, "[task] without 'version'"),
    ('version = "1.0.0"', 'version = "1.0.0"\npriority = 10', 4, "an integer from 0 to 9"),
    ('version = "1.0.0"', 'version = "1.0.0"\npriority = true', 4, "task.priority = True"),
    ('version = "1.0.0"', 'version = "1.0.0"\nrequires = ["a", "a"]', 4, "each once"),
    ('version = "1.0.0"', 'version = "1.0.0"\nbreaker = 0', 4, "from 1 to 1,000"),
    ('version = "1.0.0"', 'version = "1.0.0"\nimports = ["json"]', 4, "move it to [capabilities]"),
    ('[triggers]\nseen = "click ~ page_exit within 10m"\n', "", 1, "no [triggers]"),
    ('seen = "click', 'seen = "clik', 6, "did you mean 'click'?"),
    ('seen = "click', 'seen = "click[itm > 1]', 6, "did you mean 'item'?"),
    ('seen = "click ~', 'seen = "click ~ ~', 6, "trigger 'seen'"),
    ('seen = "click', 'Seen = "click', 6, "trigger 'Seen'"),
    ('seen = "click ~ page_exit within 10m"', "seen = 3", 6, "triggers.seen = 3; expected a text"),
    ('main = "main"', 'main = "mian"', 9, "did you mean 'main'?"),
    ('main = "main"', 'main = "main"\nexecute = "main"', 10, "either main, or phases"),
    ('main = "main"', 'postprocess = "main"', 8, "without 'main' and 'execute'"),
    ('main = "main"', 'execute = "m.walle"', 9, "without 'preprocess'"),
    (
        'main = "main"',
        'preprocess = "main"\nexecute = "m.walle"',
        10,
        "the model 'm.walle', which is not there",
    ),
    ('main = "main"', 'module = "mani"\nmain = "main"', 9, "did you mean 'main'?"),
    ('main = "main"', 'main = "main"\n[limits]\nheap_bytes = "32X"', 11, '"64K" (K, M, G)'),
    ('main = "main"', 'main = "main"\n[limits]\nheap_bytes = 5', 11, "bytes from 1,048,576"),
    ('main = "main"', 'main = "main"\n[limits.execute]\nwall_ms = 5', 10, "expected limits.main"),
    ('main = "main"', 'main = "main"\n[limits.main]\nwall_ms = 0', 11, "from 1 to 600,000"),
    ('main = "main"', 'main = "main"\n[queue]\nwhen_full = "drop-new"', 11, "did you mean 'drop_new'?"),
    ('imports = ["json"]', 'imports = ["josn"]', 12, "did you mean 'json'?"),
    ('"walle.kv"', '"walle.kw"', 13, "did you mean 'walle.kv'?"),
    ('"walle.log.info"', '"walle.log.inf"', 13, "did you mean 'walle.log.info'?"),
    ('item = "int", title', 'item = "i64", title', 16, 'one of "int", "float"'),
    ("[results.visits]", "[results.Visits]", 15, "result table 'Visits'"),
    ('columns = { item = "int", title = "text" }', "columns = {}", 16, "a table of 1 to 64"),
    (
        'columns = { item = "int", title = "text" }',
        'column = { item = "int" }',
        16,
        "did you mean 'columns'?",
    ),
    ('columns = { item = "int", title = "text" }', 'columns = {a = "int"}\nmax_age = "5w"', 17, '"30d"'),
    ("bytes_per_day", "bytes_a_day", 20, "did you mean 'bytes_per_day'?"),
    ("sends_per_day = 10", "", 18, "without 'sends_per_day'"),
    ("sends_per_day = 10", "sends_per_day = 10\nexpires = 2030", 22, "a date"),
    ("sends_per_day = 10", 'sends_per_day = 10\ngraph = "g"', 22, "the graph 'g', which is not there"),
    (
        'fields = { item = "int" }',
        'fields = { item = { type = "int", high = 1 } }',
        19,
        "did you mean 'highest'?",
    ),
    ("[events.click]", '[events.click]\nkind = "timer"', 23, "event 'click'"),
    ('title = "text" }\n\n[egress', 'title = "text" }\n[egres', 17, "did you mean"),
    ("[events.click]", "[evnts.click]", 23, "did you mean 'events'?"),
    ("[events.click]", "[events.click", 23, "TOML 1.0"),
    ("[task]", "[task", 1, "TOML 1.0"),
    ("[task]", "task = 1\n[task2]", 1, "task = 1; expected a table"),
    ("[events.click]", '[resources]\ninclude = ["*.wale"]\n[events.click]', 24, "which no file matches"),
]


@pytest.mark.parametrize(("right", "wrong", "line", "says"), WRONG, ids=[w[1][:30] for w in WRONG])
def test_a_mistake_is_told_with_its_line(
    right: str, wrong: str, line: int, says: str, tmp_path: Path
) -> None:
    assert right in RIGHT
    found = [m for m in check(task(tmp_path, RIGHT.replace(right, wrong, 1))) if m.error]
    if not VM.available() and "'json'" in says:
        pytest.skip("only the VM knows its modules")
    assert any(m.line == line and m.file == "task.toml" and says in str(m) for m in found), found
    with pytest.raises(TaskError, match=r"task\.toml"):
        Task(tmp_path)


# Of main.py: what stands in it, the line, and what the message holds.
WRONG_CODE = [
    ("def main(event, more):\n    pass\n", 1, "main() takes 2 arguments"),
    ("def main():\n    pass\n", 1, "main() takes 0 arguments"),
    ("async def main(event):\n    pass\n", 1, "is async"),
    ("def main(event, *, key):\n    pass\n", 1, "asks for keyword arguments"),
    ("def main(event):\n    return (\n", 2, "a syntax error"),
    ("def main(event):\n    import math\n", 2, "import of 'math'"),
    ("import walle\ndef main(event):\n    walle.time.now()\n", 3, 'add "walle.time" there'),
    ("from walle import engine as e\ndef main(event):\n    e.load('x')\n", 3, "use of walle.engine.load"),
    ("import walle\ndef main(event):\n    walle.log.error('x')\n", 3, "use of walle.log.error"),
]


@pytest.mark.parametrize(("code", "line", "says"), WRONG_CODE, ids=[w[2] for w in WRONG_CODE])
def test_code_is_compared_with_what_is_declared(code: str, line: int, says: str, tmp_path: Path) -> None:
    found = [m for m in check(task(tmp_path, main__py=code)) if m.error]
    assert [(m.file, m.line) for m in found] == [("main.py", line)] and says in str(found[0]), found


def test_what_is_declared_and_not_used_is_a_warning(tmp_path: Path) -> None:
    found = check(task(tmp_path, main__py="def main(event):\n    return None\n"))
    assert [(m.error, m.line) for m in found] == [(False, 13), (False, 13)]
    Task(tmp_path)


def test_all_mistakes_are_told_and_the_first_is_raised(tmp_path: Path) -> None:
    wrong = RIGHT.replace('"visits"', '"Visits"', 1).replace("[events", "[evnts")
    assert len(check(task(tmp_path, wrong))) >= 2
    with pytest.raises(TaskError, match="walle task lint shows all") as caught:
        Task(tmp_path)
    assert caught.value.where == "task.toml, line 2"


def test_a_folder_without_a_task(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match=r"task\.toml"):
        check(tmp_path)
    (tmp_path / "task.toml").mkdir()
    with pytest.raises(ResourceError, match=r"task\.toml"):
        check(tmp_path)


@pytest.mark.parametrize(
    ("data", "line", "says"),
    [
        (b"[task]\nname = '\xff'\n", 2, "no UTF-8"),
        (b"x" * ((1 << 20) + 1), 0, "at most 1 MiB"),
        (b"", 1, "no [task]"),
        (b"a = " + b"[" * 5000, 0, "TOML 1.0"),
        (b'a = """never closed', 1, "TOML 1.0"),
        (b"\xef\xbb\xbf[task]", 1, "TOML 1.0"),
    ],
)
def test_bytes_that_are_no_task_toml(data: bytes, line: int, says: str, tmp_path: Path) -> None:
    task(tmp_path)
    (tmp_path / "task.toml").write_bytes(data)
    found = check(tmp_path)
    assert any(says in str(m) for m in found), found
    assert not line or any(m.line == line for m in found), found


def test_random_damage_is_told_and_never_raised(tmp_path: Path) -> None:
    source = random.Random(random_seed())
    folder = task(tmp_path)
    for _ in range(150):
        text = list(RIGHT)
        for _ in range(source.randint(1, 4)):
            at = source.randrange(len(text))
            text[at : at + source.randint(0, 2)] = source.choice(
                ["", '"', "[", "]", "=", "\n", ".", "#", "'", "7", "é"]
            )
        (folder / "task.toml").write_text("".join(text), encoding="utf-8")
        lines = "".join(text).count("\n") + 1
        assert all(0 <= m.line <= lines for m in check(folder) if m.file == "task.toml")


HALVES = (
    RIGHT
    + """
[cloud]
question = "visit"
answers = "visits"
resources = ["large.*"]
wall_ms = 500
"""
)
CLOUD = """\
import json

def answer(question):
    return None
"""


def test_a_task_of_two_halves(tmp_path: Path) -> None:
    files = {"cloud__py": CLOUD, "large__bin": "large", "small__bin": "small"}
    assert check(task(tmp_path, HALVES, **files)) == []
    whole = Task(tmp_path)
    half = whole.spec.cloud
    assert half is not None
    assert (half.question, half.answers, half.module, half.function) == ("visit", "visits", "cloud", "answer")
    assert (half.limits.wall_ms, half.heap_bytes) == (500, 256 << 20)
    assert whole.files == ["main.py", "small.bin"]  # what a device gets
    assert TaskSpec.from_manifest(whole.spec.to_manifest()) == whole.spec


@needs_vm
def test_the_servers_half_travels_in_the_package_alone(tmp_path: Path) -> None:
    files = {"cloud__py": CLOUD, "large__bin": "large", "small__bin": "small"}
    whole = Task(task(tmp_path, HALVES, **files))
    bundle = whole.compile()
    assert bundle.modules == ["main"] and set(bundle.resources) == {".walle/manifest", "small.bin"}
    assert whole.cloud_bundle().modules == ["cloud", "main"]
    packed = whole.pack("shop")
    for_devices = {".walle/code": "CODE", ".walle/manifest": "POLICY", "small.bin": "RESOURCE"}
    assert {file.name: file.kind.name for file in packed.package.files} == for_devices
    assert Package.from_bytes(packed.manifest) == packed.package
    kinds = {file.name: file.kind.name for file in Package.from_bytes(packed.whole).files}
    assert kinds == for_devices | {".walle/cloud": "CLOUD", "large.bin": "CLOUD"}
    assert b"large" in packed.cloud_blobs.values() and b"large" not in packed.blobs.values()
    with pytest.raises(ArgumentError, match="cloud"):
        Task(task(tmp_path / "other")).cloud_bundle()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('question = "visit"', 'question = "vist"', "did you mean 'visit'?"),
        ('question = "visit"\n', "", "without 'question'"),
        ('answers = "visits"', 'answers = "visit"', "did you mean 'visits'?"),
        ('resources = ["large.*"]', 'resources = ["larg.*"]', "which no file matches"),
        ("wall_ms = 500", "wall_ms = 0", "1 to 600,000"),
        ("wall_ms = 500", 'module = "main"', "for both halves"),
        ("wall_ms = 500", 'module = "clod"', "no module 'clod'"),
        ("wall_ms = 500", 'function = "anser"', "did you mean 'answer'?"),
        ("wall_ms = 500", "wallms = 500", "did you mean 'wall_ms'?"),
    ],
)
def test_a_mistake_in_the_cloud_half_is_told(old: str, new: str, says: str, tmp_path: Path) -> None:
    assert old in HALVES
    told = [str(m) for m in check(task(tmp_path, HALVES.replace(old, new), cloud__py=CLOUD, large__bin=""))]
    assert any(says in one for one in told), told


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"question": "nobody"}, "question 'nobody'"),
        ({"answers": "nowhere"}, "answers 'nowhere'"),
        ({"function": "an swer"}, "function 'an swer'"),
        ({"module": ""}, "module ''"),
        ({"limits": PhaseLimits(0)}, "cloud.wall_ms 0"),
        ({"limits": PhaseLimits(600_001)}, "cloud.wall_ms 600001"),
        ({"heap_bytes": (1 << 20) - 1}, "cloud.heap_bytes"),
    ],
)
def test_a_manifest_with_a_cloud_half_that_means_nothing_is_refused(
    change: dict[str, object], says: str, tmp_path: Path
) -> None:
    spec = Task(task(tmp_path, HALVES, cloud__py=CLOUD, large__bin="")).spec
    assert spec.cloud is not None
    with pytest.raises(TaskError, match=says):
        replace(spec, cloud=replace(spec.cloud, **change)).to_manifest()


def test_the_code_of_both_halves_is_looked_at(tmp_path: Path) -> None:
    def told(cloud: str, main: str = MAIN) -> str:
        files = {"cloud__py": cloud, "main__py": main, "large__bin": ""}
        return "; ".join(map(str, check(task(tmp_path, HALVES, **files))))

    assert "cloud.py, line 1" in told("import zlib\ndef answer(question): return None\n")
    assert "takes 2 arguments" in told("def answer(a, b): return None\n")
    assert "import of 'cloud'" in told(CLOUD, "import cloud\n" + MAIN)
    assert told("import main\n" + CLOUD) == ""


def test_a_question_that_is_sent_for_every_firing_is_a_warning(tmp_path: Path) -> None:
    graph = HALVES.replace("sends_per_day = 10\n", 'sends_per_day = 10\ngraph = "v.graph"\n')
    task(tmp_path, graph, cloud__py=CLOUD, large__bin="")
    (tmp_path / "v.graph").write_bytes(Graph().select("item").to_bytes())
    told = check(tmp_path)
    assert [m.error for m in told] == [False] and "for every firing" in str(told[0])


def test_lines_of_keys() -> None:
    lines = Lines(
        'a = 1\n# [no]\n[b]\nc = """\n[x]\nd = 2\n"""\n"e.f" = [\n  1, # ]\n  {g = 2},\n]\n'
        "h.i = 3\n[[j]]\nk = 1\n[[j]]\n[l.'m n']\no = '''a''' # '''\np = 4"
    )
    places = {
        ("a",): 1,
        ("b",): 3,
        ("b", "c"): 4,
        ("b", "e.f"): 8,
        ("b", "h", "i"): 12,
        ("j",): 13,
        ("j", "k"): 14,
    }
    places |= {
        ("l", "m n"): 16,
        ("l", "m n", "o"): 17,
        ("l", "m n", "p"): 18,
        ("b", "e.f", "g"): 8,
        ("q",): 1,
    }
    assert {path: lines.of(path) for path in places} == places
    assert lines.has(("b", "c")) and not lines.has(("x",)) and not lines.has(("b", "d"))


def test_a_manifest_says_what_the_file_says(tmp_path: Path) -> None:
    spec = Task(task(tmp_path)).spec
    assert TaskSpec.from_manifest(spec.to_manifest()) == spec
    with pytest.raises(TaskError, match="a damaged manifest"):
        TaskSpec.from_manifest(spec.to_manifest()[:-9])


@needs_vm
def test_the_manifest_travels_in_the_bundle(tmp_path: Path) -> None:
    folder = task(tmp_path, words__txt="a b")
    compiled = Task(folder)
    bundle = compiled.compile()
    assert compiled.files == ["main.py", "words.txt"]
    assert sorted(bundle.resources) == [".walle/manifest", "words.txt"]
    assert bundle.modules == ["main"]


GRAPH = RIGHT.replace('fields = { item = "int" }', 'graph = "g"\nfields = { item = "int", title = "text" }')


def test_a_graph_that_could_never_send_is_told_with_its_path(tmp_path: Path) -> None:
    folder = task(tmp_path, GRAPH)
    (folder / "g").write_bytes(Graph().map("copy", "title").select("item", "copy").to_bytes())
    toml = GRAPH.replace('title = "text" }\nbytes', 'copy = "text" }\nbytes')
    (folder / "task.toml").write_text(toml)
    (found,) = check(folder)
    assert (found.file, found.line, found.error) == ("task.toml", 19, True)
    assert "copy" in str(found) and "title" in str(found), found
    # Allowed as personal, the same graph is right.
    (folder / "task.toml").write_text(
        toml.replace('copy = "text"', 'copy = { type = "text", highest = "personal" }')
    )
    assert check(folder) == []


def test_a_damaged_graph_is_told(tmp_path: Path) -> None:
    folder = task(tmp_path, GRAPH)
    good = Graph().select("item").to_bytes()
    for bad in (b"", good[:-1], good[:-9] + bytes(9), b"x" * 5000):
        (folder / "g").write_bytes(bad)
        assert [m.line for m in check(folder) if m.error] == [19], bad


@needs_vm
def test_files_that_stay(tmp_path: Path) -> None:
    toml = RIGHT + '[resources]\ninclude = ["*.txt"]\nexclude = ["b.*", "tool.py"]\n'
    folder = task(tmp_path, toml, a__txt="", b__txt="", c__bin="", tool__py="import numpy")
    assert Task(folder).files == ["a.txt", "main.py"]


@needs_vm
def test_a_task_for_another_python(tmp_path: Path) -> None:
    folder = task(tmp_path, RIGHT.replace("[triggers]", 'vm = "3.12"\n[triggers]'))
    with pytest.raises(TaskError, match=r"a task for Python 3\.12"):
        Task(folder).compile()
    task(tmp_path, RIGHT.replace("[triggers]", 'vm = "3.1"\n[triggers]'))
    with pytest.raises(TaskError, match=r"a task for Python 3\.1 "):
        Task(folder).compile()


def test_the_page_is_made_of_the_schema() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == rewritten(text), "python -m walle_rt.task._page docs/reference/task-toml.md"


def test_a_mistake_reads_as_an_error_does() -> None:
    mistake = Mistake("task.toml", 3, "x", "y", "z")
    assert str(mistake) == "x; expected y [at task.toml, line 3]. Next: z"
