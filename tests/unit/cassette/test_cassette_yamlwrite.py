from __future__ import annotations

from typing import Any

import pytest
import yaml
from cassette_values import PLAIN, TEXTS, VALUES, shape
from hypothesis import given, settings

from pytest_statebase.cassette import yamlwrite
from pytest_statebase.cassette.canonical import parts_of
from pytest_statebase.cassette.yamlread import parse
from pytest_statebase.errors import UnstorableError


def dump(value: Any) -> str:
    return yamlwrite.document_text(parts_of(value))


def load(text: str) -> Any:
    (document,) = parse(text.encode(), where="f")
    return document.value


@settings(max_examples=400, deadline=None)
@given(VALUES)
def test_what_was_written_loads_back_equal_to_the_type_and_in_order(value: Any) -> None:
    assert shape(load(dump({"value": value}))["value"]) == shape(value)


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_every_text_survives_in_every_place(text: str) -> None:
    value = {"a": text, text + "k": [text, {text: text}], "z": [[text]], "t": (text,), text: [{"q": text, "r": []}]}
    assert shape(load(dump(value))) == shape(value)


@settings(max_examples=300, deadline=None)
@given(PLAIN)
def test_other_readers_see_the_same(value: Any) -> None:
    class Loader(yaml.SafeLoader):
        """YAML 1.1 as PyYAML reads it; our tags are taken off."""

    Loader.add_multi_constructor("!", lambda loader, suffix, node: ("!" + suffix, None))
    loaded = yaml.load(dump({"v": value}), Loader=Loader)
    assert untagged(loaded["v"], value)


def untagged(found: Any, value: Any) -> bool:
    """Whether what a YAML 1.1 reader found is the value, tagged parts aside."""
    if isinstance(found, tuple):
        return True
    if type(value) is not type(found):
        return False
    if isinstance(value, list):
        return len(value) == len(found) and all(map(untagged, found, value))
    if isinstance(value, dict):
        keys = [key for key in found if not isinstance(key, tuple)]
        return all(key in value and untagged(found[key], value[key]) for key in keys)
    return bool(found == value)


@settings(max_examples=300, deadline=None)
@given(VALUES)
def test_the_plain_form_needs_no_second_attempt(value: Any) -> None:
    parts = parts_of({"v": value})
    for quoted in (False, True):
        text = yamlwrite._Layout(parts, quoted=quoted).text()
        (document,) = parse(text.encode(), where="f")
        assert yamlwrite.canonical_text(document.parts) == yamlwrite.canonical_text(parts)


def test_text_that_another_reader_would_take_for_something_else_is_quoted() -> None:
    loaded = dump({"country": "no", "time": "10:00", "code": "017", "rate": "1e3", "day": "2024-01-01", "on": "x"})
    assert loaded == 'country: "no"\ntime: "10:00"\ncode: "017"\nrate: "1e3"\nday: "2024-01-01"\n"on": x\n'


def test_layout() -> None:
    value = {
        "kind": "turn",
        "input": {"type": "text", "content": "Where is my order 1047? 😀"},
        "events": [{"said": "Let me look that up, please: now."}, {"tool": "x", "arguments": {"order_id": "1047"}}],
        "output": {"type": "text", "content": "Dear Ana,\n\n- one\n- two: 2\n"},
        "long": "word " * 30 + "end",
        "list": [1, 2.5, None, True],
        "rows": [{"sku": "a", "qty": 1}, {"sku": "b", "qty": 2}],
        "empty": {"a": {}, "b": [], "c": ""},
        "json": '{"a": [1, {"b": null}]}',
        "trailing": "a \nb",
    }
    assert dump(value) == (
        "kind: turn\n"
        'input: {type: text, content: "Where is my order 1047? 😀"}\n'
        "events:\n"
        '  - said: "Let me look that up, please: now."\n'
        "  - tool: x\n"
        '    arguments: {order_id: "1047"}\n'
        "output:\n"
        "  type: text\n"
        "  content: |\n"
        "    Dear Ana,\n"
        "\n"
        "    - one\n"
        "    - two: 2\n"
        "long: >-\n"
        "  word word word word word word word word word word word word word word word word word word word word word\n"
        "  word word word word word word word word word end\n"
        "list: [1, 2.5, null, true]\n"
        "rows:\n"
        "  - sku: a\n"
        "    qty: 1\n"
        "  - sku: b\n"
        "    qty: 2\n"
        'empty: {a: {}, b: [], c: ""}\n'
        "json: !json\n"
        "  a:\n"
        "    - 1\n"
        "    - {b: null}\n"
        'trailing: "a \\n\\\n'
        '  b"\n'
    )


def test_two_uses_of_one_object_make_no_alias() -> None:
    shared = ["x"]
    text = dump({"a": shared, "b": shared})
    assert text == "a: [x]\nb: [x]\n"


def test_depth() -> None:
    value: list[Any] = []
    for _ in range(900):
        value = [value]
    assert dump({"v": value})
    for _ in range(200):
        value = [value]
    with pytest.raises(UnstorableError, match="nests deeper"):
        dump({"v": value})


def test_a_text_that_does_not_read_back_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yamlwrite._Layout, "text", lambda self: "other: 1\n")
    with pytest.raises(UnstorableError, match="does not read back"):
        dump({"a": 1})


def test_a_layout_that_fails_is_replaced_by_quotes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yamlwrite, "block_scalar", lambda text, indent: "|\n  wrong")
    assert dump({"a": "x\ny"}) == 'a: "x\\ny"\n'


def test_a_stream_of_documents() -> None:
    parts = [parts_of(document, path="") for document in ({"a": 1}, {"b": "ü"})]
    data = "---\n".join(map(yamlwrite.document_text, parts)).encode()
    assert data == "a: 1\n---\nb: ü\n".encode()
    assert [document.parts for document in parse(data, where="f")] == parts
