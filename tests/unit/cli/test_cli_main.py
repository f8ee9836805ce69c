from __future__ import annotations

import subprocess
import sys

import pytest
from click.testing import CliRunner

from pytest_statebase.cli import main


def test_help_lists_the_commands() -> None:
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    for command in ("import", "show", "timeline", "status", "expect", "report", "seal", "verify"):
        assert f"\n  {command} " in result.stdout


def test_version_works_without_an_installation_too() -> None:
    result = CliRunner().invoke(main, ["--version"])
    assert result.exit_code == 0
    assert result.stdout.startswith("pytest-statebase ")


@pytest.mark.parametrize("command", ["import", "show", "timeline", "status", "expect", "report", "seal", "verify"])
def test_each_command_has_help(command: str) -> None:
    result = CliRunner().invoke(main, [command, "-h"])
    assert result.exit_code == 0
    assert result.stdout.startswith("Usage:")


def test_commands_are_loaded_lazily() -> None:
    program = (
        "import sys; from pytest_statebase.cli import main; main(['verify', '-h'], standalone_mode=False); "
        "print(sorted(name for name in sys.modules if name in ('yaml', 'tqdm', 'deepdiff', 'jinja2', "
        "'pytest_statebase.importers', 'pytest_statebase.report')))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "[]"
