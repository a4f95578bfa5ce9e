"""The demo's task: what a sentence of Python's own documentation is about, by two models trained here.

The small one, for devices, counts words; the large one, for the server, counts words, pairs of them and parts
of them, in sixteen times as many places. Both are ridge regressions in closed form over sentences that every
Python carries with it; a quarter of them is held out, and the demo's devices see those alone.
"""

from __future__ import annotations

import importlib
import inspect
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..loading import load
from ..stream import Graph

Floats = npt.NDArray[np.float32]

TOPICS = {
    "files": "os shutil pathlib tempfile glob zipfile tarfile fnmatch posixpath stat io gzip",
    "network": "socket ssl http.client urllib.request urllib.parse smtplib ftplib email.message imaplib"
    " socketserver http.cookiejar ipaddress",
    "numbers": "math cmath statistics fractions decimal random numbers colorsys",
    "text": "string re textwrap difflib html csv json locale gettext codecs unicodedata configparser",
    "tasks": "threading asyncio.events asyncio.locks asyncio.tasks multiprocessing.pool"
    " concurrent.futures._base queue sched subprocess signal selectors",
    "code": "ast inspect dis tokenize types typing importlib.util traceback pdb unittest.case unittest.mock",
}
TASK = "topics"
SMALL, LARGE = 256, 4096
HANDED_OVER = 0.12  # of what a device sees, as the paper has it
_EACH = 500  # sentences of a topic
_RIDGE = 0.3

TOML = """
[task]
name = "topics"
version = "{version}"
[triggers]
said = "say"
[queue]
size = 4096
[entry]
main = "main"
[capabilities]
imports = ["binascii", "re"]
host_calls = ["walle.stream", "walle.engine", "walle.time"]
[cloud]
question = "doubt"
answers = "answers"
resources = ["large.walle"]
[results.guesses]
columns = {{ n = "int", topic = "int", asked = "bool", us = "int" }}
[results.answers]
columns = {{ n = "int", topic = "int", score = "float" }}
[egress.seen]
fields = {{ n = "int" }}
bytes_per_day = "16M"
sends_per_day = 1000000
graph = "seen.graph"
[egress.doubt]
fields = {{ n = "int", text = {{ type = "text", max_size = 200 }} }}
bytes_per_day = "4M"
sends_per_day = 100000
[events.say]
fields = {{ n = {{ type = "int", sensitivity = "open" }}, text = {{ type = "text", sensitivity = "open" }}, \
who = "text" }}
"""

# One text for training, device and server: what was learned is what is asked.
COUNTS = '''"""A sentence as numbers: how often words, and parts of them, fall into each of some places."""

import binascii
import re


def _add(counts, text, weight):
    place = binascii.crc32(text.encode()) % len(counts)
    counts[place] += weight


def counted(text, places, whole):
    """Counts of words; with `whole` of their pairs and of their parts as well. Of length one."""
    counts = [0.0] * places
    words = re.findall("[a-z]{2,}", text.lower())
    for word in words:
        _add(counts, word, 1.0)
        if whole:
            marked = "<" + word + ">"
            for at in range(len(marked) - 3):
                _add(counts, marked[at : at + 4], 0.5)
    if whole:
        for first, second in zip(words, words[1:]):
            _add(counts, first + " " + second, 0.7)
    length = sum(count * count for count in counts) ** 0.5 or 1.0
    return [count / length for count in counts]
'''

MAIN = '''"""What a sentence is about. What the small model is unsure of, the server is asked."""

import walle

from counts import counted

SURE = {sure!r}  # of the margin between the best topic and the next: below it, an eighth of all sentences
model = None


def main(event):
    global model
    began = walle.time.monotonic()
    if model is None:
        model = walle.engine.load("small.walle")
    text = event["fields"]["text"]
    given = walle.Tensor([counted(text, {small}, False)], "float32")
    scores = model.run({{"counts": given}})["scores"].tolist()[0]
    best, next_best = sorted(scores)[:-3:-1]
    asked = best - next_best < SURE
    if asked:
        walle.stream.send("doubt", walle.stream.run("doubt.graph", event))
    took = int((walle.time.monotonic() - began) * 1e6)
    return {{"n": event["fields"]["n"], "topic": scores.index(best), "asked": asked, "us": took}}
'''

CLOUD = '''"""The server's half: the large model, which devices never fetch."""

import walle

from counts import counted

model = None


def answer(question):
    global model
    if model is None:
        model = walle.engine.load("large.walle")
    columns = question["columns"]
    rows = []
    for n, text in zip(columns["n"], columns["text"]):
        given = walle.Tensor([counted(text, {large}, True)], "float32")
        scores = model.run({{"counts": given}})["scores"].tolist()[0]
        rows.append({{"n": n, "topic": scores.index(max(scores)), "score": max(scores)}})
    return rows
'''


