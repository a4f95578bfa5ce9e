# Two commands do everything, set-up included, on a bare Debian 12:
#   make demo    the main job on real input
#   make test    everything that must hold
.PHONY: demo test setup build

export PATH := $(CURDIR)/.venv/bin:$(PATH)

setup:
	@tools/setup.sh

build: setup
	cmake --preset release -DPython_EXECUTABLE=$(CURDIR)/.venv/bin/python -DPython3_EXECUTABLE=$(CURDIR)/.venv/bin/python >/dev/null
	cmake --build build/release

test: build
	ctest --preset release
	python -m pytest tests

demo: build
	@echo "demo: not there yet"; exit 1
