"""Devices that lie: k of n of them move a release's guard by no more than k of n (tests/fault/release.py)."""

from __future__ import annotations

import random
import time
import tracemalloc
from collections.abc import Iterator
from math import ceil, log
from pathlib import Path

import pytest
from cloud.attackers import Attacked, LyingFleet
from cloud.fleet import started
from cloud.memory_store import MemoryStore
from cloud.served_fleet import Stage
from cloud.servers import LocalServer, opened_server
from cloud.test_releases import EVERYBODY, Fleet, act, publish, start

from walle_rt.cloud.release import Controller, Guard, Ramp, Report, State
from walle_rt.cloud.release.control import SILENT_S
from walle_rt.cloud.release.device_set import DeviceSet
from walle_rt.cloud.service.rates import Rates

AT_ONCE = Ramp(1.0, 1.0, 0, control_share=0.0)


def ended(fleet: LyingFleet) -> tuple[State, int]:
    """How the release ended, and how many devices were counted as failed."""
    controller = fleet.run()
    release = controller.releases()[0]
    return release.state, controller.trial(release.id).counts().bad


@pytest.mark.parametrize("liars", [1, 3, 10])
@pytest.mark.parametrize("share", [0.05, 0.1])
def test_liars_hide_no_failing_release(liars: int, share: float) -> None:
    for seed in range(6):
        state, _ = ended(LyingFleet(seed=seed, liars=liars, share=share))
        assert state == State.HALTED, f"seed {seed}"


def least_failures() -> int:
    """Devices that must fail before a release is halted, however few have reported."""
    guard = Guard()
    return ceil(log((1 - guard.missed) / guard.false_alarm) / log(guard.bad_rate / guard.good_rate))


@pytest.mark.parametrize("liars", [1, 3, 10])
def test_liars_count_as_so_many_devices_that_fail(liars: int) -> None:
    assert least_failures() == 6, "docs/concepts/release.md says so"
    for seed in range(3):
        fleet = LyingFleet(seed=seed, liars=liars, share=0.002, cry=True)
        state, failed = ended(fleet)
        assert failed <= fleet.honest_failures + liars, f"seed {seed}"
        if fleet.honest_failures + liars < least_failures():
            assert state == State.GRAY, f"seed {seed}"


@pytest.fixture
def small(tmp_path: Path) -> Iterator[tuple[LocalServer, Stage]]:
    stage = Stage(tmp_path / "stage", 80)
    with stage.local() as local:
        yield local, stage


def test_a_liar_hides_nothing_from_the_served_guard(small: tuple[LocalServer, Stage]) -> None:
    outcome = Attacked(*small, 1, liars=2, share=0.15).run(600)
    assert outcome.state == "halted" and outcome.claimed < 80
    assert set(outcome.statuses) == {200, 429}


def test_a_device_counts_once_for_good_and_is_known_after_a_restart() -> None:
    store = MemoryStore()
    controller = Controller(store)
    release = started(controller, ramp=AT_ONCE)

    def said(now: float, device: int, *statuses: str) -> list[bool]:
        told = [Report(device, release, "shop", "rank", status=status) for status in statuses]
        return [controller.report(now, each).counted for each in told]

    assert said(0, 7, "claim", "ok", "claim", "ok", "ok", "claim") == [True, True, False, False, False, False]
    assert said(1, 8, "ok", "phase_error") == [False, False], "it had no place"
    counts = controller.trial(release).counts()
    assert (counts.claimed, counts.good, counts.bad) == (1, 1, 0)
    controller = Controller(store)
    assert said(2, 7, "claim", "ok") == [False, False]
    assert said(3, 7, "phase_error", "phase_error", "rolled_back") == [True, False, False]
    counts = Controller(store).trial(release).counts()
    assert (counts.claimed, counts.good, counts.bad) == (1, 0, 1), "what was good is not, and counts once"
    assert not controller.claim(4, release, 7).granted


def test_a_device_that_was_good_may_have_it_again() -> None:
    controller = Controller(MemoryStore())
    release = started(controller, ramp=AT_ONCE)
    controller.claim(0, release, 7)
    controller.report(1, Report(7, release, "shop", "rank"))
    controller.kill("shop", "rank", "ada", 2)
    assert not controller.claim(3, release, 7).granted
    controller.revive("shop", "rank", "ada", 4)
    assert controller.claim(5, release, 7).granted


