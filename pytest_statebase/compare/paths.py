"""Paths into what is compared: how they are written, and the `ignore` rules made of them.

A path is a tuple of segments: the facet first, then keys (any hashable), `Index` for places in a list and `Call` for
a tool call. As text: `state.cart[0]."odd key"`, `tools.lookup_order#2.arguments.id`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from ..errors import PlanError
from ..values import TypedData, fields_of

if TYPE_CHECKING:
    from ..cassette.plan import Plan, ToolRules

Path: TypeAlias = tuple[Hashable, ...]

FACETS: Final = ("output", "tools", "state", "error", "memory", "http", "reasoning")
_HOW: Final = (
    "Write FACET.path (`state.cart[*].added_at`, `tools.lookup_order.arguments.id`), `**.key` or a bare key; "
    'put odd keys into double quotes: `state."odd key"`.'
)


class Index(int):
    """A place in a list, from 0."""


class Call(NamedTuple):
    """A tool call: the tool's name, and which of its calls in the turn, from 1."""

    tool: str
    ordinal: int = 1


def numbered(tools: Iterable[str]) -> list[Call]:
    """Each call of a turn with which of its tool's it is."""
    counts: Counter[str] = Counter()
    labels = []
    for tool in tools:
        counts[tool] += 1
        labels.append(Call(tool, counts[tool]))
    return labels


class Ignored:
    """Stands in a list where an item is ignored, so that the places of the others stay."""

    def __repr__(self) -> str:
        return "(ignored)"


IGNORED: Final = Ignored()


class Step(NamedTuple):
    """One segment of a rule."""

    kind: Literal["key", "quoted", "index", "any-key", "any-index", "deep"]
    value: str = ""
    ordinal: int = 0
    """For a tool: only its k-th call; 0 means all."""

    def matches(self, segment: Hashable) -> bool:
        if type(segment) is Index:
            return self.kind == "any-index" or (self.kind == "index" and int(self.value) == segment)
        if self.kind == "any-key":
            return True
        if type(segment) is Call:
            return self.is_key and segment.tool == self.value and self.ordinal in (0, segment.ordinal)
        if type(segment) is str:
            return self.is_key and segment == self.value
        return self.is_key and _key_text(segment) == self.value

    @property
    def is_key(self) -> bool:
        return self.kind == "key" or self.kind == "quoted"


DEEP: Final = Step("deep")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*", re.ASCII)
_TOKEN = re.compile(
    r"""(?P<deep>\*\*) | (?P<star>\*) | \[(?P<index>\d{1,9}|\*)\]
      | (?:"(?P<quoted>(?:[^"\\]|\\.)*)" | (?P<key>[^.\[\]"*\#]+)) (?:\#(?P<ordinal>\d{1,6}))?""",
    re.VERBOSE,
)


def render(path: Path) -> str:
    """The path as text, to be read by people and to be pasted into `ignore`."""
    parts: list[str] = []
    for segment in path:
        if type(segment) is Index:
            parts.append(f"[{segment:d}]")
        else:
            parts.append(f".{render_key(segment)}" if parts else render_key(segment))
    return "".join(parts)


def render_key(key: Hashable) -> str:
    """One segment as text: plain where it can be, else in double quotes."""
    if type(key) is Call:
        return render_key(key.tool) + (f"#{key.ordinal}" if key.ordinal > 1 else "")
    if type(key) is str:
        return key if _PLAIN.fullmatch(key) else json.dumps(key, ensure_ascii=False)
    text = _key_text(key)
    return text if type(key) is int and key >= 0 else json.dumps(text, ensure_ascii=False)


def _key_text(key: Hashable) -> str:
    return repr(key)


def parse_steps(text: str, *, where: str | None = None) -> tuple[Step, ...]:
    """Read a path as a rule has it.

    Raises PlanError where it is malformed.
    """
    steps: list[Step] = []
    position, stripped = 0, text.strip()
    while position < len(stripped) or not steps:
        dotted = bool(steps) and stripped.startswith(".", position)
        match = _TOKEN.match(stripped, position + dotted)
        if match is None or ((match["index"] is not None) == dotted and (steps or dotted)):
            found = stripped[position : position + 12]
            raise malformed(text, f"cannot be read from {found!r} on" if found else "is empty", where)
        steps.append(_step(match, text, where))
        position = match.end()
    return tuple(steps)


def _step(match: re.Match[str], text: str, where: str | None) -> Step:
    if match["deep"]:
        return DEEP
    if match["star"]:
        return Step("any-key")
    if match["index"]:
        return Step("any-index") if match["index"] == "*" else Step("index", match["index"])
    ordinal = int(match["ordinal"] or 0)
    if match["key"] is not None:
        return Step("key", match["key"], ordinal)
    try:
        return Step("quoted", json.loads(f'"{match["quoted"]}"', strict=False), ordinal)
    except ValueError:
        raise malformed(text, f"has a quoted key that is no JSON text: {match[0]}", where) from None


