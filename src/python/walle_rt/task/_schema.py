"""task.toml as data: every key there is, what it takes, what it means. The reader walks it, the page of
docs/reference/task-toml.md is made of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import _core
from ..table import ColumnType
from . import _kinds as k

REQUIRED: Any = object()
# Far above what tasks need; the numbers of src/cpp/container/task/manifest.h.
_MS = k.whole(1, 600_000)
_BYTES = 1 << 34


@dataclass(frozen=True)
class Key:
    """A key with a value. ``default`` is what the reader gives for a missing one: already read."""

    kind: k.Kind
    doc: str
    default: Any = REQUIRED
    shown: str = ""  # the default as the page says it


@dataclass(frozen=True)
class Table:
    """A table of fixed keys; with ``short``, that key's value alone may stand in its place."""

    doc: str
    keys: Mapping[str, Key | Table | Named] = field(default_factory=dict)
    short: str = ""
    required: bool = False


@dataclass(frozen=True)
class Named:
    """A table whose keys the author chooses."""

    doc: str
    name: k.Kind
    value: Key | Table
    required: bool = False
    most: int = 256


# Words of columns by what may hold them.
COLUMN_TYPES = k.word(*(t for t in ColumnType if t != ColumnType.VECTOR))
FIELD_TYPES = k.word(ColumnType.INT, ColumnType.FLOAT, ColumnType.BOOL, ColumnType.TEXT)
FEATURE_TYPES = k.word(*(t for t in ColumnType if t != ColumnType.BYTES))
LABELS = k.choice("open", "personal", "secret")
KINDS = k.choice(
    "page_enter", "page_scroll", "exposure", "click", "page_exit", "app_state", "timer", "custom"
)
PHASES = ("preprocess", "execute", "postprocess")


def _phase(of: str) -> Table:
    return Table(
        f"Of one call of {of}.",
        {
            "wall_ms": Key(_MS, "wall-clock time in milliseconds", 1000, "1000"),
            "cpu_ms": Key(_MS, "processor time in milliseconds", 0, "no limit of its own"),
        },
    )


_TASK = Table(
    "What the task is.",
    {
        "name": Key(k.name("task"), "of the task: one on a device, and part of its folders there"),
        "version": Key(
            k.name("version"), "of this task; a device replaces one by another whichever is higher"
        ),
        "vm": Key(k.name("python"), "the Python that the task was written for", "", "whichever compiles it"),
        "priority": Key(k.whole(0, 9), "which task goes first where several wait: 9 before 0", 5, "5"),
        "requires": Key(
            k.listing(k.name("fact"), "facts", 16),
            "facts of the device that `execute` (or `main`) waits for, such as `charging`; "
            "the application sets them",
            [],
            "none",
        ),
        "zone": Key(
            k.ZONE,
            "by which `daily` and `during` of its triggers go, daylight saving included",
            "",
            "the device's",
        ),
        "breaker": Key(
            k.whole(1, 1000),
            "failures in a row after which the task is set aside until it is replaced; "
            "a process that ended while it ran is one",
            5,
            "5",
        ),
    },
    required=True,
)

_ENTRY = Table(
    "What runs when a trigger fires: either `main(event)`, or `execute`, with `preprocess(event)` in front "
    "of it and `postprocess(outputs)` or `postprocess(outputs, event)` behind it.",
    {
        "module": Key(k.name("task_module"), "where the functions are", "main", '"main"'),
        "main": Key(
            k.name("function"), "the one function: called with the event, returns rows of results or None", ""
        ),
        "preprocess": Key(k.name("function"), "called with the event, returns the inputs of `execute`", ""),
        "execute": Key(
            k.name("file"),
            "a function, called with the inputs, or the file of a model: then the engine runs it on "
            "`preprocess`'s dict of tensors, and Python is not entered",
            "",
        ),
        "postprocess": Key(
            k.name("function"),
            "called with the outputs and, where its `def` has two positional parameters, with the event that "
            "`preprocess` got, returns rows of results or None",
            "",
        ),
    },
    required=True,
)

