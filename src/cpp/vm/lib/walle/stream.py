"""walle.stream: the events a task was triggered by, graphs over them, and the way out.

clicks = walle.stream.events(event, of="session", fields=["item"])
rows = walle.stream.run("pages.graph", event, of="page")
walle.stream.send("pages", rows)
"""

import _walle

_calls = _walle.host("walle.stream")


class Rows:
    """What a graph gave. The rows stay native: a script reads copies of their columns and changes none.

    They live until they are closed, dropped, or the next firing begins.
    """

    __slots__ = ("_handle",)

    def __init__(self, handle):
        self._handle = handle

    def columns(self):
        """{"ts": Tensor, name: Tensor or list}, a value per row; a list has None for what is absent."""
        return _calls.columns(self._handle)

    @property
    def ts(self):
        """Times of the rows, an int64 Tensor of microseconds since 1970."""
        return self.columns()["ts"]

    def __len__(self):
        return _calls.size(self._handle)

    def close(self):
        """Give the rows up; everything else fails from now on."""
        _calls.close(self._handle)

    def __del__(self):
        try:
            self.close()
        except Exception:
            pass  # the isolate has lost its stream, and the rows with it

    def __repr__(self):
        return "walle.stream.Rows(%d)" % self._handle


def events(firing, of="match", fields=None):
    """Columns of the events of a firing's match, session or page, or of a time range [from_ts, to_ts].

    Never of events behind the one that fired. Columns: ts, event, page, session, page_instance and `fields`.
    """
    return _calls.events(firing, of, fields)


def run(graph, source, of="match", fields=None):
    """Rows that a graph makes of a firing's events, or of the rows of another graph.

    `graph` is the name of a file in the task's folder, or the bytes of Graph.to_bytes(). Unless `fields` are
    named, they are those that the graph reads.
    """
    if isinstance(source, Rows):
        source = source._handle
    elif not isinstance(source, dict):
        raise TypeError("source must be an event or Rows, not %s" % type(source).__name__)
    return Rows(_calls.run(graph, source, of, fields))


def send(feature, rows):
    """Send rows of a graph as a feature when this firing ends well; PermissionError if the gate refuses.

    Returns whether there were rows: none are no send, and spend nothing of the day's budgets.
    """
    if not isinstance(rows, Rows):
        raise TypeError("rows must be what walle.stream.run gave, not %s" % type(rows).__name__)
    return _calls.send(feature, rows._handle)