def malformed(text: str, why: str, where: str | None, remedy: str = _HOW) -> PlanError:
    """The error for a path that means nothing."""
    return PlanError(f"the path {text!r} {why}", where=where, remedy=remedy)


class Rule(NamedTuple):
    """One parsed rule. Its steps begin with the facet, or with `**`."""

    text: str
    steps: tuple[Step, ...]


State: TypeAlias = tuple[int, int]
"""Number of a rule, and how many of its steps are behind."""


class IgnoreRules:
    """What does not count in a comparison, and which rules ever hid something.

    An empty set of rules is falsy and costs nothing.
    """

    __slots__ = ("_reported", "matched", "rules")

    def __init__(self, rules: Iterable[Rule] = (), *, reported: int | None = None) -> None:
        self.rules = tuple(rules)
        self.matched: set[int] = set()
        self._reported = len(self.rules) if reported is None else reported

    @classmethod
    def parse(cls, texts: Iterable[str], where: str | None = None) -> IgnoreRules:
        """Read `ignore` entries; `where` (file, line, column) goes into errors.

        Raises PlanError for a malformed one.
        """
        return cls([_rule(text, where) for text in texts])

    @classmethod
    def of_tools(cls, tools: Mapping[str, ToolRules], where: str | None = None) -> IgnoreRules:
        """The rules that the tools themselves have: these count in matching as well as in comparison."""
        return cls(_tool_rules(tools, where), reported=0)

    @classmethod
    def of_plan(cls, plan: Plan) -> IgnoreRules:
        """All rules of a plan: its `ignore`, and those of its tools.

        Raises PlanError for a malformed one.
        """
        if not plan.ignore and not plan.tools:
            return cls()
        own = [_rule_of_plan(plan, position) for position in range(len(plan.ignore))]
        return cls([*own, *_tool_rules(plan.tools, None)], reported=len(own))

    def __bool__(self) -> bool:
        return bool(self.rules)

    def unmatched(self) -> list[str]:
        """The `ignore` entries that never hid anything, for a warning. Rules of tools are left out."""
        return [rule.text for i, rule in enumerate(self.rules[: self._reported]) if i not in self.matched]

    def use(self) -> list[tuple[str, bool]]:
        """The `ignore` entries in order, each with whether it hid anything. Rules of tools are left out."""
        return [(rule.text, i in self.matched) for i, rule in enumerate(self.rules[: self._reported])]

    def hides(self, path: Path) -> bool:
        """Whether a rule covers the whole of what lies at `path`, an ancestor included."""
        return bool(self.rules) and self._enter(path) is None

    def strip(self, value: Any, path: Path) -> Any:
        """`value`, which lies at `path`, without what is ignored; the same object where nothing is.

        Keys are left out; items of lists become `IGNORED`, and so does the whole value where a rule covers it.
        """
        if not self.rules:
            return value
        states = self._enter(path)
        if states is None:
            return IGNORED
        return self._strip(value, states) if states else value

    def arguments(self, tool: str, arguments: Any, ordinal: int = 1) -> Any:
        """The arguments of a call without what is ignored."""
        return self.strip(arguments, ("tools", Call(tool, ordinal), "arguments"))

    def _enter(self, path: Path) -> list[State] | None:
        """The states at `path`; None where a rule ends there or before."""
        states: list[State] = [(i, 0) for i, rule in enumerate(self.rules) if rule.steps[0] is not DEEP]
        for segment in path:
            advanced = self._advance(states, segment)
            if advanced is None:
                return None
            states = advanced
        return states + [(i, 0) for i, rule in enumerate(self.rules) if rule.steps[0] is DEEP]

    def _advance(self, states: list[State], segment: Hashable) -> list[State] | None:
        following: list[State] = []
        hit = False
        for number, position in states:
            steps = self.rules[number].steps
            if steps[position] is DEEP:
                following.append((number, position))
                position += 1
            if steps[position].matches(segment):
                if position + 1 == len(steps):
                    self.matched.add(number)
                    hit = True
                following.append((number, position + 1))
        return None if hit else following

    def _strip(self, value: Any, states: list[State]) -> Any:
        kind = type(value)
        if kind is dict:
            return self._strip_keys(value, states)
        if kind is list or kind is tuple:
            return self._strip_items(value, states)
        if kind is TypedData:
            fields = self._strip_keys(value.fields, states)
            return value if fields is value.fields else TypedData(value.type, fields, value.kind)
        if isinstance(value, Mapping):
            return self._strip_keys(value, states)
        named = fields_of(value)
        if named is None:
            return value
        fields = self._strip_keys(named, states)
        return value if fields is named else TypedData(f"{kind.__module__}:{kind.__qualname__}", fields)

    def _strip_keys(self, value: Mapping[Any, Any], states: list[State]) -> Mapping[Any, Any]:
        kept: dict[Any, Any] = {}
        changed = False
        for key, item in value.items():
            following = self._advance(states, key)
            if following is None:
                changed = True
                continue
            kept[key] = self._strip(item, following) if following else item
            changed = changed or kept[key] is not item
        return kept if changed else value

    def _strip_items(self, value: list[Any] | tuple[Any, ...], states: list[State]) -> Any:
        kept: list[Any] = []
        changed = False
        for index, item in enumerate(value):
            following = self._advance(states, Index(index))
            kept.append(IGNORED if following is None else self._strip(item, following) if following else item)
            changed = changed or kept[-1] is not item
        return type(value)(kept) if changed else value


