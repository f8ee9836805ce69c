"""What is taken for personal data, what is not, and what stands in its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_statebase.cassette.canonical import parts_of
from pytest_statebase.cassette.leaves import leaves
from pytest_statebase.cassette.personal import (
    Kind,
    holds_secret,
    iban_remainder,
    luhn,
    number_spots,
    of_somebody,
    spots,
)
from pytest_statebase.cassette.placeholders import Placeholders

FOUND = [
    ("write to jane.doe@corp.com.", Kind.EMAIL, "jane.doe@corp.com"),
    ("<Jürgen@müller.de>", Kind.EMAIL, "Jürgen@müller.de"),
    ('{"to": "o\'neil+x@sub.corp.co.uk"}', Kind.EMAIL, "o'neil+x@sub.corp.co.uk"),
    ("mail = 'jane.doe@corp.com'", Kind.EMAIL, "jane.doe@corp.com"),
    ("{'to': ''jane.doe@corp.com''}", Kind.EMAIL, "jane.doe@corp.com"),
    ("x''jane.doe@corp.com", Kind.EMAIL, "jane.doe@corp.com"),
    ("'o'neil@corp.com'", Kind.EMAIL, "o'neil@corp.com"),
    ("o'@corp.com", Kind.EMAIL, "o'@corp.com"),
    ("call +49 (0)30 901820", Kind.PHONE, "+49 (0)30 901820"),
    ("call +14155552671!", Kind.PHONE, "+14155552671"),
    ("call (415) 555-2671", Kind.PHONE, "(415) 555-2671"),
    ("call 415-555-2671", Kind.PHONE, "415-555-2671"),
    ("card 4539 1488 0343 6467", Kind.CARD, "4539 1488 0343 6467"),
    ("card 4539148803436467,", Kind.CARD, "4539148803436467"),
    ("IBAN DE44 5001 0517 5407 3249 31 and", Kind.IBAN, "DE44 5001 0517 5407 3249 31"),
    ("GB33BUKB20201555555555", Kind.IBAN, "GB33BUKB20201555555555"),
    (r'"\"\\\"\\\\u00e9 +49 30 901820 \\\"\""', Kind.PHONE, "+49 30 901820"),
    ("key sk-proj-abcdEFGH1234567890abcd", Kind.SECRET, "sk-proj-abcdEFGH1234567890abcd"),
    ("Authorization: Bearer abcdef0123456789abcdef", Kind.SECRET, "abcdef0123456789abcdef"),
]


@pytest.mark.parametrize(("text", "kind", "value"), FOUND, ids=[f"{kind}-{value}" for _, kind, value in FOUND])
def test_is_found(text: str, kind: Kind, value: str) -> None:
    assert [(spot.kind, text[spot.start : spot.end]) for spot in spots(text)] == [(kind, value)]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("sara_doe@example.com, x@shop.example, a@b.test", [Kind.EMAIL] * 3),
        ("555-123-2002", [Kind.PHONE]),
        ("4242 4242 4242 4242 and 5555-5555-5555-4444", [Kind.CARD] * 2),
        ("DE89 3704 0044 0532 0130 00", [Kind.IBAN]),
    ],
)
def test_is_found_and_of_nobody(text: str, kinds: list[Kind]) -> None:
    assert [spot.kind for spot in spots(text)] == kinds
    assert of_somebody(spots(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "email-3@0a1b2c3d.example.com, email-3%400a1b2c3d.example.com, me@localhost",
        "git@github.com:org/repo.git",
        "a@b, @name, x@@y.com",
        "order 5753502325, #W7181492, 1700000000000, 20240101123000",
        "2026-03-15T10:24:01.123+01:00 and 2026-03-15 10:24:01",
        "(212) 555-0123, +1 212 555 0199",
        "4000 0000 0000 0002",
        "4539 1488 0343 6468",
        "0000 0000 0000 0000",
        "DE44 5001 0517 5407 3249 32",
        "8f32ff41-6e88-44f6-a54a-b22c70ae6bb9",
        "credit_card_9513926, gift_card_0000000",
        "3.14159265358979323846",
        "max_tokens=4096",
    ],
)
def test_is_not_found(text: str) -> None:
    assert spots(text) == []
    assert not holds_secret(text)


@pytest.mark.parametrize("name", ["password", "apiKey", "access_token", "X-Auth-Token"])
def test_what_stands_under_the_name_of_a_secret_is_one(name: str) -> None:
    assert [spot.kind for spot in spots("hunter2", name)] == [Kind.SECRET]
    for text in ("", "***", "REDACTED", "REDACTED-3", "null"):
        assert spots(text, name) == []


@pytest.mark.parametrize("name", ["phone", "phone_number", "customerPhone", "mobile-no", "TEL"])
def test_digits_under_the_name_of_a_phone_are_one(name: str) -> None:
    assert [spot.kind for spot in spots("030 901820", name)] == [Kind.PHONE]
    assert [spot.kind for spot in number_spots("4155552671", name)] == [Kind.PHONE]
    assert spots("unknown", name) == []


@pytest.mark.parametrize("name", ["smartphone", "telecom", "phone_model_id", "hotel", "id"])
def test_other_names_are_none_of_a_phone(name: str) -> None:
    assert spots("4892278163", name) == []
    assert number_spots("4892278163", name) == []


def test_the_same_value_in_another_spelling_is_the_same() -> None:
    text = "+49 30 901820, 0049 30 901820, Jane@Corp.com jane@corp.COM"
    assert [spot.identity for spot in spots(text)] == [*["4930901820"] * 2, *["jane@corp.com"] * 2]
    assert spots("0049 30 901820", "phone")[0].identity == "4930901820"


def test_quotes_around_an_address_are_none_of_it() -> None:
    text = "['jane@corp.com','joe@corp.com'] `jane@corp.com` \"joe@corp.com\" jane@corp.com"
    assert [spot.identity.partition("@")[0] for spot in spots(text)] == ["jane", "joe", "jane", "joe", "jane"]


@pytest.mark.parametrize(("text", "kind", "value"), FOUND, ids=[f"{kind}-{value}" for _, kind, value in FOUND])
def test_placeholders_have_the_form_of_the_value_and_are_nobodys(text: str, kind: Kind, value: str) -> None:
    made = [Placeholders("sess_1").of(kind, value, value), Placeholders("sess_2").of(kind, value, value)]
    for placeholder in made:
        assert spots(placeholder) == []
        assert not holds_secret(placeholder)
        if kind is Kind.CARD:
            assert luhn(placeholder.replace(" ", "")) == 0
            assert (" " in placeholder) == (" " in value)
        if kind is Kind.IBAN:
            assert iban_remainder(placeholder.replace(" ", "")) == 1
            assert (placeholder[:2], len(placeholder)) == (value[:2], len(value))
        if kind is Kind.PHONE:
            assert placeholder.startswith("+") == value.startswith("+")
    if kind in (Kind.EMAIL, Kind.CARD, Kind.IBAN):
        assert made[0] != made[1]


@given(st.lists(st.sampled_from("abcdef"), max_size=20), st.sampled_from(list(Kind)))
def test_placeholders_are_equal_exactly_where_the_values_are(identities: list[str], kind: Kind) -> None:
    like = {Kind.IBAN: "DE44500105175407324931"}.get(kind, "4155552671")
    placeholders = Placeholders("sess_1")
    made = [placeholders.of(kind, identity, like) for identity in identities]
    assert len(set(made)) == len(set(identities))
    assert made == [placeholders.of(kind, identity, like) for identity in identities]


def test_a_placeholder_that_stands_there_already_is_not_given_again() -> None:
    placeholders = Placeholders("s", lambda text: text in ("Person 1", "Person 2"))
    assert placeholders.of(Kind.NAME, "x", "X") == "Person 3"


trees = st.recursive(
    st.text(max_size=8) | st.integers(-9, 9999) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


def walk(value: object, keys: tuple[object, ...] = ()) -> list[tuple[tuple[object, ...], str, bool]]:
    """Keys, texts and numbers as a plain recursion finds them."""
    if isinstance(value, dict):
        return [one for key, item in value.items() for one in [((*keys, key), key, True), *walk(item, (*keys, key))]]
    if isinstance(value, list):
        return [one for at, item in enumerate(value) for one in walk(item, (*keys, at))]
    is_told = isinstance(value, (str, int)) and not isinstance(value, bool)
    return [(keys, str(value), False)] if is_told else []


@given(trees)
def test_leaves_are_the_texts_and_numbers_of_a_document(tree: object) -> None:
    found = [(leaf.keys, leaf.text, leaf.is_key) for leaf in leaves(parts_of(tree)) if leaf.tag is None]
    assert found == walk(tree) or "!json" in str(parts_of(tree))
