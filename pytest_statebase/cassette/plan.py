"""Plans: what a `NAME.session.yaml` says about replaying a record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, Final, Literal, TypeAlias

from ..ledger import ForkPoint
from ..values import ABSENT
from .yamlread import Document

Where: TypeAlias = str
"""`file:line:column`."""
Mode: TypeAlias = Literal["continuous", "isolated"]
Gate: TypeAlias = Literal["block", "warn"]


def path_of(value: Any, keys: tuple[Any, ...]) -> str:
    """`expect.2.output.contains[0]` for the keys that lead there in `value`."""
    path = ""
    for key in keys:
        path += f"[{key}]" if type(value) is list else f".{key}" if path else f"{key}"
        value = value[key] if type(value) in (dict, list) else None
    return path


def _paths(value: Any, keys: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    steps = value.items() if type(value) is dict else enumerate(value) if type(value) is list else ()
    for key, item in steps:
        yield (*keys, key)
        yield from _paths(item, (*keys, key))


class Positions(Mapping[str, Where]):
    """Where each key and item of a plan stands: `expect.2.output.matches` → `file:line:column`."""

    __slots__ = ("_document", "_name", "_table")

    def __init__(self, name: str = "", document: Document | None = None) -> None:
        self._name = name
        self._document = document
        self._table: dict[str, Where] | None = None

    def _all(self) -> dict[str, Where]:
        if self._table is None:
            document = self._document
            paths = _paths(document.value, ()) if document else ()
            self._table = {path_of(document.value, keys): self.at(*keys) for keys in paths} if document else {}
        return self._table

    def at(self, *keys: Any) -> Where:
        """Where what stands under the keys is, or the nearest thing around it."""
        if self._document is None:
            return self._name
        line, column = self._document.position(*keys)
        return f"{self._name}:{line}:{column}"

    def __getitem__(self, path: str) -> Where:
        return self._all()[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


@dataclass(frozen=True, slots=True)
class ReplaySpec:
    """One replay that a plan asks for."""

    fork: ForkPoint = field(default_factory=ForkPoint)
    until: int | Literal["end"] | None = None
    """The last turn to replay; None leaves it to the plan's `failing` and `expect`."""
    mode: Mode | None = None


@dataclass(frozen=True, slots=True)
class OutputExpect:
    """What the output must be; every rule must hold."""

    contains: tuple[str, ...] = ()
    not_contains: tuple[str, ...] = ()
    matches: tuple[str, ...] = ()
    """Regular expressions, searched for."""
    equals: Any = ABSENT


@dataclass(frozen=True, slots=True)
class CallExpect:
    """A call of a tool with these arguments, whatever others it has."""

    tool: str
    arguments: Mapping[str, Any]
    """Name of an argument, or path inside the arguments (`items[0].sku`) → the value that must stand there."""
    where: Where = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class ToolsExpect:
    """Tools that must be called and that must not, each by its name alone or with arguments."""

    called: tuple[str | CallExpect, ...] = ()
    not_called: tuple[str | CallExpect, ...] = ()


def tool_of(entry: str | CallExpect) -> str:
    """The tool that an entry of `called` or `not_called` is about."""
    return entry if isinstance(entry, str) else entry.tool


