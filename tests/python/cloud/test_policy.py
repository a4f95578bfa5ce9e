"""Policies: what they mean, against a slow reference, and how mistakes in them are told."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

import pytest
from cloud.fleet import package, wish
from cloud.memory_store import MemoryStore
from random_seed import random_seed

from walle_rt._core import policy as native
from walle_rt.cloud.release import Controller, Plan, Policy
from walle_rt.cloud.release._spans import normal, others
from walle_rt.cloud.release._versions import APP, OS, BadVersionError, ranged
from walle_rt.errors import ArgumentError, Error
from walle_rt.link import device_header

Device = dict[str, object]
Holds = Callable[[Device], bool]

APPS = ["com.example.shop", "com.example.mail"]
MODELS = ["Pixel 8", "Pixel 3", "P40"]
SYSTEMS = ["android", "ios", "linux"]
VERSIONS = ["1.0.0", "1.2.3", "1.2.4-rc.1", "2.0.0-beta", "2.0.0", "2.1.0", "10.0.1"]


def suits(policy: str, header: str) -> bool:
    """What the native evaluator says of a release of this policy."""
    controller = Controller(MemoryStore())
    release = controller.draft(wish(policy=policy), package(), "ada", 0)
    controller.start(release.id, "ada", 0)
    controller.full(release.id, "ada", 0)
    return bool(Plan(controller.plan()).decide(header, 10)[1])


def order(version: str) -> tuple[tuple[int, ...], bool]:
    """A version as Python compares it; a pre-release is before its version."""
    numbers, _, label = version.partition("-")
    return tuple(int(part) for part in numbers.split(".")), not label


def device(rng: random.Random) -> Device:
    return {
        "app": rng.choice(APPS),
        "app_version": rng.choice(VERSIONS),
        "os": rng.choice(SYSTEMS),
        "os_version": f"{rng.randrange(10, 18)}.{rng.randrange(3)}",
        "device": rng.choice(MODELS),
        "ram_mb": rng.randrange(0, 9000),
        "device_id": f"d{rng.randrange(10**6)}",
    }


def header_of(given: Device) -> str:
    values = {("os_name" if key == "os" else key): value for key, value in given.items()}
    return device_header(**values)  # type: ignore[arg-type]


COMPARE: dict[str, Callable[[object, object], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,  # type: ignore[operator]
    "<=": lambda a, b: a <= b,  # type: ignore[operator]
    ">": lambda a, b: a > b,  # type: ignore[operator]
    ">=": lambda a, b: a >= b,  # type: ignore[operator]
}


def leaf(rng: random.Random) -> tuple[str, Holds]:
    """A random condition as text and as a function of the device's own words."""
    kind = rng.randrange(6)
    sign = rng.choice(list(COMPARE))
    compare = COMPARE[sign]
    if kind == 0:
        field, names = rng.choice([("app", APPS), ("os", SYSTEMS), ("device", MODELS)])
        some = rng.sample(names, rng.randint(1, len(names)))
        negated = rng.random() < 0.3
        text = f"{field} {'not ' if negated else ''}in {{{', '.join(repr(name) for name in some)}}}"
        return text, lambda d: (d[field] in some) != negated
    if kind == 1:
        version = rng.choice(["1.0.0", "1.2.3", "2.0.0", "2.0.1"])
        return f"app_version {sign} {version}", lambda d: compare(
            order(str(d["app_version"])), order(version)
        )
    if kind == 2:
        version = f"{rng.randrange(10, 18)}.{rng.randrange(3)}"
        return f"os_version {sign} {version}", lambda d: compare(order(str(d["os_version"])), order(version))
    if kind == 3:
        mb = rng.choice([0, 1, 127, 128, 129, 4000, 4096, 8000])
        return f"ram_mb {sign} {mb}", lambda d: compare(int(str(d["ram_mb"])) // 128 * 128, mb)
    if kind == 4:
        sign = rng.choice(["<", "<=", ">", ">="])
        share = rng.choice(["0", "0.25", "0.5", "75%", "1"])
        value = Fraction(share.rstrip("%")) / (100 if share.endswith("%") else 1)

        def in_bucket(d: Device) -> bool:
            bucket = native.device_pseudonym(str(d["device_id"])) >> 32
            return COMPARE[sign](Fraction(native.bucket_value(native.salt_of("s"), bucket), 2**32), value)

        return f"bucket('s') {sign} {share}", in_bucket
    return (
        'app_version in "^1.2 || ~2.0.0"',
        lambda d: (
            ((1, 2, 0), True) <= order(str(d["app_version"])) < ((2, 0, 0), False)
            or ((2, 0, 0), True) <= order(str(d["app_version"])) < ((2, 1, 0), False)
        ),
    )


def tree(rng: random.Random, depth: int) -> tuple[str, Holds]:
    if depth == 0 or rng.random() < 0.3:
        return leaf(rng)
    if rng.random() < 0.25:
        text, holds = tree(rng, depth - 1)
        return f"not ({text})", lambda d: not holds(d)
    parts = [tree(rng, depth - 1) for _ in range(rng.randint(2, 3))]
    if rng.random() < 0.5:
        return " and ".join(f"({t})" for t, _ in parts), lambda d: all(h(d) for _, h in parts)
    return " or ".join(f"({t})" for t, _ in parts), lambda d: any(h(d) for _, h in parts)


def test_random_policies_mean_what_the_reference_says() -> None:
    rng = random.Random(random_seed())
    devices = [device(rng) for _ in range(25)]
    compared = 0
    for _ in range(300):
        text, holds = tree(rng, 3)
        try:
            Policy(text)
        except ArgumentError as error:
            if "suits no device" in str(error):
                assert not any(holds(d) for d in devices), text
            else:
                assert "alternatives" in str(error), text
            continue
        for d in devices:
            assert suits(text, header_of(d)) == holds(d), (text, d)
            compared += 1
    assert compared > 2000


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("1.2.3", ["1.2.3"], ["1.2.2", "1.2.4", "1.2.3-rc"]),
        ("1.2", ["1.2.0", "1.2.9", "1.2.9-rc"], ["1.2.0-rc", "1.3.0-rc", "1.3.0", "1.1.9"]),
        (">=1.2.3", ["1.2.3", "1.2.4-rc", "3.0.0"], ["1.2.3-rc", "1.2.2"]),
        (">=1.2.3-0", ["1.2.3-rc", "1.2.3"], ["1.2.2"]),
        ("<2", ["1.9.9", "2.0.0-rc"], ["2.0.0"]),
        ("<2-0 || >2", ["2.0.0"], []),
        (">1.2", ["1.3.0-rc", "1.3.0"], ["1.2.9", "1.2.0"]),
        ("<=1.2", ["1.2.9", "1.0.0"], ["1.3.0-rc", "1.3.0"]),
        ("^1.2.3", ["1.2.3", "1.9.0"], ["2.0.0-rc", "2.0.0", "1.2.2", "1.2.3-rc"]),
        ("^0.2.3", ["0.2.3", "0.2.9"], ["0.3.0-rc", "0.3.0"]),
        ("^0.0.3", ["0.0.3"], ["0.0.4", "0.0.4-rc"]),
        ("^0.0", ["0.0.0", "0.0.9"], ["0.1.0"]),
        ("^0", ["0.9.9"], ["1.0.0"]),
        ("~1.2.3", ["1.2.3", "1.2.9"], ["1.3.0-rc", "1.2.2"]),
        ("~1", ["1.0.0", "1.9.9"], ["2.0.0-rc", "2.0.0"]),
        ("1.x", ["1.0.0", "1.9.9"], ["2.0.0", "0.9.9"]),
        ("*", ["0.0.0", "1.0.0-rc", "2047.1023.1023"], []),
        ("1.2 - 2.0", ["1.2.0", "2.0.9"], ["2.1.0-rc", "1.1.9"]),
        (">=1.2 <1.5 || 3.x", ["1.4.9", "3.1.0"], ["2.0.0", "1.5.0"]),
        (">= 1.2", ["1.2.0"], ["1.1.9"]),
    ],
)
def test_ranges(text: str, inside: list[str], outside: list[str]) -> None:
    if text == "<2-0 || >2":  # a pre-release needs three numbers
        with pytest.raises(BadVersionError):
            ranged(text, APP)
        return
    spans = ranged(text, APP)
    for versions, expected in ((inside, True), (outside, False)):
        for version in versions:
            key = native.app_version_key(version)
            assert any(low <= key <= high for low, high in spans) == expected, version


