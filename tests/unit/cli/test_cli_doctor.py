"""`doctor`: how a project stands."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from _pytest.config.argparsing import Parser
from click.testing import Result

from pytest_statebase import plugin_settings
from pytest_statebase.cassette import write_http, write_record
from pytest_statebase.cli.checkproject import KEYS
from pytest_statebase.cli.sourcenames import names_of
from pytest_statebase.ledger import Ledger, SessionCreated, TurnAdded, TurnStarted

Run = Callable[..., Result]
INI = "[pytest]\nstatebase_agent = app.agent:answer\nstatebase_tools =\n    app.tools:*\n    app.tools:Desk.open\n"
AGENT = "def answer(user_input): raise SystemExit('doctor runs no code')\nraise SystemExit('nor this')\n"
TOOLS = "class Desk:\n    def open(self): ...\n\nasync def look(): ...\n"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in which all is well."""
    monkeypatch.chdir(tmp_path)
    for name, text in {"pytest.ini": INI, "app/agent.py": AGENT, "app/tools.py": TOOLS}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    cassette("one")
    return tmp_path


def cassette(name: str, **created: Any) -> Path:
    said = {"type": "text", "content": "x"}
    Path("fixtures").mkdir(exist_ok=True)
    path = Path(f"fixtures/{name}.record.yaml")
    write_record(path, Ledger([SessionCreated(name, **created), TurnStarted(1, said), TurnAdded(said)]))
    Path(f"fixtures/{name}.session.yaml").write_text("cassette: 1\n", encoding="utf-8")
    return path


def findings(run: Run, *arguments: object) -> list[tuple[str, str, str]]:
    result = run("doctor", *arguments, "--json")
    found = json.loads(result.stdout)
    listed = [(one["state"], one["what"], one["do"]) for place in found["places"] for one in place["findings"]]
    assert result.exit_code == (1 if found["mend"] else 0)
    assert all(do for state, _, do in listed if state != "ok")
    return listed


def wrong(run: Run, *arguments: object) -> list[tuple[str, str, str]]:
    return [one for one in findings(run, *arguments) if one[0] != "ok"]


def test_all_is_well(shop: Path, run: Run) -> None:
    assert wrong(run) == []
    result = run("doctor")
    assert "  ok    pytest.ini: every key is known, and what it names is there\n" in result.output
    assert "  ok    1 cassette: all sealed, nothing missing\n" in result.output
    assert f"pytest {metadata.version('pytest')}" in result.output
    assert "3 ok, 0 to look at, 0 to mend\n" in result.output


def test_the_keys_are_those_of_the_plugin() -> None:
    parser = Parser(_ispytest=True)
    plugin_settings.add_options(parser)
    assert set(parser._inidict) == KEYS


@pytest.mark.parametrize(
    ("line", "what", "do"),
    [
        ("statebase_tool = x:*", "pytest.ini: there is no key statebase_tool", "Write statebase_tools."),
        ("statebase_simulator = nowhere:fake", "statebase_simulator: there is no module nowhere", "pythonpath = src"),
        ("statebase_simulator = app.tools:fake", "statebase_simulator: app.tools has no fake", "Correct the name"),
        ("statebase_simulator = fake", "statebase_simulator = fake names nothing", "Write module:attribute"),
        ("statebase_cassettes = calls", "calls should hold the cassettes, and is not there", "pytest-statebase init"),
    ],
)
def test_keys_that_name_nothing(shop: Path, run: Run, line: str, what: str, do: str) -> None:
    Path("pytest.ini").write_text(f"{INI}{line}\n", encoding="utf-8")
    found = [one for one in wrong(run) if one[0] == "mend"]
    assert [one[1] for one in found] == [what]
    assert do in found[0][2]


@pytest.mark.parametrize(
    ("tools", "what"),
    [
        ("app.other:*", "there is no module app.other"),
        ("app.agent:get_*", "app.agent:get_* matches no public function that is defined there"),
        ("app.tools:Desk.close", "app.tools has no Desk.close"),
        ("app.tools", "statebase_tools = app.tools names nothing"),
    ],
)
def test_tools_that_are_not_there(shop: Path, run: Run, tools: str, what: str) -> None:
    Path("pytest.ini").write_text(f"[pytest]\nstatebase_agent = app.agent:answer\nstatebase_tools = {tools}\n", "utf-8")
    assert [told.removeprefix("statebase_tools: ") for _, told, _ in wrong(run)] == [what]


