"""What notebooks show: well-formed, every text escaped, tables for screen readers, long parts collapsed."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
from build_model import model
from onnx import helper

import walle_rt
from walle_rt import html

VOID = {"br", "hr"}


class Checked(HTMLParser):
    """Fails on a tag that does not fit; collects texts and tags."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.collapsed: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in VOID
        assert tag != "th" or dict(attrs).get("scope") in ("row", "col")
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if "details" in self.open:
            self.collapsed.append(data)


def two_layers(name: str = "x", count: int = 2) -> walle_rt.Model:
    nodes = [helper.make_node("Relu", [name], ["v0"])]
    nodes += [helper.make_node("MatMul", [f"v{n}", "w"], [f"v{n + 1}"]) for n in range(count)]
    return walle_rt.load(model(nodes, {name: ["n", 4]}, [f"v{count}"], {"w": np.eye(4, dtype=np.float32)}))


def test_model() -> None:
    found = Checked(two_layers()._repr_html_())
    assert "float32[n, 4]" in found.texts and "input" in found.texts and "output" in found.texts
    assert "3 nodes: MatMul 2, Relu 1" in found.texts
    assert found.tags.count("caption") == found.tags.count("table") == 1


def test_names_are_text() -> None:
    hostile = "<script>alert(1)</script>&amp;\"'"
    loaded = two_layers(hostile)
    session = loaded.session(threads=1)
    session.run({hostile: np.zeros((1, 4), np.float32)})
    for text in (loaded._repr_html_(), session.explain()._repr_html_()):
        found = Checked(text)
        assert "script" not in found.tags
    assert hostile in "".join(Checked(loaded._repr_html_()).texts)


def test_explanation_opens_with_times() -> None:
    session = two_layers().session(threads=1)
    feeds = {"x": np.ones((2, 4), np.float32)}
    session.run(feeds)
    before = session.explain()
    assert "Time by algorithm, predicted" in before._repr_html_()
    with session.profile():
        session.run(feeds)
    found = session.explain()
    page = Checked(found._repr_html_())
    assert "Time by algorithm, measured" in page.texts
    steps = f"{len(found.rows)} steps"
    assert steps in page.collapsed and page.texts.index(steps) > page.texts.index("share")
    assert set(page.collapsed) >= {row.algorithm for row in found.rows}


def test_before_the_first_run() -> None:
    page = Checked(two_layers().session(threads=1).explain()._repr_html_())
    assert "0 steps" in page.collapsed


def test_many_steps_are_cut_and_counted() -> None:
    many = html._MOST_ROWS + 7
    session = two_layers(count=many).session(threads=1)
    session.run({"x": np.ones((1, 4), np.float32)})
    found = session.explain()
    page = Checked(found._repr_html_())
    assert f"the first {html._MOST_ROWS} of {len(found.rows)} steps" in page.collapsed
    assert page.tags.count("tr") < html._MOST_ROWS + 20
