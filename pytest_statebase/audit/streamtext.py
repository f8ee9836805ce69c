"""Texts that a stream of events tells in pieces: a value may begin in one event and end in another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import FileError
from .jsontext import Token, tokens_of
from .redactor import Redactor

_PIECES = frozenset({
    "content", "text", "arguments", "partial_json", "delta", "thinking", "reasoning", "reasoning_content", "refusal",
    "output_text", "input",
})  # fmt: skip
"""Keys under which models tell their texts in pieces."""
_DATA = "data:"


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    """Where its token stands in the stream."""
    end: int
    text: str


def joined_texts(text: str) -> Iterator[str]:
    """The texts that a stream tells in pieces, each whole."""
    for pieces in _told_in_pieces(text):
        yield "".join([piece.text for piece in pieces])


def clean_stream(text: str, redactor: Redactor) -> str:
    """The stream with placeholders for what stands in several events: whole in the first, nothing in the others."""
    edits: list[tuple[int, int, str]] = []
    for pieces in _told_in_pieces(text):
        for piece, clean in zip(pieces, _cleaned(pieces, redactor), strict=True):
            if clean != piece.text:
                is_ascii = text[piece.start : piece.end].isascii()
                edits.append((piece.start, piece.end, json.dumps(clean, ensure_ascii=is_ascii)))
    out, done = [], 0
    for start, end, instead in sorted(edits):
        out += [text[done:start], instead]
        done = end
    return "".join([*out, text[done:]])


def _cleaned(pieces: list[_Piece], redactor: Redactor) -> list[str]:
    joined = "".join([piece.text for piece in pieces])
    begins = [0]
    for piece in pieces:
        begins.append(begins[-1] + len(piece.text))
    clean = [piece.text for piece in pieces]
    # From the last one on, so that the places of those before stay.
    for spot in reversed(redactor.found(joined, from_http=True)):
        inside = [at for at in range(len(pieces)) if begins[at] < spot.end and begins[at + 1] > spot.start]
        if len(inside) < 2:
            continue
        instead = redactor.instead(spot, joined[spot.start : spot.end])
        for at in inside:
            left, right = max(spot.start - begins[at], 0), min(spot.end - begins[at], len(pieces[at].text))
            put = instead if at == inside[0] else ""
            clean[at] = clean[at][:left] + put + clean[at][right:]
    return clean


def _told_in_pieces(text: str) -> Iterator[list[_Piece]]:
    """The pieces of each text, by the key under which they stand."""
    if _DATA not in text:
        return
    found: dict[str, list[_Piece]] = {}
    at = 0
    for line in text.splitlines(keepends=True):
        if line.startswith(_DATA):
            for token in _tokens(line[len(_DATA) :]):
                if token.name in _PIECES and not token.is_number:
                    begin = at + len(_DATA)
                    piece = _Piece(begin + token.start, begin + token.end, token.text)
                    found.setdefault(token.name, []).append(piece)
        at += len(line)
    yield from (pieces for pieces in found.values() if len(pieces) > 1)


def _tokens(data: str) -> list[Token]:
    try:
        return list(tokens_of(data, "a stream")) if data.lstrip().startswith(("{", "[")) else []
    except FileError:
        return []
