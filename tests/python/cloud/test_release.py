"""Releases: their states, their guard in simulation, and what survives a restart."""

from __future__ import annotations

import statistics
from dataclasses import replace

import pytest
from cloud.fleet import Fleet, package, started, wish
from cloud.memory_store import MemoryStore

from walle_rt.cloud.release import (
    Controller,
    Plan,
    Ramp,
    Report,
    State,
    pack_reports,
    read_wish,
    unpack_reports,
)
from walle_rt.errors import ArgumentError, Error
from walle_rt.link import device_header

HEADER = device_header(app="a", app_version="1", device_id="d", ram_mb=0)
AT_ONCE = Ramp(1.0, 1.0, 0, control_share=0.0)


def runs(controller: Controller, now: int = 10, header: str = HEADER) -> str | None:
    """The release that a device runs."""
    choices = Plan(controller.plan()).decide(header, now)[1]
    return choices[0][0] if choices else None


def exposed(controller: Controller) -> int | None:
    """Devices that got the release until it was halted; None where it never was."""
    release = controller.releases()[0]
    return controller.trial(release.id).counts().claimed if release.state == State.HALTED else None


def test_a_release_that_fails_in_5_percent_exposes_few() -> None:
    found = [
        exposed(Fleet(seed, lambda now, control: 0.002 if control else 0.05).run()) for seed in range(20)
    ]
    assert None not in found
    median = statistics.median(count for count in found if count is not None)
    print(f"exposed when halted, 20 seeds: median {median}, {sorted(found)}")
    assert median <= 250


@pytest.mark.timeout(900)
def test_a_healthy_release_is_never_halted() -> None:
    for seed in range(200):
        assert exposed(Fleet(seed, lambda now, control: 0.002).run()) is None, f"seed {seed}"


@pytest.mark.timeout(900)
def test_an_incident_of_the_whole_app_is_not_blamed_on_the_release() -> None:
    blamed = []
    for seed in range(200):
        share = (0.03, 0.05, 0.2, 0.5)[seed % 4]

        def incident(now: float, control: bool, share: float = share) -> float:
            return share if 100 < now < 400 else 0.002

        if exposed(Fleet(seed, incident).run()) is not None:
            blamed.append((seed, share))
    print(f"blamed: {len(blamed)} of 200, {blamed}")
    assert len(blamed) <= 20


def test_missing_reports_are_failures() -> None:
    ramp = Ramp(0.01, 1.0, 600, report_seconds=120)
    for seed in range(5):
        fleet = Fleet(seed, lambda now, control: 0.0 if control else 0.3, ramp=ramp, silent=True)
        controller = fleet.run()
        assert exposed(controller) is not None
        counts = controller.trial(controller.releases()[0].id).counts()
        assert counts.missing == counts.bad > 0


def test_the_states_and_what_devices_run() -> None:
    store = MemoryStore()
    controller = Controller(store)
    first = started(controller, "1.0.0", AT_ONCE)
    assert runs(controller) == first and controller.epoch == 1
    assert controller.full(first, "ada", 1).state == State.FULL
    second = controller.draft(wish("2.0.0", ramp=AT_ONCE), package("2.0.0"), "ada", 2).id
    assert runs(controller) == first and controller.epoch == 2, "a draft is in no plan"
    controller.start(second, "ada", 3)
    assert runs(controller) == second
    controller.halt(second, "ada", 4, "looks odd")
    assert runs(controller) == first and controller.release(second).reason == "looks odd"
    back = controller.roll_back(second, "ada", 5)
    assert back.package == package("1.0.0") and back.state == State.FULL and back.replaces == second
    assert runs(controller) == back.id
    assert controller.release(first).state == State.RETIRED
    digest = Plan(controller.plan()).decide(HEADER, 10)[0]
    controller.kill("shop", "rank", "ada", 6)
    assert runs(controller) is None and controller.kills() == [("shop", "rank")]
    controller.revive("shop", "rank", "ada", 7)
    assert Plan(controller.plan()).decide(HEADER, 10)[0] == digest
    acts = [act.what for act in store.acts]
    assert acts == ["draft", "start", "full", "draft", "start", "halt", "roll back", "kill", "revive"]


