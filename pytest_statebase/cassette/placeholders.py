"""What stands for redacted values: of the form of what it stands for, numbered, and equal where the values were.

A tool that checks its arguments takes a placeholder as it took the value, and a replay finds its recordings by it. Each
belongs to one session: equal placeholders of two sessions would make two people one.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from .fields import REDACTED, Hider
from .personal import QUOTED_AT, Kind, digits_of, iban_remainder, is_no_value, luhn
from .secrets import SCHEME, prefix_of

_AREAS = [area for area in range(201, 990) if area % 100 != 11 and area // 10 % 10 != 9 and area != 555]
"""Areas that there may be in North America: in each of them 100 numbers are nobody's."""


@dataclass(slots=True)
class Placeholders:
    """The placeholders of one session.

    session: its id. taken: whether something stands in its files already and must not be given out.
    """

    session: str
    taken: Callable[[str], bool] = lambda text: False
    _numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    _last: Counter[str] = field(default_factory=Counter)

    def of(self, kind: str, identity: str, like: str) -> str:
        """What stands for a value: always the same for the same identity, written as `like` is."""
        number = self._numbers.get((kind, identity))
        while number is None:
            self._last[kind] += 1
            made = self._made(kind, self._last[kind], like)
            if not self.taken(made):
                number = self._numbers[kind, identity] = self._last[kind]
        return self._made(kind, number, like)

    def number(self, kind: str, identity: str, like: str) -> int:
        """The same for a number."""
        if kind in _WITH_DIGITS:
            return int(digits_of(self.of(kind, identity, like)))
        return int(f"{_NUMBERS}{digits_of(self.of(kind, identity, ''))}")

    def _made(self, kind: str, number: int, like: str) -> str:
        match kind:
            case Kind.EMAIL:
                return f"email-{number}{QUOTED_AT if QUOTED_AT in like else '@'}{self._tag[:8]}.example.com"
            case Kind.PHONE if number <= _PHONES:
                return self._phone(number, like)
            case Kind.CARD if number <= _CARDS:
                return self._card(number, like)
            case Kind.IBAN if number < _ACCOUNTS and _IBAN_LIKE.match(like):
                return self._iban(number, like)
            case Kind.NAME:
                return f"Person {number}"
            case Kind.USER:
                return f"user_redacted_{number}"
            case Kind.SECRET:
                return f"{prefix_of(like)}{REDACTED}-{number}"
            case "withheld":
                return f"{kind}-{like or 'word-20'}-{number}"
            case _:
                return f"{REDACTED}-{kind}-{number}"

    @property
    def _tag(self) -> str:
        return hashlib.sha256(self.session.encode("utf-8", "surrogatepass")).hexdigest()

    def _phone(self, number: int, like: str) -> str:
        """One of those that nobody has, as numbers of North America are written."""
        area, last = divmod(number - 1 + 100 * (int(self._tag[:6], 16) % len(_AREAS)), 100)
        digits = f"{_AREAS[area % len(_AREAS)]}55501{(last + 1) % 100:02}"
        is_long = len(digits_of(like)) > 10 or like.startswith("+")
        plus = "+1" if like.startswith("+") else "1" if is_long else ""
        if digits_of(like) == like.removeprefix("+"):
            return plus + digits
        blank = " " if plus else ""
        return f"{plus}{blank}{digits[:3]}-{digits[3:6]}-{digits[6:]}"

    def _card(self, number: int, like: str) -> str:
        """16 digits that no bank gives out, with the check digit that they must have."""
        digits = f"40000000{(int(self._tag[:6], 16) % 1000 * 10_000 + number) % _CARD_SPACE:07}"
        digits += str(-luhn(digits + "0") % 10)
        mark = next((char for char in like if char in " -"), "")
        return mark.join([digits[at : at + 4] for at in range(0, 16, 4)])

    def _iban(self, number: int, like: str) -> str:
        """Of the same country, with the check sum that it must have."""
        plain = re.sub(r"[ -]", "", like)
        country, account = plain[:2], re.sub(r"[A-Z]", "X", re.sub(r"\d", "0", plain[4:]))
        account = account[:-6] + f"{int(self._tag[:4], 16) % 1000:03}{number % 1000:03}"
        check = 98 - iban_remainder(f"{country}00{account}")
        found = f"{country}{check:02}{account}"
        mark = next((char for char in like if char in " -"), "")
        return mark.join([found[at : at + 4] for at in range(0, len(found), 4)]) if mark else found


_IBAN_LIKE = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9 -]{11,44}$")
_ACCOUNTS = 1000
_CARD_SPACE = 10_000_000
_CARDS = _CARD_SPACE
_PHONES = 100 * len(_AREAS)
_WITH_DIGITS = (Kind.PHONE, Kind.CARD)
_NUMBERS = "9900"
"""How the placeholders of secret numbers begin."""

PLACEHOLDER: Final = re.compile(
    rf"""(?<![A-Za-z0-9_.%+-])(?:
      (?P<email>email-\d+(?:@|%40)[0-9a-f]{{8}}\.example\.com)
    | (?P<secret>(?:[A-Za-z0-9_.-]{{1,16}}?)?{REDACTED}-\d+)
    | (?P<rule>{REDACTED}-[a-z][a-z0-9_]{{0,30}}-\d+)
    | (?P<withheld>withheld-(?:text|word)-(?:\d+|long)-\d+)
    | (?P<card>4000[ -]?0000[ -]?\d{{4}}[ -]?\d{{4}})
    | (?P<phone>(?:\+?1[ ]?)?[2-9]\d\d-?555-?01\d\d)
    | (?P<iban>[A-Z]{{2}}\d\d[ -]?(?:[0X]{{4}}[ -]?){{1,7}}[0X0-9 -]{{1,10}})
    )(?![A-Za-z0-9_])""",
    re.VERBOSE,
)
"""What stands for a redacted value, by its kind."""


SIGNS: Final = (".example.com", f"{REDACTED}-", "withheld-", "4000", "555", "0000", "XXXX")
"""One of these is in every placeholder."""


def is_placeholder(text: str) -> bool:
    """Whether a text is what stands for a redacted value."""
    return PLACEHOLDER.fullmatch(text) is not None


class Unredacted(Hider):
    """Finds what is not redacted yet: placeholders stay as they are."""

    __slots__ = ()

    def secret(self, said: str) -> str:
        scheme = SCHEME.match(said)
        bare = said[scheme.end() :] if scheme else said
        return said if is_no_value(bare) or is_placeholder(bare) else REDACTED

    def number(self, said: str) -> str:
        return said if said.startswith(_NUMBERS) else "0"
