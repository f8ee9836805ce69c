"""The page on capture names every limit with its value, and every reason for which turns are lost."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from pytest_statebase.cli import checkcapture
from pytest_statebase.journal import Limits, files, sink, writer

PAGE = (Path(__file__).parents[2] / "docs" / "capture.md").read_text(encoding="utf-8")
TABLE = {
    name: value
    for names, values in re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| ([^|]+?) \|", PAGE, re.MULTILINE)
    for name, value in zip(re.findall(r"\w+", names), re.split(r", (?=\d+,)", values), strict=False)
}
UNITS = {"MB": 1 << 20, "GB": 1 << 30}


def number(text: str) -> float | bool:
    if text.strip("`") in ("True", "False"):
        return text.strip("`") == "True"
    value, _, unit = text.partition(" ")
    return float(value.replace(",", "")) * UNITS.get(unit, 1)


@pytest.mark.parametrize("field", fields(Limits), ids=lambda field: field.name)
def test_each_limit_stands_there_with_its_value(field: object) -> None:
    name, default = field.name, field.default  # type: ignore[attr-defined]
    assert number(TABLE[name]) == default


@pytest.mark.parametrize("reason", checkcapture._LOST)
def test_each_reason_for_a_loss_stands_there(reason: str) -> None:
    text = "".join(Path(module.__file__ or "").read_text(encoding="utf-8") for module in (writer, sink))
    assert f'"{reason}"' in text
    assert f"`{reason}`" in PAGE


def test_the_names_of_files_stand_there() -> None:
    assert files.SUFFIX in PAGE
    assert files.STATUS_SUFFIX in PAGE
