"""Why a version was taken back, in words: for a device's status and its page at the server."""

from __future__ import annotations

WORDS = {
    "halted": "its release was halted",
    "guard": "the guard halted its release",
    "rolled_back": "its release was rolled back",
    "killed": "the task was killed",
    "refused": "it failed on this device",
}
