"""From the values of a task.toml to the task they describe, and what is wrong between its tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from .. import _core
from .._core import names
from ..errors import ArgumentError
from ..stream import (
    Catalog,
    EventKind,
    FeatureField,
    FeaturePolicy,
    Sensitivity,
    Trigger,
)
from ..table import ColumnType
from ._mistakes import one_of
from ._read import Reader
from ._rolling import rolling_specs
from ._schema import PARAM_TYPES
from ._schema import PHASES as SECTIONS
from ._spec import (
    PAST,
    WHEN_FULL,
    AppSpec,
    CallSpec,
    CloudPhaseSpec,
    EventDecl,
    ParamSpec,
    PhaseLimits,
    ResultTable,
    RetrySpec,
    TaskSpec,
)

LONGEST_PARAM = 1024  # bytes of a text, as src/cpp/container/task/param_spec.h has it
_BUILT_IN = {name: kind for name, kind, _ in Catalog().events}


def spec_of(reader: Reader) -> TaskSpec:
    """The task; what is wrong with it is added to the reader's mistakes, and left out of the result."""
    v = reader.values
    main, execute = v["entry"].get("main", ""), v["entry"].get("execute", "")
    _check_entry(reader, v["entry"])
    is_function = names.valid("function", execute)
    spec = TaskSpec(
        name=v["task"].get("name") or "",
        version=v["task"].get("version") or "",
        vm=v["task"].get("vm", ""),
        priority=v["task"].get("priority", 5),
        zone=v["task"].get("zone", ""),
        queue=v["queue"]["size"],
        when_full=WHEN_FULL[v["queue"]["when_full"]],
        past=PAST[v["queue"]["past"]],
        module=v["entry"].get("module", "main"),
        main=main,
        preprocess=v["entry"].get("preprocess", ""),
        execute_function=execute if is_function else "",
        execute_model="" if is_function else execute,
        postprocess=v["entry"].get("postprocess", ""),
        limits=_limits(reader, bool(main)),
        heap_bytes=v["limits"]["heap_bytes"],
        log_bytes=v["limits"]["log_bytes"],
        state_bytes=v["limits"]["state_bytes"],
        state_keys=v["limits"]["state_keys"],
        imports=sorted({*v["capabilities"]["imports"], "walle"}),
        host_calls=v["capabilities"]["host_calls"],
        results={name: _table(table) for name, table in v["results"].items()},
        egress={name: _policy(name, table) for name, table in v["egress"].items()},
        graphs={name: table["graph"] for name, table in v["egress"].items() if table.get("graph")},
        requires=v["task"].get("requires", []),
        breaker=v["task"].get("breaker", 5),
        events={name: _event(name, table) for name, table in v["events"].items()},
        pages=v["catalog"]["pages"],
        states=v["catalog"]["states"],
        record_events=_recorded(reader),
        record_per_firing=v["record"]["per_firing"],
        record_per_day=v["record"]["per_day"],
        timer_names=_timers(reader),
        timers_most=v["timers"]["most"],
        calls={name: _call(table) for name, table in v["call"].items()},
        params=dict(_params(reader)),
        app={name: _app(table) for name, table in v["app"].items()},
    )
    # What is declared may be used.
    for declared, module in ((spec.params, "walle.params"), (spec.app, "walle.app")):
        if declared and module not in spec.host_calls:
            spec = replace(spec, host_calls=[*spec.host_calls, module])
    spec = replace(spec, cloud=_cloud(reader, spec), retry=_retry(reader))
    catalog = _catalog(reader, spec)
    spec.triggers.update(_triggers(reader, spec, catalog))
    spec.rolling.update(rolling_specs(reader, spec, catalog, lambda given: _near(given, spec)))
    if spec.rolling and "walle.features" not in spec.host_calls:
        spec = replace(spec, host_calls=[*spec.host_calls, "walle.features"])
    return spec


# The device's own: docs/reference/firing.md.
_TIMER_EVENT, _RECORD_FIELD = "timer_due", "_record"


def _recorded(reader: Reader) -> list[str]:
    """Events of [record]; each is declared, and custom."""
    events = reader.values["events"]
    for name, table in events.items():
        if name == _TIMER_EVENT or _RECORD_FIELD in table["fields"]:
            reader.wrong(
                ("events", name),
                f"event '{name}' as declared",
                f"another name than {_TIMER_EVENT}, and no field {_RECORD_FIELD}: both are the device's own",
                "rename it",
            )
    found = []
    for name in reader.values["record"]["events"]:
        if name not in events:
            hint = one_of(name, events, f"add [events.{name}]")
            reader.wrong(("record", "events"), f"event '{name}'", "one that [events] declares", hint)
        elif (kind := _event(name, events[name]).kind) != EventKind.CUSTOM:
            given = f"event '{name}' of kind {kind.name.lower()}"
            reader.wrong(("record", "events"), given, "a custom event", "record one of the task's own")
        else:
            found.append(name)
    return found


