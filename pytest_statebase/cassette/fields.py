"""The values of secret names out of JSON, of what looks like it and of what is cut off half-way."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from .secrets import holds_secret_numbers, is_doubtful_name, is_secret_header, is_secret_name, is_secret_value

REDACTED: Final = "REDACTED"
_TOKEN = 500
"""Characters that a token of a language model may have, escapes included."""

_NAMED = {
    '"': re.compile(r'"([\w.-]+)(\\*)"[ \t\r\n]*:[ \t\r\n]*(?=[\\"\[{\d-])', re.ASCII),
    "'": re.compile(r"'([\w.-]+)(\\*)'[ \t\r\n]*:[ \t\r\n]*(?:b(?=['\"])|(?=[\\'\"\[{\d-]))", re.ASCII),
}
_NUMBER = re.compile(r"-?[0-9][0-9.]*(?:[eE][+-]?[0-9]+)?")
_PIN = re.compile(r"[0-9]+(?![0-9.eE])")
_BLANK = re.compile(r"(?:[ \t\r\n]|\\+[nrt])*")
_SCALAR = re.compile(r"[\w.+-]+", re.ASCII)
_OF_MODELS = re.compile(r'[ \n]*,[ \n]*\\*"(?:logprob|bytes|top_logprobs|prob|score|token_str)\b')
_BRACKET = re.compile(r"""[{}\[\]"'\\]""")
_NAMING = frozenset({"name", "key", "header"})
"""Names of the fields that say a name, beside one that has the value: `{"name": "X-Api-Key", "value": "…"}`."""
_SAID = re.compile(r"""\\*["']([\w.-]{1,80})\\*["']""", re.ASCII)
_VALUES = frozenset({"value", "values", "secret_value", "plaintext"})
"""Names of what is secret in an object under a secret name, whatever it says."""
_TOLD = ("id", "name", "text", "hash", "fingerprint")
"""Ends of names of what opens nothing there, and may look as if thrown with dice."""
_DECIMAL = re.compile(r"""\\*["']-?[0-9]+\.[0-9]+\\*["']""")
GRANTING: Final = frozenset({"grant_type", "code_verifier", "client_secret"})
"""Names by which a request for a token is known."""
GRANTED: Final = frozenset({"code", "device_code"})
"""Names of what opens something there, and nothing elsewhere."""


class Hider:
    """What comes in the place of what is found in a text. This one puts `REDACTED` and `0`."""

    __slots__ = ()

    def secret(self, said: str) -> str:
        """Instead of a secret, as it is written there."""
        return REDACTED

    def number(self, said: str) -> str:
        """Instead of a number that is a secret."""
        return "0"

    def named(self, said: str, name: str) -> str:
        """Instead of a text under a name that is none of a secret."""
        return said

    def more(self, text: str) -> str:
        """The text without what is to go beside secrets."""
        return text


PLAIN: Final = Hider()


def fields_scrubbed(text: str, mark: str, hider: Hider = PLAIN) -> str:
    """The text without the values of secret names; mark: what its names and texts stand in, `"` or `'`."""
    pattern = _NAMED[mark]
    # Most texts name few things, many times over.
    names = {one[0] for one in pattern.findall(text)}
    is_grant = not names.isdisjoint(GRANTING)
    has_pairs = any(name.lower() == "value" for name in names) and any(name.lower() in _NAMING for name in names)
    if not (is_grant or has_pairs or any(is_secret_name(name) or is_doubtful_name(name) for name in names)):
        return text
    places = _hidden(text, pattern, mark, is_grant=is_grant)
    return put(text, ((start, end, _instead(text[start:end], hider, is_number)) for start, end, is_number in places))


def _instead(said: str, hider: Hider, is_number: bool) -> str:
    return hider.number(said) if is_number else hider.secret(said)


def put(text: str, places: Iterable[tuple[int, int, str]]) -> str:
    """The text with other words in these places, which follow each other."""
    out, done = [], 0
    for start, end, instead in places:
        out += [text[done:start], instead]
        done = end
    return "".join([*out, text[done:]]) if out else text


