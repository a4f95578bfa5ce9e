"""The core's lines become records of the logger walle_rt; each case in a process: both are global."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run_python

HEAD = """
import logging, sys
import numpy as np
from onnx import TensorProto, helper
import walle_rt
from walle_rt import _core

def plan():
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "tiny", values[:1], values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    walle_rt.load(model).session(threads=1).run({"x": np.zeros(2, np.float32)})
"""
SHOWN = "logging.basicConfig(stream=sys.stdout, format='%(name)s %(levelname)s %(message)s')\n"


def child(code: str, folder: Path) -> list[str]:
    """The lines a program prints; it must end well and leave stderr empty."""
    return run_python(HEAD + code, folder=folder).stdout.splitlines()


def test_silent_until_asked(tmp_path: Path) -> None:
    assert child("plan()\n_core.log(3, 'an error')\nplan()\n", tmp_path) == []


@pytest.mark.parametrize("level", ["'debug'", "'DEBUG'", "logging.DEBUG", "5"])
def test_plans_at_debug(level: str, tmp_path: Path) -> None:
    (line,) = child(SHOWN + f"walle_rt.set_log_level({level})\nplan()\nprint(end='')\n", tmp_path)
    assert line.startswith("walle_rt DEBUG nodes 0 to 0 of graph 'tiny': 1 steps, arena ")


LEVELS = {"debug": "0123", "info": "123", "warning": "23", "error": "3", "critical": ""}


@pytest.mark.parametrize("level", LEVELS)
def test_threshold(level: str, tmp_path: Path) -> None:
    code = SHOWN + f"walle_rt.set_log_level({level!r})\nfor n in range(4): _core.log(n, str(n))\n"
    assert [line[-1] for line in child(code, tmp_path)] == list(LEVELS[level])


def test_warnings_without_a_level(tmp_path: Path) -> None:
    lines = child(SHOWN + "plan()\n_core.log(1, 'info')\n_core.log(2, '100 %s of it')\n", tmp_path)
    assert lines == ["walle_rt WARNING 100 %s of it"]


def test_lost_events_are_told(tmp_path: Path) -> None:
    code = """
from walle_rt.stream import Catalog; from walle_rt.stream._log import EventLog
catalog = Catalog().declare("ping")
with EventLog("log", catalog) as log:
    for _ in range(5): log.append("ping")
data = bytearray(open("log/journal.walj", "rb").read())
data[4096 + 100] ^= 255   # inside the second frame: behind the header, 24 bytes of head and the payload each
open("log/journal.walj", "wb").write(data)
with EventLog("log", catalog) as log:
    assert log.report.lost > 0
    print(log.report.lost)
"""
    first, second = child(SHOWN + code, tmp_path)
    line, lost = (first, second) if first.startswith("walle_rt") else (second, first)
    assert line.startswith(f"walle_rt WARNING event log 'log': {lost} events lost behind damage at byte ")


def test_from_another_thread(tmp_path: Path) -> None:
    code = """
import threading
thread = threading.Thread(target=lambda: [_core.log(3, str(n)) for n in range(5)])
thread.start()
thread.join()
"""
    assert [line.split()[-1] for line in child(SHOWN + code, tmp_path)] == list("01234")


def test_a_handler_that_raises_breaks_nothing(tmp_path: Path) -> None:
    code = """
class Bad(logging.Handler):
    def emit(self, record): raise ValueError(record.getMessage())
seen = []
sys.unraisablehook = lambda found: seen.append(str(found.exc_value))
logging.getLogger("walle_rt").addHandler(Bad())
_core.log(3, "boom")
for _ in range(10): pass
print(seen)
"""
    assert child(code, tmp_path) == ["['boom']"]


@pytest.mark.parametrize("level", ["'loud'", "None", "True", "-1", "2.5"])
def test_other_levels_are_refused(level: str, tmp_path: Path) -> None:
    code = f"try: walle_rt.set_log_level({level})\nexcept walle_rt.ArgumentError as e: print(e.expected)\n"
    assert child(code, tmp_path) == ["a level of logging or one of: debug, info, warning, error, critical"]