_RETRY = Table(
    "When a firing that failed is tried again ([what counts](../concepts/container.md#trying-again)). "
    "Without this table it is not.",
    {
        "attempts": Key(k.whole(1, 16), "how often one firing is tried, in all", 3, "3"),
        "first_delay": Key(k.DURATION, "until the second attempt", 10_000_000, '"10s"'),
        "factor": Key(k.whole(1, 10), "of each delay to the one before", 2, "2"),
        "max_delay": Key(k.DURATION, "no delay is longer", 3_600_000_000, '"1h"'),
        "waiting": Key(
            k.whole(1, 1024),
            "firings that wait to be tried again; one more is a failure at once",
            64,
            "64",
        ),
    },
)

_LIMITS = Table(
    "What the task may use; a call that exceeds one ends with an error that names it.",
    {
        "heap_bytes": Key(k.size(1 << 20, _BYTES), "memory of its isolate", 32 << 20, '"32M"'),
        "log_bytes": Key(k.size(0, _BYTES), "what one call may log", 64 << 10, '"64K"'),
        "state_bytes": Key(k.size(0, 1 << 30), "what `walle.kv` may keep", 64 << 10, '"64K"'),
        "state_keys": Key(k.whole(0, 1 << 20), "how many keys of it", 65536, "65536"),
        "main": _phase("`main`"),
        "preprocess": _phase("`preprocess`"),
        "execute": _phase("`execute`"),
        "postprocess": _phase("`postprocess`"),
    },
)

_EGRESS = Table(
    "What may leave the device under this name, through the gate; nothing else does.",
    {
        "fields": Named(
            "Columns of the feature; a type alone stands for a table of it.",
            k.name("column"),
            Table(
                "One column.",
                {
                    "type": Key(FEATURE_TYPES, "of its values"),
                    "max_size": Key(
                        k.whole(0, (1 << 32) - 1), "bytes of a text, floats of a vector; 0: any", 0, "0"
                    ),
                    "highest": Key(LABELS, "the highest sensitivity it may have", 0, '"open"'),
                },
                short="type",
            ),
            required=True,
            most=64,
        ),
        "bytes_per_day": Key(k.size(0, 1 << 40), "budget, per UTC day"),
        "sends_per_day": Key(k.whole(0, 1 << 40), "budget, per UTC day"),
        "minimum_events": Key(k.whole(1, 1 << 40), "events that every row must summarise", 1, "1"),
        "consent": Key(
            k.name("consent"), "class of consent that the user must have given", "", "none needed"
        ),
        "expires": Key(k.MOMENT, "from then on nothing is sent", 0, "never"),
        "graph": Key(
            k.name("file"),
            "the operator graph that the device runs over the events of every firing's match, and whose "
            "rows are sent; checked when the task is compiled",
            "",
            "the code chooses",
        ),
    },
)

_RESULTS = Table(
    "One table of results, which the device keeps.",
    {
        "columns": Named(
            "Columns and their types.", k.name("column"), Key(COLUMN_TYPES, "type of the column"), True, 64
        ),
        "max_bytes": Key(k.size(4096, _BYTES), "beyond it the oldest rows go", 1 << 20, '"1M"'),
        "max_age": Key(k.DURATION, "older rows go", 0, "none goes for its age"),
    },
)

_EVENTS = Table(
    "An event that the triggers or the code name: adopted into the device's catalogue when the task is "
    "installed.",
    {
        "kind": Key(
            KINDS, "what it means to sessions and pages", -1, "of the built-in event of its name, else custom"
        ),
        "fields": Named(
            "Its contents; a type alone stands for a table of it.",
            k.name("field"),
            Table(
                "One field.",
                {
                    "type": Key(FIELD_TYPES, "of its values"),
                    "sensitivity": Key(LABELS, "how much it says about a person", 1, '"personal"'),
                },
                short="type",
            ),
            most=64,
        ),
    },
)

