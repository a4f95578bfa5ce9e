"""Every option of a session has its place in each language, every word of ``debug`` its line in the docs."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from build_model import model
from onnx import TensorProto
from onnx.helper import make_node

import walle_rt

ROOT = Path(__file__).parents[2]
RUNTIME = ROOT / "src/cpp/runtime"


def listed(name: str, pattern: str) -> list[str]:
    return re.findall(pattern, (RUNTIME / name).read_text(), re.MULTILINE)


def loaded() -> walle_rt.Model:
    return walle_rt.load(model([make_node("Neg", ["x"], ["y"])], {"x": (TensorProto.FLOAT, (3,))}, ["y"]))


OPTIONS = [*listed("session_option.inc", r"^WALLE_SESSION_OPTION\([\w:]+, (\w+),"), "debug"]
WORDS = [f"{switch}=off" for switch in listed("session_switch.inc", r"^WALLE_SESSION_SWITCH\((\w+)\)")]


def test_python_has_every_option() -> None:
    asked = inspect.signature(walle_rt.Model.session).parameters.values()
    named = [one.name for one in asked if one.kind is not inspect.Parameter.VAR_KEYWORD]
    assert named == ["self", *OPTIONS]
    assert list(loaded().session().options) == OPTIONS


def test_c_has_every_option() -> None:
    header = (ROOT / "src/cpp/include/walle/walle.h").read_text()
    fields = header.split("typedef struct walle_session_options_t {")[1].split("}")[0]
    named = re.findall(r"(\w+);", re.sub(r"/\*.*?\*/", "", fields))
    assert named == ["struct_size", *OPTIONS]


@pytest.mark.parametrize("word", [*WORDS, "placement=random:7"])
def test_words_of_debug_are_taken_and_told(word: str) -> None:
    session = loaded().session(debug=word)
    assert session.options["debug"] == word
    assert f"| `{word.replace('7', 'SEED')}` |" in (ROOT / "docs/concepts/pipeline.md").read_text()


def test_another_word_is_refused_with_those_there_are() -> None:
    with pytest.raises(walle_rt.ArgumentError) as refused:
        loaded().session(debug="search=off,merge=on")
    assert "debug='merge=on'" in str(refused.value)
    for word in WORDS:
        assert word in str(refused.value)
