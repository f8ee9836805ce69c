"""How personal data looks: addresses of e-mail, numbers of phones, payment cards and bank accounts.

What cannot belong to anybody is marked so: domains and numbers that are reserved for examples, card numbers that
providers publish for tests. The placeholders that stand for redacted values (see `placeholders`) are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from .fields import REDACTED
from .scrub import scrubbed
from .secrets import FORMATS, IN_CONTEXT, JSON_WEB_TOKEN, is_secret_name, private_keys


class Kind(StrEnum):
    """What sort of value is not to stand in a recording."""

    SECRET = "secret"
    EMAIL = "email"
    PHONE = "phone"
    CARD = "card"
    IBAN = "iban"
    NAME = "name"
    """Said on the command line: nothing tells a name from other words."""
    USER = "user"
    """The id of a user, said on the command line."""


PLURALS: Final = {
    Kind.SECRET: ("secret", "secrets"),
    Kind.EMAIL: ("e-mail address", "e-mail addresses"),
    Kind.PHONE: ("phone number", "phone numbers"),
    Kind.CARD: ("card number", "card numbers"),
    Kind.IBAN: ("bank account", "bank accounts"),
    Kind.NAME: ("name", "names"),
    Kind.USER: ("user id", "user ids"),
}


@dataclass(frozen=True, slots=True)
class Spot:
    """A value in a text. What it is may be told, what it says not."""

    kind: Kind
    start: int
    end: int
    identity: str
    """Equal for the same value in other spellings."""
    is_reserved: bool = False
    """It cannot belong to anybody, as what is kept for examples and tests."""


QUOTED_AT: Final = "%40"
_EMAIL = re.compile(
    r"(?<![\w.%+-])(?<!\w')[\w%+-](?:[\w.%+-]|(?<=\w)'(?=[\w@])){0,63}"
    r"(?:@|%40)((?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24})(?![\w-]|\.\w)"
)
"""An apostrophe is of an address between its letters alone, as in `o'neil`: elsewhere it is a quote around it."""
_PLACEHOLDER_EMAIL = re.compile(r"email-\d+@[0-9a-f]{8}\.example\.com")
_RESERVED = re.compile(r"(?:.*\.)?(?:example(?:\.(?:com|net|org))?|test|invalid|localhost|local)", re.IGNORECASE)
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11,30}(?![A-Za-z0-9])")
_CARD = re.compile(r"(?<![\w.+-])\d(?:[ -]?\d){12,18}(?![\w-]|\.\d)")
_PHONE = re.compile(
    r"""(?<![\w+.-])(?:(?<=\\u[0-9a-fA-F]{4}\ )|(?<!\d\ ))(?:
      \+[1-9](?:[ .\-/]?\(?[0-9]\)?){7,14}
    | (?:\([2-9]\d\d\)\ ?|[2-9]\d\d[-. ])\d{3}[-. ]\d{4}
    | 0[1-9](?:[ .]\d\d){4}
    | 00[1-9]\d(?:[ /-]\(?\d{1,8}\)?){2,5}
    | \(?0\d{2,4}\)?\ ?/\ ?\d{3,4}\ ?\d{2,5}
    | \(0\d{2,4}\)[ ]?\d{3,4}[ -]?\d{3,5}
    | 0(?:20\ \d{4}\ \d{4}|7\d{3}\ \d{6}|7\d{3}\ \d{3}\ \d{3}|1\d{3}\ \d{6})
    | 04\d\d\ \d{3}\ \d{3}
    | \(\d{2}\)\ 9?\d{4}-\d{4}
    | 0\d{1,3}-\d{3,4}-\d{4}
    | 1[3-9]\d-\d{4}-\d{4}
    )(?![\w-]|\.\d)""",
    re.VERBOSE,
)
"""With a `+`, as North America writes them, and in national forms that nothing else is written in.

