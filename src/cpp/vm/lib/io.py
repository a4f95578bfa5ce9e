"""StringIO and BytesIO: memory streams with the documented behaviour; there are no files."""

from _collections_abc import Iterator

SEEK_SET, SEEK_CUR, SEEK_END = 0, 1, 2
DEFAULT_BUFFER_SIZE = 8192


class UnsupportedOperation(OSError, ValueError):
    pass


class IOBase(Iterator):
    closed = False

    def close(self):
        self.closed = True

    def __enter__(self):
        self._check()
        return self

    def __exit__(self, *details):
        self.close()

    def __next__(self):
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def _check(self):
        if self.closed:
            raise ValueError("I/O operation on closed file.")

    def readable(self):
        self._check()
        return True

    writable = seekable = readable

    def isatty(self):
        self._check()
        return False

    def flush(self):
        self._check()

    def fileno(self):
        raise UnsupportedOperation("fileno")

    def readlines(self, hint=-1):
        lines = []
        total = 0
        for line in self:
            lines.append(line)
            total += len(line)
            if hint is not None and 0 < hint <= total:
                break
        return lines

    def writelines(self, lines):
        for line in lines:
            self.write(line)


class _Memory(IOBase):
    def tell(self):
        self._check()
        return self._at

    def getvalue(self):
        self._check()
        return self._join()

    def _take(self, end):
        piece = self._data[self._at : end]
        self._at = max(self._at, min(end, len(self._data)))
        return piece

    def read(self, size=-1):
        self._check()
        return self._out(self._take(len(self._data) if size is None or size < 0 else self._at + size))

    def readline(self, size=-1):
        self._check()
        end = self._data.find(self._newline, self._at) + 1
        if end <= 0:
            end = len(self._data)
        if size is not None and size >= 0:
            end = min(end, self._at + size)
        return self._out(self._take(end))


class BytesIO(_Memory):
    _newline = b"\n"
    _out = bytes

    def __init__(self, initial_bytes=b""):
        self._data = bytearray(initial_bytes or b"")
        self._at = 0

    def _join(self):
        return bytes(self._data)

    def getbuffer(self):
        self._check()
        return memoryview(self._data)

    read1 = _Memory.read

    def readinto(self, buffer):
        view = memoryview(buffer).cast("B")
        piece = self.read(len(view))
        view[: len(piece)] = piece
        return len(piece)

    def write(self, data):
        self._check()
        data = memoryview(data).cast("B")
        if self._at > len(self._data):
            self._data.extend(bytes(self._at - len(self._data)))
        self._data[self._at : self._at + len(data)] = data
        self._at += len(data)
        return len(data)

    def seek(self, offset, whence=0):
        self._check()
        if whence == 0 and offset < 0:
            raise ValueError("negative seek value %r" % (offset,))
        base = (0, self._at, len(self._data))[whence]
        self._at = max(0, base + offset)
        return self._at

    def truncate(self, size=None):
        self._check()
        size = self._at if size is None else size
        if size < 0:
            raise ValueError("negative size value %r" % (size,))
        del self._data[size:]
        return size


class StringIO(_Memory):
    """Text is kept in pieces and joined when read, so that many small writes stay linear."""

    _newline = "\n"
    encoding = errors = None
    line_buffering = False

    def __init__(self, initial_value="", newline="\n"):
        if newline not in (None, "", "\n", "\r", "\r\n"):
            raise ValueError("illegal newline value: %r" % (newline,))
        self._translate = newline
        self._pieces = []
        self._text = ""
        self._at = 0
        if initial_value is not None:
            self.write(initial_value)
            self._at = 0

    @property
    def newlines(self):
        return None

    @staticmethod
    def _out(text):
        return text

    @property
    def _data(self):
        if self._pieces:
            self._text += "".join(self._pieces)
            self._pieces = []
        return self._text

    def _join(self):
        return self._data

    def write(self, text):
        self._check()
        if not isinstance(text, str):
            raise TypeError("string argument expected, got %r" % type(text).__name__)
        size = len(text)
        if self._translate is None:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        elif self._translate in ("\r", "\r\n"):
            text = text.replace("\n", self._translate)
        if self._at == (
            len(self._text) + sum(map(len, self._pieces)) if len(self._pieces) < 64 else len(self._data)
        ):
            self._pieces.append(text)
        else:
            data = self._data
            data += "\0" * (self._at - len(data))
            self._text = data[: self._at] + text + data[self._at + len(text) :]
        self._at += len(text)
        return size

    def seek(self, offset, whence=0):
        self._check()
        if whence == 0 and offset < 0:
            raise ValueError("Negative seek position %d" % offset)
        if whence and offset:
            raise OSError("Can't do nonzero cur-relative seeks")
        self._at = (offset, self._at, len(self._data))[whence]
        return self._at

    def truncate(self, size=None):
        self._check()
        size = self._at if size is None else size
        if size < 0:
            raise ValueError("Negative size value %d" % size)
        self._text = self._data[:size]
        return size


TextIOBase = RawIOBase = BufferedIOBase = IOBase
