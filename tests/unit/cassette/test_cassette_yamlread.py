from __future__ import annotations

import math
import time
from typing import Any

import pytest

from pytest_statebase.cassette import yamlread
from pytest_statebase.cassette.parts import END, LIST, MAP, canonical_text, word_part
from pytest_statebase.cassette.yamlread import parse
from pytest_statebase.errors import FileError

# fmt: off
PLAIN_TEXTS = [
    "no", "yes", "on", "off", "y", "n", "Null", "NULL", "~", "True", "FALSE", "017", "02134", "0x1f", "0o17",
    "1_000", "+1", "10:00", "12:30:45", "2024-01-01", "2024-13-45", "1.", ".5", "+.inf", ".NaN", ".Inf", "inf",
    "nan", "-", "-x", "1e", "0b1", "=", "a<<b",
]
# fmt: on


@pytest.fixture(params=["libyaml", "pure"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "pure":
        monkeypatch.setattr(yamlread.yaml, "__with_libyaml__", False)
    elif not yamlread.yaml.__with_libyaml__:
        pytest.skip("PyYAML was built without libyaml")
    return str(request.param)


def load(text: str) -> Any:
    (document,) = parse(text.encode(), where="f.yaml")
    return document.value


def error(text: str | bytes) -> str:
    data = text.encode() if isinstance(text, str) else text
    with pytest.raises(FileError) as caught:
        list(parse(data, where="f.yaml"))
    assert caught.value.remedy
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        ("true", True),
        ("false", False),
        ("0", 0),
        ("-0", 0),
        ("-17", -17),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("1E-3", 0.001),
        ("-2.5e+10", -2.5e10),
        (".inf", math.inf),
        ("-.inf", -math.inf),
    ],
)
def test_plain_scalars_that_are_no_text(text: str, value: Any) -> None:
    loaded = load(f"x: {text}")["x"]
    assert loaded == value
    assert type(loaded) is type(value)


def test_nan() -> None:
    assert math.isnan(load(".nan"))


@pytest.mark.parametrize("text", PLAIN_TEXTS)
def test_every_other_plain_scalar_is_text(text: str) -> None:
    assert load(f"x: [{text}]" if text != "-" else 'x: ["-"]') == {"x": [text]}


def test_keys_follow_the_same_rule() -> None:
    loaded = load("on: 1\n2: b\n'2': c\nnull: d\n1.5: e\n? !tuple [1, 2]\n: f\n")
    assert loaded == {"on": 1, 2: "b", "2": "c", None: "d", 1.5: "e", (1, 2): "f"}
    assert list(loaded) == ["on", 2, "2", None, 1.5, (1, 2)]


def test_quoted_scalars_are_text() -> None:
    assert load("""["1", 'null', "true", "", '']""") == ["1", "null", "true", "", ""]


def test_block_scalars() -> None:
    assert load("a: |\n  x\n  y\nb: >-\n  x\n  y\n") == {"a": "x\ny\n", "b": "x y"}


def test_several_documents_come_one_by_one_with_their_lines() -> None:
    documents = list(parse(b"a: 1\n---\nb: 2\n---\n- 3\n", where="f"))
    assert [document.value for document in documents] == [{"a": 1}, {"b": 2}, [3]]
    assert [document.line for document in documents] == [1, 3, 5]


def test_positions() -> None:
    (document,) = parse(b"a: 1\nb:\n  - x: 1\n  - y: {z: 2}\n", where="f", marks=True)
    assert document.position("b") == (2, 1)
    assert document.position("b", 1) == (4, 5)
    assert document.position("b", 1, "y", "z") == (4, 9)
    assert document.position("b", 7) == (2, 1)


@pytest.mark.parametrize(
    ("text", "where", "says"),
    [
        ("a: 1\nb: 2\na: 3\n", "f.yaml:3:1", "'a' stands twice"),
        ("x: {a: 1, a: 2}", "f.yaml:1:11", "'a' stands twice"),
        ("1: a\ntrue: b", "f.yaml:2:1", "True stands twice"),
        ("a: 1\nb:\n", "f.yaml:2:3", "a value is missing"),
        ("- 1\n-\n", "f.yaml:2:2", "a value is missing"),
        ("a: {x: 1}\nb:\n  <<: {y: 1}\n", "f.yaml:3:3", "merge keys"),
        ("a: !foo 1", "f.yaml:1:4", "the tag !foo"),
        ("a: !!str 1", "f.yaml:1:4", "the tag !!str"),
        ("a: !decimel 1", "f.yaml:1:4", "Did you mean !decimal?"),
        ("a: !decimal x1", "f.yaml:1:4", "!decimal 'x1' cannot be read"),
        ("a: !date 2024-13-45", "f.yaml:1:4", "!date '2024-13-45' cannot be read"),
        ("a: !set [1, 1]", "f.yaml:1:4", "stands twice"),
        ("a: !decimal [1]", "f.yaml:1:4", "not on such a value"),
        ("a: !json text", "f.yaml:1:4", "not on such a value"),
        ("a: !!python/object/apply:os.system ['x']", "f.yaml:1:4", "!!python/object/apply:os.system"),
        ("[1, 2]: x", "f.yaml:1:", "cannot be a key"),
        ("{a: b}: x", "f.yaml:1:", "cannot be a key"),
        ("a: *x", "f.yaml:1:4", "*x names no anchor"),
        ("a: &x [*x]", "f.yaml:1:8", "*x contains itself"),
        ("a: &x {b: *x}", "f.yaml:1:11", "*x contains itself"),
        ('a: "x', "f.yaml:1:", "cut off"),
        ("a: [1, 2\n", "f.yaml:2:1", "cut off"),
        ("a: 1\n b: 2\n", "f.yaml:2:", "this is not YAML"),
        ("ü: 😀\nä: \x07x", "f.yaml:2:4", "U+0007 cannot stand in YAML"),
        ("a: " + "9" * 5000, "f.yaml:1:4", "an integer of 5000 digits"),
    ],
)
def test_errors_name_line_and_column(text: str, where: str, says: str) -> None:
    found = error(text)
    assert where in found
    assert says in found


