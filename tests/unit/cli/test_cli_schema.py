from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from pytest_statebase.cli import main


@pytest.mark.parametrize("arguments", [[], ["plan"], ["defaults"], ["record"]])
def test_a_schema_is_printed(arguments: list[str]) -> None:
    result = CliRunner().invoke(main, ["schema", *arguments])
    assert result.exit_code == 0
    name = {"defaults": "statebase.yaml", "record": "NAME.record.yaml"}.get("".join(arguments), "NAME.session.yaml")
    assert name in json.loads(result.output)["title"]


def test_one_that_there_is_not() -> None:
    result = CliRunner().invoke(main, ["schema", "session"])
    assert result.exit_code == 2
    assert "'plan', 'defaults', 'record'" in result.output