@pytest.mark.parametrize(
    ("source", "name", "is_there"),
    [
        ("from x import *", "anything", True),
        ("def __getattr__(name): ...", "anything", True),
        ("try:\n    import fast as agent\nexcept ImportError:\n    agent = None", "agent", True),
        ("if True:\n    for agent in ():\n        pass", "agent", True),
        ("agent, other = 1, 2", "other", True),
        ("agent: int = 1", "agent.inside", True),
        ("def f():\n    agent = 1", "agent", False),
        ("class A(Base): ...", "A.inherited", True),
        ("class A:\n    def own(self): ...", "A.inherited", False),
        ("x = (", "anything", True),
    ],
)
def test_names_of_a_module(tmp_path: Path, source: str, name: str, is_there: bool) -> None:
    (tmp_path / "one.py").write_text(source, encoding="utf-8")
    names = names_of("one", [str(tmp_path)])
    assert names is not None
    assert names.holds(name) is is_there


def test_names_of_installed_modules() -> None:
    decoder = names_of("json.decoder", [])
    assert decoder is not None
    assert decoder.holds("JSONDecoder.decode")
    assert not decoder.holds("Nothing")
    built_in = names_of("sys", [])
    assert built_in is not None
    assert built_in.holds("path")
    assert names_of("no_such_module_at_all.inside", []) is None


def test_without_an_agent(shop: Path, run: Run) -> None:
    Path("pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    assert [(state, what) for state, what, _ in wrong(run)] == [("look", "nothing says where the agent comes from")]
    Path("conftest.py").write_text("def statebase_agent(): ...\n", encoding="utf-8")
    assert wrong(run) == []


def test_cassettes_that_lack_something(shop: Path, run: Run) -> None:
    record = cassette("unsealed")
    record.write_text(record.read_text(encoding="utf-8").rpartition("seal:")[0], encoding="utf-8")
    broken = cassette("broken")
    broken.write_text(broken.read_text(encoding="utf-8").replace("content: x", "content: y", 1), encoding="utf-8")
    cassette("http", http=True)
    cassette("alone")
    Path("fixtures/alone.session.yaml").unlink()
    cassette("gone").unlink()
    found = {what.partition(":")[0].partition(" ")[0]: (state, what, do) for state, what, do in wrong(run)}
    assert sorted(found) == [
        "fixtures/alone.record.yaml",
        "fixtures/broken.record.yaml",
        "fixtures/gone.session.yaml",
        "fixtures/http.http.yaml",
        "fixtures/unsealed.record.yaml",
    ]
    assert found["fixtures/alone.record.yaml"][0] == "look"
    assert "the seal is broken" in found["fixtures/broken.record.yaml"][1]
    assert "pytest-statebase seal fixtures/unsealed.record.yaml" in found["fixtures/unsealed.record.yaml"][2]
    assert "is missing" in found["fixtures/http.http.yaml"][1]
    write_http("fixtures/http.http.yaml", [])
    assert len(wrong(run)) == 4


def test_many_of_a_sort_are_told_once(shop: Path, run: Run) -> None:
    for number in range(30):
        cassette(f"c{number:02}")
        Path(f"fixtures/c{number:02}.session.yaml").unlink()
    told = [what for _, what, _ in wrong(run)]
    assert len(told) == 11
    assert told[-1] == "20 more: no plan"


def test_packages_that_are_too_old_or_missing(shop: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    known = metadata.version

    def version(name: str) -> str:
        if name == "deepdiff":
            raise metadata.PackageNotFoundError(name)
        return {"vcrpy": "4.0", "httpx": "0.1"}.get(name) or known(name)

    needed = ["deepdiff>=8.6.2", "vcrpy>=9.2", "httpx>=0.28; extra == 'pull'", "absent>=1; extra == 'pull'"]
    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(metadata, "requires", lambda name: needed)
    found = {what.split(",")[0]: (state, do) for state, what, do in wrong(run)}
    assert found["the package deepdiff is not installed"][0] == "mend"
    assert found["vcrpy 4.0 is installed"] == ("mend", "pip install -U vcrpy")
    assert found["httpx 0.1 is installed"][0] == "look"
    assert len(found) == 3


def test_an_ini_file_that_cannot_be_read(shop: Path, run: Run) -> None:
    Path("pytest.ini").write_text("[pytest\n", encoding="utf-8")
    result = run("doctor", "fixtures", "--json")
    assert result.exit_code == 1
    assert "the file cannot be read" in result.output


def test_a_directory_with_neither(tmp_path: Path, run: Run) -> None:
    result = run("doctor", tmp_path)
    assert (result.exit_code, "there is no capture and no project here" in result.output) == (1, True)


def test_hostile_names(shop: Path, run: Run) -> None:
    cassette("bad").write_text('record: 1\nkind: "\\e[31m"\n', encoding="utf-8")
    Path("pytest.ini").write_text(
        INI + "statebase_\x1b[2J = 1\nstatebase_simulator = a\x1bb:\u202ec\n", encoding="utf-8"
    )
    result = run("doctor")
    assert result.exit_code == 1
    assert all(char == "\n" or char.isprintable() for char in result.output)
