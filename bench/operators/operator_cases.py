"""ONNX operators, the types they are used with and two sizes of each, as models of one node.

Operands are fed, so that nothing is folded; those named in ``constants`` are initializers, as they are in
networks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]

SIZES: dict[str, Shape] = {"16k": (16, 1024), "1m": (64, 128, 128)}
ROWS: dict[str, Shape] = {"16k": (16, 1024), "1m": (1024, 1024)}
IMAGES: dict[str, Shape] = {"16k": (1, 16, 32, 32), "1m": (1, 64, 128, 128)}

FLOATS = ("float32", "float64")
WIDE = ("float32", "int32", "int64")
NUMBERS = (*WIDE, "uint8", "int8")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")


@dataclass(frozen=True)
class Case:
    """A node with its operands."""

    name: str
    op: str
    inputs: tuple[Array | None, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    constants: frozenset[int] = frozenset()
    outputs: int = 1
    domain: str = ""

    def model(self) -> onnx.ModelProto:
        names = ["" if x is None else f"x{i}" for i, x in enumerate(self.inputs)]
        results = [f"y{i}" for i in range(self.outputs)]
        node = helper.make_node(self.op, names, results, domain=self.domain, **self.attributes)
        given = [(i, x) for i, x in enumerate(self.inputs) if x is not None]
        graph = helper.make_graph(
            [node],
            "operator",
            [_info(names[i], x) for i, x in given if i not in self.constants],
            [onnx.ValueInfoProto(name=name) for name in results],
            [numpy_helper.from_array(x, names[i]) for i, x in given if i in self.constants],
        )
        opsets = [helper.make_opsetid("", 21)]
        if self.domain:
            opsets.append(helper.make_opsetid(self.domain, 1))
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

    def feeds(self) -> dict[str, Array]:
        given = enumerate(self.inputs)
        return {f"x{i}": x for i, x in given if x is not None and i not in self.constants}


def _info(name: str, x: Array) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)


def numbers(shape: Shape, dtype: str, seed: int = 0) -> Array:
    """Numbers of both signs where the type has them, none of them 0."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return np.asarray(rng.integers(0, 2, shape) != 0)
    if np.dtype(dtype).kind == "f":
        return np.asarray(rng.uniform(0.1, 3, shape) * rng.choice([-1, 1], shape), dtype)
    high = min(int(np.iinfo(dtype).max), 1000)
    found = rng.integers(1, high, shape)
    signs = 1 if dtype.startswith("u") else rng.choice([-1, 1], shape)
    return np.asarray(found * signs).astype(dtype)


def elementwise() -> Iterator[Case]:
    """Functions of one and of two operands, dense and with a scalar; casts; selections."""
    for op in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Less", "Equal", "GreaterOrEqual"):
        for size, shape, dtype in _each(SIZES, (*NUMBERS, "float64")):
            yield Case(f"{op}-{dtype}-{size}", op, (numbers(shape, dtype), numbers(shape, dtype, 1)))
    for op in ("Add", "Mul", "Greater"):
        for size, shape, dtype in _each(SIZES, NUMBERS):
            yield Case(f"{op}_scalar-{dtype}-{size}", op, (numbers(shape, dtype), numbers((), dtype, 1)))
    for size, shape, dtype in _each(SIZES, ("int32", "int64", "uint8")):
        yield Case(f"Mod-{dtype}-{size}", "Mod", (numbers(shape, dtype), numbers(shape, dtype, 1)))
    for size, shape, dtype in _each(SIZES, ("float32", "float64", "int32")):
        yield Case(f"Pow-{dtype}-{size}", "Pow", (np.abs(numbers(shape, dtype)), np.array(3, dtype)))
    for op in ("BitwiseAnd", "BitwiseXor"):
        for size, shape, dtype in _each(SIZES, INTEGERS):
            yield Case(f"{op}-{dtype}-{size}", op, (numbers(shape, dtype), numbers(shape, dtype, 1)))
    for size, shape, dtype in _each(SIZES, ("uint8", "uint32", "uint64")):
        by = np.random.default_rng(1).integers(0, 8, shape).astype(dtype)
        yield Case(f"BitShift-{dtype}-{size}", "BitShift", (numbers(shape, dtype), by), {"direction": "LEFT"})
    for op in ("And", "Or", "Xor"):
        for size, shape, dtype in _each(SIZES, ("bool",)):
            yield Case(f"{op}-{dtype}-{size}", op, (numbers(shape, dtype), numbers(shape, dtype, 1)))
    for op in ("Abs", "Neg", "Sign"):
        for size, shape, dtype in _each(SIZES, (*NUMBERS, "float64")):
            yield Case(f"{op}-{dtype}-{size}", op, (numbers(shape, dtype),))
    for op, dtype in (("Not", "bool"), ("BitwiseNot", "uint8"), ("BitwiseNot", "int32"), ("Relu", "int8")):
        for size, shape in SIZES.items():
            yield Case(f"{op}-{dtype}-{size}", op, (numbers(shape, dtype),))
    yield from _functions()
    yield from _casts()
    for size, shape, dtype in _each(SIZES, (*NUMBERS, "float64")):
        chosen = numbers(shape, "bool", 2)
        yield Case(
            f"Where-{dtype}-{size}", "Where", (chosen, numbers(shape, dtype), numbers(shape, dtype, 1))
        )
        scalars = (numbers((), dtype), numbers((), dtype, 1))
        yield Case(f"Where_scalars-{dtype}-{size}", "Where", (chosen, *scalars))
        bounds = (np.array(2, dtype), np.array(50, dtype))
        yield Case(
            f"Clip-{dtype}-{size}", "Clip", (numbers(shape, dtype), *bounds), constants=frozenset({1, 2})
        )


