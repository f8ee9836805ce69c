"""What a labelled pair is, and short ways to write one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_statebase.values import ABSENT

SESSION = "<the session's id>"
"""Stands in the pairs for the recorded session's id, and for the fork's own on the replayed side."""
WORDING, MEANING = "wording", "meaning"
"""The kinds of a text: worded otherwise, which passes, and saying something else, which must not."""


@dataclass(frozen=True)
class Call:
    """One call of a tool. `step`: recorded calls of one step were made at once."""

    tool: str
    arguments: Any
    step: int | None = None
    result: Any = field(default_factory=lambda: {"ok": True})


def call(tool: str, /, *, at_once: int | None = None, **arguments: Any) -> Call:
    return Call(tool, arguments, at_once)


@dataclass(frozen=True)
class Did:
    """What an agent did in one turn."""

    says: Any = "Done."
    """Text, a mapping, or ABSENT."""
    calls: Sequence[Call] = ()
    state: Any = ABSENT
    """The state that the turn leaves; ABSENT where it leaves it alone."""
    rolls_back_to: int | None = None
    memory: Sequence[Mapping[str, Any]] = ()
    raises: tuple[str, str] | None = None
    """Type and message."""
    asked: str = "Please go on."


@dataclass(frozen=True)
class Pair:
    """A recorded and a replayed side, turn by turn, and what a careful reviewer would want reported."""

    name: str
    recorded: Sequence[Did]
    replayed: Sequence[Did]
    report: Sequence[str]
    """`facet kind path`; paths that are equally right are divided by ` | `."""
    before: Any = field(default_factory=lambda: {"status": "new"})
    """The state at the start, version 0."""
    ignore: Sequence[str] = ()
    reads: Sequence[str] = ()
    exact: bool = False
    because: str | None = None
    """For a text whose meaning nobody can tell from its wording: the sort of change, as docs/replay.md names it."""


def states(name: str, recorded: Any, replayed: Any, *report: str, ignore: Sequence[str] = ()) -> Pair:
    return Pair(name, [Did(state=recorded)], [Did(state=replayed)], report, ignore=ignore)


def outputs(name: str, recorded: Any, replayed: Any, *report: str, ignore: Sequence[str] = ()) -> Pair:
    return Pair(name, [Did(recorded)], [Did(replayed)], report, ignore=ignore)


def worded(name: str, recorded: str, replayed: str) -> Pair:
    """The same said in other words: to be passed, and to be counted as reworded."""
    return Pair(name, [Did(recorded)], [Did(replayed)], ["output wording output"])


def meant(because: str, recorded: str, replayed: str) -> Pair:
    """Something else said: to be failed."""
    return Pair(f"{because}: {replayed}", [Did(recorded)], [Did(replayed)], ["output meaning output"], because=because)


def tools(
    name: str,
    recorded: Sequence[Call],
    replayed: Sequence[Call],
    *report: str,
    ignore: Sequence[str] = (),
    reads: Sequence[str] = (),
    asked: str = "Please go on.",
) -> Pair:
    return Pair(
        name,
        [Did(calls=recorded, asked=asked)],
        [Did(calls=replayed)],
        report,
        ignore=ignore,
        reads=reads,
    )


def memories(name: str, recorded: Sequence[Any], replayed: Sequence[Any], *report: str, **options: Any) -> Pair:
    return Pair(name, [Did(memory=recorded)], [Did(memory=replayed)], report, **options)


def data(content: Any) -> dict[str, Any]:
    """An output that is a value and not a text."""
    return {"type": "data", "content": content}