@pytest.mark.parametrize(
    "text", ["", "||", "1 ||", "1.2.3-beta", "2048", "1.1024", "x.1", ">", "1.2.3.4", "a", "^ ^1"]
)
def test_ranges_that_are_none(text: str) -> None:
    with pytest.raises(BadVersionError):
        ranged(text, APP)


def test_ranges_of_systems_have_two_parts() -> None:
    assert ranged("17", OS) == ((17 << 8, (17 << 8) + 255),)
    for text in ("1.2.3", "17-0", "256"):
        with pytest.raises(BadVersionError):
            ranged(text, OS)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('os == "andriod"', ["column 7", "did you mean 'android'?"]),
        ('ap_version > 1 and os == "ios"', ["column 1", "did you mean 'app_version'?"]),
        ('os = "ios"', ["column 4", "did you mean '=='?"]),
        ('(os == "ios"', ["the end", "')'", "column 13"]),
        ('os == "ios")', ["column 12"]),
        ('os == "ios" os == "linux"', ["column 13", "'and', 'or' or the end"]),
        ("os == ios", ["a name in quotes"]),
        ('os == "ios', ["a string without an end", "column 7"]),
        ('os < "ios"', ["'<' between names"]),
        ("ram_mb > 4.5", ["a whole number up to 32640"]),
        ("ram_mb > 40000", ["a whole number up to 32640"]),
        ('app in ">=1"', ["a set {...}"]),
        ('device in {"a",}', ["a name in quotes for 'device'"]),
        ('bucket("s") < 2', ["0 to 1"]),
        ('bucket("s") == 0.5', ["<, <=, > or >="]),
        ("bucket('') < 0.5", ["a salt in quotes"]),
        ('app == "a" and app == "b"', ["a policy that suits no device"]),
        ("app_version > 1.2.3-beta", ["which one", "column 15"]),
        ('os == "ios" and\n  ram > 3', ["line 2, column 3", "did you mean 'ram_mb'?"]),
        ("not " * 100 + 'os == "ios"', ["levels"]),
        ("§", ["'§'"]),
        (" or ".join(f"(app == 'a{i}' and device == 'b{i}')" for i in range(300)), ["alternatives", "256"]),
        ("x" * 70_000, ["70000 characters"]),
    ],
)
def test_mistakes_are_told_with_their_place(text: str, told: list[str]) -> None:
    with pytest.raises(ArgumentError) as caught:
        Policy(text)
    for part in told:
        assert part in str(caught.value), str(caught.value)