def _functions() -> Iterator[Case]:
    anywhere = (
        "Atan Ceil Cos Elu Erf Exp Floor Gelu HardSigmoid HardSwish LeakyRelu Mish Reciprocal Relu Round Selu"
        " Sigmoid Sin Sinh Cosh Softplus Softsign Tan Tanh Asinh IsNaN IsInf"
    )
    for size, shape in SIZES.items():
        for op in anywhere.split():
            yield Case(f"{op}-float32-{size}", op, (numbers(shape, "float32"),))
        for op in ("Acos", "Asin", "Atanh"):
            yield Case(f"{op}-float32-{size}", op, (numbers(shape, "float32") / 4,))
        for op in ("Log", "Sqrt"):
            yield Case(f"{op}-float32-{size}", op, (np.abs(numbers(shape, "float32")),))
        yield Case(f"Acosh-float32-{size}", "Acosh", (np.abs(numbers(shape, "float32")) + 1,))
        for op in ("Exp", "Sqrt", "Tanh"):
            yield Case(f"{op}-float64-{size}", op, (np.abs(numbers(shape, "float64")),))


def _casts() -> Iterator[Case]:
    pairs = [
        (a, b) for a in ("float32", *INTEGERS, "bool", "float16") for b in ("float32", *INTEGERS, "bool")
    ]
    pairs += [("float32", "float16"), ("float64", "float32"), ("float32", "float64"), ("float64", "int64")]
    for size, shape in SIZES.items():
        for a, b in pairs:
            if a != b:
                to = helper.np_dtype_to_tensor_dtype(np.dtype(b))
                x = numbers(shape, a) * 10 if a.startswith("float") else numbers(shape, a)
                yield Case(f"Cast_{a}-{b}-{size}", "Cast", (x,), {"to": to})


def quantisation() -> Iterator[Case]:
    """To codes and back, per tensor and per axis, and by the range of what is given."""
    for size, shape in IMAGES.items():
        x = numbers(shape, "float32")
        for dtype in ("uint8", "int8", "uint16", "int16"):
            codes = np.random.default_rng(2).integers(0, 100, shape).astype(dtype)
            for per, count in (("tensor", ()), ("axis", (shape[1],))):
                scale = np.full(count, 0.03, np.float32)
                zero = np.full(count, 3, dtype)
                both = frozenset({1, 2})
                name = f"per_{per}-{dtype}-{size}"
                yield Case(f"QuantizeLinear_{name}", "QuantizeLinear", (x, scale, zero), constants=both)
                yield Case(
                    f"DequantizeLinear_{name}", "DequantizeLinear", (codes, scale, zero), constants=both
                )
        yield Case(f"DynamicQuantizeLinear-{size}", "DynamicQuantizeLinear", (x,), outputs=3)
    for m, n in ((1, 768), (128, 768)):
        a = np.random.default_rng(3).integers(0, 256, (m, 768)).astype(np.uint8)
        b = np.random.default_rng(4).integers(-127, 128, (768, n)).astype(np.int8)
        yield Case(f"MatMulInteger-{m}x768x{n}", "MatMulInteger", (a, b), constants=frozenset({1}))


