"""What a project says of redaction."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from ..errors import OptionError

Finder: TypeAlias = Callable[[str], Iterable[tuple[int, int]]]
"""(text) → where in it something stands that has to go."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A sort of value that has to go, beside those that are known."""

    name: str
    """Lower-case letters, digits and `_`: what the placeholders and the counts call it."""
    find: re.Pattern[str] | Finder
    """Of a pattern with a group the first group goes, else all of what it matches."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"{self.name!r} is no name of a rule: lower-case letters, digits and `_`")

    def places(self, text: str) -> list[tuple[int, int]]:
        """Where in a text something has to go, in order, none over another."""
        if isinstance(self.find, re.Pattern):
            group = 1 if self.find.groups else 0
            found = [match.span(group) for match in self.find.finditer(text)]
        else:
            found = sorted((int(start), int(end)) for start, end in self.find(text))
        kept: list[tuple[int, int]] = []
        for start, end in found:
            if 0 <= start < end <= len(text) and (not kept or start >= kept[-1][1]):
                kept.append((start, end))
        return kept


def rules_from(lines: Iterable[str]) -> tuple[Rule, ...]:
    """Rules as a configuration writes them: `name = pattern`, a regular expression.

    Raises OptionError, naming the line, for what is none.
    """
    found = []
    for line in lines:
        name, sign, pattern = line.partition("=")
        try:
            if not (sign and pattern.strip()):
                raise ValueError("there is no pattern")
            found.append(Rule(name.strip(), re.compile(pattern.strip())))
        except (ValueError, re.error) as error:
            remedy = "Write `name = pattern`, the pattern as of Python's `re`."
            raise OptionError(f"statebase_redact: {line!r}: {error}", remedy=remedy) from None
    return tuple(found)


_NAME = re.compile(r"[a-z][a-z0-9_]{0,30}")


@dataclass(frozen=True, slots=True)
class RedactionOptions:
    """How a session is redacted."""

    key: bytes = b""
    """What the tokens are made with: that of the directory (see `key_of`); empty for one of this process's own."""
    rules: tuple[Rule, ...] = ()
    strict: bool = False
    """Keep the values of `keep` alone; of free texts what `names` passes."""
    keep: frozenset[str] = frozenset()
    """Names of fields, as `order_id` or `state.order.status`."""
    names: Finder | None = None
    """Finds the names of people in a text."""


_process = RedactionOptions()


def set_redaction(options: RedactionOptions) -> None:
    """Have everything of this process redacted by these options, beside what is said in each place."""
    global _process
    _process = options


def effective(options: RedactionOptions | None) -> RedactionOptions:
    """Options with those of the process."""
    if options is None or options == _process:
        return _process
    return replace(
        options,
        rules=tuple(dict.fromkeys((*_process.rules, *options.rules))),
        strict=_process.strict or options.strict,
        keep=_process.keep | options.keep,
        names=options.names or _process.names,
    )