A digit before is no part of it where it is of a letter as JSON inside of JSON writes it.
"""
_PHONE_TOLD = re.compile(
    r"(?i:\b(?:phone|mobile|cell|tel(?:ephone|efon|\.)?|call(?: me)?(?: back)?(?: at| on)?|handy(?:nummer)?|"
    r"fax|whatsapp|sms|text me(?: at| on)?|reach (?:me|him|her|us)(?: at| on)?|rufnummer|mobil|portable|"
    r"t[ée]l[ée]phone|m[óo]vil|cellulare|celular))\b[^\d\n+(@=\"]{0,16}"
    r"(?P<number>\(?\d(?:[ ().\-/]{0,2}\d){6,14})(?![\w-]|\.\d)"
)
_TOLD = re.compile(
    r"(?i:\b(?:pass ?word|pass ?phrase|pass ?code|passwort|kennwort|contraseña|mot de passe|api[ -]key|access[ -]key|"
    r"secret(?: key)?|token|login code|wi-?fi key))(?:\s+(?:is|was|ist|lautet|es|est)\s*:?\s*|\s*:\s*)[\"'“`]?"
    r"(?P<value>[^\s\"'“”`<>]{4,128})"
)
_TOLD_DIGITS = re.compile(
    r"(?i:\b(?:pin|otp|cvv2?|cvc2?|(?:verification|security|one-time|access|tan) ?code|tan))\b"
    r"(?:\s+(?:is|was|ist|lautet|code)\b)?\s*:?\s*(?P<value>\d{3,8})(?![\w.-]\w)"
)
_ODD = re.compile(r"\d|[^\w\s.,;:!?()'-]")
_FIELD = re.compile(
    r"""\\*["'](?P<name>[\w.-]{2,60})\\*["'][ \t\r\n]*:[ \t\r\n]*(?P<quote>(?:\\*["'])?)"""
    r"""(?P<said>\+?[\d(][\d ().\-/]{5,22}\d)(?=(?P=quote)|[ \t\r\n]*[,}\]])""",
    re.ASCII,
)
_PHONE_LIKE = re.compile(r"\+?[\d ().\-/]{7,25}")
_PHONE_NAMES = frozenset({
    "phone", "phonenumber", "phoneno", "mobile", "mobilenumber", "mobileno", "telephone", "telephonenumber", "tel",
    "cellphone", "cell", "fax", "faxnumber", "msisdn", "whatsapp",
})  # fmt: skip
_CARD_NAMES = frozenset({"card", "cardnumber", "cardno", "creditcard", "creditcardnumber", "pan"})
_NAMES = frozenset({
    "fullname", "firstname", "lastname", "middlename", "givenname", "familyname", "surname", "customername",
    "username", "displayname", "cardholder", "cardholdername", "passengername", "recipientname",
})  # fmt: skip
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_NO_AREA = re.compile(r"1?555\d{7}")
"""Numbers of North America in the area 555, which nobody has."""
_PLACEHOLDER_PHONE = re.compile(r"1?\d{3}55501\d\d")
"""555-0100 to 555-0199 of any area: nobody has them, and placeholders are made of them."""
_TEST_CARDS = frozenset({
    "4242424242424242", "4111111111111111", "4012888888881881", "4000056655665556", "5555555555554444",
    "2223003122003222", "5105105105105100", "5200828282828210", "378282246310005", "371449635398431",
    "6011111111111117", "6011000990139424", "3056930009020004", "36227206271667", "3566002020360505",
    "6200000000000005", "4222222222222", "30569309025904", "38520000023237", "3530111333300000",
})  # fmt: skip
_PLACEHOLDER_CARD = "40000000"
_CARD_BEGINS = re.compile(
    r"4\d{12}(?:\d{3}){0,2}|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:35|6\d)\d{14,17}"
)
_PLACEHOLDER_IBAN = re.compile(r"[A-Z]{2}\d\d[0X]{5,}\d{0,6}")
_EXAMPLE_IBANS = frozenset({
    "DE89370400440532013000", "GB82WEST12345698765432", "GB29NWBK60161331926819", "FR1420041010050500013M02606",
    "NL91ABNA0417164300", "ES9121000418450200051332", "IT60X0542811101000000123456", "CH9300762011623852957",
})  # fmt: skip
_IBAN_LENGTHS: Final = """
AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18
FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20
LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24
SI19 SK24 SM27 ST25 SV28 TN24 TR26 UA29 VA22 VG24 XK20
"""
_LENGTHS = {entry[:2]: int(entry[2:]) for entry in _IBAN_LENGTHS.split()}
_NO_VALUE = re.compile(rf"(?:{REDACTED}(?:-\d+)?|\W*|x+|X+|none|null|true|false|hidden|masked|redacted)", re.IGNORECASE)


def spots(text: str, name: str = "") -> list[Spot]:
    """Where secrets and personal data stand in a text, none over another, in order.

    name: the key under which the text stands: a password is known by that alone.
    """
    if is_secret_name(name) and not is_no_value(text):
        return [Spot(Kind.SECRET, 0, len(text), text)]
    named = name_spots(text, name)
    if named is not None:
        return named
    fields = (spot for spot, _ in field_spots(text))
    return apart([*_secrets(text), *fields, *personal_spots(text)]) if len(text) > 5 else []


def name_spots(text: str, name: str) -> list[Spot] | None:
    """What a text is by the name that it stands under; None where that tells nothing of it."""
    if _is_named(name, _PHONE_NAMES) and (not text or _PHONE_LIKE.fullmatch(text)):
        return [Spot(Kind.PHONE, 0, len(text), number, _is_reserved(number))] if (number := _phone(text)) else []
    return None


def personal_spots(text: str) -> list[Spot]:
    """Where personal data stands in a text, none over another, in order."""
    found = [*_ibans(text), *_cards(text), *_phones(text), *_told(text)]
    return apart([*found, *_emails(text)] if "@" in text or QUOTED_AT in text else found)


def field_spots(text: str) -> Iterator[tuple[Spot, bool]]:
    """Numbers under names of phones and cards in a text that looks like JSON, and whether each is a number there."""
    for match in _FIELD.finditer(text):
        name, said = match["name"], match["said"]
        if not is_personal_name(name):
            continue
        if match["quote"]:
            found = name_spots(said, name) or []
        else:
            found = number_spots(said, name) if said.isdigit() else []
        for spot in found:
            yield Spot(spot.kind, match.start("said"), match.end("said"), spot.identity), not match["quote"]


def of_somebody(found: Iterable[Spot]) -> list[Spot]:
    """Without what cannot belong to anybody."""
    return [spot for spot in found if not spot.is_reserved]


def apart(found: Iterable[Spot]) -> list[Spot]:
    """None over another, the first and longest first."""
    kept: list[Spot] = []
    for spot in sorted(found, key=lambda spot: (spot.start, -spot.end)):
        if not kept or spot.start >= kept[-1].end:
            kept.append(spot)
    return kept


def is_no_value(text: str) -> bool:
    """Whether a text is no secret, whatever it stands under: nothing, a mask, what was redacted before."""
    return _NO_VALUE.fullmatch(text) is not None


def is_personal_name(name: str) -> bool:
    """Whether a number under a key is somebody's: that of a phone, or of a card."""
    return _is_named(name, _PHONE_NAMES) or _is_named(name, _CARD_NAMES)


