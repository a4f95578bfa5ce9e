"""TensorProto, SparseTensorProto and external data to arrays of bits plus a walle_rt dtype name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import SparseTensorProto, TensorProto

from ... import _core
from ...values import Array
from ..report import refuse
from .element_types import PACKED, known_dtype
from .external import DataFolder, read_external

_MAX_BYTES = _core.limits()["max_tensor_bytes"]
MAX_RANK = _core.limits()["max_rank"]


@dataclass(frozen=True)
class Bits:
    """A constant: the array of its bits and the name of its dtype."""

    array: Array
    dtype: str


def checked_dims(dims: list[int], itemsize: int, where: str) -> int:
    """The element count of a tensor in a file, within the limits, before anything is allocated for it."""
    if len(dims) > MAX_RANK:
        raise refuse(
            f"a tensor of rank {len(dims)}", f"rank at most {MAX_RANK}", where, "reshape it in the model"
        )
    if any(d < 0 for d in dims):
        raise refuse(
            f"dimensions {dims}", "non-negative sizes", where, "export the model again; the file is damaged"
        )
    count = math.prod(dims)
    if count * itemsize > _MAX_BYTES:
        raise refuse(
            f"a tensor of {count * itemsize} bytes {dims}",
            f"at most {_MAX_BYTES} bytes",
            where,
            "split the tensor",
        )
    return count


def read_tensor(tensor: TensorProto, folder: DataFolder | None, where: str) -> Bits:
    """The bits of a TensorProto, external data included (confined to ``folder``)."""
    name, code, _ = known_dtype(tensor.data_type)
    dims = list(tensor.dims)
    dtype = np.dtype(code)
    count = checked_dims(dims, dtype.itemsize, where)
    if tensor.data_type in PACKED:
        return Bits(_unpacked(tensor, folder, count, where).reshape(dims), name)
    if tensor.data_location == TensorProto.EXTERNAL:
        flat = read_external(tensor, folder, count * dtype.itemsize, where).view(dtype)
    elif tensor.HasField("raw_data"):
        flat = _from_raw(tensor.raw_data, dtype, count, where)
    else:
        flat = _from_fields(tensor, dtype, name)
    if flat.size != count:
        raise refuse(
            f"{flat.size} elements for a tensor of shape {dims}",
            f"{count} elements",
            where,
            "export the model again; the file is damaged",
        )
    return Bits(flat.reshape(dims), name)


def read_strings(tensor: TensorProto) -> Array:
    """The strings of a TensorProto as an array of bytes objects."""
    where = f"tensor '{tensor.name}'"
    dims = list(tensor.dims)
    count = checked_dims(dims, 1, where)
    if len(tensor.string_data) != count:
        raise refuse(
            f"{len(tensor.string_data)} strings for a tensor of shape {dims}",
            f"{count} strings",
            where,
            "export the model again; the file is damaged",
        )
    flat = np.empty(count, object)
    flat[:] = list(tensor.string_data)
    return flat.reshape(dims)


def _unpacked(tensor: TensorProto, folder: DataFolder | None, count: int, where: str) -> Array:
    """Elements below 8 bits, the first in the lowest bits of a byte, as a byte each."""
    bits = PACKED[tensor.data_type]
    size = -(-count * bits // 8)
    if tensor.data_location == TensorProto.EXTERNAL:
        packed = np.asarray(read_external(tensor, folder, size, where))
    elif tensor.HasField("raw_data"):
        packed = _from_raw(tensor.raw_data, np.dtype(np.uint8), size, where)
    else:
        packed = np.asarray(tensor.int32_data, np.int32).astype(np.uint8)
    if packed.size != size:
        raise refuse(
            f"{packed.size} bytes for {count} elements of {bits} bits", f"{size} bytes", where, "export again"
        )
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    codes = packed[:, None] >> shifts
    codes &= np.uint8((1 << bits) - 1)  # in place: these are the largest arrays of a model of few bits
    return np.ascontiguousarray(codes.reshape(-1)[:count])


def _from_raw(raw: bytes, dtype: np.dtype[Any], count: int, where: str) -> Array:
    if len(raw) != count * dtype.itemsize:
        raise refuse(
            f"{len(raw)} bytes of raw data",
            f"{count * dtype.itemsize} bytes",
            where,
            "export the model again",
        )
    return np.frombuffer(raw, dtype)


def _from_fields(tensor: TensorProto, dtype: np.dtype[Any], name: str) -> Array:
    kind = tensor.data_type
    if kind == TensorProto.FLOAT:
        return np.asarray(tensor.float_data, dtype)
    if kind == TensorProto.DOUBLE:
        return np.asarray(tensor.double_data, dtype)
    if kind in (TensorProto.COMPLEX64, TensorProto.COMPLEX128):  # real and imaginary parts by turns
        fields = tensor.float_data if kind == TensorProto.COMPLEX64 else tensor.double_data
        parts = np.asarray(fields, f"<f{dtype.itemsize // 2}")
        return parts[: parts.size // 2 * 2].view(dtype)
    if kind == TensorProto.INT64:
        return np.asarray(tensor.int64_data, dtype)
    if kind in (TensorProto.UINT32, TensorProto.UINT64):
        return np.asarray(tensor.uint64_data, np.uint64).astype(dtype)
    words = np.asarray(tensor.int32_data, np.int32)
    if kind == TensorProto.FLOAT16:
        return words.astype(np.uint16).view(dtype)
    return words.astype(dtype)


def read_sparse(sparse: SparseTensorProto, folder: DataFolder | None, where: str) -> Bits:
    """A sparse tensor as a dense one."""
    values = read_tensor(sparse.values, folder, where)
    indices = read_tensor(sparse.indices, folder, where).array.astype(np.int64)
    dims = list(sparse.dims)
    count = checked_dims(dims, values.array.dtype.itemsize, where)
    dense = np.zeros(count, values.array.dtype)
    if indices.ndim == 2 and indices.shape == (values.array.size, len(dims)):
        in_range = bool(((indices >= 0) & (indices < np.asarray(dims, np.int64))).all())
        flat = (
            np.ravel_multi_index(tuple(indices.T), dims)
            if in_range and indices.size
            else np.empty(0, np.int64)
        )
    else:
        flat = indices.ravel()
        in_range = flat.size == values.array.size and bool(((flat >= 0) & (flat < count)).all())
    if not in_range:
        raise refuse(
            "sparse indices that do not fit the tensor",
            f"one index in range per value of {dims}",
            where,
            "export the model again; the file is damaged",
        )
    if indices.size:
        dense[flat] = values.array.ravel()
    return Bits(dense.reshape(dims), values.dtype)
