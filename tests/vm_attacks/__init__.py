"""Hostile scripts, each in a process of its own beside a sibling isolate: ``python -m tests.vm_attacks``."""
