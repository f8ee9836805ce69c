"""The documentation names everything that there is, and what it shows works."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.config.argparsing import Parser

import pytest_statebase
from pytest_statebase import cli, errors, hookspecs, plugin, plugin_settings
from pytest_statebase.cassette import load_cassette, read_record
from pytest_statebase.compare.model import Kind, Verdict
from pytest_statebase.errors import StatebaseError

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
BLOCK = re.compile(
    r"<!-- (?P<what>[a-z]+): (?P<name>[^\n]+?) -->\n```\w+\n(?P<text>.*?)```\n(?:\n```text\n(?P<shown>.*?)```)?",
    re.DOTALL,
)
AGENTS = re.compile(r"\$ (?P<command>[^\n]+)\n…\n(?P<shown>.*?)```", re.DOTALL)


def names() -> Iterator[tuple[str, str]]:
    """Everything that a user can type, with the way in which the documentation writes it."""
    parser = Parser(_ispytest=True)
    plugin_settings.add_options(parser)
    for group in parser._groups:
        yield from ((name, f"`{name}") for option in group.options for name in option.names())
    yield from ((key, f"`{key}`") for key in parser._inidict)
    yield from ((hook, f"`{hook}") for hook in vars(hookspecs) if hook.startswith("pytest_"))
    yield from ((name, f"`{name}`") for name in vars(plugin) if name in ("statebase_agent", "statebase_replay"))
    yield from ((name, f"`pytest-statebase {name}") for name in cli._COMMANDS)
    yield from ((str(verdict), f"`{verdict}`") for verdict in Verdict)
    yield from ((str(kind), f"`{kind}`") for kind in Kind)
    yield from ((name, f"`{name}") for name in pytest_statebase.__all__)
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
    assert sorted(fixtures) == ["statebase_agent", "statebase_replay"]


def test_named_options_exist() -> None:
    known = {name for name, _ in names()}
    planned = {"--statebase-accept"}
    assert set(re.findall(r"--statebase-[a-z-]+", TEXT)) <= known | planned
    assert set(re.findall(r"statebase_(?:agent|mode|tools|un\w+|re\w+|cas\w+|sim\w+)", TEXT)) <= known


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)]+)\)", page.read_text(encoding="utf-8")):
            file, _, anchor = target.partition("#")
            assert (page.parent / file).exists(), target
            if anchor:
                titles = re.findall(r"^#+ (.+)$", (page.parent / file).read_text(encoding="utf-8"), re.MULTILINE)
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
    pytester.makepyfile("\n".join(blocks("check", name="python")))
    pytester.makeini(
        f"""
        [pytest]
        pythonpath = {ROOT / "fixtures"}
        statebase_cassettes = {ROOT / "fixtures"}
        statebase_tools = support_agent.tools:*
        statebase_agent = support_agent.fixed:SupportAgent
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


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
    module = {"pytest": "pytest", "pytest-statebase": "pytest_statebase.cli"}[Path(program).name]
    return pytester.run(sys.executable, "-m", module, *own, *arguments)


def assert_shown(excerpt: str, result: pytest.RunResult) -> None:
    """Every line of a transcript was printed, in this order; durations differ."""
    timeless = [re.sub(r"in \d+\.\d+s =+", "in *", line) for line in excerpt.splitlines()]
    result.stdout.fnmatch_lines([re.sub(r"\[", "[[]", line) for line in timeless if line])


def test_the_guided_tour(pytester: pytest.Pytester) -> None:
    """Writes the files and runs the commands of "First use" in order; each must print what is said of it."""
    steps = [match for match in BLOCK.finditer(TEXT) if match["what"] in ("file", "run")]
    assert [match["what"] for match in steps] == ["file", "run", "file", "file", "run", "file", "run"]
    for match in steps:
        if match["what"] == "file":
            (pytester.path / match["name"]).write_text(match["text"], encoding="utf-8")
            continue
        result = run(pytester, match["text"])
        result.stdout.fnmatch_lines([f"*{match['name']}*"])
        assert_shown(match["shown"] or "", result)


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
