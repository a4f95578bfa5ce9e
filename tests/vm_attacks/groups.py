"""All attacks, by group: name of the group to {name: source of a module whose f() is called}."""

from __future__ import annotations

from . import bytecode, depth, loops, memory, objects, unwinding

GROUPS: dict[str, dict[str, str]] = {
    "loops": loops.SCRIPTS,
    "memory": memory.SCRIPTS,
    "depth": depth.SCRIPTS,
    "objects": objects.SCRIPTS,
    "bytecode": bytecode.SCRIPTS,
    "unwinding": unwinding.SCRIPTS,
}