def number_spots(digits: str, name: str) -> list[Spot]:
    """The same for a number: under the name of a phone or a card it is one."""
    if _is_named(name, _PHONE_NAMES) and digits.isdigit() and (number := _phone(digits)):
        return [Spot(Kind.PHONE, 0, len(digits), number, _is_reserved(number))]
    return list(_cards(digits)) if _is_named(name, _CARD_NAMES) else []


def is_name_of_person(name: str) -> bool:
    """Whether what stands under a key is somebody's name: `first_name`, `customerName`; `name` alone is of anything."""
    return _is_named(name, _NAMES)


def holds_secret(text: str) -> bool:
    """Whether something else in a text is a secret: inside JSON, an address or base64."""
    clean = scrubbed(text)
    return clean != text and clean.replace(REDACTED, "") != re.sub(rf"{REDACTED}(?:-\d+)?", "", text)


@lru_cache(4096)
def _is_named(name: str, names: frozenset[str]) -> bool:
    """Whether a key ends with one of the names, word by word: `homePhone` and `phone_number`, but no `smartphone`."""
    words = [word.lower() for word in _WORDS.findall(name[-60:])]
    return any("".join(words[at:]) in names for at in range(max(len(words) - 4, 0), len(words)))


def digits_of(text: str) -> str:
    """The digits of a text, and nothing else."""
    return "".join([char for char in text if char.isdecimal() and char.isascii()])


def _secrets(text: str) -> Iterator[Spot]:
    if len(text) < 15:
        return
    places = [(match.start(), match.end()) for match in FORMATS.finditer(text)]
    if "eyJ" in text:
        places += [(match.end("kept"), match.end()) for match in JSON_WEB_TOKEN.finditer(text)]
    for tokens, pattern in IN_CONTEXT:
        if any(token in text for token in tokens):
            places += [(match.end("kept"), match.end()) for match in pattern.finditer(text)]
    if "PRIVATE KEY" in text:
        places += private_keys(text)
    for start, end in places:
        yield Spot(Kind.SECRET, start, end, text[start:end])


