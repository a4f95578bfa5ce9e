"""Products of matrices and functions by element of walle.Tensor, with NumPy as the reference."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from test_tensors import DTYPES, agree, outcome, random_array

from walle_rt.vm import VM, Isolate, LimitExceeded, Limits, TaskBundle, TaskFailed

SOURCE = """
import walle

def product(x, y):
    return x @ y

def product_in_place(x, y):
    x @= y
    return x

def turned(x, y):
    return x.T @ y[..., ::-1]

def method(x, name, *args):
    return getattr(x, name)(*args)

def clip(x, low, high):
    return x.clip(min=low, max=high)

def where(x, condition, other):
    return x.where(condition, other)

def softmax(x):
    e = (x - x.max(axis=-1, keepdims=True)).exp()
    return e / e.sum(axis=-1, keepdims=True)

def large(n, dtype):
    x = walle.Tensor(dtype, [n, n])
    return (x @ x).shape
"""


@pytest.fixture(scope="module", params=["full", "device"])
def isolate(request: pytest.FixtureRequest, vm: VM) -> Isolate:
    made = Isolate(VM(request.param))
    made.load(TaskBundle(TaskBundle.from_source({"main": SOURCE}, vm).data, made.vm))
    return made


def random_pair(rng: np.random.Generator) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shapes whose product NumPy may refuse: one axis, batches that broadcast, sizes of 0 and 1."""
    m, k, n = (int(size) for size in rng.integers(0, 6, 3))
    batch = [int(size) for size in rng.integers(0, 4, rng.integers(0, 3))]
    other = [1 if rng.random() < 0.3 else size for size in batch][int(rng.integers(0, len(batch) + 1)) :]
    left = (k,) if rng.random() < 0.2 else (*batch, m, k)
    right = (k,) if rng.random() < 0.2 else (*other, k, n)
    if rng.random() < 0.1:
        right = tuple(size + 1 for size in right)
    return (left if rng.random() > 0.05 else ()), right


def test_products_agree_with_numpy(isolate: Isolate) -> None:
    rng = np.random.default_rng(31)
    for _ in range(600):
        left, right = random_pair(rng)
        x = random_array(rng, str(rng.choice(DTYPES)), left)
        y = random_array(rng, str(rng.choice(DTYPES)), right)
        ours = outcome(lambda x=x, y=y: isolate.call("product", x, y))
        agree(ours, outcome(lambda x=x, y=y: np.asarray(x) @ np.asarray(y)), f"{x!r} @ {y!r}")


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint16"])
def test_products_of_views_and_of_more_rows_than_a_question(isolate: Isolate, dtype: str) -> None:
    rng = np.random.default_rng(37)
    x = random_array(rng, dtype, (70, 150))
    y = random_array(rng, dtype, (2, 70, 33))
    theirs = x.T @ y[..., ::-1]
    agree(isolate.call("turned", x, y), theirs, dtype)
    if dtype == "float32":
        x, y = random_array(rng, dtype, (300, 700)), random_array(rng, dtype, (700, 900))
        np.testing.assert_allclose(isolate.call("product", x, y), x @ y, rtol=1e-4, atol=1e-4)


def test_a_product_in_place_is_a_new_tensor(isolate: Isolate) -> None:
    x = np.ones((2, 2), np.float32)
    np.testing.assert_array_equal(isolate.call("product_in_place", x, np.array([1, 2], np.float32)), [3, 3])
    np.testing.assert_array_equal(x, np.ones((2, 2)))


@pytest.mark.parametrize("other", [2, 2.5, True, "text", None])
def test_a_product_with_no_tensor_is_refused(isolate: Isolate, other: Any) -> None:
    with pytest.raises(TaskFailed) as failed:
        isolate.call("product", np.ones((2, 2), np.float32), other)
    assert failed.value.type == ("ValueError" if isinstance(other, int | float) else "TypeError")


def test_a_list_is_a_matrix(isolate: Isolate) -> None:
    product = isolate.call("product", np.ones((2, 2), np.float32), [[1, 2], [3, 4]])
    assert product.tolist() == [[4, 6], [4, 6]] and product.dtype == np.float64


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_a_long_product_ends_at_the_limit(vm: VM, dtype: str) -> None:
    """3,000^3 products take 0.5 to 30 s."""
    isolate = Isolate(VM("device"), limits=Limits(heap_bytes=1 << 30, wall_ms=60))
    isolate.load(TaskBundle(TaskBundle.from_source({"main": SOURCE}, vm).data, isolate.vm))
    began = time.monotonic()
    with pytest.raises(LimitExceeded):
        isolate.call("large", 3000, dtype)
    assert time.monotonic() - began < 5
    assert isolate.call("product", np.ones((1, 1), np.float32), np.ones(1, np.float32)) == [1]


