"""Addresses of e-mail, numbers of phones, cards and accounts, as people and programs write them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_statebase.cassette.personal import iban_remainder, luhn

from .case import DIGITS, Case, thrown
from .places import PROSE

_MAILS = (
    "jane.doe@corp.com", "j@corp.io", "JANE.DOE@CORP.COM", "jane+orders@mail.corp.co.uk", "o'neil@corp.ie",
    "jane_doe-99@sub-domain.corp.museum", "müller@corp.de", "jane@müller-corp.de", "4711@corp.net", "x.y.z@corp.travel",
)  # fmt: skip
_PHONES = (
    "+49 30 901820", "+1 (415) 555-2671", "+442079460123", "+33 6 12 34 56 78", "(415) 555-2671", "415-555-2671",
    "415.555.2671", "06 12 34 56 78", "0049 30 901820", "030/901820", "(030) 901820", "020 7946 1234", "07700 912345",
    "0412 345 678", "(11) 98765-4321", "03-1234-5678", "138-1234-5678", "+91 98765 43210", "+86 138 1234 5678",
)  # fmt: skip
_TOLD_PHONES = (
    ("tel", "030 901820", "Tel. 030 901820, ask for Jane"),
    ("call", "01512 3456789", "please call me at 01512 3456789 tomorrow"),
    ("mobile", "612 345 678", "my mobile: 612 345 678"),
    ("handy", "0170-1234567", "Handy 0170-1234567"),
    ("whatsapp", "98765 43210", "WhatsApp 98765 43210 is best"),
)
_NAMED_PHONES = (("phone", "030 901820"), ("phoneNumber", "4155552671"), ("mobile_no", "0170 1234567"))
_CARDS = (("4539", 16, ""), ("5425", 16, " "), ("3782", 15, ""), ("6011", 16, "-"), ("3056", 14, ""), ("2223", 16, " "))
_COUNTRIES = (("DE", 18, 4), ("GB", 14, 4), ("FR", 23, 4), ("NL", 10, 0), ("CH", 17, 4), ("ES", 20, 0), ("AT", 16, 4))


def card(begin: str, size: int, mark: str) -> str:
    """A number with its check digit, in groups of four."""
    digits = begin + thrown(f"card {begin}", DIGITS, size - len(begin) - 1)
    digits += str(-luhn(digits + "0") % 10)
    return mark.join(digits[at : at + 4] for at in range(0, size, 4))


def iban(country: str, size: int, group: int) -> str:
    """An account with its check sum."""
    account = ("WEST" if country == "GB" else "ABNA" if country == "NL" else "") + thrown(f"iban {country}", DIGITS, 30)
    account = account[: size + 4 * (country in ("GB", "NL"))]
    found = f"{country}{98 - iban_remainder(f'{country}00{account}'):02}{account}"
    return " ".join(found[at : at + group] for at in range(0, len(found), group)) if group else found


def personal() -> Iterator[Case]:
    """Each value in one place, and some in every one."""
    for kind, values in (("email", _MAILS), ("phone", _PHONES), ("card", _cards()), ("iban", _ibans())):
        for number, value in enumerate(values):
            place = PROSE[number % len(PROSE)]
            yield Case(kind, f"{value[:3]}… in {place.__name__.strip('_')}", value, place(value))
    for name, value, text in _TOLD_PHONES:
        yield Case("phone", f"told by {name}", value, {"text": text})
    for name, value in _NAMED_PHONES:
        yield Case("phone", f"under {name}", value, {"customer": {name: value}})
    yield Case("phone", "as a number", "4930901820", {"phone": 4930901820})
    yield Case("card", "as a number", card("4539", 16, ""), {"card_number": int(card("4539", 16, ""))})
    for begin, size in (("4539", 16), ("3782", 15), ("3056", 14)):
        digits = card(begin, size, "")
        yield Case("card", f"alone, {size} digits", digits, {"text": digits})
    yield Case("iban", "alone", iban("DE", 18, 0), [iban("DE", 18, 0)])
    yield Case("phone", "alone", "+4930901820", ["+4930901820"])
    yield Case("iban", "in lower case", iban("DE", 18, 0).lower(), {"note": f"to {iban('DE', 18, 0).lower()} please"})
    for name, value, carrier in _odd_mails():
        yield Case("email", name, value, carrier)


def _cards() -> list[str]:
    return [card(*told) for told in _CARDS]


def _ibans() -> list[str]:
    return [iban(*told) for told in _COUNTRIES]


def _odd_mails() -> list[tuple[str, str, Any]]:
    mail = "jane.doe@corp.com"
    return [
        ("in a query", "jane.doe%40corp.com", "https://api.corp.com/users?mail=jane.doe%40corp.com&x=1"),
        ("with a name", mail, f"From: Jane Doe <{mail}>\nTo: support@example.com"),
        ("mailto", mail, f'<a href="mailto:{mail}?subject=x">write</a>'),
        ("as a key", mail, {"users": {mail: {"tier": "gold"}}}),
        ("quoted", mail, f"user '{mail}' was not found"),
        ("in a sentence", mail, f"Write to {mail}."),
    ]
