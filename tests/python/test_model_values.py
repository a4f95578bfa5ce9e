"""Models as Python values: compared, copied, pickled, saved; and their sessions, which are none."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import onnx
import pytest
from build_model import model
from onnx.helper import make_node

import walle_rt


def scaled(by: float, name: str = "w") -> onnx.ModelProto:
    nodes = [make_node("Mul", ["x", name], ["y"], name="scale")]
    return model(nodes, {"x": ["n", 3]}, {"y": ["n", 3]}, {name: np.full(3, by, np.float32)})


X = np.array([[1, 2, 3]], np.float32)


def test_a_model_goes_through_pickle() -> None:
    made = walle_rt.load(scaled(2))
    back = pickle.loads(pickle.dumps(made))
    assert back == made and hash(back) == hash(made) and back is not made
    np.testing.assert_array_equal(back.session().run({"x": X})["y"], X * 2)


def test_copies_are_the_model_itself() -> None:
    made = walle_rt.load(scaled(2))
    assert copy.copy(made) is made and copy.deepcopy({"m": made})["m"] is made


def test_models_compare_by_what_they_hold(tmp_path: Path) -> None:
    one, same, other = (walle_rt.load(scaled(by)) for by in (2, 2, 3))
    assert one == same and one != other and one != walle_rt.load(scaled(2, "v")) and one != "model"
    assert len({one, same, other}) == 2
    one.save(tmp_path / "m.walle")
    assert walle_rt.load(tmp_path / "m.walle") == one


def test_a_session_is_not_pickled_or_copied() -> None:
    session = walle_rt.load(scaled(2)).session()
    for way in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(walle_rt.ArgumentError, match="make a session of them there"):
            way(session)  # type: ignore[operator]


@pytest.mark.parametrize("name", ["m.onnx", "m.ONNX", "m.pt", "m.tflite", "a.b.safetensors"])
def test_save_writes_no_other_format(tmp_path: Path, name: str) -> None:
    with pytest.raises(walle_rt.ArgumentError, match=r"save it as '.*\.walle'"):
        walle_rt.load(scaled(2)).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_other_endings_are_the_callers_choice(tmp_path: Path) -> None:
    for name in ("m", "m.bin", "m.walle.new"):
        walle_rt.load(scaled(2)).save(tmp_path / name)
        assert walle_rt.load(tmp_path / name) == walle_rt.load(scaled(2))


def test_a_misspelt_option_is_named_with_the_nearest() -> None:
    with pytest.raises(walle_rt.ArgumentError, match="write threads="):
        walle_rt.load(scaled(2)).session(thread=1)  # type: ignore[arg-type]
    with pytest.raises(walle_rt.ArgumentError, match="leave it out"):
        walle_rt.load(scaled(2)).session(zzz=1)  # type: ignore[arg-type]


def test_converting_a_walle_file_says_so(tmp_path: Path) -> None:
    from walle_rt.convert import convert

    path = tmp_path / "m.walle"
    walle_rt.load(scaled(2)).save(path)
    for source in (path, path.read_bytes()):
        with pytest.raises(walle_rt.ModelError, match="already"):
            convert(source)


def test_dir_shows_what_is_public() -> None:
    assert dir(walle_rt) == sorted(walle_rt.__all__)


def test_explanations_are_short_where_they_are_shown_alone() -> None:
    session = walle_rt.load(scaled(2)).session()
    assert "no plan yet" in session.explain().text()
    session.run({"x": X})
    assert len(repr(session.explain())) < 100 and "1 plan" in repr(session.explain())