@pytest.mark.parametrize("ends", ["full", "halt"])
def test_who_was_counted_is_forgotten_when_a_release_ends(ends: str) -> None:
    store = MemoryStore()
    controller = Controller(store)
    release = started(controller, ramp=AT_ONCE)
    for device in range(1000):
        controller.claim(device, release, device << 40)
        status = "limit" if device == 400 else "ok"
        controller.report(device, Report(device << 40, release, "shop", "rank", status=status))
    controller.claim(1000, release, 5)
    kept = [devices for failed in (False, True) for devices in store.counted(release, failed)]
    assert [len(devices) for devices in kept] == [512 * 8, 488 * 8, 8], "8 bytes each, 512 to a row"
    getattr(controller, ends)(release, "ada", 1001)
    for now in (controller, Controller(store)):
        assert not list(store.counted(release, False)) and not list(store.claims(release))
        assert now.trial(release).counts().good == 999 and now.trial(release).outstanding() == 0
    controller.report(1002, Report(5, release, "shop", "rank", status="limit"))
    assert controller.trial(release).counts().bad == 1


def test_a_control_device_excuses_a_minute_in_thirty() -> None:
    controller = Controller(MemoryStore())
    release = started(controller, ramp=Ramp(0.5, 0.5, 10**6, control_share=0.5))
    trial, devices, still = controller.trial(release), random.Random(1), 0
    control = [
        d for d in (devices.getrandbits(64) for _ in range(400)) if trial._wait_for_place(0, d, True) == 0
    ]
    for now in range(3600):
        controller.claim(now, release, devices.getrandbits(64))  # somebody is let in, so the control is
        for _ in range(3):
            controller.claim(now, release, control[0], True)
            report = Report(control[0], release, "shop", "rank", control=True, status="limit")
            controller.report(now, report)
        if now % 7 == 0:
            controller.claim(now, release, control[now % 50 + 1], True)
            controller.report(now, Report(control[now % 50 + 1], release, "shop", "rank", control=True))
        still += trial.control_rate(now) >= trial.release.guard.bad_rate
    assert SILENT_S == 1800 and 0 < still <= 2 * 60


def test_who_asks_often_makes_nobody_wait() -> None:
    controller = Controller(MemoryStore())
    release = started(controller, ramp=AT_ONCE)
    for device in range(50):
        controller.claim(0, release, device)
    for _ in range(5000):
        controller.claim(1, release, 99)
    assert controller.claim(1, release, 100).wait_s < 15


def test_what_one_device_sends_is_limited(tmp_path: Path) -> None:
    with opened_server(tmp_path) as local:
        local.done("POST", "/scenarios", json={"name": "shop"})
        publish(local, "1.0.0")
        release, fleet = start(local, "1.0.0", EVERYBODY), Fleet(local, 2)
        liar, honest = fleet.devices
        replies = [fleet.send(liar, release, "limit") for _ in range(600)]
        late = [reply for reply in replies if reply.status_code == 429]
        assert 600 - 512 <= len(late) < 600 - 500, "512 at once, and one more each second"
        assert late[-1].json() == {"taken": 0, "granted": False, "wait_s": 1}
        assert late[-1].headers["retry-after"] == "1"
        assert len(local.done("GET", f"/releases/{release}/failures?limit=1000")) <= 40, "20 a minute"
        assert local.done("GET", f"/releases/{release}")["reports"] == {}, "it never had a place"
        assert fleet.send(honest, release, "claim").json() == {"taken": 1, "granted": True, "wait_s": 0}
        local.clock.forward(3)
        assert fleet.send(liar, release, "claim").status_code == 200


def test_a_wait_is_told_as_a_whole_number(tmp_path: Path) -> None:
    """Devices read no other, and would come every ten seconds."""
    with opened_server(tmp_path) as local:
        local.done("POST", "/scenarios", json={"name": "shop"})
        publish(local, "1.0.0")
        release, fleet = start(local, "1.0.0", EVERYBODY), Fleet(local, 1)
        act(local, release, "pause")
        reply = fleet.send(fleet.devices[0], release, "claim")
        assert (
            reply.status_code == 429 and type(reply.json()["wait_s"]) is int and reply.json()["wait_s"] > 10
        )


def test_a_set_of_devices_is_exact_quick_and_small() -> None:
    chosen = random.Random(3)
    devices = [chosen.getrandbits(64) for _ in range(100_000)]
    tracemalloc.start()
    began = time.perf_counter()
    made = DeviceSet()
    assert all(made.add(device) for device in devices)
    seconds, (_, most) = time.perf_counter() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(made) == len(devices) and not any(made.add(device) for device in devices[:500])
    assert all(device in made for device in devices) and not any(
        device ^ 1 in made for device in devices[:500]
    )
    assert most < 20 * len(devices), f"{most / len(devices):.1f} bytes each"
    assert seconds < 5, f"{1e6 * seconds / len(devices):.1f} us each"


def test_rates_forget_whom_they_need_not_know() -> None:
    rates = Rates(burst=2, per_s=1)
    assert [rates.allow("a", 1, 0) for _ in range(4)] == [0, 0, 1, 1]
    assert rates.allow("a", 1, 1) == 0 and rates.allow("b", 5, 1) == 0, "more than a bucket needs a full one"
    assert rates.allow("b", 5, 1) == 2
    for at in range(1000):
        rates.allow(str(at), 1, 10 + at)
    assert len(rates) < 10
