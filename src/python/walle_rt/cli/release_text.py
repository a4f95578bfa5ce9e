"""A release in sentences, as `walle release status` says it."""

from __future__ import annotations

from typing import Any

_STATES = {
    "draft": "has not begun",
    "gray": "is on its way",
    "paused": "is paused: who has it keeps it, nobody else gets it",
    "full": "is there for everybody whom its policy suits",
    "halted": "was halted: devices go back to what they had",
    "rolled_back": "was rolled back",
    "retired": "is behind a newer one",
}


def release_lines(told: dict[str, Any]) -> list[str]:
    """What an operator wants to know first: how far it is, how it fares, and who runs what."""
    state, figures = told["state"], told["progress"]
    lines = [f"release {told['id']}: {told['scenario']}/{told['task']} {told['version']} is {state}"]
    lines.append(f"  it {_STATES.get(state, 'is ' + state)}")
    if figures.get("killed"):
        lines.append(f"  its task is killed: it runs nowhere until `walle release revive {told['id']}`")
    if told["reason"]:
        lines.append(f"  because {told['reason']}")
    lines += [f"  sets {name} = {value!r}" for name, value in told["params"].items()]
    if state in ("gray", "paused"):
        lines += _on_trial(figures)
    lines += _reported(figures)
    lines += _adoption(told["adoption"], told["version"], told["task"])
    return lines


def _on_trial(figures: dict[str, Any]) -> list[str]:
    share, control = _percent(figures["share"]), _percent(figures["control_share"])
    lines = [f"  open to {share} of the devices, {control} are its control cohort"]
    places = f"{figures['outstanding']} of at most {figures['most_outstanding']}"
    lines.append(f"  {_devices(figures['claimed'])} let in, {places} have not reported yet")
    evidence = max(figures["evidence"], 0.0) / figures["halts_at"]
    lines.append(f"  evidence against it: {_percent(evidence)} of what halts it")
    return lines


def _reported(figures: dict[str, Any]) -> list[str]:
    reported = figures["good"] + figures["bad"]
    if not reported:
        return []
    missing = f", {figures['missing']} of them by silence" if figures["missing"] else ""
    rate = _percent(figures["bad"] / reported)
    lines = [f"  {figures['bad']} of {_devices(reported)} failed ({rate}{missing})"]
    control = figures["control_good"] + figures["control_bad"]
    if control:
        lines.append(f"  in the control cohort {figures['control_bad']} of {control} reports")
    return lines


def _adoption(adoption: dict[str, int], version: str, task: str) -> list[str]:
    if not adoption:
        return [f"  no device has told yet which version of {task} it runs"]
    total = sum(adoption.values())
    lines = [f"  {_devices(total)} told which version of {task} they run:"]
    for name, count in adoption.items():
        mark = "  <- this one" if name == version else ""
        lines.append(f"    {name:12s} {count:8d}  {_percent(count / total)}{mark}")
    return lines


def _devices(count: int) -> str:
    return f"{count} device{'' if count == 1 else 's'}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
