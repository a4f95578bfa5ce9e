#!/usr/bin/env bash
# run.sh: the Python tests of tests/arm64/python.txt on build/arm64, in the emulator. It ends a program that
# executes what the processor lacks (SIGILL): a cortex-a76 has neither products of int8 matrices nor bfloat16.
set -euo pipefail
cd "$(dirname "$0")/../.."
export QEMU_LD_PREFIX=$PWD/build/arm64-sysroot QEMU_CPU=${QEMU_CPU:-cortex-a76}
export PYTHONPATH=$PWD/build/arm64/python
mapfile -t files < <(grep -v '^#' tests/arm64/python.txt)
build/arm64-sysroot/venv/bin/python -m pytest -q -p no:cacheprovider "${files[@]}"