def _timers(reader: Reader) -> list[str]:
    """Names of [timers]; none is a trigger's."""
    found = []
    for name in reader.values["timers"]["names"]:
        if name in reader.values["triggers"]:
            given = f"timer '{name}', which is a trigger, too"
            reader.wrong(("timers", "names"), given, "a name of its own", "rename one of both")
        else:
            found.append(name)
    return found


def _check_entry(reader: Reader, entry: dict[str, Any]) -> None:
    phases = [phase for phase in SECTIONS if entry.get(phase)]
    if not entry:
        return
    if entry["main"] and phases:
        reader.wrong(
            ("entry", phases[0]), f"'{phases[0]}' beside 'main'", "either main, or phases", "remove one"
        )
    elif not entry["main"] and not entry["execute"]:
        given = "an entry without 'main' and 'execute'"
        reader.wrong(("entry",), given, "one of both", 'add main = "main"')
    elif entry["execute"] and not names.valid("function", entry["execute"]) and not entry["preprocess"]:
        given = f"the model '{entry['execute']}' without 'preprocess'"
        expected = "a function that makes the model's inputs of the event"
        reader.wrong(("entry", "execute"), given, expected, 'add preprocess = "preprocess"')


def _limits(reader: Reader, main: bool) -> dict[str, PhaseLimits]:
    given = reader.values["limits"]
    unused = SECTIONS if main else ("main",)
    for phase in unused:
        if reader.lines.has(("limits", phase)):
            expected = "limits.main" if main else "limits.preprocess, limits.execute or limits.postprocess"
            reader.wrong(
                ("limits", phase), f"[limits.{phase}] of a task without {phase}", expected, "rename it"
            )
    return {phase: PhaseLimits(**given["main" if main else phase]) for phase in SECTIONS}


def _cloud(reader: Reader, spec: TaskSpec) -> CloudPhaseSpec | None:
    given = reader.values["cloud"]
    if not reader.lines.has(("cloud",)):
        return None
    if not given["question"]:
        expected = "the feature that asks"
        reader.wrong(("cloud",), "[cloud] without 'question'", expected, "add question = ...")
        return None
    for key, known, what in (
        ("question", spec.egress, "a feature of [egress]"),
        ("answers", spec.results, "a table of [results]"),
    ):
        if given[key] and given[key] not in known:
            hint = one_of(given[key], known, f"declare it, as {what}")
            expected = "one of " + ", ".join(known) if known else what
            reader.wrong(("cloud", key), f"{key} '{given[key]}', which is not declared", expected, hint)
            return None
    if given["question"] in spec.graphs:
        reader.wrong(
            ("cloud", "question"),
            f"the question '{given['question']}', whose graph is sent for every firing",
            "a feature that the code sends when it is unsure",
            f"remove [egress.{given['question']}] graph, and call walle.stream.send",
            error=False,
        )
    if given["module"] == spec.module:
        expected = "a module of its own: devices do not get it"
        reader.wrong(("cloud", "module"), f"module '{spec.module}' for both halves", expected, "split it")
        return None
    return CloudPhaseSpec(
        given["question"],
        given["module"],
        given["function"],
        given["answers"],
        PhaseLimits(given["wall_ms"], given["cpu_ms"]),
        given["heap_bytes"],
    )


def _params(reader: Reader) -> Iterator[tuple[str, ParamSpec]]:
    for name, given in reader.values["params"].items():
        if given["type"] is None or given["default"] is None:
            continue
        kind = PARAM_TYPES.choices[given["type"]]
        bounds = {key: given[key] for key in ("min", "max") if given[key] is not None}
        wrong = [key for key, value in bounds.items() if kind not in ("int", "float") or not _is(value, kind)]
        wrong += ["one_of"] * (kind == "bool" or not all(_is(one, kind) for one in given["one_of"]))
        wrong += ["default"] * (not _is(given["default"], kind))
        if kind == "bool" and not given["one_of"]:
            wrong = [key for key in wrong if key != "one_of"]
        for key in wrong:
            shown = given[key]
            reader.wrong(
                ("params", name, key),
                f"{key} = {shown!r} of a {kind}",
                f"what fits type {kind}",
                "change one",
            )
        if wrong:
            continue
        low, high = (_as(kind, given[key]) for key in ("min", "max"))
        choices = tuple(_as(kind, one) for one in given["one_of"])
        spec = ParamSpec(kind, _as(kind, given["default"]), low, high, choices)
        if (spec.one_of and spec.default not in spec.one_of) or not _between(spec):
            expected = "a value within min, max and one_of"
            reader.wrong(("params", name, "default"), f"default = {spec.default!r}", expected, "change one")
            continue
        yield name, spec


def _as(kind: str, value: Any) -> Any:
    """An int is a float, too."""
    return float(value) if kind == "float" and value is not None else value


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool) or kind == "bool":
        return isinstance(value, bool) and kind == "bool"
    if kind == "text":
        return isinstance(value, str) and len(value.encode()) <= LONGEST_PARAM
    return isinstance(value, int if kind == "int" else int | float)