def test_three_thousand_brackets_are_too_deep() -> None:
    started = time.thread_time()
    assert "nesting is deeper" in error("[" * 3000)
    assert "nesting is deeper" in error('{"a":' * 3000)
    assert time.thread_time() - started < 30


def test_nine_hundred_levels_are_not() -> None:
    assert load("[" * 900 + "1" + "]" * 900)


def test_hand_written_aliases_are_copied_apart() -> None:
    loaded = load("a: &x {l: [1, 2]}\nb: *x\nc: [*x, &t word, *t]\n")
    assert loaded["b"] == loaded["a"] == loaded["c"][0]
    assert loaded["c"][1:] == ["word", "word"]
    loaded["a"]["l"].append(3)
    assert loaded["b"] == {"l": [1, 2]}
    assert loaded["c"][0] == {"l": [1, 2]}


def test_an_alias_counts_in_the_seal_as_if_it_were_written_out() -> None:
    (short,) = parse(b"a: &x !decimal 1\nb: *x\nc: &y !set [1]\nd: *y\ne: &z s\nf: *z", where="f")
    (long,) = parse(b"a: !decimal 1\nb: !decimal 1\nc: !set [1]\nd: !set [1]\ne: s\nf: s", where="f")
    assert short.parts == long.parts


def test_an_anchor_ends_with_its_document() -> None:
    assert "names no anchor" in error("a: &x 1\n---\nb: *x\n")


def test_an_alias_bomb_is_refused_at_once() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    started = time.thread_time()
    assert "aliases stand for too much" in error("\n".join(lines))
    assert time.thread_time() - started < 10


def test_a_bomb_of_one_long_text_is_refused_too() -> None:
    assert "aliases stand for too much" in error(f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 1000)}]")


def test_twenty_megabytes_without_aliases_load(parser: str) -> None:
    if parser == "pure":
        pytest.skip("minutes without libyaml")
    row = '- {sku: sku-1, name: A thing of a kind, price: 12.5, tags: [a, b], text: "' + "x" * 200 + '"}\n'
    data = (row * (20_000_000 // len(row) + 1)).encode()
    assert len(data) >= 20_000_000
    (document,) = parse(data, where="f")
    assert len(document.value) > 50_000


def test_json_texts_load_as_the_text_they_were() -> None:
    assert load('a: !json {x: [1, 2.0, "é"], y: null}') == {"a": '{"x": [1, 2.0, "\\u00e9"], "y": null}'}
    assert load("!json []") == "[]"
    assert load("!json\n- a\n- !json {b: 1}\n") == '["a", "{\\"b\\": 1}"]'


def test_a_json_text_that_nests_too_deep_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load("!json " + "[" * 90 + "]" * 90) == "[" * 90 + "]" * 90

    def too_deep(_: Any) -> str:
        raise RecursionError

    monkeypatch.setattr(yamlread.tags.json, "dumps", too_deep)
    assert "!json cannot be read: it nests too deep" in error("!json [[]]")


def test_line_ends_and_comments_are_free() -> None:
    (plain,) = parse(b"a: 1\nb:\n  - x\n", where="f")
    (other,) = parse(b"# hi\r\n\"a\": 1 # there\r\nb: ['x']\r\n", where="f")
    assert plain.parts == other.parts == [MAP, "a", word_part(1), "b", LIST, "x", END, END]


def test_the_seal_tells_types_apart() -> None:
    def parts(text: str) -> str:
        return canonical_text(next(parse(text.encode(), where="f")).parts)

    texts = [
        "1",
        "1.0",
        "true",
        '"1"',
        "null",
        '"null"',
        "[]",
        "{}",
        '"[]"',
        "!tuple []",
        "[[]]",
        "!decimal 1",
        "!uuid 1",
    ]
    kept = []
    for text in texts:
        try:
            kept.append(parts(text))
        except FileError:
            continue
    assert len(set(kept)) == len(kept) >= len(texts) - 1
