"""The texts and numbers of a JSON file where they stand in it, so that its layout stays when they change."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import FileError
from .redactor import Redactor

PULLED_SUFFIX = ".pulled.json"
"""What the service answered about a session, as a pull keeps it beside the record."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[{}\[\],:]|true|false|null')


@dataclass(frozen=True, slots=True)
class Token:
    """A text or a number of a JSON file."""

    start: int
    end: int
    name: str
    """The nearest key around it; for a key itself nothing."""
    text: str
    is_number: bool = False


def tokens_of(text: str, where: str) -> Iterator[Token]:
    """Every text and number, keys included, in the order in which they stand.

    Raises FileError for what is no JSON.
    """
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError(f"is no JSON: {error}", where=where, remedy="Restore it, or pull the session again.") from None
    names: list[str] = [""]
    maps: list[bool] = []
    wants_key = False
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in "{[":
            maps.append(token == "{")
            names.append(names[-1])
            wants_key = token == "{"
        elif token in "}]":
            maps.pop()
            names.pop()
            wants_key = False
        elif token == ",":
            wants_key = maps[-1]
        elif token[0] == '"':
            said = json.loads(token)
            yield Token(match.start(), match.end(), "" if wants_key else names[-1], said)
            if wants_key:
                names[-1] = said
            wants_key = False
        elif token[0] in "-0123456789":
            yield Token(match.start(), match.end(), names[-1], token, is_number=True)


def learn_json(text: str, where: str, redactor: Redactor) -> None:
    """Show a JSON file to a redactor."""
    for token in tokens_of(text, where):
        redactor.learn(token.text, token.name, is_number=token.is_number)


def clean_json(text: str, where: str, redactor: Redactor) -> str:
    """The file with placeholders; everything else stays to the letter."""
    out, done = [], 0
    for token in tokens_of(text, where):
        clean = redactor.clean(token.text, token.name, is_number=token.is_number)
        if clean != token.text:
            said = text[token.start : token.end]
            written = clean if token.is_number else json.dumps(clean, ensure_ascii=said.isascii())
            out += [text[done : token.start], written]
            done = token.end
    return "".join([*out, text[done:]])