def test_any_text_is_a_policy_or_an_error() -> None:
    rng = random.Random(random_seed())
    words = [
        "os",
        "app",
        "==",
        "in",
        "not",
        "(",
        ")",
        "{",
        "}",
        ",",
        "'ios'",
        "1.2",
        "and",
        "or",
        "bucket",
        "<",
        "%",
    ]
    for _ in range(3000):
        text = " ".join(rng.choice(words) for _ in range(rng.randrange(12)))
        try:
            Policy(text)
        except Error as error:
            assert error.where.startswith("policy")


def test_alternatives_become_sets() -> None:
    both = Policy('device == "a" or device == "b" or device == "c"')
    assert len(both.segments) == 1
    assert Policy("os == 'ios' or os != 'ios'").everybody and Policy("").everybody
    assert Policy("os == 'ios' or os != 'ios'").segments == []


def test_spans() -> None:
    assert normal([(5, 6), (1, 2), (3, 4), (9, 8)]) == ((1, 6),)
    assert others(((0, 1), (5, 5)), 9) == ((2, 4), (6, 9))
    assert others((), 3) == ((0, 3),)


def test_buckets_only_gain_devices_as_the_share_grows() -> None:
    headers = [device_header(app="a", app_version="1", device_id=str(i), ram_mb=0) for i in range(150)]
    before: set[str] = set()
    for percent in (1, 5, 20, 50, 99, 100):
        now = {h for h in headers if suits(f"bucket('ramp') < {percent}%", h)}
        assert before <= now
        before = now
    assert len(before) == len(headers)