@pytest.mark.parametrize("name", ["exp", "log"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_agree_with_numpy(isolate: Isolate, name: str, dtype: str) -> None:
    x = random_array(np.random.default_rng(41), dtype, (5, 7))
    for view in (x, x[::2, ::-1], x.T, x[:0]):
        ours = outcome(lambda view=view: isolate.call("method", view, name))
        agree(ours, outcome(lambda view=view: getattr(np, name)(view)), f"{name} of {view!r}")


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_functions_at_the_edges(isolate: Isolate, dtype: str) -> None:
    x = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 88, 89, -104, 700, 710], dtype)
    for name in ("exp", "log"):
        with np.errstate(all="ignore"):
            theirs = getattr(np, name)(x)
        np.testing.assert_allclose(
            isolate.call("method", x, name), theirs, rtol=2e-3 if dtype == "float16" else 1e-6
        )


BOUNDS = [None, 0, 1, -1, 3, 0.5, -2.0, True, 300, 2**40, float("nan"), float("inf")]


@pytest.mark.parametrize("dtype", DTYPES)
def test_clip_agrees_with_numpy(isolate: Isolate, dtype: str) -> None:
    x = random_array(np.random.default_rng(43), dtype, (3, 4))
    arrays = [
        np.arange(4).astype(dtype),
        np.arange(3, dtype=np.int16).reshape(3, 1),
        np.full((1,), 1.5),
    ]
    for low in [*BOUNDS, *arrays]:
        for high in [None, 2, 1.5, arrays[0]]:
            if low is None and high is None:
                continue  # NumPy before 2.1 refuses it; here it is a copy
            theirs = outcome(
                lambda low=low, high=high: (
                    np.minimum(x if low is None else np.maximum(x, low), high)
                    if high is not None
                    else np.maximum(x, low)
                )
            )
            ours = outcome(lambda low=low, high=high: isolate.call("clip", x, low, high))
            agree(ours, theirs, f"{x!r}.clip({low!r}, {high!r})")


def test_clip_of_nothing_is_a_copy(isolate: Isolate) -> None:
    x = np.array([1, 2], np.int8)
    copy = isolate.call("clip", x, None, None)
    copy[0] = 5
    assert x.tolist() == [1, 2]


def fits(number: int, dtype: Any) -> bool:
    return bool(np.iinfo(dtype).min <= number <= np.iinfo(dtype).max)


def test_where_agrees_with_numpy(isolate: Isolate) -> None:
    rng = np.random.default_rng(47)
    for _ in range(300):
        whole = [int(n) for n in rng.integers(0, 4, rng.integers(0, 4))]
        parts = [tuple(1 if rng.random() < 0.3 else n for n in whole) for _ in range(3)]
        x = random_array(rng, str(rng.choice(DTYPES)), parts[0])
        condition: Any = random_array(rng, str(rng.choice(["bool", "bool", "float32", "int8"])), parts[1])
        other: Any = random_array(rng, str(rng.choice(DTYPES)), parts[2])
        if rng.random() < 0.3:
            other = [0, -1, 2.5, True, 300, 2**40, float("nan")][rng.integers(0, 7)]
        if rng.random() < 0.2:
            condition = bool(rng.random() < 0.5)
        ours = outcome(lambda x=x, c=condition, o=other: isolate.call("where", x, c, o))
        if isinstance(other, int) and x.dtype.kind in "iu" and not fits(other, x.dtype):
            assert ours == "OverflowError", ours  # as everywhere else; NumPy's where() alone lets it wrap
            continue
        agree(
            ours,
            outcome(lambda x=x, c=condition, o=other: np.where(c, x, o)),
            f"{x!r}.where({condition!r}, {other!r})",
        )


@pytest.mark.parametrize(("condition", "other"), [("a", 0), (None, 0), (True, "b"), (True, None)])
def test_where_refuses_what_is_no_number(isolate: Isolate, condition: Any, other: Any) -> None:
    with pytest.raises(TaskFailed, match=r"where\(\) takes tensors, numbers and lists, not (str|NoneType)"):
        isolate.call("where", np.ones(2, np.float32), condition, other)


def test_a_softmax_reads_as_in_numpy(isolate: Isolate) -> None:
    x = np.random.default_rng(53).normal(0, 20, (4, 9)).astype(np.float32)
    e = np.exp(x - x.max(-1, keepdims=True))
    np.testing.assert_allclose(isolate.call("softmax", x), e / e.sum(-1, keepdims=True), rtol=1e-5, atol=1e-7)


def test_results_count_as_the_task_s_memory(vm: VM) -> None:
    isolate = Isolate(VM("device"), limits=Limits(heap_bytes=4 << 20))
    isolate.load(TaskBundle(TaskBundle.from_source({"main": SOURCE}, vm).data, isolate.vm))
    column, row = np.ones((2000, 1), np.float32), np.ones((1, 2000), np.float32)
    with pytest.raises((TaskFailed, LimitExceeded)):
        isolate.call("product", column, row)
    assert isolate.call("product", row, column).tolist() == [[2000]]