def _rule(text: str, where: str | None) -> Rule:
    steps = parse_steps(text, where=where)
    if steps[-1] is DEEP:
        raise malformed(text, "ends with `**`, which would hide everything", where)
    if any(left is DEEP and right is DEEP for left, right in pairwise(steps)):
        raise malformed(text, "has `**` twice in a row", where)
    if any(step.ordinal for step in (steps[:1] + steps[2:])) or (
        len(steps) > 1 and steps[1].ordinal and steps[0].value != "tools"
    ):
        raise malformed(
            text, "has `#` where no tool is named", where, "Only tools are numbered: `tools.NAME#2.arguments.x`."
        )
    if steps[0] is DEEP:
        return Rule(text, steps)
    if steps[0].kind == "key" and steps[0].value in FACETS:
        read = {"tools": _tool_steps, "http": _http_steps}.get(steps[0].value)
        return Rule(text, read(steps, text, where) if read else steps)
    if len(steps) == 1 and steps[0].is_key:
        return Rule(text, (DEEP, *steps))
    raise malformed(
        text,
        f"does not begin with a facet ({', '.join(FACETS[:6])})",
        where,
        f"Write `**.{text.strip()}` for that path anywhere, or put the facet in front of it.",
    )


def _rule_of_plan(plan: Plan, position: int) -> Rule:
    """The position is looked up for an error only: that reads the whole plan again."""
    try:
        return _rule(plan.ignore[position], None)
    except PlanError:
        where = plan.where.get(f"ignore[{position - inherited(plan)}]") or "statebase.yaml"
        return _rule(plan.ignore[position], where)


def inherited(plan: Plan) -> int:
    """How many of the first `ignore` entries of a plan come from `statebase.yaml`."""
    return len(plan.ignore) - sum(key.startswith("ignore[") for key in plan.where) if plan.ignore else 0


def _tool_steps(steps: tuple[Step, ...], text: str, where: str | None) -> tuple[Step, ...]:
    if len(steps) > 1 and not (steps[1].is_key or steps[1].kind == "any-key"):
        raise malformed(text, "does not name a tool after `tools`", where)
    if len(steps) > 2 and steps[2].value not in ("arguments", "order", "agent"):
        raise malformed(
            text,
            "names a part of a call that is not compared",
            where,
            'Its `arguments`, `order` and `agent` are. A name with a dot is quoted: `tools."srv.search"`.',
        )
    return steps


def _http_steps(steps: tuple[Step, ...], text: str, where: str | None) -> tuple[Step, ...]:
    """Names of headers are as they are looked up: in lower case."""
    part = steps[1] if len(steps) > 1 else DEEP
    is_request = part.is_key and " " in part.value and len(steps) == 2
    if part.is_key and part.value not in ("body", "query", "headers") and not is_request:
        raise malformed(
            text,
            "names a part of a request that is not compared",
            where,
            'Its `body`, `query` and `headers` are; a whole request is `http."POST api.example.com/v1/refunds"`.',
        )
    if part.value == "headers" and len(steps) > 2 and steps[2].is_key:
        return (*steps[:2], steps[2]._replace(value=steps[2].value.lower()), *steps[3:])
    return steps


def _tool_rules(tools: Mapping[str, ToolRules], where: str | None) -> list[Rule]:
    rules = []
    for tool, options in tools.items():
        for text in options.ignore:
            steps = parse_steps(text, where=where)
            inner = steps if steps[0] == Step("key", "arguments") else (Step("key", "arguments"), *steps)
            rules.append(Rule(text, (Step("key", "tools"), Step("quoted", tool), *inner)))
    return rules


def lookup(value: Any, steps: Iterable[Step]) -> list[Any]:
    """What lies at a path: one value, several where the path has wildcards, none where there is nothing."""
    found = [value]
    for step in steps:
        if step is DEEP:
            found = [deeper for item in found for deeper in _descendants(item)]
        else:
            found = [child for item in found for segment, child in children(item) if step.matches(segment)]
    return found


def children(value: Any) -> list[tuple[Hashable, Any]]:
    """The keys or indices of a value with what lies at them; nothing for a scalar."""
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, (list, tuple)):
        return [(Index(index), item) for index, item in enumerate(value)]
    if isinstance(value, TypedData):
        return list(value.fields.items())
    return list((fields_of(value) or {}).items())


def _descendants(value: Any) -> list[Any]:
    found, pending = [], [value]
    while pending:
        item = pending.pop()
        found.append(item)
        pending.extend(child for _, child in reversed(children(item)))
    return found
