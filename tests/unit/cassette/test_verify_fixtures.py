"""`verify` names the first document that is not what it was, in every record that the project ships."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_statebase.cassette import read_record, seal, verify
from pytest_statebase.cassette.parts import MARK, text_of, text_part
from pytest_statebase.cassette.yamlread import parse
from pytest_statebase.cassette.yamlwrite import document_text
from pytest_statebase.errors import FileError, RecordError, SealError

FIXTURES = sorted(Path(__file__).parents[3].glob("fixtures/**/*.record.yaml"))
IDS = [path.name.removesuffix(".record.yaml") for path in FIXTURES]
PARTING = "---\n"


def documents(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split(PARTING)


def written(path: Path, texts: list[str]) -> Path:
    path.write_text(PARTING.join(texts), encoding="utf-8")
    return path


def found(path: Path, texts: list[str]) -> tuple[str, int | None]:
    result = verify(written(path, texts))
    assert not result.ok
    assert result.state == "broken"
    return result.message, result.document


@pytest.fixture(params=FIXTURES, ids=IDS)
def fixture(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return tmp_path / "copy.record.yaml"


def test_there_are_fixtures_and_all_are_sealed() -> None:
    assert len(FIXTURES) >= 8
    assert all(verify(path).ok for path in FIXTURES)


def changed(text: str, number: int) -> str:
    """A document with its text, number or word of that number changed; an empty one where there are not so many."""
    (document,) = parse(text.encode(), where="a document")
    parts = list(document.parts)
    places = [at for at, part in enumerate(parts) if not re.match(rf"{MARK}[{{[}}!]", part)]
    at = places[number % len(places)]
    old = text_of(parts[at])
    parts[at] = f"{MARK}7{len(parts[at])}" if old is None else text_part(old + "x")
    return document_text(parts)


def test_every_value_that_changes_is_found_in_its_document(fixture: Path, copy: Path) -> None:
    texts, checked = documents(fixture), 0
    for at, text in enumerate(texts[:-1]):
        (document,) = parse(text.encode(), where="a document")
        for number in range(0, len(document.parts), 3):
            other = changed(text, number)
            try:
                (read,) = parse(other.encode(), where="a document")
            except FileError:
                continue  # the change made two keys equal, or a tag's text unreadable
            if at == 0 and read.value.get("record") != 1:
                continue
            message, place = found(copy, [*texts[:at], other, *texts[at + 1 :]])
            assert (place, message.endswith(" was changed")) == (at + 1, True), (at, number, message)
            checked += 1
    assert checked >= 2 * len(texts)


def test_a_dropped_document_is_found(fixture: Path, copy: Path) -> None:
    texts = documents(fixture)
    for at in range(1, len(texts) - 1):
        message, place = found(copy, texts[:at] + texts[at + 1 :])
        assert (place, f"document {at + 1} is missing" in message) == (at + 1, True), message


def test_two_swapped_documents_are_found(fixture: Path, copy: Path) -> None:
    texts = documents(fixture)
    for at in range(1, len(texts) - 1):
        for other in range(at + 1, len(texts) - 1):
            swapped = list(texts)
            swapped[at], swapped[other] = texts[other], texts[at]
            message, place = found(copy, swapped)
            assert (place, message.endswith(" was moved")) == (at + 1, True), message


def test_an_added_document_is_found(fixture: Path, copy: Path) -> None:
    texts = documents(fixture)
    added = "kind: event\nsaid: Something that nobody said.\n"
    for at in range(1, len(texts)):
        message, place = found(copy, [*texts[:at], added, *texts[at:]])
        assert (place, message.endswith(" was added")) == (at + 1, True), message


def test_an_added_copy_is_found(fixture: Path, copy: Path) -> None:
    texts = documents(fixture)
    for at in range(1, len(texts) - 1):
        for there in range(at + 1, len(texts)):
            message, place = found(copy, [*texts[:there], texts[at], *texts[there:]])
            assert (place, message.endswith(" was added")) == (there + 1, True), message


def test_a_copy_in_place_of_another_document_is_a_change(fixture: Path, copy: Path) -> None:
    texts = documents(fixture)
    for at in range(2, len(texts) - 1):
        message, place = found(copy, [*texts[:at], texts[at - 1], *texts[at + 1 :]])
        assert (place, message.endswith(" was changed")) == (at + 1, True), message


@pytest.mark.parametrize("number", [1, -1, None], ids=["a turn", "the end", "a new one"])
def test_a_document_after_the_end_is_found(fixture: Path, copy: Path, number: int | None) -> None:
    texts = documents(fixture)
    added = "kind: event\nsaid: Something that nobody said.\n" if number is None else texts[number]
    after = [*texts[:-1], texts[-1].rstrip("\n") + "\n", added]
    message, place = found(copy, after)
    assert (place, message.endswith(" was added after the end")) == (len(texts) + 1, True), message
    for force in (False, True):
        with pytest.raises(SealError if not force else RecordError, match="after"):
            seal(copy, force=force)
    assert copy.read_text(encoding="utf-8") == PARTING.join(after)
    with pytest.raises(SealError, match="was added after the end"):
        read_record(copy)


def test_what_changed_before_the_end_is_told_first(fixture: Path, copy: Path) -> None:
    texts = documents(fixture)
    message, place = found(copy, [texts[0], *texts[2:], texts[1]])
    assert (place, "document 2 is missing" in message) == (2, True), message


def test_a_document_after_the_end_of_an_unsealed_record_is_told(fixture: Path, copy: Path) -> None:
    *texts, end = documents(fixture)
    bare = re.sub(r"(?ms)^(seal|documents): .*", "", end)
    with pytest.raises(RecordError, match="stands after `kind: end`"):
        verify(written(copy, [*texts, bare, texts[1]]))


def test_a_change_of_the_end_is_found(fixture: Path, copy: Path) -> None:
    *texts, end = documents(fixture)
    other = re.sub(r"^seal: ", "reason: someone said so\nseal: ", re.sub(r"(?m)^reason: .*\n", "", end), flags=re.M)
    _, place = found(copy, [*texts, other])
    assert place == len(texts) + 1


@pytest.mark.parametrize("path", FIXTURES, ids=IDS)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_whatever_is_done_to_the_documents_is_found(path: Path, data: st.DataObject) -> None:
    texts = documents(path)
    arranged = [texts[0], *data.draw(st.lists(st.sampled_from(texts[1:-1]), max_size=len(texts))), texts[-1]]
    with tempfile.TemporaryDirectory() as folder:
        copy = written(Path(folder) / "copy.record.yaml", arranged)
        assert verify(copy).ok == (arranged == texts)
