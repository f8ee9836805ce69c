"""Which rule of a cassette applies where, and from which file and line it comes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..cassette import Cassette
from ..cassette.defaults import default_files
from ..cassette.files import read_bytes
from ..cassette.plan import Positions
from ..cassette.yamlread import parse
from .ages import age_text, days_left
from .effects import Effects
from .expects import recording_meets, rules_of
from .output import BOLD, DIM, GREEN, RED, YELLOW, Style, wrapped
from .targets import shown
from .values_text import call_text, value_text

if TYPE_CHECKING:
    from ..report.terminal import Line

_NO_RULES = ("cassette", "session", "record", "title")
_LISTED = 6


@dataclass(frozen=True, slots=True)
class Source:
    """One file with rules."""

    path: Path
    value: Mapping[Any, Any]
    at: Positions

    def line(self, *keys: Any) -> str:
        """`8:3`, where what is under the keys stands."""
        return self.at.at(*keys).removeprefix(f"{self.path}:")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: where it stands, what it says, and what it does in this session."""

    line: str
    text: str
    effects: list[str]
    style: Style = field(default_factory=lambda: dict(GREEN))


def sources_of(cassette: Cassette) -> list[Source]:
    """The files whose rules count for a cassette: the nearest last, the plan at the end."""
    beside = cassette.path or cassette.record_path
    if beside is None:
        return []
    paths = default_files(os.path.abspath(beside.parent)) + ([str(cassette.path)] if cassette.path else [])
    return [source for path in paths if (source := _source(path)) is not None]


def _source(path: str) -> Source | None:
    document = next(iter(parse(read_bytes(path), where=path, marks=True)), None)
    if document is None or not isinstance(document.value, dict):
        return None
    return Source(Path(path), document.value, Positions(path, document))


def rule_lines(cassette: Cassette, width: int, *, only: int | None = None) -> Iterator[Line]:
    """Every rule by file and line with what it does in this session, or in turn `only`; those without effect too."""
    sources = sources_of(cassette)
    teller = _Rules(cassette, sources, Effects(cassette, only))
    for number, source in enumerate(sources):
        yield []
        yield [(shown(source.path), BOLD), ("" if source.path == cassette.path else "  (defaults)", DIM)]
        rules = teller.of(number)
        for rule in rules:
            yield from _rule_lines(rule, width)
        if not rules:
            yield [("  no rules", DIM)]
    if not sources:
        yield from ([], [("no rules: there is neither a plan nor a statebase.yaml", DIM)])


def _rule_lines(rule: Rule, width: int) -> Iterator[Line]:
    lead = f"  {rule.line:<8}"
    text = wrapped(rule.text, width - len(lead), most=3)
    together = len(rule.effects) == 1 and len(text) == 1 and len(text[0]) + len(rule.effects[0]) + 14 <= width
    for at, line in enumerate(text):
        aside = f"  {rule.effects[0]}" if together else ""
        yield [(lead if not at else " " * len(lead), DIM), (line, {}), (aside, rule.style)]
    if not together:
        for effect in rule.effects:
            for line in wrapped(effect, width - len(lead) - 2):
                yield [(" " * (len(lead) + 2), {}), (line, rule.style)]


