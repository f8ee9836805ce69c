"""The documentation names everything that there is, and what it shows works."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from _pytest.config.argparsing import Parser

import pytest_statebase
from pytest_statebase import cli, errors, hookspecs, plugin, plugin_settings
from pytest_statebase.cassette import load_cassette, read_record
from pytest_statebase.compare.model import Kind, Verdict
from pytest_statebase.errors import StatebaseError
from pytest_statebase.statebase import client

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
BLOCK = re.compile(
    r"<!-- (?P<what>[a-z]+): (?P<name>[^\n]+?) -->\n```\w+\n(?P<text>.*?)```\n(?:\n```text\n(?P<shown>.*?)```)?",
    re.DOTALL,
)
AGENTS = re.compile(r"\$ (?P<command>[^\n]+)\n…\n(?P<shown>.*?)```", re.DOTALL)


FIXTURES = ("statebase_agent", "statebase_client", "statebase_replay")


def names() -> Iterator[tuple[str, str]]:
    """Everything that a user can type, with the way in which the documentation writes it."""
    parser = Parser(_ispytest=True)
    plugin_settings.add_options(parser)
    for group in parser._groups:
        yield from ((name, f"`{name}") for option in group.options for name in option.names())
    yield from ((key, f"`{key}`") for key in parser._inidict)
    yield from ((hook, f"`{hook}") for hook in vars(hookspecs) if hook.startswith("pytest_"))
    yield from ((name, f"`{name}`") for name in vars(plugin) if name in FIXTURES)
    yield from ((name, f"`pytest-statebase {name}") for name in cli._COMMANDS)
    yield from ((str(verdict), f"`{verdict}`") for verdict in Verdict)
    yield from ((str(kind), f"`{kind}`") for kind in Kind)
    yield from ((name, f"`{name}") for name in pytest_statebase.__all__)
    for space in (client.Sessions, client.Memory, client.Traces):
        calls = [f"{space.__name__.lower()}.{name}" for name in vars(space) if not name.startswith("_")]
        yield from ((call, f"`{call}") for call in calls)
    for kind in vars(errors).values():
        if isinstance(kind, type) and hasattr(kind, "slug"):
            yield kind.__name__, f"`{kind.__name__}`"
            yield kind.slug, f'<a id="{kind.slug}"></a>`{kind.slug}`'


@pytest.mark.parametrize(("name", "written"), sorted(set(names())), ids=lambda text: re.sub(r"\W+", "-", text))
def test_is_documented(name: str, written: str) -> None:
    # What follows may be arguments, but no longer name: `--statebase-report=PATH`.
    assert re.search(re.escape(written) + r"(?![\w-])", TEXT), (
        f"{name} is not in {', '.join(page.name for page in PAGES)}"
    )


def test_every_fixture_is_known_to_this_test() -> None:
    fixtures = [name for name, value in vars(plugin).items() if type(value).__name__ == "FixtureFunctionDefinition"]
    assert sorted(fixtures) == sorted(FIXTURES)


def test_named_options_exist() -> None:
    known = {name for name, _ in names()}
    planned = {"--statebase-accept"}
    assert set(re.findall(r"--statebase-[a-z-]+", TEXT)) <= known | planned
    assert set(re.findall(r"statebase_(?:agent|mode|tools|un\w+|re\w+|cas\w+|sim\w+)", TEXT)) <= known


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\((?!https?:)([^)]+)\)", prose):
            file, _, anchor = target.partition("#")
            assert (page.parent / file).exists(), target
            if anchor:
                text = (page.parent / file if file else page).read_text(encoding="utf-8")
                titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
                assert anchor in [title.lower().replace(" ", "-").replace(",", "") for title in titles], target


def blocks(what: str, *, name: str | None = None) -> list[str]:
    found = [match["text"] for match in BLOCK.finditer(TEXT) if match["what"] == what and name in (None, match["name"])]
    assert found, f"the documentation has no block marked {what}: {name}"
    return found


def test_python_samples_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for text in blocks("exec", name="python"):
        exec(compile(text, "README.md", "exec"), {})


def test_python_samples_are_tests(pytester: pytest.Pytester) -> None:
    text = "\n".join(blocks("check", name="python"))
    pytester.makepyfile(text)
    pytester.makeini(
        f"""
        [pytest]
        pythonpath = {ROOT / "fixtures"}
        statebase_cassettes = {ROOT / "fixtures"}
        statebase_tools = support_agent.tools:*
        statebase_agent = support_agent.fixed:SupportAgent
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=len(re.findall(r"^def test_", text, re.MULTILINE)))


def test_samples_of_tools_are_tests(pytester: pytest.Pytester) -> None:
    text = "\n".join(blocks("check", name="stubs"))
    pytester.makepyfile(text)
    pytester.runpytest_subprocess().assert_outcomes(passed=len(re.findall(r"^def test_", text, re.MULTILINE)))


def test_samples_of_captures_are_tests(pytester: pytest.Pytester) -> None:
    for number, text in enumerate(blocks("check", name="capture")):
        pytester.makepyfile(**{f"test_sample_{number}": text})
    pytester.runpytest_subprocess().assert_outcomes(passed=number + 1)