_CLOUD = Table(
    "The half of the task that the server runs: it answers what the device is unsure of "
    "([the cloud phase](../concepts/cloud-phase.md)).",
    {
        "question": Key(
            k.name("feature"),
            "the egress feature whose batches are questions; the code sends them",
            "",
            "no cloud half",
        ),
        "module": Key(
            k.name("task_module"),
            "where the function is; this module never reaches a device",
            "cloud",
            '"cloud"',
        ),
        "function": Key(
            k.name("function"),
            "called on the server with a question, returns rows of `answers` or None",
            "answer",
            '"answer"',
        ),
        "answers": Key(
            k.name("table"), "the table of results that answers go into", "", "the app alone is told"
        ),
        "resources": Key(
            k.listing(k.TEXT, "patterns"),
            "files that the server alone gets, as `big.walle`: devices do not fetch them",
            [],
            "none",
        ),
        "wall_ms": Key(_MS, "wall-clock time of one question in milliseconds", 10_000, "10000"),
        "cpu_ms": Key(_MS, "processor time in milliseconds", 0, "no limit of its own"),
        "heap_bytes": Key(k.size(1 << 20, _BYTES), "memory of its isolate", 256 << 20, '"256M"'),
    },
)

CALL_TYPES = k.choice(*_core.task.CALL_TYPES)

_CALL = Table(
    "A function of the module that the application may call ([calls](../concepts/calls.md)). The key is its "
    "name.",
    {
        "arguments": Key(
            k.listing(CALL_TYPES, f"types of {', '.join(CALL_TYPES.choices)}", 16, distinct=False),
            "types of its arguments, by position",
            [],
            "none",
        ),
        "returns": Key(CALL_TYPES, "type of what it returns", 0, '"any"'),
        "keep": Key(
            k.YES,
            "rows that it appends and features that it sends stay; otherwise they are refused",
            False,
            "false",
        ),
        "wall_ms": Key(_MS, "wall-clock time in milliseconds", 1000, "1000"),
        "cpu_ms": Key(_MS, "processor time in milliseconds", 0, "no limit of its own"),
    },
)

PARAM_TYPES = k.choice("bool", "int", "float", "text")

_PARAM = Table(
    "A value that the code reads as `walle.params[NAME]` and that the application may set "
    "([parameters](../concepts/params.md)). The key is its name.",
    {
        "type": Key(PARAM_TYPES, "of its values"),
        "default": Key(k.SCALAR, "what it is unless somebody sets it"),
        "min": Key(k.SCALAR, "the least it may be, of a number", None, "any"),
        "max": Key(k.SCALAR, "the most it may be, of a number", None, "any"),
        "one_of": Key(k.listing(k.SCALAR, "values", 64), "what it may be", [], "any"),
    },
)

_APP = Table(
    "A function of the application that the code may call as `walle.app.NAME(...)` "
    "([the app's functions](../concepts/app-functions.md)). The key is its name.",
    {
        "arguments": Key(
            k.listing(CALL_TYPES, f"types of {', '.join(CALL_TYPES.choices)}", 16, distinct=False),
            "types of its arguments, by position",
            [],
            "none",
        ),
        "returns": Key(CALL_TYPES, "type of what it returns", 0, '"any"'),
        "wall_ms": Key(_MS, "how long the task waits for it, in milliseconds", 1000, "1000"),
        "per_firing": Key(k.whole(1, 1_000_000), "how often one firing may call it", 100, "100"),
    },
)

ROLLING_KINDS = k.choice(*_core.task.ROLLING_KINDS)

_ROLLING = Table(
    "What is kept of the events of each key, for the code to look up with `walle.features.get` and the "
    "application with `Device.features` ([features](../concepts/features.md)). The key is its name.",
    {
        "event": Key(
            k.TEXT,
            "which events count: one step of the trigger language, as `buy` or `buy[price > 10]`",
        ),
        "by": Key(k.listing(k.name("field"), "fields", 4), "fields of the event that make up a key"),
        "aggregate": Key(ROLLING_KINDS, "of the events of a key that count"),
        "value": Key(k.name("field"), "the field of numbers that it is of; not of a count", "", "none"),
        "over": Key(k.window(16384), "how old they may be, or how many of the newest count"),
        "keys": Key(
            k.whole(1, 1 << 20),
            "that are held in memory; those whose newest events are oldest give way, and are read from the "
            "log when they are asked for",
            4096,
            "4096",
        ),
    },
)

