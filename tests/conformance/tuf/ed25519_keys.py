"""A plugin of pytest for the TUF suite: repositories sign with Ed25519 keys where a case names no other."""

from __future__ import annotations

from tuf_conformance._internal.repository_simulator import RepositorySimulator

RepositorySimulator.new_signer.__defaults__ = ("ed25519", "ed25519")