@dataclass(frozen=True)
class Trained:
    """Both models, and what the devices of the demo will see.

    Attributes:
        small, large: bytes of .walle files.
        sure: margin of the small model below which it asks.
        texts: sentences that neither has seen in training.
        topics: what they are about.
        by_small, by_large: what the models say of them.
    """

    small: bytes
    large: bytes
    sure: float
    texts: list[str]
    topics: list[int]
    by_small: list[int]
    by_large: list[int]


def train(scratch: Path, seed: int = 12) -> Trained:
    """Train both models; two seconds. ResourceError without the extra ``convert``."""
    texts, topics = sentences()
    rng = np.random.default_rng(seed)
    kept = np.concatenate([rng.permutation(np.flatnonzero(topics == t))[:_EACH] for t in range(len(TOPICS))])
    order = rng.permutation(kept)
    cut = len(order) * 3 // 4
    known, held_out = order[:cut], order[cut:]
    out: dict[str, tuple[bytes, Floats]] = {}
    counted = counts_of()
    for name, places, whole in (("small", SMALL, False), ("large", LARGE, True)):
        features = np.array([counted(texts[i], places, whole) for i in order], np.float32)
        targets = np.eye(len(TOPICS), dtype=np.float32)[topics[known]] * 2 - 1
        seen = features[:cut]
        alike = seen @ seen.T + _RIDGE * np.eye(cut, dtype=np.float32)
        weights = seen.T @ np.linalg.solve(alike, targets)
        out[name] = (_model(weights, scratch / f"{name}.walle"), features[cut:] @ weights)
    margins = np.sort(out["small"][1], axis=1)
    return Trained(
        out["small"][0],
        out["large"][0],
        float(np.quantile(margins[:, -1] - margins[:, -2], HANDED_OVER)),
        [texts[i] for i in held_out],
        topics[held_out].tolist(),
        out["small"][1].argmax(axis=1).tolist(),
        out["large"][1].argmax(axis=1).tolist(),
    )


def write_task(folder: Path, version: str, trained: Trained, main: str = "") -> None:
    """The task's folder; ``main``: another text of the device's half."""
    folder.mkdir(parents=True)
    files = {
        "task.toml": TOML.format(version=version),
        "counts.py": COUNTS,
        "main.py": main or MAIN.format(sure=trained.sure, small=SMALL),
        "cloud.py": CLOUD.format(large=LARGE),
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    (folder / "small.walle").write_bytes(trained.small)
    (folder / "large.walle").write_bytes(trained.large)
    (folder / "seen.graph").write_bytes(Graph().select("n").to_bytes())
    (folder / "doubt.graph").write_bytes(Graph().select("n", "text").to_bytes())


def counts_of() -> Callable[[str, int, bool], list[float]]:
    """The task's own function, in this Python."""
    module: dict[str, Any] = {}
    exec(compile(COUNTS, "counts.py", "exec"), module)
    found: Callable[[str, int, bool], list[float]] = module["counted"]
    return found


def sentences() -> tuple[list[str], npt.NDArray[np.int64]]:
    """Sentences of the standard library's documentation, and the number of each one's topic."""
    texts: dict[str, int] = {}
    for topic, modules in enumerate(TOPICS.values()):
        for name in modules.split():
            for sentence in _sentences_of(name):
                texts.setdefault(sentence, topic)
    return list(texts), np.array(list(texts.values()))


def _sentences_of(name: str) -> list[str]:
    module = importlib.import_module(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        docs = [module.__doc__]
        for _, value in sorted(vars(module).items()):
            if getattr(value, "__module__", None) != name and not inspect.isbuiltin(value):
                continue
            docs.append(getattr(value, "__doc__", None))
            if inspect.isclass(value):
                docs += [
                    getattr(each, "__doc__", None)
                    for _, each in sorted(vars(value).items())
                    if callable(each)
                ]
    found = []
    for doc in docs:
        if not isinstance(doc, str):
            continue
        for piece in re.split(r"(?<=[.!?])\s+|\n\s*\n", inspect.cleandoc(doc)):
            sentence = " ".join(piece.split())
            if 30 <= len(sentence) <= 160 and len(re.findall("[a-z]+", sentence)) >= 5:
                found.append(sentence)
    return found


def _model(weights: Floats, path: Path) -> bytes:
    """counts [1, places] to scores [1, topics], as a .walle file."""
    from ..convert.source import require_onnx

    onnx = require_onnx()
    make = onnx.helper
    kind = onnx.TensorProto.FLOAT
    places, topics = weights.shape
    graph = make.make_graph(
        [make.make_node("MatMul", ["counts", "weights"], ["scores"])],
        path.stem,
        [make.make_tensor_value_info("counts", kind, [1, places])],
        [make.make_tensor_value_info("scores", kind, [1, topics])],
        [onnx.numpy_helper.from_array(np.ascontiguousarray(weights, np.float32), "weights")],
    )
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8)
    load(model).save(path)
    return path.read_bytes()
