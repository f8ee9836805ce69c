from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner, Result

from pytest_statebase.cli import main
from pytest_statebase.cli.project import find_project


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def init(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["init", *arguments])


def files() -> list[str]:
    return sorted(str(path) for path in Path().rglob("*"))


def test_a_new_project() -> None:
    result = init(
        "--agent", "app.agent:Support", "--tools", "app.tools:*", "--tools", "app.mail:send", "--out", "calls"
    )
    assert result.exit_code == 0, result.output
    assert files() == ["calls", "pytest.ini"]
    project = find_project()
    assert project.text("statebase_agent") == "app.agent:Support"
    assert project.lines("statebase_tools") == ["app.tools:*", "app.mail:send"]
    assert project.cassettes == [Path.cwd() / "calls"]
    assert "conftest" not in result.output


def test_a_project_with_settings_of_its_own_is_told_what_to_add() -> None:
    text = '[tool.pytest.ini_options]\nstatebase_agent = "app:Mine"\n'
    Path("pyproject.toml").write_text(text, encoding="utf-8")
    result = init("--agent", "app.agent:Support", "--tools", "app.tools:*")
    assert 'Add to [tool.pytest.ini_options]:\n\nstatebase_tools = ["app.tools:*"]\n' in result.output
    assert "app.agent:Support" not in result.output
    assert (files(), Path("pyproject.toml").read_text(encoding="utf-8")) == (["fixtures", "pyproject.toml"], text)


def test_without_an_agent_it_is_said_where_to_name_it() -> None:
    result = init()
    assert "def statebase_agent():" in result.output
    compile(
        result.output[result.output.index("import pytest") : result.output.rindex("SupportAgent") + 12], "x", "exec"
    )


def test_what_is_there_stays() -> None:
    init("--ci", "--pull")
    for path in Path(".github").rglob("*.yml"):
        path.write_text("mine", encoding="utf-8")
    result = init("--ci", "--pull", "--agent", "a:b")
    assert result.output.count("is there already") == 3
    assert all(path.read_text(encoding="utf-8") == "mine" for path in Path(".github").rglob("*.yml"))
    assert "a:b" not in Path("pytest.ini").read_text(encoding="utf-8")


def steps(name: str) -> list[dict[str, Any]]:
    document = yaml.safe_load(Path(f".github/workflows/{name}.yml").read_text(encoding="utf-8"))
    [job] = document["jobs"].values()
    return list(job["steps"])


def test_workflows_are_ones() -> None:
    init("--ci", "--pull", "--agent-id", "customer-support", "--out", "tests/calls")
    for name in ("statebase-replay", "statebase-pull"):
        found = steps(name)
        actions = [step["uses"] for step in found if "uses" in step]
        assert actions
        assert all(re.fullmatch(r"actions/[a-z-]+@v\d+\.\d+\.\d+", action) for action in actions)
        for script in (step["run"] for step in found if "run" in step):
            subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    [pull] = [step for step in steps("statebase-pull") if step.get("name") == "Pull"]
    assert pull["env"] == {"STATEBASE_API_KEY": "${{ secrets.STATEBASE_API_KEY }}"}
    _, command, *arguments = pull["run"].split()
    found = main.get_command(click.Context(main), command)
    assert found is not None
    with found.make_context("pull", arguments) as context:
        assert context.params["agent"] == "customer-support"
        assert context.params["out"] == Path("tests/calls")
        assert context.params["failed"] is True


@pytest.mark.parametrize(
    "arguments",
    [
        ["--agent", "no module"],
        ["--agent", "a:b\nc = d"],
        ["--tools", "a:b\n[x]"],
        ["--pull", "--agent-id", "x; rm -rf /"],
        ["--pull", "--agent-id", "${{ secrets.X }}"],
        ["--agent-id", "x"],
        ["--out", "../else"],
        ["--out", "/tmp"],
        ["--out", "a b"],
        ["--out", "-x"],
    ],
)
def test_nothing_is_written_that_cannot_be_meant(arguments: list[str]) -> None:
    result = init(*arguments)
    assert result.exit_code == 1
    assert result.output.startswith("Error: --")
    assert files() == []


def test_a_file_in_the_way() -> None:
    Path("fixtures").write_text("", encoding="utf-8")
    result = init()
    assert (result.exit_code, "fixtures: the directory cannot be made" in result.output) == (1, True)
