"""Instructions of our arm64 build and of peers, counted in qemu's user emulator: ``python -m tools.insns``.

No time is measured on a machine that is emulated, and no board is needed: a count is the same in every run.
"""
