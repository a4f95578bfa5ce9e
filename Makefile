# Two commands do everything, set-up included, on a bare Debian 12:
#   make demo    the main job on real input
#   make test    everything that must hold
# and one more compares with other runtimes:
#   make bench
# and one runs what exporters write:
#   make exporters
.PHONY: demo test test-stages test-all quick bench exporters setup test-setup configure build engine check \
  cpp python instrumented sanitize fuzz fuzz-formats damage docs tuf-conformance tidy cross-tools \
  build-arm64 test-arm64 test-arm64-zig insns link-macos phones phones-kotlin phones-swift wheels clean
.NOTPARALLEL:

export PATH := $(CURDIR)/.venv/bin:$(PATH)
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
# A build folder remembers its interpreter; a venv made anew lies at the same path.
PYTHON := $(CURDIR)/.venv/bin/python
CMAKE_PYTHON := -DPython_EXECUTABLE=$(PYTHON) -DPython3_EXECUTABLE=$(PYTHON)
comma := ,
step = @python3 tools/stages.py stage '$(1)'
# $(call configured,PRESET): quiet when all is well; warnings are shown, because one may say that a part is
# left out.
configured = cmake --preset $(1) --no-warn-unused-cli $(CMAKE_PYTHON) >configure.log 2>&1 \
  || { cat configure.log; rm -f configure.log; exit 1; }; \
  sed -n '/^CMake Warning/,/^$$/p' configure.log; rm -f configure.log

setup:
	@tools/setup.sh

# What checks, tests and their comparisons need, and the demo does not wait for.
test-setup: setup
	@tools/setup.sh test

configure: setup
	$(call step,build)
	@$(call configured,release)

build: configure
	cmake --build build/release

# The Python extension and the VM: what the demo needs.
engine: configure
	cmake --build build/release --target engine

# The table of stages is printed whatever happens; no Python yet means that nothing has begun.
test:
	@mkdir -p build && printf '%s\tset-up\n' "$$(date +%s.%N)" >build/stages.txt
	@$(MAKE) --no-print-directory test-stages; status=$$?; \
	  if command -v python3 >/dev/null; then python3 tools/stages.py end; fi; exit $$status

test-stages: check build cpp python docs damage sanitize fuzz-formats
	$(call step,sizes)
	@python tools/size_report.py
	@printf '\n== all tests passed\n'

# The long doses, in parts that can be stopped and gone on with: make test-all PART=vm.
PART ?=
test-all: test-setup build
	@python tools/test_all.py $(PART)

# Minutes: without servers, faults of the VM, conformance, sanitizers and fuzzing.
quick: check build cpp
	$(call step,Python tests beside each other)
	python -m pytest tests/python -m "not serial" -n 2 --dist loadfile

# Minutes of analysis, so not part of `test`.
tidy: test-setup
	@$(call configured,dev)
	cmake --build build/dev --target schemas
	find src/cpp -name '*.cc' -not -name '*_simd.cc' -not -path '*/vm/inside/*' -print0 \
	  | xargs -0 -n 4 -P 2 clang-tidy -p build/dev --quiet

# What needs no build: floors, style, types.
check: test-setup
	$(call step,floors)
	python tools/check_layers.py
	python tools/check_imports.py
	$(call step,style and types)
	ruff check src/python tests tools bench examples
	mypy
	python tools/check_style.py
	find src/cpp src/kotlin src/swift tests bench \( -name '*.cc' -o -name '*.h' -o -name '*.c' \) -print0 \
	  | xargs -0 -n 50 -P 2 clang-format --dry-run --Werror

cpp: build
	$(call step,C++ tests)
	ctest --preset release
	python tools/check_symbols.py

# Two files at a time, then those that own the machine (tests/conftest.py).
python: test-setup build
	$(call step,Python tests)
	python -m pytest tests/python -m "not serial" -n 2 --dist loadfile --durations=30
	$(call step,Python tests that own the machine)
	python -m pytest tests -m serial --durations=30

# The documentation site: pages, docstrings and the native operator table; a warning ends the build.
docs: test-setup engine
	$(call step,documentation site)
	mkdocs build --quiet --strict
	@echo "build/site/index.html"

# One clang build serves both sanitizers and libFuzzer; the presets asan, ubsan and tsan exist for looking at
# one of them.
instrumented: test-setup
	@tools/setup.sh fuzz
	$(call step,build with AddressSanitizer$(comma) UndefinedBehaviorSanitizer and coverage)
	@$(call configured,asan-ubsan)
	cmake --build build/asan-ubsan

sanitize: instrumented
	$(call step,C++ tests under the sanitizers)
	ctest --preset asan-ubsan

FUZZ_SECONDS ?= 60
# A third of it as a part of everything else: a target's first seconds show what a change broke, and fourteen
# targets of a minute are seven minutes of every run.
test-stages: FUZZ_SECONDS = 20
fuzz-formats: instrumented
	$(call step,each fuzz target for $(FUZZ_SECONDS) s)
	tests/fuzz/run.sh build/asan-ubsan $(FUZZ_SECONDS)

# Objects of the VM: C of CPython, called by tasks with random arguments. Not part of `test` before 20,000
# isolates in a row have run without a fault: there were faults in one of some thousands. Where one is left,
# the same seeds under AddressSanitizer (preset asan, WALLE_VM_LIBRARY) say at once what it is.
fuzz: fuzz-formats build
	$(call step,objects of the VM for $(FUZZ_SECONDS) s)
	python tests/fuzz/object_fuzz.py $(FUZZ_SECONDS)

