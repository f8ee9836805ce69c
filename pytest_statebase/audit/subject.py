"""Values of one person, as they are given on a command line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..cassette.personal import Kind, Spot, digits_of, iban_remainder, luhn

_BETWEEN = r"[ .()\-/]{0,2}"
_PHONE = re.compile(r"\+?[\d ().\-/]{7,30}")
_IBAN = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}")
_ID = re.compile(r"^(?=\S+$).*[\d_]")
_LEAST = 2
_CARD = 13


@dataclass(frozen=True, slots=True)
class Subject:
    """One value of the person, and how it is found in texts, in other spellings as well."""

    kind: Kind
    identity: str
    pattern: re.Pattern[str]

    @classmethod
    def of(cls, value: str, user: str | None = None) -> Subject:
        """The subject that a value means, by its form: an address, a number, an id (`customer_1`) or a name.

        user: the id of a session's user, whatever its form.
        Raises ValueError for a value that is too short to be anybody's.
        """
        value = value.strip()
        plain, digits = re.sub(r"[ -]", "", value).upper(), digits_of(value)
        if len(value) < _LEAST:
            raise ValueError(f"{value!r} is too short to be looked for")
        if value == user:
            return cls(Kind.USER, value, _words(value, re.NOFLAG))
        if "@" in value:
            return cls(
                Kind.EMAIL, value.casefold(), re.compile(rf"(?<![\w.%+-]){re.escape(value)}(?![\w-])", re.IGNORECASE)
            )
        if _IBAN.fullmatch(plain) and iban_remainder(plain) == 1:
            return cls(Kind.IBAN, plain, _apart(plain))
        if _PHONE.fullmatch(value) and len(digits) >= 7:
            if len(digits) >= _CARD and luhn(digits) == 0:
                return cls(Kind.CARD, digits, _apart(digits))
            return cls(Kind.PHONE, digits.lstrip("0")[-10:], _phone(digits))
        if _ID.search(value):
            return cls(Kind.USER, value, _words(value, re.NOFLAG))
        return cls(Kind.NAME, " ".join(value.casefold().split()), _words(value, re.IGNORECASE))

    def spots(self, text: str) -> Iterator[Spot]:
        """Where the value stands in a text."""
        for match in self.pattern.finditer(text):
            yield Spot(self.kind, match.start(), match.end(), self.identity)

    def parts(self) -> list[re.Pattern[str]]:
        """Of a name of several words each word by itself, as it may stand elsewhere."""
        words = self.identity.split() if self.kind is Kind.NAME else []
        told = [word for word in words if len(word) > _LEAST] if len(words) > 1 else []
        # Those in an address of e-mail are part of that, and found with it.
        return [re.compile(rf"(?<![\w.@+-]){re.escape(word)}(?![\w@]|[.+-]\w)", re.IGNORECASE) for word in told]


def _words(value: str, flags: re.RegexFlag) -> re.Pattern[str]:
    return re.compile(r"(?<!\w)" + r"\s+".join(map(re.escape, value.split())) + r"(?!\w)", flags)


def _apart(text: str) -> re.Pattern[str]:
    return re.compile(r"(?<![A-Za-z0-9])" + "[ -]?".join(text) + r"(?![A-Za-z0-9])", re.IGNORECASE)


def _phone(digits: str) -> re.Pattern[str]:
    """The number with or without what says from abroad, however it is divided."""
    last = digits.lstrip("0")[-10:]
    return re.compile(rf"(?<![\w+(])(?:\+|\+?\d{{1,4}}{_BETWEEN}(?:\(0\){_BETWEEN})?|\(?0)?{_BETWEEN.join(last)}(?!\w)")
