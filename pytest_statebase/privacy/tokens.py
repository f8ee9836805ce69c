"""What stands for values in journals: equal where the values were, whoever wrote them, and nothing to guess by.

A token tells its kind and how the value was written, digit for digit and letter for letter as `0` and `X`, so that the
placeholder of a cassette can be made from it. It is made of characters that no encoding of texts changes.
"""

from __future__ import annotations

import hmac
import re
import secrets
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from ..cassette.personal import QUOTED_AT, Kind
from ..cassette.secrets import prefix_of

TOKEN: Final = re.compile(
    r"~~(?P<kind>[a-z][a-z0-9_]{0,30})~(?P<shape>[A-Za-z0-9_.-]{0,80})~(?P<id>[0-9a-f]{24})(?P<number>~n)?~~"
)
"""With its kind, its shape and the id that is equal where the values are."""
MARK: Final = "~~"
_SHAPE = str.maketrans(" +-()/.", "_pholst")
_MARKS = str.maketrans("_pholst", " +-()/.")
_DIGITS, _LETTERS = re.compile(r"\d"), re.compile(r"[^\W\d_]")
_LONGEST = 48
_QUOTED = "q"


@dataclass(slots=True)
class Tokens:
    """Tokens made with a key, without which nobody can tell whether a token is that of a value.

    key: any bytes; empty for a random one.
    """

    key: bytes = b""
    _base: hmac.HMAC = field(init=False)

    def __post_init__(self) -> None:
        self._base = hmac.new(self.key or secrets.token_bytes(32), digestmod="sha256")

    def of(self, kind: str, identity: str, like: str, *, is_number: bool = False) -> str:
        """The token of a value. like: how it is written."""
        made = self._base.copy()
        made.update(f"{kind}\0{identity}".encode("utf-8", "surrogatepass"))
        # No account number begins with `f` and one of `0` to `f`: where a digest is one, no token would be left of it.
        return f"~~{kind}~{_shape(kind, like)}~f{made.hexdigest()[:23]}{'~n' if is_number else ''}~~"


@lru_cache(1024)
def _shape(kind: str, like: str) -> str:
    if kind == Kind.SECRET:
        return prefix_of(like)
    if kind in (Kind.PHONE, Kind.CARD):
        return _DIGITS.sub("0", like)[:_LONGEST].translate(_SHAPE)
    if kind == Kind.IBAN:
        head, rest = like[:2], like[2:_LONGEST]
        return head + _LETTERS.sub("X", _DIGITS.sub("0", rest)).translate(_SHAPE)
    if kind == "withheld":
        return like
    return _QUOTED if kind == Kind.EMAIL and QUOTED_AT in like else ""


def like_of(match: re.Match[str]) -> str:
    """How the value of a token was written, as far as it tells."""
    shape, kind = match["shape"], match["kind"]
    if kind == Kind.EMAIL:
        return QUOTED_AT if shape else ""
    return shape.translate(_MARKS) if kind in (Kind.PHONE, Kind.CARD, Kind.IBAN) else shape