def _emails(text: str) -> Iterator[Spot]:
    for match in _EMAIL.finditer(text):
        address = match[0].replace(QUOTED_AT, "@").casefold()
        is_remote = address.startswith("git@") and text[match.end() : match.end() + 1] == ":"
        if not is_remote and not _PLACEHOLDER_EMAIL.fullmatch(address):
            is_reserved = _RESERVED.fullmatch(match[1]) is not None
            yield Spot(Kind.EMAIL, match.start(), match.end(), address, is_reserved)


def _phones(text: str) -> Iterator[Spot]:
    for match in _PHONE.finditer(text):
        number = _phone(match[0])
        if number:
            yield Spot(Kind.PHONE, match.start(), match.end(), number, _is_reserved(number))


def _told(text: str) -> Iterator[Spot]:
    """What a sentence says to be a password, a PIN or somebody's number."""
    for match in _PHONE_TOLD.finditer(text) if _SEVEN.search(text) else ():
        number = _phone(match["number"])
        if number and not _DATE.match(match["number"]):
            yield Spot(Kind.PHONE, match.start("number"), match.end("number"), number, _is_reserved(number))
    if TOLD_SIGN.search(text) is None:
        return
    for match in _TOLD.finditer(text):
        value = match["value"].rstrip(".,;:!?)")
        if len(value) > 3 and _ODD.search(value) and not value.startswith((REDACTED, "~~", "http", "$", "{")):
            yield Spot(Kind.SECRET, match.start("value"), match.start("value") + len(value), value)
    for match in _TOLD_DIGITS.finditer(text):
        yield Spot(Kind.SECRET, match.start("value"), match.end("value"), match["value"])


_SEVEN = re.compile(r"\d(?:[ ().\-/]{0,2}\d){6}")
TOLD_SIGN: Final = re.compile(
    r"[Pp](?:ass|in)|P(?:ASS|IN)|[Kk](?:ey|ennw)|KEY|[Ss]e(?:cret|curity)|SECRET|[Tt](?:oken|an)|T(?:OKEN|AN)|"
    r"[Cc](?:ode|ontrase|v[cv])|C(?:ODE|V[CV])|OTP|[Oo]tp|[Mm]ot de"
)
"""One of these is in every sentence that tells a secret."""
_DATE = re.compile(r"(?:19|20)\d\d[-/.]?[01]\d[-/.]?[0-3]\d")


def _phone(text: str) -> str | None:
    """A phone number by its digits, without what says that it is dialled from abroad; None for none that can be."""
    digits = digits_of(text).lstrip("0")
    if not 7 <= len(digits) <= 15 or len(set(digits)) == 1 or _PLACEHOLDER_PHONE.fullmatch(digits):
        return None
    return digits[-10:]


def _is_reserved(number: str) -> bool:
    """Whether nobody has a phone number, told by its last digits."""
    return _NO_AREA.fullmatch(number) is not None


def _cards(text: str) -> Iterator[Spot]:
    for match in _CARD.finditer(text):
        digits = digits_of(match[0])
        is_test = digits in _TEST_CARDS
        if digits.startswith(_PLACEHOLDER_CARD) or _CARD_BEGINS.fullmatch(digits) is None:
            continue
        if is_test or (len(set(digits)) > 2 and luhn(digits) == 0):
            yield Spot(Kind.CARD, match.start(), match.end(), digits, is_test)


def luhn(digits: str) -> int:
    """The Luhn sum modulo 10: 0 for a card number that can be."""
    doubled = [int(digit) * (1 + at % 2) for at, digit in enumerate(reversed(digits))]
    return sum(number - 9 if number > 9 else number for number in doubled) % 10


def _ibans(text: str) -> Iterator[Spot]:
    for match in _IBAN.finditer(text):
        length = _LENGTHS.get(match[0][:2].upper())
        plain, at = "", match.start()
        for at in range(match.start(), match.end()):
            plain += text[at].upper() if text[at].isalnum() else ""
            if len(plain) == length:
                break
        ends = at + 1 == len(text) or not (text[at + 1].isalnum() and text[at + 1].isascii())
        is_whole = length == len(plain) and ends and not _PLACEHOLDER_IBAN.fullmatch(plain)
        if is_whole and iban_remainder(plain) == 1:
            yield Spot(Kind.IBAN, match.start(), at + 1, plain, plain in _EXAMPLE_IBANS)


def iban_remainder(plain: str) -> int:
    """The check sum of an account number without blanks: 1 for one that can be."""
    return int("".join([str(int(char, 36)) for char in plain[4:] + plain[:4]])) % 97