def _hidden(
    text: str, pattern: re.Pattern[str], mark: str, *, is_grant: bool = False
) -> Iterator[tuple[int, int, bool]]:
    """Where the values of secret names stand, and whether each is a number."""
    done = holds = last = 0  # `holds`: where the object or list under the secret name `holder` ends
    holder = pair = ""
    for match in pattern.finditer(text):
        if match.start() < done:
            continue
        name = match[1]
        if pair and _has_braces(text, last, match.start()):
            pair = ""
        last = match.end()
        is_secret = is_secret_name(name)
        if match.start() >= holds:
            holder = ""
            if is_secret and text.startswith(("{", "["), last):
                # Never read twice, however they are nested.
                holder, holds = name, _closing(text, last, match[2], mark)
        if pair and name.lower() == "value":
            rule = _Rule(pair, is_secret_name(pair))
        elif is_secret or is_doubtful_name(name):
            rule = _Rule(name, is_secret)
        elif holder and not name.lower().endswith(_TOLD):
            rule = _Rule(holder, name.lower() in _VALUES and not _DECIMAL.match(text, last))
        elif is_grant and name in GRANTED:
            rule = _Rule(name, False)
        else:
            rule = None
        if rule is not None:
            for place in _values(text, match, mark, rule):
                done = place[1]
                yield place
        if name.lower() in _NAMING:
            said = _SAID.match(text, last)
            pair = said[1] if said and (is_secret_name(said[1]) or is_secret_header(said[1])) else ""


class _Rule(NamedTuple):
    """How a value is judged."""

    name: str
    """The secret or doubtful name that it goes by, which may be another than stands before it."""
    is_whole: bool
    """Whether every text is one; else it has to look as if thrown with dice."""


def _has_braces(text: str, start: int, end: int) -> bool:
    return text.find("{", start, end) >= 0 or text.find("}", start, end) >= 0


def _closing(text: str, at: int, escape: str, mark: str) -> int:
    """Where an object or a list ends that begins there: with the text, where it is cut off."""
    level, opening = 0, escape + mark
    while (found := _BRACKET.search(text, at)) is not None:
        at = found.end()
        if text.startswith(opening, found.start()):
            at = _end(text, found.start() + len(opening), escape, mark) + len(opening)
        elif found[0] == mark:  # the end of the text that all of it stands in
            return at
        elif mark == "'" and found[0] == '"':  # as Python shows a text with an apostrophe
            at = _end(text, at, escape, '"') + 1
        elif found[0] in "{[":
            level += 1
        elif found[0] in "}]":
            level -= 1
            if not level:
                return at
    return len(text)


def _values(text: str, match: re.Match[str], mark: str, rule: _Rule) -> Iterator[tuple[int, int, bool]]:
    """Where what is secret under a name stands, and whether it is a number."""
    at, escape = match.end(), match[2]
    if mark == "'" and text.startswith('"', at + len(escape)):  # as Python shows a text with an apostrophe
        mark = '"'
    opening = escape + mark
    if text.startswith(opening, at):
        start, end = at + len(opening), _end(text, at + len(opening), escape, mark)
        is_of_model = end - start <= _TOKEN and _OF_MODELS.match(text, end + len(opening))
        if start < end and not is_of_model and (rule.is_whole or is_secret_value(rule.name, text[start:end])):
            yield start, end, False
    elif not rule.is_whole:
        if (number := _PIN.match(text, at)) and is_secret_value(rule.name, number[0]):
            yield number.start(), number.end(), True
    elif text.startswith("[", at):
        yield from _items(text, at + 1, escape, mark)
    elif holds_secret_numbers(rule.name) and (number := _NUMBER.match(text, at)):
        yield number.start(), number.end(), True


def _items(text: str, at: int, escape: str, mark: str) -> Iterator[tuple[int, int, bool]]:
    """The texts of a list, and of the lists in it."""
    opening, level = escape + mark, 1
    while level:
        at = _after(_BLANK, text, at)
        if text.startswith(opening, at):
            start, end = at + len(opening), _end(text, at + len(opening), escape, mark)
            if start < end:
                yield start, end, False
            at = end + len(opening)
        elif text.startswith(("[", "]", ","), at):
            level += {"[": 1, "]": -1, ",": 0}[text[at]]
            at += 1
        elif at == (at := _after(_SCALAR, text, at)):
            return


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _end(text: str, start: int, escape: str, mark: str) -> int:
    """Where a text ends whose quotes stand behind that many backslashes, as in JSON that is a string of JSON."""
    level = len(escape)
    at = text.find(mark, start)
    while at >= 0:
        first = at
        while first > start and text[first - 1] == "\\":
            first -= 1
        over = at - first - level
        if over >= 0 and over % (2 * (level + 1)) == 0:
            return at - level
        at = text.find(mark, at + 1)
    return len(text)