class _Rules:
    """The rules of all files over one recording."""

    def __init__(self, cassette: Cassette, sources: list[Source], effects: Effects) -> None:
        self.cassette = cassette
        self.sources = sources
        self.effects = effects

    def of(self, number: int) -> list[Rule]:
        """Those of one file, in its order."""
        tellers = {
            "ignore": self._ignore,
            "tools": self._tools,
            "compare": self._compare,
            "known": self._known,
            "failing": self._failing,
            "expect": self._expect,
            "answers": self._answers,
            "inputs": self._inputs,
            "replay": self._replay,
        }
        source = self.sources[number]
        found: list[Rule] = []
        for key, value in source.value.items():
            if key not in _NO_RULES:
                found += tellers.get(key, self._other)(number, source, key, value)
        return sorted(found, key=lambda rule: [int(part) for part in rule.line.split(":") if part.isdigit()])

    def _nearer(self, number: int, *keys: Any) -> Source | None:
        """The nearest file that says something else of the same key."""
        for source in reversed(self.sources[number + 1 :]):
            value: Any = source.value
            for key in keys:
                value = value.get(key) if isinstance(value, Mapping) and key in value else None
            if value is not None:
                return source
        return None

    def _overridden(self, number: int, *keys: Any) -> str | None:
        nearer = self._nearer(number, *keys)
        return None if nearer is None else f"does not count: {shown(nearer.path)}:{nearer.line(*keys)} wins"

    def _other(self, number: int, source: Source, key: str, value: Any) -> Iterator[Rule]:
        told = self._overridden(number, key)
        yield Rule(source.line(key), f"{key}: {value_text(value)}", [told] if told else [], YELLOW)

    def _ignore(self, number: int, source: Source, key: str, value: Any) -> Iterator[Rule]:
        for at, text in enumerate(value if isinstance(value, list) else [value]):
            where = source.line(key, at) if isinstance(value, list) else source.line(key)
            yield _with_effects(where, f"ignore {text}", self.effects.hidden_by(text))

    def _tools(self, number: int, source: Source, key: str, value: Any) -> Iterator[Rule]:
        for tool, rules in value.items():
            for name, setting in rules.items():
                told = self._overridden(number, "tools", tool, name)
                where, text = source.line("tools", tool, name), f"tool {tool} {name}: {value_text(setting)}"
                if told:
                    yield Rule(where, text, [told], YELLOW)
                else:
                    yield _with_effects(where, text, self.effects.of_tool(tool, name, setting, rules))
            if not rules:
                yield Rule(source.line("tools", tool), f"tool {tool}", ["says nothing of it"], YELLOW)

    def _known(self, number: int, source: Source, key: str, value: Any) -> Iterator[Rule]:
        for at, entry in enumerate(value):
            left = days_left(entry.get("until"))
            ticket = f" ({entry['ticket']})" if entry.get("ticket") else ""
            text = f"known {entry.get('fingerprint')} until {entry.get('until')}{ticket}"
            told = (
                "excuses nothing any more"
                if left is not None and left < 0
                else f"ends {age_text(-left if left else 0)}"
            )
            yield Rule(source.line(key, at), text, [told], RED if left is not None and left < 0 else GREEN)

    def _compare(self, number: int, source: Source, key: str, value: Any) -> Iterator[Rule]:
        for name, setting in value.items():
            told = self._overridden(number, key, name)
            what = "every word of an output must stay" if setting == "exact" else "other words do not fail a turn"
            yield Rule(source.line(key, name), f"compare {name}: {setting}", [told or what], YELLOW if told else GREEN)

    def _failing(self, number: int, source: Source, key: str, value: Any) -> Iterator[Rule]:
        plan = self.cassette.plan
        for at, turn in enumerate(value if isinstance(value, list) else [value]):
            if not self.effects.concerns(turn):
                continue
            told = "is recorded as wrong: must change" + (" as expected" if turn in plan.expect else "; no expect yet")
            where = source.line(key, at) if isinstance(value, list) else source.line(key)
            yield Rule(where, f"failing turn {turn}", [told], GREEN if turn in plan.expect else YELLOW)

    def _expect(self, number: int, source: Source, key: str, value: Any) -> Iterator[Rule]:
        plan = self.cassette.plan
        for turn, expect in plan.expect.items():
            if not self.effects.concerns(turn):
                continue
            for rule in rules_of(expect):
                meets = recording_meets(rule.alone, self.cassette.ledger, turn)
                told = "holds in the recording too" if meets else "does not hold in the recording"
                broken = not meets and turn not in plan.failing
                yield Rule(
                    source.line(key, turn, *rule.keys),
                    f"expect turn {turn}: {rule.text}",
                    [told],
                    RED if broken else GREEN,
                )

    def _answers(self, number: int, source: Source, key: str, value: Any) -> Iterator[Rule]:
        for at, answer in enumerate(self.cassette.plan.answers):
            told = self.effects.of_answer(answer)
            yield Rule(source.line(key, at), f"answer {call_text(answer.tool, answer.arguments)}", [told])

    def _inputs(self, number: int, source: Source, key: str, value: Any) -> Iterator[Rule]:
        for turn, text in value.items():
            if self.effects.concerns(turn):
                told = f"instead of {value_text(self.cassette.ledger.turn(turn).text)}"
                yield Rule(source.line(key, turn), f"input of turn {turn}: {value_text(text)}", [told])

    def _replay(self, number: int, source: Source, key: str, value: Any) -> Iterator[Rule]:
        told = self._overridden(number, key)
        for at, spec in enumerate(value if isinstance(value, list) else [value]):
            where = source.line(key, at) if isinstance(value, list) else source.line(key)
            text = ", ".join(f"{name} {setting}" for name, setting in spec.items()) or "from the start"
            yield Rule(where, f"replay {text}", [told] if told else [], YELLOW)


def _with_effects(where: str, text: str, effects: list[str]) -> Rule:
    if not effects:
        return Rule(where, text, ["matches nothing here"], YELLOW)
    more = [f"and {len(effects) - _LISTED:,} more"] if len(effects) > _LISTED else []
    return Rule(where, text, effects[:_LISTED] + more)