def test_acts_that_a_state_does_not_allow_are_refused() -> None:
    controller = Controller(MemoryStore())
    release = started(controller)
    for act in (controller.start, controller.resume):
        with pytest.raises(ArgumentError, match="which is gray"):
            act(release, "ada", 1)
    other = controller.draft(wish("2.0.0"), package("2.0.0"), "ada", 1).id
    with pytest.raises(ArgumentError, match="one gray release of a task at a time"):
        controller.start(other, "ada", 1)
    with pytest.raises(ArgumentError, match="before which nothing was full"):
        controller.roll_back(release, "ada", 1)
    with pytest.raises(ArgumentError, match="release 'nothing'"):
        controller.full("nothing", "ada", 1)
    with pytest.raises(ArgumentError, match=r"task '\.\./x'"):
        controller.kill("shop", "../x", "ada", 1)
    with pytest.raises(ArgumentError, match=r"shop/rank 3\.0\.0"):
        controller.draft(wish("3.0.0"), package("2.0.0"), "ada", 1)


def test_pausing_keeps_who_is_in() -> None:
    controller = Controller(MemoryStore())
    release = started(controller, ramp=Ramp(0.0, 1.0, 1000))
    headers = [device_header(app="a", app_version="1", device_id=str(i), ram_mb=0) for i in range(200)]
    controller.pause(release, "ada", 300)
    assert controller.release(release).share(9999) == pytest.approx(0.3)
    inside = {h for h in headers if runs(controller, 300, h)}
    assert {h for h in headers if runs(controller, 5000, h)} == inside and 30 < len(inside) < 90
    assert not controller.claim(301, release, 1 << 32).granted
    controller.resume(release, "ada", 1000)
    assert controller.release(release).share(1000) == pytest.approx(0.3)
    assert controller.release(release).share(1350) == pytest.approx(0.65)
    assert controller.release(release).share(1700) == 1.0
    assert inside <= {h for h in headers if runs(controller, 1200, h)}


def test_places_are_limited_by_what_is_outstanding_and_by_the_rate() -> None:
    controller = Controller(MemoryStore())
    release = started(controller, ramp=AT_ONCE)
    granted = [device for device in range(200) if controller.claim(0, release, device).granted]
    assert granted == list(range(50))
    assert controller.claim(0, release, 3).granted, "a device that has a place keeps it"
    waiting = controller.claim(0, release, 60)
    assert not waiting.granted and waiting.wait_s >= 5
    for device in granted:
        controller.report(1, Report(device, release, "shop", "rank"))
    assert controller.trial(release).outstanding() == 0
    slow = Controller(MemoryStore())
    slowly = started(slow, ramp=replace(AT_ONCE, per_minute=10))
    assert sum(slow.claim(0, slowly, device).granted for device in range(40)) == 10
    assert not slow.claim(59, slowly, 100).granted
    assert slow.claim(60, slowly, 100).granted


def test_the_limit_grows_with_good_reports() -> None:
    controller = Controller(MemoryStore())
    release = started(controller, ramp=AT_ONCE)
    for device in range(2000):
        assert controller.claim(device, release, device).granted
        controller.report(device, Report(device, release, "shop", "rank"))
    assert controller.trial(release).most_outstanding() == 200


def test_one_device_halts_nothing() -> None:
    controller = Controller(MemoryStore())
    release = started(controller, ramp=AT_ONCE)
    for n in range(100):
        controller.claim(n, release, 7)
        controller.report(n, Report(7, release, "shop", "rank", status="phase_error", seq=n))
        controller.report(n, Report(8, release, "shop", "rank", status="ok", seq=n))
    assert controller.release(release).state == State.GRAY
    counts = controller.trial(release).counts()
    assert (counts.bad, counts.good) == (1, 0), (
        "repeated failures and good reports without a place count nothing"
    )
    assert controller.claim(200, release, 7).wait_s == 0