@dataclass(frozen=True, slots=True)
class Expect:
    """What is expected of one turn."""

    output: OutputExpect | None = None
    tools: ToolsExpect | None = None
    state: Mapping[str, Any] = field(default_factory=dict)
    """Path inside the state → the value that must stand there."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a call that production never made."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    result: Any = ABSENT
    error: Mapping[str, Any] | None = None
    """Raise this instead of returning: `{type, message}`."""
    where: Where = ""


@dataclass(frozen=True, slots=True)
class ToolRules:
    """What is known of a tool."""

    reads: bool = False
    """It has no effect: it may be answered again."""
    ignore: tuple[str, ...] = ()
    """Arguments that count neither in matching nor in comparison; `arguments` means all of them."""
    was: tuple[str, ...] = ()
    """Names that it had when it was recorded."""
    rename: Mapping[str, str] = field(default_factory=dict)
    """Arguments: the recorded name → today's."""
    added: Mapping[str, Any] = field(default_factory=dict)
    """Arguments that old recordings lack → the value that they are read with; `ANY` where it does not count."""
    result: str | None = None
    """`module:function` that makes today's result of a recorded one; said in `statebase.yaml` alone."""
    live: bool = False
    """It may run for a call without an answer, where `statebase_unrecorded = call`."""
    given: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """The keys that the files say, for who merges them."""
    where: Where = field(default="", compare=False, repr=False)


ANY: Final = "any"
"""In `ToolRules.added`: whatever the replayed call has there, it does not count against an old recording."""


@dataclass(frozen=True, slots=True)
class Known:
    """A divergence that somebody knows of: it fails nothing until its day has passed."""

    fingerprint: str
    until: date
    """The last day on which it is excused."""
    ticket: str | None = None
    where: Where = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Retention:
    """How long a recording may be kept: up to a day, or for so many days from when the session was recorded."""

    until: date | None = None
    """The last day on which it may be there."""
    days: int | None = None
    where: Where = field(default="", compare=False)

    def last_day(self, recorded: date | None) -> date | None:
        """The last day for a session of that day; None where it is not known when it was recorded."""
        if self.days is None:
            return self.until
        try:
            return None if recorded is None else recorded + timedelta(days=self.days)
        except OverflowError:
            return None


@dataclass(frozen=True, slots=True)
class StubsFrom:
    """Other sessions whose recordings may answer."""

    name: str
    """A cassette's file or a pattern of them, from `directory`; `DIRECTORY` for all in and below it."""
    directory: str = field(default="", compare=False)
    where: Where = field(default="", compare=False)


DIRECTORY: Final = "directory"


@dataclass(frozen=True, slots=True)
class HttpPlan:
    """Which HTTP recording answers, and what else of a request counts."""

    file: str | None = None
    """The recording's file, a relative path from the plan's directory that does not leave the project; None for
    `NAME.http.yaml`, where there is one."""
    headers: tuple[str, ...] = ()
    """Headers that must be as recorded, too."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How to replay a record. An empty one replays it whole, from its start."""

    session: str | None = None
    record: str | None = None
    """The record's file, from the plan's directory, where the stem differs."""
    agent: str | None = None
    title: str | None = None
    replays: tuple[ReplaySpec, ...] = (ReplaySpec(),)
    failing: frozenset[int] = frozenset()
    """Turns that are recorded as wrong."""
    expect: Mapping[int, Expect] = field(default_factory=dict)
    answers: tuple[Answer, ...] = ()
    inputs: Mapping[int, str] = field(default_factory=dict)
    """The user's words where the recorded ones no longer fit."""
    ignore: tuple[str, ...] = ()
    compare: Mapping[str, str] = field(default_factory=dict)
    owner: str | None = None
    gate: Gate = "block"
    known: tuple[Known, ...] = ()
    """Divergences that are excused for a time, those of `statebase.yaml` included."""
    tools: Mapping[str, ToolRules] = field(default_factory=dict)
    stubs_from: tuple[StubsFrom, ...] = ()
    """Sessions that are asked where the record has no answer to a read."""
    http: HttpPlan = HttpPlan()
    retention: Retention | None = None
    """How long the recording may be kept; None where nothing says so."""
    privacy: Literal["default", "strict"] = "default"
    """`strict`: of sessions that are written here only the fields of `keep` stay."""
    keep: tuple[str, ...] = ()
    """Names of fields that stay, as `order_id` or `state.order.status`."""
    where: Mapping[str, Where] = field(default_factory=Positions, compare=False, repr=False)
    """Where each key of the plan stands, for errors: `expect.2.output` → `file:line:column`."""