ROOT = Table(
    "",
    {
        "task": _TASK,
        "triggers": Named(
            "When the task runs: names and texts of the trigger language.",
            k.name("trigger"),
            Key(k.TEXT, "a trigger"),
            True,
            64,
        ),
        "queue": Table(
            "Firings that wait for the task.",
            {
                "size": Key(k.whole(1, 65536), "how many may wait", 256, "256"),
                "when_full": Key(
                    k.choice("coalesce", "drop_oldest", "drop_new"),
                    "what becomes of one more: it is folded into the newest of its trigger, or the oldest "
                    "or itself goes; all are counted",
                    0,
                    '"coalesce"',
                ),
                "past": Key(
                    k.choice("ignored", "warmed", "delivered"),
                    "events from before the installation: not looked at, may begin a match, or fire too",
                    0,
                    '"ignored"',
                ),
            },
        ),
        "entry": _ENTRY,
        "retry": _RETRY,
        "limits": _LIMITS,
        "capabilities": Table(
            "What the code may reach; what is not named is refused.",
            {
                "imports": Key(
                    k.listing(k.name("library"), "modules"),
                    "modules of the VM's library; `walle` always may",
                    [],
                    "none",
                ),
                "host_calls": Key(
                    k.listing(k.name("host_call"), "host calls"),
                    "as `walle.kv.get`, or all of a module as `walle.kv`",
                    [],
                    "none",
                ),
            },
        ),
        "record": Table(
            "Events of its own that the code may record with `walle.record`.",
            {
                "events": Key(
                    k.listing(k.name("event"), "events"),
                    "which, of the custom events that [events] declares",
                    [],
                    "none",
                ),
                "per_firing": Key(k.whole(1, 1024), "how many of one firing", 16, "16"),
                "per_day": Key(
                    k.whole(1, 1_000_000),
                    "how many of a UTC day: a task that triggers itself ends there",
                    1000,
                    "1000",
                ),
            },
        ),
        "timers": Table(
            "One-off timers that the code may set with `walle.timers.after`. A firing of each has its name "
            "as trigger.",
            {
                "names": Key(
                    k.listing(k.name("trigger"), "timers", 16), "which; no trigger has one's name", [], "none"
                ),
                "most": Key(k.whole(1, 4096), "how many may wait", 64, "64"),
            },
        ),
        "call": Named("What the application may ask.", k.name("function"), _CALL, most=32),
        "app": Named("What the code may ask of the application.", k.name("function"), _APP, most=32),
        "params": Named("What the code reads in `walle.params`.", k.name("function"), _PARAM, most=64),
        "features": Named("What is kept of the events of keys.", k.name("function"), _ROLLING, most=32),
        "cloud": _CLOUD,
        "results": Named("Tables of results.", k.name("table"), _RESULTS, most=16),
        "egress": Named("Features that may leave.", k.name("feature"), _EGRESS, most=32),
        "events": Named("Events that the task needs.", k.name("event"), _EVENTS),
        "catalog": Table(
            "Other names that triggers use.",
            {
                "pages": Key(k.listing(k.name("page"), "pages"), "as in `click@home`", [], "none"),
                "states": Key(k.listing(k.name("state"), "states", 64), "as in `when wifi`", [], "none"),
            },
        ),
        "resources": Table(
            "Which other files of the folder travel with the task. Hidden files and task.toml do not.",
            {
                "include": Key(
                    k.listing(k.TEXT, "patterns"),
                    "as `models/*.walle`; `*` stands for any characters",
                    ["*"],
                    '["*"]',
                ),
                "exclude": Key(
                    k.listing(k.TEXT, "patterns"), "files that stay, Python files included", [], "none"
                ),
            },
        ),
    },
)