def test_plan_samples_are_plans(tmp_path: Path) -> None:
    record = (ROOT / "fixtures" / "second-refund.record.yaml").read_bytes()
    for text in blocks("check", name="plan"):
        (tmp_path / "second-refund.record.yaml").write_bytes(record)
        (tmp_path / "sample.session.yaml").write_text(text, encoding="utf-8")
        assert len(load_cassette(tmp_path / "sample.session.yaml").ledger.turns) == 4


def test_defaults_samples_are_defaults(tmp_path: Path) -> None:
    for text in blocks("check", name="defaults"):
        (tmp_path / "statebase.yaml").write_text(text, encoding="utf-8")
        (tmp_path / "sample.session.yaml").write_text("cassette: 1\n", encoding="utf-8")
        assert load_cassette(tmp_path / "sample.session.yaml").plan.tools


def test_record_samples_are_records(tmp_path: Path) -> None:
    for text in blocks("check", name="record"):
        (tmp_path / "sample.record.yaml").write_text(text, encoding="utf-8")
        assert read_record(tmp_path / "sample.record.yaml").turns


def run(pytester: pytest.Pytester, command: str, *arguments: str) -> pytest.RunResult:
    program, *own = shlex.split(command)
    if program == "python":
        return pytester.run(sys.executable, *own)
    found = [sorted(path.relative_to(pytester.path) for path in pytester.path.glob(one)) for one in own if "*" in one]
    plain = [one for one in own if "*" not in one]
    module = {"pytest": "pytest", "pytest-statebase": "pytest_statebase.cli"}[Path(program).name]
    return pytester.run(sys.executable, "-m", module, *[path for some in found for path in some], *plain, *arguments)


def assert_shown(excerpt: str, result: pytest.RunResult) -> None:
    """Every line of a transcript was printed, in this order; durations and what `…` stands for differ."""
    timeless = [re.sub(r"in \d+\.\d+s =+", "in *", line) for line in excerpt.splitlines()]
    result.stdout.fnmatch_lines([re.sub(r"\[", "[[]", line).replace("…", "*") for line in timeless if line])


@contextmanager
def serving(pytester: pytest.Pytester, command: str, said: str) -> Iterator[str]:
    """A server that a page starts, on any free port: its address. said: what it prints before that."""
    own = [sys.executable, "-m", "pytest_statebase.cli", *shlex.split(command)[1:], "--port=0"]
    server = pytester.popen(own, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        told = server.stdout.readline().decode()
        assert told.startswith(said), told
        yield told.split()[-1]
    finally:
        server.terminate()
        server.stdout.close()
        server.wait()


TOURS = [page for page in PAGES if re.search(r"^<!-- run: ", page.read_text(encoding="utf-8"), re.MULTILINE)]
INI = """
[pytest]
pythonpath = fixtures .
statebase_agent = support_agent.fixed:SupportAgent
statebase_tools = support_agent.tools:*
"""


@pytest.mark.parametrize("page", TOURS, ids=lambda page: page.stem)
def test_the_tour_of_a_page(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, page: Path
) -> None:
    """Writes the files and runs the commands of a page in order; each must print what is said of it."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    text = page.read_text(encoding="utf-8")
    if "<!-- setup: the sample agent -->" in text:
        shutil.copytree(ROOT / "fixtures", pytester.path / "fixtures")
        pytester.makeini(INI)
    servers = ExitStack()
    request.addfinalizer(servers.close)
    for step in BLOCK.finditer(text):
        path = pytester.path / step["name"]
        if step["what"] == "file":
            path.parent.mkdir(exist_ok=True)
            path.write_text(step["text"], encoding="utf-8")
        elif step["what"] == "serve":
            address = servers.enter_context(serving(pytester, step["text"], step["name"]))
            monkeypatch.setenv("STATEBASE_BASE_URL", address)
        elif step["what"] == "edit":
            before = path.read_text(encoding="utf-8")
            assert before.count(step["text"]) == 1
            path.write_text(before.replace(step["text"], step["shown"]), encoding="utf-8")
        elif step["what"] == "run":
            result = run(pytester, step["text"])
            result.stdout.fnmatch_lines([f"*{step['name']}*"])
            assert_shown(step["shown"] or "", result)


def test_there_are_tours() -> None:
    assert {page.stem for page in TOURS} >= {
        "README",
        "first-cassette",
        "verdicts",
        "rules",
        "living",
        "production",
        "capture",
    }
    readme = [match["what"] for match in BLOCK.finditer(PAGES[0].read_text(encoding="utf-8"))]
    assert [what for what in readme if what in ("file", "run")] == ["file", "run", "file", "file", "run", "file", "run"]


@pytest.mark.parametrize("which", ["repaired", "production"])
def test_transcripts_of_the_sample_agent(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    if which == "repaired":
        found = next(match for match in BLOCK.finditer(TEXT) if match["name"] == "replay")
        command = found["text"].rpartition("&& ")[2]
    else:
        matched = AGENTS.search(TEXT)
        assert matched is not None
        found, command = matched, matched["command"]
    report = pytester.path / "report.html"
    monkeypatch.chdir(ROOT)
    result = run(pytester, command, f"--statebase-report={report}", "-p", "no:cacheprovider")
    assert result.ret == (0 if which == "repaired" else 1)
    shown = found["shown"].replace("statebase-report.html", "*report.html")
    assert_shown(shown, result)
    assert report.exists()


def test_errors_have_slugs_of_their_own() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, StatebaseError)]
    assert len({kind.slug for kind in kinds}) == len(kinds)
