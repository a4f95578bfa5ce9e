"""ONNX files with large weights inside: the model without them, and where each lies in the file.

A parsed ``onnx.ModelProto`` holds a copy of every weight beside the file's own bytes. Here the fields that
lead to the weights (model, graph, initializer, raw data) are walked in the file itself, and a model comes out
whose weights are external data of the very file they lie in. Only the encoding of protobuf is known here,
nothing is believed: what is odd in any way is left to the parser.
"""

from __future__ import annotations

from collections.abc import Iterator

# Field numbers of onnx.proto.
_GRAPH = 7  # of ModelProto
_INITIALIZER = 5  # of GraphProto
_RAW_DATA, _EXTERNAL_DATA, _DATA_LOCATION = 9, 13, 14  # of TensorProto
_KEY, _VALUE = 1, 2  # of StringStringEntryProto
_EXTERNAL = 1  # of TensorProto.DataLocation

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5  # wire types
_MAX_VARINT = 10  # bytes

# Smaller weights stay: an entry that says where they lie takes 100 bytes.
_LEAST_BYTES = 4096


class _OddError(Exception):
    """Bytes that do not follow protobuf's encoding."""


def without_weights(data: memoryview, name: str) -> bytes | None:
    """A serialized model whose large initializers are external data in the file ``name``; None if odd."""
    try:
        graphs = [f for f in _fields(data) if f[0] == _GRAPH]
        if len(graphs) != 1 or graphs[0][1] != _LENGTH:
            return None
        _, _, start, begin, end = graphs[0]
        graph = b"".join(_graph(data[begin:end], begin, name))
    except _OddError:
        return None
    return b"".join((data[:start], _length_field(_GRAPH, graph), data[end:]))


def _graph(graph: memoryview, base: int, name: str) -> Iterator[bytes | memoryview]:
    """The pieces of a graph; ``base`` is where it lies in the file."""
    kept = 0
    for number, wire, start, begin, end in _fields(graph):
        if number != _INITIALIZER or wire != _LENGTH or end - begin < _LEAST_BYTES:
            continue
        tensor = _tensor(graph[begin:end], base + begin, name)
        if tensor is not None:
            yield graph[kept:start]
            yield _length_field(_INITIALIZER, tensor)
            kept = end
    yield graph[kept:]


def _tensor(tensor: memoryview, base: int, name: str) -> bytes | None:
    """A tensor with its raw data elsewhere; None when it stays as it is."""
    fields = list(_fields(tensor))
    raw = [f for f in fields if f[0] == _RAW_DATA]
    if len(raw) != 1 or any(f[0] in (_EXTERNAL_DATA, _DATA_LOCATION) for f in fields):
        return None
    _, wire, start, begin, end = raw[0]
    if wire != _LENGTH or end - begin < _LEAST_BYTES:
        return None
    entries = {"location": name, "offset": str(base + begin), "length": str(end - begin)}
    out = bytearray(tensor[:start])
    out += tensor[end:]
    out += _varint(_DATA_LOCATION << 3 | _VARINT) + _varint(_EXTERNAL)
    for key, value in entries.items():
        entry = _length_field(_KEY, key.encode()) + _length_field(_VALUE, value.encode())
        out += _length_field(_EXTERNAL_DATA, entry)
    return bytes(out)


def _fields(data: memoryview) -> Iterator[tuple[int, int, int, int, int]]:
    """Number, wire type, start, and begin and end of the contents of each field of a message."""
    at = 0
    while at < len(data):
        start = at
        tag, at = _read_varint(data, at)
        number, wire = tag >> 3, tag & 7
        begin = at
        if wire == _VARINT:
            _, at = _read_varint(data, at)
        elif wire == _LENGTH:
            size, begin = _read_varint(data, at)
            at = begin + size
        elif wire in (_FIXED64, _FIXED32):
            at += 8 if wire == _FIXED64 else 4
        else:
            raise _OddError
        if number == 0 or at > len(data):
            raise _OddError
        yield number, wire, start, begin, at


def _read_varint(data: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for i, byte in enumerate(data[at : at + _MAX_VARINT]):
        value |= (byte & 0x7F) << 7 * i
        if not byte & 0x80:
            return value, at + i + 1
    raise _OddError


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _length_field(number: int, contents: bytes) -> bytes:
    return _varint(number << 3 | _LENGTH) + _varint(len(contents)) + contents
