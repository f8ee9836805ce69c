"""Pairs whose memory differs, and pairs in which an agent raises."""

from __future__ import annotations

from typing import Any

from pytest_statebase.values import ABSENT

from .pair import SESSION, Did, Pair, call, memories


def note(content: str, **more: Any) -> dict[str, Any]:
    return {"content": content, **more}


TEA, AISLE, CAT = note("likes tea"), note("prefers the aisle"), note("has a cat", type="fact", tags=["pets"])

MEMORY = [
    memories("the same", [TEA, CAT], [TEA, CAT]),
    memories("one memory more", [TEA], [TEA, AISLE], "memory added memory[1]"),
    memories("one where there was none", [], [TEA], "memory added memory[0]"),
    memories("one memory less", [TEA, AISLE], [AISLE], "memory removed memory[0]"),
    memories("none any more", [TEA], [], "memory removed memory[0]"),
    memories("the opposite", [TEA], [note("dislikes tea")], "memory value memory[0].content"),
    memories("other words", [TEA], [note("is fond of tea")], "memory value memory[0].content"),
    memories("another type of memory", [CAT], [{**CAT, "type": "preference"}], "memory value memory[0].type"),
    memories("a tag more", [CAT], [{**CAT, "tags": ["pets", "home"]}], "memory added memory[0].tags[1]"),
    memories(
        "another order",
        [TEA, AISLE],
        [AISLE, TEA],
        "memory removed memory[0] | memory[1]",
        "memory added memory[0] | memory[1]",
    ),
    memories("one twice", [TEA], [TEA, TEA], "memory added memory[0] | memory[1]"),
    memories("the session's own id in a memory", [note(f"asked in {SESSION}")], [note(f"asked in {SESSION}")]),
    memories("under a rule", [TEA], [note("tea!")], ignore=["memory[*].content"]),
    memories("all of it under a rule", [TEA], [TEA, CAT], ignore=["memory"]),
]


def raising(name: str, recorded: Any, replayed: Any, *report: str, **options: Any) -> Pair:
    """recorded, replayed: type and message, None where nothing is raised."""
    sides = [Did(ABSENT if error else "Done.", [call("pay")], raises=error) for error in (recorded, replayed)]
    return Pair(name, sides[:1], sides[1:], report, **options)


ERRORS = [
    raising("the same error", ("ValueError", "no room"), ("ValueError", "no room")),
    raising("another message", ("ValueError", "room 1"), ("ValueError", "room 2"), "error value error.message"),
    raising("another type", ("ValueError", "no room"), ("KeyError", "no room"), "error raised error"),
    raising("not raised any more", ("ValueError", "no room"), None, "error removed error"),
    raising("raised where it was not", None, ("ValueError", "no room"), "error raised error"),
    raising("an empty message", ("ValueError", "no room"), ("ValueError", ""), "error value error.message"),
    raising(
        "a message in other letters", ("ValueError", "No room"), ("ValueError", "no room"), "error value error.message"
    ),
    raising("a message under a rule", ("ValueError", "at 0x1"), ("ValueError", "at 0x2"), ignore=["error.message"]),
    raising("an error under a rule", ("ValueError", "no room"), ("KeyError", "door"), ignore=["error"]),
    Pair(
        "raised before the second call: what was not reached is not missing",
        [Did(calls=[call("hold"), call("pay")])],
        [Did(ABSENT, [call("hold")], raises=("ValueError", "no room"))],
        ["error raised error"],
    ),
    Pair(
        "raised, and a call more before it",
        [Did(ABSENT, [call("hold")], raises=("ValueError", "no room"))],
        [Did(ABSENT, [call("hold"), call("mail")], raises=("ValueError", "no room"))],
        ["tools extra tools.mail"],
    ),
]

PAIRS = [*MEMORY, *ERRORS]