def _between(spec: ParamSpec) -> bool:
    low, high, value = spec.min, spec.max, spec.default
    return (low is None or low <= value) and (high is None or value <= high)  # type: ignore[operator]


def _retry(reader: Reader) -> RetrySpec:
    given = reader.values["retry"]
    if not reader.lines.has(("retry",)):
        return RetrySpec()
    first, longest = given["first_delay"], given["max_delay"]
    if first > longest:
        step = "raise max_delay, or lower first_delay"
        reader.wrong(
            ("retry", "first_delay"), "a first_delay that exceeds max_delay", "at most max_delay", step
        )
        return RetrySpec()
    return RetrySpec(given["attempts"], first, longest, given["factor"], given["waiting"])


def _call(given: dict[str, Any]) -> CallSpec:
    types = _core.task.CALL_TYPES
    return CallSpec(
        tuple(types[number] for number in given["arguments"]),
        types[given["returns"]],
        PhaseLimits(given["wall_ms"], given["cpu_ms"]),
        given["keep"],
    )


def _app(given: dict[str, Any]) -> AppSpec:
    types = _core.task.CALL_TYPES
    arguments = tuple(types[number] for number in given["arguments"])
    return AppSpec(arguments, types[given["returns"]], given["wall_ms"], given["per_firing"])


def _table(given: dict[str, Any]) -> ResultTable:
    columns = {name: ColumnType(kind) for name, kind in given["columns"].items() if kind is not None}
    return ResultTable(columns, given["max_bytes"], given["max_age"])


def _policy(name: str, given: dict[str, Any]) -> FeaturePolicy:
    fields = [
        FeatureField(
            column,
            ColumnType(field["type"] or "int"),
            max_size=field["max_size"],
            highest=Sensitivity(field["highest"]),
        )
        for column, field in given["fields"].items()
    ]
    return FeaturePolicy(
        name,
        fields,
        bytes_per_day=given["bytes_per_day"] or 0,
        sends_per_day=given["sends_per_day"] or 0,
        minimum_events=given["minimum_events"],
        consent=given["consent"],
        expires_ts=given["expires"],
    )


def _event(name: str, given: dict[str, Any]) -> EventDecl:
    kind = EventKind(given["kind"]) if given["kind"] >= 0 else _BUILT_IN.get(name, EventKind.CUSTOM)
    fields = {
        field: (ColumnType(of["type"] or "int"), Sensitivity(of["sensitivity"]))
        for field, of in given["fields"].items()
    }
    return EventDecl(kind, fields)


def _triggers(reader: Reader, spec: TaskSpec, catalog: Catalog | None) -> dict[str, str]:
    """The triggers that parse, checked against what is declared and linted."""
    found = {}
    for name, text in reader.values["triggers"].items():
        where = ("triggers", name)
        if text is None:
            continue
        try:
            trigger = Trigger(text)
            found[name] = trigger.text
            if catalog is not None:
                trigger.check(catalog)
        except ArgumentError as error:
            given = f"trigger '{name}': {error.given.partition(chr(10))[0]}"
            place = error.where.partition("\n")[0].rstrip(":")
            hint = _near(error.given, spec) or error.next_step
            reader.wrong(where, given, f"{error.expected} ({place})", hint)
            continue
        for finding in trigger.lint():
            expected = "a trigger that fires as it reads" if not finding.error else "a trigger that can fire"
            reader.wrong(
                where,
                f"trigger '{name}': {finding.message}",
                expected,
                "see docs/reference/trigger-language.md",
                error=finding.error,
            )
    return found


def _near(given: str, spec: TaskSpec) -> str:
    """What a trigger surely meant by a name that is not declared; "" where nothing is near."""
    found = re.match(r"(event|field|page|state) '([^']*)'", given)
    if found is None:
        return ""
    known = {
        "event": [*_BUILT_IN, *spec.events],
        "field": [field for event in spec.events.values() for field in event.fields],
        "page": spec.pages,
        "state": spec.states,
    }[found[1]]
    return one_of(found[2], known, "")


def _catalog(reader: Reader, spec: TaskSpec) -> Catalog | None:
    """What is declared; None where the declarations contradict each other."""
    catalog = Catalog()
    before = len(reader.mistakes)
    for name, decl in spec.events.items():
        try:
            catalog.declare(name, decl.kind, decl.fields)
        except ArgumentError as error:
            reader.wrong(("events", name), error.given, error.expected, error.next_step)
    declared = (("pages", spec.pages, catalog.page), ("states", spec.states, catalog.state))
    for what, given, declare in declared:
        for name in given:
            try:
                declare(name)
            except ArgumentError as error:
                reader.wrong(("catalog", what), error.given, error.expected, error.next_step)
    return catalog if len(reader.mistakes) == before else None