def test_a_deadline_passes_only_behind_it() -> None:
    controller = Controller(MemoryStore())
    release = started(controller, ramp=replace(AT_ONCE, report_seconds=30))
    controller.claim(0, release, 1)
    controller.tick(30)
    assert controller.trial(release).counts().missing == 0
    controller.tick(30.5)
    assert controller.trial(release).counts().missing == 1
    controller.report(31, Report(1, release, "shop", "rank"))
    assert controller.trial(release).counts().good == 0


def test_clocks_that_run_ahead_get_no_place() -> None:
    controller = Controller(MemoryStore())
    release = started(controller, ramp=Ramp(0.0, 1.0, 1000, control_share=0.0))
    answers = [controller.claim(0, release, device << 32) for device in range(100)]
    assert sum(answer.granted for answer in answers) <= 3
    assert max(answer.wait_s for answer in answers) > 500


RIPENS = replace(AT_ONCE, seconds=100, full_after=50)


def ripening(ramp: Ramp = RIPENS, good: int = 1) -> tuple[MemoryStore, Controller, str]:
    store = MemoryStore()
    controller = Controller(store)
    release = started(controller, ramp=ramp)
    for device in range(good):
        assert controller.claim(0, release, device).granted
        controller.report(1, Report(device, release, "shop", "rank"))
    return store, controller, release


def test_a_release_is_full_by_its_policy_from_the_second_on() -> None:
    store, controller, release = ripening()
    epoch = controller.epoch
    assert controller.tick(149.9) == [] and controller.release(release).state == State.GRAY
    assert controller.tick(150) == [] and controller.release(release).state == State.FULL
    assert controller.epoch == epoch + 1 and controller.last_actor == "policy"
    assert store.acts[-1][1:4] == ("policy", "full", release)
    assert controller.tick(151) == [] and controller.epoch == epoch + 1


def test_a_release_becomes_full_by_itself_only_where_that_was_asked_for() -> None:
    _, controller, release = ripening(replace(RIPENS, full_after=-1))
    controller.tick(10**9)
    assert controller.release(release).state == State.GRAY
    _, controller, release = ripening(replace(RIPENS, seconds=0, full_after=0))
    controller.tick(1)
    assert controller.release(release).state == State.FULL


def test_silence_a_queue_a_pause_and_a_kill_keep_a_release_gray() -> None:
    _, controller, release = ripening(good=0)
    controller.tick(10_000)
    assert controller.release(release).state == State.GRAY, "nobody has reported"
    _, controller, release = ripening(replace(RIPENS, per_minute=1))
    assert not controller.claim(100, release, 5).granted or not controller.claim(100, release, 6).granted
    controller.tick(150)
    assert controller.release(release).state == State.GRAY, "a device waits"
    controller.tick(161)
    assert controller.release(release).state == State.FULL, "and has not come back for a minute"
    _, controller, release = ripening()
    controller.pause(release, "ada", 90)
    controller.tick(10_000)
    assert controller.release(release).state == State.PAUSED
    controller.resume(release, "ada", 10_000)
    controller.tick(10_049.9)
    assert controller.release(release).state == State.GRAY, "the rest of its ramp begins with resume"
    controller.tick(10_050)
    assert controller.release(release).state == State.FULL
    _, controller, release = ripening()
    controller.kill("shop", "rank", "ada", 10)
    controller.tick(10_000)
    assert controller.release(release).state == State.GRAY


def test_a_release_that_fails_as_its_time_comes_is_halted_and_not_full() -> None:
    _, controller, release = ripening(replace(RIPENS, report_seconds=100))
    for device in range(10, 40):
        assert controller.claim(49, release, device).granted
    assert controller.tick(149) == [] and controller.release(release).state == State.GRAY
    assert controller.tick(150) == [release]
    assert controller.release(release).state == State.HALTED


def test_what_cannot_become_full_by_itself_is_refused() -> None:
    for wrong in (
        {"full_after": -2},
        {"full_after": 2**31},
        {"full_after": 0, "end_share": 0.5, "start_share": 0},
    ):
        with pytest.raises(ArgumentError, match="full_after"):
            Ramp(**wrong)  # type: ignore[arg-type]


