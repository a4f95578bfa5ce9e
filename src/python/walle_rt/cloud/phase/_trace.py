"""The server's side of questions as a trace: ``walle_rt.tracing.join_traces`` puts it beside a device's.

Nothing is recorded for it: the answers have their times.
"""

from __future__ import annotations

from typing import Any


def spans(answers: list[dict[str, Any]]) -> dict[str, Any]:
    """A trace for Perfetto of what ``AnswerStore.answers`` gave."""
    start = min((a["received"] for a in answers), default=0)
    events: list[dict[str, Any]] = [
        {"name": "process_name", "ph": "M", "pid": 1, "tid": 1, "args": {"name": "walle serve"}},
        {"name": "thread_name", "ph": "M", "pid": 1, "tid": 1, "args": {"name": "sink"}},
        {"name": "thread_name", "ph": "M", "pid": 1, "tid": 2, "args": {"name": "cloud phase"}},
        {"name": "thread_name", "ph": "M", "pid": 1, "tid": 3, "args": {"name": "answers"}},
    ]
    for a in answers:
        shown = {"value": a["trace"], "device": a["device"], "task": a["task"], "seq": a["seq"]}
        for thread, name, begin, end in (
            (1, "sink", a["received"], a["received"] + 1),
            (2, "cloud phase execute", a["began"], a["ended"]),
            (3, "answer sent", a["sent"], a["sent"] + 1),
        ):
            if begin:
                events.append(
                    {
                        "name": name,
                        "ph": "X",
                        "pid": 1,
                        "tid": thread,
                        "ts": begin - start,
                        "dur": max(1, end - begin),
                        "args": shown | ({"error": a["error"]} if a["error"] else {}),
                    }
                )
    return {"traceEvents": events, "displayTimeUnit": "ms", "started_us": start}
