from __future__ import annotations

import re
import subprocess
import textwrap
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


WRITTEN = [
    ".gitattributes",
    ".github/CODEOWNERS",
    ".github/workflows/statebase-comment.yml",
    ".github/workflows/statebase-replay.yml",
    "pytest.ini",
]


def written() -> list[str]:
    return sorted(str(path) for path in Path().rglob("*") if path.is_file())


def test_a_new_project() -> None:
    result = init(
        "--agent", "app.agent:Support", "--tools", "app.tools:*", "--tools", "app.mail:send", "--out", "calls"
    )
    assert result.exit_code == 0, result.output
    assert written() == WRITTEN
    assert Path("calls").is_dir()
    for name in WRITTEN:
        # What it is for stands in the line below.
        assert re.search(rf"^{re.escape(name)} written\n    \w", result.output, re.MULTILINE), name
    project = find_project()
    assert project.text("statebase_agent") == "app.agent:Support"
    assert project.lines("statebase_tools") == ["app.tools:*", "app.mail:send"]
    assert project.cassettes == [Path.cwd() / "calls"]
    assert "conftest" not in result.output


@pytest.mark.parametrize(("file", "place"), [("app.py", ["."]), ("src/app/__init__.py", ["src"]), ("other.py", [])])
def test_the_agent_is_importable(file: str, place: list[str]) -> None:
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    Path(file).write_text("", encoding="utf-8")
    init("--agent", "app.agent:Support")
    assert find_project().words("pythonpath") == place


def test_a_project_with_settings_of_its_own_is_told_what_to_add() -> None:
    text = '[tool.pytest.ini_options]\nstatebase_agent = "app:Mine"\n'
    Path("pyproject.toml").write_text(text, encoding="utf-8")
    result = init("--agent", "app.agent:Support", "--tools", "app.tools:*")
    assert 'Add to [tool.pytest.ini_options]:\n\nstatebase_tools = ["app.tools:*"]\n' in result.output
    assert "app.agent:Support" not in result.output
    assert Path("pyproject.toml").read_text(encoding="utf-8") == text
    assert not Path("pytest.ini").exists()


def test_without_an_agent_it_is_said_where_to_name_it() -> None:
    assert "conftest.py written" in init().output
    text = Path("conftest.py").read_text(encoding="utf-8")
    compile(text, "conftest.py", "exec")
    assert "def statebase_agent():" in text
    # What is not said yet stands in the ini file in comments.
    assert find_project().values == {}
    assert "# statebase_agent = myapp.agent:SupportAgent" in Path("pytest.ini").read_text(encoding="utf-8")


def test_what_is_marked_for_capture_is_the_agent() -> None:
    Path("src/shop").mkdir(parents=True)
    source = """
        import pytest_statebase
        raise SystemExit("nothing runs")
        @pytest_statebase.capture.agent(session="thread")
        async def answer(thread, text): ...
        def start():
            return pytest_statebase.capture("captured", tools=["shop.tools:*", "x\\n[y]"], sample=0.1)
        @other.agent
        def no(): ...
    """
    Path("src/shop/__init__.py").write_text(textwrap.dedent(source), encoding="utf-8")
    Path("broken.py").write_text("capture(", encoding="utf-8")
    assert "The agent is shop:answer, as src/shop/__init__.py marks it for capture." in init().output
    project = find_project()
    assert project.text("statebase_agent") == "shop:answer"
    assert project.lines("statebase_tools") == ["shop.tools:*"]
    assert project.words("pythonpath") == ["src"]


def test_of_several_agents_one_is_to_be_named() -> None:
    for name in ("a", "b"):
        Path(f"{name}.py").write_text("@capture.agent\ndef answer(text): ...\n", encoding="utf-8")
    result = init()
    assert "Several agents are marked for capture: name one with --agent: a:answer, b:answer" in result.output
    assert find_project().text("statebase_agent") is None
    assert Path("conftest.py").exists()


