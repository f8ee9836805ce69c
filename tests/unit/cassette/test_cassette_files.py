from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_statebase.cassette import files
from pytest_statebase.errors import FileError


def message(path: Path) -> str:
    with pytest.raises(FileError) as caught:
        files.read_bytes(path)
    assert str(path) in str(caught.value)
    assert caught.value.remedy
    return str(caught.value)


def test_reads_bytes_without_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: \xc3\xbc\n")
    assert files.read_bytes(path) == b"a: \xc3\xbc\n"


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf", b" \n\n"])
def test_an_empty_file_says_so(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(data)
    assert "0 bytes" in message(path) or "nothing but blank" in message(path)


def test_a_file_that_is_not_utf8_names_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"a: 1\nb: \xc3\xbc \xff\n")
    assert f"{path}:2:6" in message(path)
    assert "0xff" in message(path)


def test_utf16_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes("a: ü".encode("utf-16"))
    assert "UTF-16" in message(path)


def test_a_missing_file_and_a_directory(tmp_path: Path) -> None:
    assert "no such file" in message(tmp_path / "none.yaml")
    assert "directory" in message(tmp_path)


def test_an_enormous_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    with open(path, "wb") as file:
        file.truncate(files.MAX_BYTES + 1)
    assert "at most" in message(path)


def test_writing_replaces_in_one_step_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"old")
    path.chmod(0o600)
    files.write_atomic(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["a.yaml"]


def test_a_write_that_fails_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match="No space left"):
        files.write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.yaml"]


def test_writing_into_no_directory(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be written"):
        files.write_atomic(tmp_path / "none" / "a.yaml", b"x")


@pytest.mark.parametrize(
    ("stem", "safe"), [("refund-2_b.x", True), ("a" * 80, True), ("a" * 81, False), ("a[1]", False), ("", False)]
)
def test_names(stem: str, safe: bool) -> None:
    assert files.is_safe_name(stem) is safe