# For other targets. Bytecode does not depend on the target: the library of tasks is the native build's.
cross-tools: configure
	@tools/setup.sh arm64
	cmake --build build/release --target vm_device

build-arm64: cross-tools
	$(call step,arm64: build)
	@$(call configured,arm64)
	cmake --build build/arm64 --target engine vm_test

# An emulator ends a program at an instruction that its processor lacks: a cortex-a53 has no dotprod, an a76
# neither i8mm nor bfloat16. Floats are emulated in software: tests/arm64/python.txt names files that compute
# little.
test-arm64: insns
	$(call step,arm64: build of the C++ tests)
	cmake --build build/arm64
	$(call step,arm64: C++ tests on a cortex-a76$(comma) emulated)
	ctest --preset arm64
	$(call step,arm64: C++ tests on a cortex-a53 and on all that Arm has$(comma) emulated)
	ctest --preset arm64-a53
	ctest --preset arm64-max
	$(call step,arm64: Python tests under qemu-user)
	tests/arm64/run.sh
	python tools/check_symbols.py build/arm64
	python tools/size_report.py build/arm64

# The same for every Linux from glibc 2.28 on; the test program stays the other compiler's.
test-arm64-zig: build-arm64
	$(call step,arm64 with glibc 2.28: build)
	@$(call configured,arm64-zig)
	cmake --build build/arm64-zig --target vm_full vm_device
	python tools/check_symbols.py build/arm64-zig --glibc 2.28
	$(call step,arm64 with glibc 2.28: VM tests under qemu-user)
	WALLE_VM_TEST_DIR=$(CURDIR)/build/arm64-zig qemu-aarch64-static -L /usr/aarch64-linux-gnu build/arm64/vm_test

# Instructions of the arm64 build in an emulator against bench/insns.json; INSNS=--all counts whole networks,
# too. Nothing is timed.
INSNS ?=
insns: build-arm64
	$(call step,arm64: instructions)
	python -m tools.insns compare $(INSNS)

# For any Linux from glibc 2.28 on, both machines, each Python; the C library alone; the source archive. Each
# is installed and tried, and lies in dist/. WHEELS="--machine aarch64 --python 3.13" makes one wheel.
WHEELS ?=
wheels: cross-tools engine
	@tools/setup.sh wheels
	$(call step,wheels)
	python tools/wheels.py $(WHEELS)
	$(call step,source archive)
	python tools/try_sdist.py

link-macos: cross-tools
	$(call step,macOS arm64: link)
	@$(call configured,macos-zig)
	cmake --build build/macos-zig --target vm_full vm_device

# What apps on phones build on, as far as it can be tried here.
phones: phones-kotlin phones-swift

# The Kotlin library and its tests on a desktop JVM. Not part of `test`: compiler and JDK are 300 MB.
phones-kotlin: engine
	@tools/setup.sh kotlin
	$(call step,Kotlin: shim$(comma) library and tests)
	python tools/kotlin.py
	python -m pytest tests/kotlin -q

# The Swift library and its tests on Linux. Not part of `test`: the compiler is 500 MB, unpacked 2 GB.
phones-swift: engine
	@tools/setup.sh swift
	$(call step,Swift: library and tests)
	python tools/swift.py
	python -m pytest tests/swift -q

DAMAGED_CASES ?= 3000
damage: test-setup build
	$(call step,damaged model files)
	python tests/fault/damaged_models.py --cases $(DAMAGED_CASES)

demo: engine
	@tools/setup.sh demo
	python -m walle_rt.demo
	$(call step,the loop: a server$(comma) two devices$(comma) a release that works and one that is halted)
	python -m walle_rt demo

# The public conformance suite of The Update Framework against the native client. Not part of `test`: it is
# fetched from the network, and its packages live in a venv of their own.
tuf-conformance: configure
	@tools/setup.sh tuf
	cmake --build build/release --target walle-tuf
	.venv-tuf/bin/python tests/conformance/tuf/run.py
	.venv-tuf/bin/python tests/conformance/tuf/run.py --alone

# Models as exporters write them, beside onnxruntime; each exporter's packages live in a venv of their own.
exporters: engine
	@tools/setup.sh exporters
	.venv-exporters/bin/python tests/exporters/run.py

# Everything measured is built first: the extension, the VM's libraries, and what benches measure with. It
# says beforehand how long it takes. `make bench BENCH=--quick` takes minutes; BENCH="bench/test_peers.py
# --models vgg" is one model. Figures and plots are in bench/report.
BENCH ?= bench
bench: test-setup engine
	cmake --build build/release --target _bench
	@tools/setup.sh bench
	@python -c "from walle_rt.vm import VM; print(*('bench: no VM library ' + f + ': its benches are skipped' \
	  for f in ('full', 'device') if not VM.available(f)), sep='\n', end='')"
	python -m pytest $(if $(filter bench%,$(BENCH)),,bench) $(BENCH) -raP \
	  --benchmark-columns=min,median,rounds --benchmark-sort=name

clean:
	rm -rf build demo_output .pytest_cache .mypy_cache .ruff_cache