def test_a_conftest_of_its_own_is_told_what_to_add() -> None:
    Path("conftest.py").write_text("mine = 1\n", encoding="utf-8")
    result = init()
    assert "conftest.py stays as it is" in result.output
    assert "def statebase_agent():" in result.output
    assert Path("conftest.py").read_text(encoding="utf-8") == "mine = 1\n"
    Path("conftest.py").write_text("def statebase_agent(): ...\n", encoding="utf-8")
    assert "def statebase_agent():" not in init().output


def test_an_agent_that_is_named_needs_no_conftest() -> None:
    init("--agent", "a:b")
    assert not Path("conftest.py").exists()


def test_attributes_and_owners_of_its_own_are_told_what_to_add() -> None:
    Path(".gitattributes").write_text("*.record.yaml -diff\n", encoding="utf-8")
    Path("CODEOWNERS").write_text("* @me\n", encoding="utf-8")
    result = init("--out", "calls")
    assert ".gitattributes stays as it is. Add to it:" in result.output
    assert "*.record.yaml    text" not in result.output
    assert "*.http.yaml      text eol=lf merge=binary" in result.output
    assert "CODEOWNERS stays as it is. You may add to it:" in result.output
    assert "# /calls/*.session.yaml" in result.output
    assert Path(".gitattributes").read_text(encoding="utf-8") == "*.record.yaml -diff\n"
    assert Path("CODEOWNERS").read_text(encoding="utf-8") == "* @me\n"
    assert not Path(".github/CODEOWNERS").exists()


def test_attributes_say_to_git_what_they_should() -> None:
    init()
    subprocess.run(["git", "init", "-q"], check=True)
    names = ["text", "eol", "merge", "linguist-generated"]

    def attributes(file: str) -> list[str]:
        command = ["git", "check-attr", *names, "--", file]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return [line.rpartition(": ")[2] for line in told.splitlines()]

    assert attributes("fixtures/x.record.yaml") == ["set", "lf", "binary", "true"]
    assert attributes("fixtures/x.accepted.http.yaml") == ["set", "lf", "binary", "true"]
    assert attributes("fixtures/x.pulled.json") == ["set", "lf", "binary", "true"]
    assert attributes("fixtures/x.session.yaml") == ["set", "lf", "unspecified", "unspecified"]
    assert attributes("fixtures/x.accepted.yaml") == ["set", "lf", "unspecified", "unspecified"]
    assert attributes("app.py") == ["unspecified"] * 4


def test_the_sample_of_owners_asks_nobody() -> None:
    init()
    text = Path(".github/CODEOWNERS").read_text(encoding="utf-8")
    assert all(line.startswith("#") for line in text.splitlines())
    assert "# /fixtures/*.record.yaml    @your-org/privacy" in text


def test_without_a_workflow() -> None:
    init("--no-ci")
    assert not Path(".github/workflows").exists()


def test_what_is_there_stays() -> None:
    init("--ci", "--pull")
    for path in Path(".github").rglob("*.yml"):
        path.write_text("mine", encoding="utf-8")
    result = init("--ci", "--pull", "--agent", "a:b")
    assert result.output.count("is there already") == 4
    assert result.output.count(" stays as it is") == 6
    assert all(path.read_text(encoding="utf-8") == "mine" for path in Path(".github").rglob("*.yml"))
    assert "a:b" not in Path("pytest.ini").read_text(encoding="utf-8")


def steps(name: str) -> list[dict[str, Any]]:
    document = yaml.safe_load(Path(f".github/workflows/{name}.yml").read_text(encoding="utf-8"))
    [job] = document["jobs"].values()
    return list(job["steps"])


def test_workflows_are_ones() -> None:
    init("--ci", "--pull", "--agent-id", "customer-support", "--out", "tests/calls")
    [upload] = [step for step in steps("statebase-replay") if "upload-artifact" in step.get("uses", "")]
    assert upload["if"] == "always()"
    assert upload["with"]["path"].split()[:2] == ["statebase-report.html", "statebase-results.jsonl"]
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