def rows() -> Iterator[Case]:
    """Reductions, orders and functions of rows."""
    for op in (
        "ReduceSum",
        "ReduceMean",
        "ReduceMax",
        "ReduceMin",
        "ReduceProd",
        "ReduceL2",
        "ReduceLogSumExp",
    ):
        few = op in ("ReduceL2", "ReduceLogSumExp")
        small = ("uint8", "int8") if op in ("ReduceMax", "ReduceMin") else ()
        for size, shape, dtype in _each(ROWS, ("float32",) if few else (*WIDE, "float64", *small)):
            for axis in (0, 1):
                axes = np.array([axis])
                yield Case(
                    f"{op}_axis{axis}-{dtype}-{size}",
                    op,
                    (numbers(shape, dtype), axes),
                    constants=frozenset({1}),
                )
    for op in ("ArgMax", "ArgMin"):
        for size, shape, dtype in _each(ROWS, ("float32", "int32", "uint8", "int8")):
            for axis in (0, 1):
                yield Case(f"{op}_axis{axis}-{dtype}-{size}", op, (numbers(shape, dtype),), {"axis": axis})
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        for size, shape in ROWS.items():
            for axis in (0, 1):
                yield Case(
                    f"{op}_axis{axis}-float32-{size}", op, (numbers(shape, "float32"),), {"axis": axis}
                )
    for size, shape in ROWS.items():
        x, g = numbers(shape, "float32"), numbers(shape[-1:], "float32")
        yield Case(f"LayerNormalization-{size}", "LayerNormalization", (x, g, g), constants=frozenset({1, 2}))
    for size, shape, dtype in _each(ROWS, WIDE):
        x = np.random.default_rng(5).permutation(np.arange(np.prod(shape))).reshape(shape).astype(dtype)
        for k in (1, 10, 200):
            yield Case(
                f"TopK_{k}-{dtype}-{size}", "TopK", (x, np.array([k])), constants=frozenset({1}), outputs=2
            )
        for axis in (0, 1):
            axes = np.array(axis)
            yield Case(f"CumSum_axis{axis}-{dtype}-{size}", "CumSum", (x, axes), constants=frozenset({1}))
    for size, shape, dtype in _each(ROWS, ("float32", "int64")):
        few = np.random.default_rng(6).integers(0, 500, int(np.prod(shape)) // 4).astype(dtype)
        yield Case(f"Unique-{dtype}-{size}", "Unique", (few,), outputs=4)
    for size, shape, dtype in _each(ROWS, ("float32", "bool", "int64")):
        sparse = numbers(shape, dtype) * (numbers(shape, "bool", 1) & numbers(shape, "bool", 2))
        yield Case(f"NonZero-{dtype}-{size}", "NonZero", (sparse.astype(dtype),))


def movement() -> Iterator[Case]:
    """What moves elements, of 1, 2, 4 and 8 bytes."""
    moved = ("uint8", "float16", "float32", "int64")
    for size, shape, dtype in _each(ROWS, moved):
        x = numbers(shape, dtype)
        yield Case(f"Transpose-{dtype}-{size}", "Transpose", (x,), {"perm": [1, 0]})
        yield Case(f"Concat-{dtype}-{size}", "Concat", (x, x), {"axis": 1})
        yield Case(f"Split-{dtype}-{size}", "Split", (x,), {"axis": 1, "num_outputs": 4}, outputs=4)
        limits = tuple(np.array(v) for v in ([1, 3], [99999, 1000], [0, 1], [2, 1]))
        yield Case(f"Slice-{dtype}-{size}", "Slice", (x, *limits), constants=frozenset({1, 2, 3, 4}))
        steps = tuple(np.array(v) for v in ([0], [99999], [1], [2]))
        yield Case(f"Slice_step-{dtype}-{size}", "Slice", (x, *steps), constants=frozenset({1, 2, 3, 4}))
        repeats = np.array([2, 3])
        yield Case(f"Tile-{dtype}-{size}", "Tile", (x, repeats), constants=frozenset({1}))
        wide = np.array([4, *shape])
        yield Case(f"Expand-{dtype}-{size}", "Expand", (x, wide), constants=frozenset({1}))
        picked = np.random.default_rng(7).integers(0, shape[0], 200)
        yield Case(f"Gather_axis0-{dtype}-{size}", "Gather", (x, picked), {"axis": 0})
        yield Case(f"Gather_axis1-{dtype}-{size}", "Gather", (x, picked), {"axis": 1})
        places = np.random.default_rng(8).integers(0, shape[1], shape)
        yield Case(f"GatherElements-{dtype}-{size}", "GatherElements", (x, places), {"axis": 1})
        lines = np.random.default_rng(9).permutation(shape[0])[:10]
        yield Case(f"ScatterND-{dtype}-{size}", "ScatterND", (x, lines[:, None], x[:10]))
        yield Case(f"ScatterElements-{dtype}-{size}", "ScatterElements", (x, places, x), {"axis": 1})
        yield Case(f"Trilu-{dtype}-{size}", "Trilu", (x,))
    for size, shape, dtype in _each(IMAGES, moved):
        x = numbers(shape, dtype)
        yield Case(f"Transpose_nhwc-{dtype}-{size}", "Transpose", (x,), {"perm": [0, 2, 3, 1]})
        pads = np.array([0, 0, 1, 1, 0, 0, 1, 1])
        yield Case(f"Pad-{dtype}-{size}", "Pad", (x, pads), constants=frozenset({1}))
        yield Case(f"DepthToSpace-{dtype}-{size}", "DepthToSpace", (x,), {"blocksize": 2})
        lengths = np.array([shape[2] // 2] * shape[1])
        turn = {"batch_axis": 0, "time_axis": 1}
        yield Case(f"ReverseSequence-{dtype}-{size}", "ReverseSequence", (x[0], lengths), turn)
    for size, count in (("1k", 1000), ("32k", 32768)):
        classes = np.random.default_rng(10).integers(0, 64, count)
        for dtype in ("float32", "uint8"):
            values = np.array([0, 1], dtype)
            yield Case(
                f"OneHot-{dtype}-{size}",
                "OneHot",
                (classes, np.array([64]), values),
                constants=frozenset({1}),
            )


def images() -> Iterator[Case]:
    """Windows over images and what resamples them."""
    for size, shape in IMAGES.items():
        x = numbers(shape, "float32")
        for k, s in ((2, 2), (3, 1), (3, 2), (3, 3), (5, 3)):
            window = {"kernel_shape": [k, k], "strides": [s, s], "pads": [k // 2] * 4 if k > 2 else [0] * 4}
            for op in ("MaxPool", "AveragePool"):
                yield Case(f"{op}_{k}x{k}s{s}-float32-{size}", op, (x,), window)
            for dtype in ("uint8", "int8"):
                yield Case(f"MaxPool_{k}x{k}s{s}-{dtype}-{size}", "MaxPool", (numbers(shape, dtype),), window)
        for op in ("GlobalAveragePool", "GlobalMaxPool"):
            yield Case(f"{op}-{size}", op, (x,))
        axis = np.linspace(-1.1, 1.1, shape[2], dtype=np.float32)
        grid = np.stack(np.meshgrid(axis, axis), -1)[None]
        for mode in ("linear", "nearest", "cubic"):
            yield Case(f"GridSample_{mode}-{size}", "GridSample", (x, grid), {"mode": mode})
        for mode, dtype in (
            ("nearest", "float32"),
            ("linear", "float32"),
            ("cubic", "float32"),
            ("nearest", "uint8"),
        ):
            scales = np.array([1, 1, 2, 2], np.float32)
            yield Case(
                f"Resize_{mode}-{dtype}-{size}",
                "Resize",
                (numbers(shape, dtype), None, scales),
                {"mode": mode},
                constants=frozenset({2}),
            )
        channels = [np.abs(numbers(shape[1:2], "float32", i)) for i in range(4)]
        rest = frozenset({1, 2, 3, 4})
        yield Case(
            f"InstanceNormalization-{size}", "InstanceNormalization", (x, *channels[:2]), constants=rest
        )
        yield Case(f"BatchNormalization-{size}", "BatchNormalization", (x, *channels), constants=rest)
        yield Case(f"LRN-{size}", "LRN", (x,), {"size": 5})
        yield Case(f"LpNormalization-{size}", "LpNormalization", (x,), {"axis": -1})


def products() -> Iterator[Case]:
    """Products of matrices of other types than networks have."""
    for n in (128, 512):
        for dtype in ("float32", "float64", "int32", "int64"):
            yield Case(f"MatMul-{dtype}-{n}", "MatMul", (numbers((n, n), dtype), numbers((n, n), dtype, 1)))


def _each(sizes: dict[str, Shape], dtypes: Sequence[str]) -> Iterator[tuple[str, Shape, str]]:
    for dtype in dtypes:
        for size, shape in sizes.items():
            yield size, shape, dtype


GROUPS: dict[str, Callable[[], Iterator[Case]]] = {
    "elementwise": elementwise,
    "quantisation": quantisation,
    "rows": rows,
    "movement": movement,
    "images": images,
    "products": products,
}
