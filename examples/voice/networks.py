"""The two networks of the task: log-mel features of a signal, and a word's features to its probability.

Both are engine graphs. The second is fitted here, in NumPy, to features that the first one makes: one hidden
unit for every word it was shown, answering to what is like it (a network of radial basis functions), with
weights in closed form. Two layers fitted by descent took a hundred times as long, and told 85 % of the other
speakers' words where this one tells 93 %.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper
from recordings import RATE, Recording, noise

import walle_rt

WINDOW, HOP, MELS = 256, 80, 32  # 32 ms of signal every 10 ms
FRAMES, COEFFICIENTS = 32, 12  # a word in time and in pitch
FLOOR = 1e-6  # of a band's energy: the noise of 16 bits
TRIM = 6.0  # a word's frames are at most this much quieter than its loudest, in natural logarithms
# How much higher or lower other voices are: the network sees every word with each.
PITCHES = (0.94, 1.0, 1.06)
WIDTH = 1.5  # of what counts as alike, in mean squared deviations
RIDGE = 0.1
QUIET = RATE // 8  # samples in front of a word and behind it

Floats = npt.NDArray[Any]


def log_mel() -> walle_rt.Model:
    """signal [1, samples, 1] to mels [frames, 32]."""
    nodes = [
        helper.make_node("STFT", ["signal", "hop", "window", "length"], ["spectrum"], onesided=1),
        helper.make_node("Mul", ["spectrum", "spectrum"], ["squares"]),
        helper.make_node("ReduceSum", ["squares", "last"], ["power"], keepdims=0),
        helper.make_node("MatMul", ["power", "mel"], ["energy"]),
        helper.make_node("Add", ["energy", "floor"], ["heard"]),
        helper.make_node("Log", ["heard"], ["logs"]),
        helper.make_node("Squeeze", ["logs", "first"], ["mels"]),
    ]
    constants = {
        "hop": np.array(HOP),
        "window": np.hanning(WINDOW + 1)[:WINDOW],
        "length": np.array(WINDOW),
        "last": np.array([3]),
        "first": np.array([0]),
        "mel": _mel_matrix(),
        "floor": np.array(FLOOR),
    }
    return _model(nodes, constants, ("signal", [1, "samples", 1]), ("mels", ["frames", MELS]))


def _mel_matrix() -> Floats:
    """[bins, mels]: overlapping triangles of equal width in mel."""
    low, high = (2595 * np.log10(1 + hz / 700) for hz in (100, 3800))
    edges = 700 * (10 ** (np.linspace(low, high, MELS + 2) / 2595) - 1)
    bins = np.arange(WINDOW // 2 + 1)[:, None] * RATE / WINDOW
    rising = (bins - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - bins) / (edges[2:] - edges[1:-1])
    return np.clip(np.minimum(rising, falling), 0, None)


def trimmed(mels: Floats) -> Floats:
    """Without the quiet frames in front of a word and behind it: what main.py does."""
    loudness = mels.mean(axis=1)
    heard = np.flatnonzero(loudness > loudness.max() - TRIM)
    return mels[max(heard[0] - 3, 0) : heard[-1] + 4]


def _shaped(mels: Floats) -> Floats:
    """A word as 32 frames of 16 coefficients, whatever its length and loudness: what `_shape_nodes` says."""
    at = np.linspace(0, len(mels) - 1, FRAMES)
    low = np.floor(at).astype(int)
    part = (at - low)[:, None]
    rows = mels[low] * (1 - part) + mels[np.minimum(low + 1, len(mels) - 1)] * part
    rows = rows - 0.8 * rows.mean(axis=0) - 0.2 * rows.mean()
    return (rows / (rows.std() + 1e-3)) @ _cosines()


def _cosines() -> Floats:
    angles = np.pi / MELS * (np.arange(MELS)[:, None] + 0.5) * np.arange(COEFFICIENTS)
    return np.cos(angles) * np.sqrt(2 / MELS)


def _shape_nodes() -> list[onnx.NodeProto]:
    make = helper.make_node
    return [
        make("Unsqueeze", ["mels", "front"], ["image"]),
        make(
            "Resize",
            ["image", "", "", "size"],
            ["even"],
            mode="linear",
            coordinate_transformation_mode="align_corners",
        ),
        make("ReduceMean", ["even"], ["colour"], axes=[2]),
        make("ReduceMean", ["even"], ["level"], axes=[2, 3]),
        make("Mul", ["colour", "most"], ["colour_part"]),
        make("Mul", ["level", "rest"], ["level_part"]),
        make("Sub", ["even", "colour_part"], ["bare"]),
        make("Sub", ["bare", "level_part"], ["centred"]),
        make("ReduceMean", ["centred"], ["middle"], axes=[2, 3]),
        make("Sub", ["centred", "middle"], ["apart"]),
        make("Mul", ["apart", "apart"], ["apart_squares"]),
        make("ReduceMean", ["apart_squares"], ["variance"], axes=[2, 3]),
        make("Sqrt", ["variance"], ["deviation"]),
        make("Add", ["deviation", "least"], ["scale"]),
        make("Div", ["centred", "scale"], ["scaled"]),
        make("MatMul", ["scaled", "cosines"], ["coefficients"]),
        make("Reshape", ["coefficients", "flat"], ["features"]),
    ]


def fitted(mels: list[Floats], words: npt.NDArray[np.int64]) -> walle_rt.Model:
    """mels [frames, 32] to scores [1, 10], near 1 for the word that was said and near -1 for others."""
    features = np.stack([_shaped(_at_pitch(trimmed(m), p)) for p in PITCHES for m in mels])
    spread = features.std(axis=(0, 1))
    known = (features / spread).reshape(len(features), -1)
    squares = (known**2).sum(axis=1)
    falling = -1 / (WIDTH * known.shape[1])
    alike = np.exp(falling * (squares[:, None] + squares - 2 * known @ known.T))
    targets = np.eye(10)[np.tile(words, len(PITCHES))] * 2 - 1
    weights = np.linalg.solve(alike + RIDGE * np.eye(len(alike)), targets)
    constants = {
        "front": np.array([0, 1]),
        "size": np.array([1, 1, FRAMES, MELS]),
        "most": np.array(0.8),
        "rest": np.array(0.2),
        "least": np.array(1e-3),
        "cosines": _cosines() / spread,
        "flat": np.array([1, FRAMES * COEFFICIENTS]),
        "known": -2 * known.T,
        "squares": squares[None],
        "last": np.array([1]),
        "falling": np.array(falling),
        "weights": weights,
    }
    nodes = [
        *_shape_nodes(),
        helper.make_node("Mul", ["features", "features"], ["own"]),
        helper.make_node("ReduceSum", ["own", "last"], ["length"], keepdims=1),
        helper.make_node("MatMul", ["features", "known"], ["products"]),
        helper.make_node("Add", ["products", "squares"], ["partly"]),
        helper.make_node("Add", ["partly", "length"], ["distances"]),
        helper.make_node("Mul", ["distances", "falling"], ["scaled_distances"]),
        helper.make_node("Exp", ["scaled_distances"], ["alike"]),
        helper.make_node("MatMul", ["alike", "weights"], ["scores"]),
    ]
    return _model(nodes, constants, ("mels", ["frames", MELS]), ("scores", [1, 10]))


def _at_pitch(mels: Floats, pitch: float) -> Floats:
    """What another voice would have made of a word: the bands shifted along the frequencies."""
    low, high = (2595 * np.log10(1 + hz / 700) for hz in (100, 3800))
    centres = 700 * (10 ** (np.linspace(low, high, MELS + 2)[1:-1] / 2595) - 1)
    wanted = 2595 * np.log10(1 + centres * pitch / 700)
    at = np.clip((wanted - low) / (high - low) * (MELS + 1) - 1, 0, MELS - 1)
    below = np.minimum(at.astype(int), MELS - 2)
    part = at - below
    return mels[:, below] * (1 - part) + mels[:, below + 1] * part


def right(network: walle_rt.Model, mels: list[Floats], words: npt.NDArray[np.int64]) -> float:
    """The share of words that a network tells."""
    session = network.session(threads=1)
    told = [int(session.run({"mels": trimmed(m)})["scores"].argmax()) for m in mels]
    return float(np.mean(np.array(told) == words))


def features_of(recordings: list[Recording]) -> list[Floats]:
    """Log-mel features by the engine, of words with quiet around them as a stream has it."""
    session = log_mel().session(threads=1)
    rng = np.random.default_rng(2)
    out = []
    for recording in recordings:
        # A session plans anew for every length it has not seen: whole eighths of a second are few lengths.
        behind = QUIET + -len(recording.samples) % (RATE // 8)
        samples = np.pad(recording.samples, (QUIET, behind))
        heard = (samples + noise(len(samples), rng)).astype(np.float32)
        out.append(np.array(session.run({"signal": heard[None, :, None]})["mels"]))
    return out


def _model(
    nodes: list[onnx.NodeProto],
    constants: dict[str, Floats],
    given: tuple[str, list[int | str]],
    made: tuple[str, list[int | str]],
) -> walle_rt.Model:
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (given, made)]
    weights = [
        numpy_helper.from_array(value if value.dtype.kind == "i" else value.astype(np.float32), name)
        for name, value in constants.items()
    ]
    graph = helper.make_graph(nodes, "voice", values[:1], values[1:], weights)
    return walle_rt.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
