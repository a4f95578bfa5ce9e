"""The long doses: `make test-all`, or one part of them: `make test-all PART=vm`.

test_all.py [PART...] [--list]    all parts without a name; --list says what is done and what is left

Each step that passed is kept in build/test_all.json for this very tree, so that a run that was stopped goes
on where it was, and a changed tree begins anew. Doses are such that a part ends within 40 minutes on two
cores. A failure ends the run with that step's status.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STATE = ROOT / "build" / "test_all.json"


@dataclass(frozen=True)
class Step:
    """One command of a part: what it promises, and how it is run in the checkout."""

    promise: str
    command: str


PARTS: dict[str, tuple[Step, ...]] = {
    "vm": (
        Step("every attack on the VM", "python -m pytest tests/vm_attacks --vm-attacks 1 -q"),
        Step("10,000 isolates keep their memory", "python -m tests.fault.isolates --cycles 10000"),
        Step("5,000 damaged bundles", "python -m tests.fault.bundles --cases 5000"),
        Step("2,000 hostile scripts", "python -m tests.fault.hostile --cases 2000 --seed 1000"),
        Step("every operation where memory ends", "python -m tests.fault.no_memory"),
        Step("objects of the VM for a minute", "python tests/fuzz/object_fuzz.py 60"),
    ),
    "fuzz": (Step("a minute of each fuzz target", "make fuzz-formats FUZZ_SECONDS=60"),),
    "damage": (
        Step("10,000 damaged models", "make damage DAMAGED_CASES=10000"),
        Step("5,000 damaged stream files", "python -m tests.fault.stream_damage --cases 5000"),
        Step("1,500 damaged devices", "python -m tests.fault.device_damage --cases 1500 --every-bit 397"),
    ),
    "kills": (
        Step("2,000 killed writers of a log", "python -m tests.fault.kill9 --trials 2000"),
        Step("500 killed processors", "python -m tests.fault.processor_kill9 --trials 500"),
        Step(
            "500 killed devices, 1,000 replaced tasks",
            "python -m tests.fault.container --kills 500 --replaces 1000",
        ),
        Step("100 installs killed", "python -m tests.fault.install_kills --kills 100 --seed 1"),
    ),
    "link": (
        Step("50 devices follow a restored server", "python -m tests.fault.restore --devices 50"),
        Step("100 devices behind cuts and kills", "python -m tests.fault.link --seeds 100"),
        Step(
            "releases on trial",
            "python -m tests.fault.release --failing 20 --healthy 10 --incident 10 --attacked 60 --jobs 2",
        ),
        Step("orders and reports in a flood", "python -m tests.fault.flood --seconds 60"),
        Step("orders and reports on a full disk", "python -m tests.fault.flood --disk --seconds 60"),
    ),
    "conformance": (
        Step(
            "every switch on every instruction set",
            "python -m pytest tests/conformance --conformance-matrix -q -o timeout=3600",
        ),
    ),
    "networks": (
        Step(
            "20,000 random networks over random shapes",
            "WALLE_TEST_NETWORKS=20000 python -m pytest tests/python/test_shape_classes.py "
            "tests/python/test_shape_class_pictures.py -n 2 -q",
        ),
    ),
    "integers": (
        Step(
            "50,000 pairs per family of 8-bit, packed and bfloat16 kernels, on every set",
            "printf '%s\\n' 'ConvBf16.IsTheSum*' 'ConvInt8.IsExact*' 'Bf16Product.Matches*' "
            "'NBitsProduct.IsExact*' 'Int8Product.IsExact*' 'Codes.AreTheDefinitions*' 'Quantisation.IsThe*' "
            "| WALLE_TEST_PAIRS=50000 xargs -P 2 -I{} build/release/kernels_test --gtest_filter={}",
        ),
        Step(
            "5,000 quantised graphs by every form, beside onnx's evaluator and onnxruntime",
            "WALLE_TEST_PAIRS=5000 python -m pytest tests/python/test_quantized_graphs.py -n 2 --dist load "
            "-q -o timeout=3600",
        ),
    ),
    "apart": (
        Step(
            "each file includes what it uses",
            "cmake --preset dev -DWALLE_VM=OFF && cmake --build build/dev --target walle_rooms",
        ),
    ),
    "arm64": (
        Step("the VM and the Python bindings on arm64, emulated", "make test-arm64"),
        Step("instructions of nine networks", "make insns INSNS=--all"),
    ),
    "phones": (
        Step("the Kotlin library on a desktop JVM", "make phones-kotlin"),
        Step("the Swift library on Linux", "make phones-swift"),
    ),
    "browser": (
        Step(
            "the dashboard in a browser",
            "tools/setup.sh browser && python -m pytest tests/python/cloud/test_pages.py -q",
        ),
    ),
    "exporters": (Step("models as exporters write them", "make exporters"),),
    "tuf": (Step("the public suite of The Update Framework", "make tuf-conformance"),),
}


def tree() -> str:
    """A name for the sources as they are: the commit, and what differs from it."""
    digest = hashlib.sha256()
    for command in (("rev-parse", "HEAD"), ("diff", "HEAD"), ("status", "--porcelain")):
        digest.update(subprocess.run(("git", *command), cwd=ROOT, capture_output=True, check=True).stdout)
    return digest.hexdigest()[:16]


def passed(state: Path, name: str) -> dict[str, float]:
    """Minutes of the steps that passed with this tree."""
    try:
        kept = json.loads(state.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    return kept["passed"] if kept.get("tree") == name else {}


def left(parts: list[str], done: dict[str, float]) -> list[str]:
    """A line per part: minutes of what passed, and what is left."""
    lines = []
    for part in parts:
        open_steps = [s.promise for s in PARTS[part] if s.command not in done]
        minutes = sum(done.get(s.command, 0) for s in PARTS[part])
        lines.append(
            f"{part:12s} {minutes:5.1f} min  {'left: ' + '; '.join(open_steps) if open_steps else 'done'}"
        )
    return lines


def run(parts: list[str], state: Path) -> int:
    """Run what is left of the parts; the status of the first step that fails."""
    name = tree()
    done = passed(state, name)
    for part in parts:
        for step in PARTS[part]:
            if step.command in done:
                continue
            print(f"\n== {part}: {step.promise}\n{step.command}", flush=True)
            begun = time.monotonic()
            status = subprocess.run(["bash", "-c", step.command], cwd=ROOT, check=False).returncode
            if status:
                print(f"\n{part}: failed with status {status}: {step.command}")
                print("\n".join(left(parts, done)))
                return status
            done[step.command] = round((time.monotonic() - begun) / 60, 1)
            state.parent.mkdir(exist_ok=True)
            state.write_text(json.dumps({"tree": name, "passed": done}, indent=2) + "\n")
    print("", *left(parts, done), sep="\n")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        print(f"no part '{unknown[0]}'; parts: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    parts = options.parts or list(PARTS)
    if options.list:
        print("\n".join(left(parts, passed(STATE, tree()))))
        return 0
    return run(parts, STATE)


if __name__ == "__main__":
    sys.exit(main())