def test_everything_survives_a_restart() -> None:
    store = MemoryStore()
    before = Controller(store)
    release = started(before, ramp=AT_ONCE)
    for device in range(40):
        before.claim(0, release, device)
    for device in range(20):
        before.report(1, Report(device, release, "shop", "rank", status="ok" if device else "limit"))
    before.kill("shop", "old", "ada", 2)
    after = Controller(store)
    assert after.plan() == before.plan() and after.releases() == before.releases()
    assert after.trial(release).to_dict() == before.trial(release).to_dict()
    assert after.trial(release).outstanding() == 20
    after.tick(10_000)
    assert after.trial(release).counts().missing == 20
    assert after.release(release).state == State.HALTED


WISH = """
[release]
scenario = "shop"
task = "rank"
version = "1.2.0"
policy = 'os == "android"'
[ramp]
from = 0.05
seconds = 60
[guard]
bad_rate = 0.02
"""


def test_reads_what_an_operator_writes() -> None:
    read = read_wish(WISH)
    assert (read.task, read.version, read.policy) == ("rank", "1.2.0", 'os == "android"')
    assert (read.ramp.start_share, read.ramp.end_share, read.ramp.seconds) == (0.05, 1.0, 60)
    assert read.guard.bad_rate == 0.02 and read.guard.outstanding == 50


def test_names_that_are_said_beside_the_text_may_be_left_out() -> None:
    named = {"scenario": "shop", "task": "rank", "version": "1.2.0"}
    assert read_wish(WISH, named) == read_wish(WISH)
    assert read_wish("[ramp]\nseconds = 9", named).ramp.seconds == 9 and read_wish("", named).task == "rank"
    assert read_wish('[release]\nversion = "2.0.0"', named).version == "2.0.0", "the text's own are its"
    with pytest.raises(ArgumentError, match="no table"):
        read_wish("")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("[release]", "[releases]", "did you mean 'release'?"),
        ("[release]", "release = 1\n[x]", "one of release, params, ramp, guard"),
        ('task = "rank"', "", "no 'task'"),
        ('task = "rank"', "task = 3", "task = 3"),
        ('task = "rank"', 'task = "Rank"', "task 'Rank'"),
        ('"1.2.0"', '"1.2"', "version '1.2'"),
        ("seconds = 60", "second = 60", "did you mean 'seconds'?"),
        ("seconds = 60", "seconds = 1.5", "a whole number"),
        ("seconds = 60", "seconds = true", "a whole number"),
        ("from = 0.05", "from = 2", "0 <= from <= to <= 1"),
        ("bad_rate = 0.02", "bad_rate = 0.001", "good_rate < bad_rate"),
        ("os ==", "so ==", "did you mean 'os'?"),
        ("[ramp]", "[ramp", "TOML"),
    ],
)
def test_mistakes_of_an_operator_are_told(old: str, new: str, told: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        read_wish(WISH.replace(old, new))
    assert told in str(caught.value), str(caught.value)


def test_reports_come_back_as_they_were_packed() -> None:
    report = Report(
        2**63, "rank-1", "shop", "rank", "1.0.0", True, "limit", "execute", "E", "cpu_ms", 4, 1, 9, 3
    )
    data = pack_reports([report, Report(1, "a", "b", "c")])
    assert unpack_reports(data) == [report, Report(1, "a", "b", "c")]
    for damaged in (b"", data[:-1], data + b"x", data[:20] + bytes([data[20] ^ 1]) + data[21:]):
        with pytest.raises(Error, match="reports"):
            unpack_reports(damaged)
    with pytest.raises(ArgumentError, match="status 'fine'"):
        pack_reports([replace(report, status="fine")])
    with pytest.raises(ArgumentError, match="error type"):
        pack_reports([replace(report, error_type="ValueError: Ada Lovelace")])


def test_a_malformed_plan_is_an_error() -> None:
    controller = Controller(MemoryStore())
    started(controller)
    data = controller.plan()
    for damaged in (b"", b"x" * 100, data[: len(data) // 2]):
        with pytest.raises(Error, match="plan"):
            Plan(damaged)
