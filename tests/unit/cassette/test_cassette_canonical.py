from __future__ import annotations

from typing import Any

import pytest
from cassette_values import JSON_TEXTS, VALUES, shape
from hypothesis import given

from pytest_statebase.cassette.canonical import json_structure, parts_of
from pytest_statebase.cassette.parts import END, LIST, MAP, canonical_text, tag_part, word_part
from pytest_statebase.errors import UnstorableError


def test_parts() -> None:
    one, nothing = word_part(1), word_part(None)
    assert parts_of({"a": [1, "x"], "b": ()}) == [
        MAP,
        "a",
        LIST,
        one,
        "x",
        END,
        "b",
        tag_part("!tuple"),
        LIST,
        END,
        END,
    ]
    assert parts_of('{"a": null}') == [tag_part("!json"), MAP, "a", nothing, END]


@given(VALUES, VALUES)
def test_equal_texts_mean_equal_values(one: Any, other: Any) -> None:
    assert (canonical_text(parts_of(one)) == canonical_text(parts_of(other))) == (shape(one) == shape(other))


def test_sets_have_no_order() -> None:
    assert parts_of({"b", "a", "c"}) == [tag_part("!set"), LIST, "a", "b", "c", END]


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ('{"a": 1}', True),
        ("[]", True),
        ('{"a": 1.0, "b": NaN}', True),
        ('{"a":1}', False),
        ('{"a": 1, "a": 1}', False),
        ('{"a": 1E5}', False),
        ('{"a": "é"}', False),
        ("[1", False),
        ("{x}", False),
        ("[" * 101 + "]" * 101, False),
        ("[" * 5000 + "]" * 5000, False),
        ("5.0", False),
        (f"[{'9' * 5000}]", False),
    ],
)
def test_json_texts_that_are_stored_as_structure(text: str, stored: bool) -> None:
    if text[0] in "{[":
        assert (json_structure(text) is not None) is stored
    assert (parts_of(text)[0] == tag_part("!json")) is stored


@given(JSON_TEXTS)
def test_a_structure_gives_its_text_again(text: str) -> None:
    import json

    structure = json_structure(text) if text[0] in "{[" else None
    assert structure is None or json.dumps(structure) == text


def test_an_integer_that_python_makes_no_text_of_is_refused_where_it_stands() -> None:
    with pytest.raises(UnstorableError, match=r"result\.n: an integer of 16,610 bits"):
        parts_of({"n": 10**5000}, path="result")
    assert parts_of(10**3900) == ["\0" + "1" + "0" * 3900]


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({"a": [1, {"b c": object()}]}, 'result.a[1]."b c"'),
        ({"a": {1: object()}}, "result.a[1]"),
        ([object()], "result[0]"),
        (object(), "result"),
        ({"a": (1, {object()})}, "result.a[1]"),
    ],
)
def test_an_error_names_the_path(value: Any, where: str) -> None:
    with pytest.raises(UnstorableError) as caught:
        parts_of(value, path="result")
    assert caught.value.where == where


def test_a_value_that_contains_itself_is_an_error() -> None:
    loop: dict[str, Any] = {}
    loop["x"] = [loop]
    with pytest.raises(UnstorableError, match="contains itself"):
        parts_of(loop)
