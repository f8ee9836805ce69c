"""`pytest-statebase init`."""

from __future__ import annotations

import re
from pathlib import Path

import click

from .. import __version__
from ..errors import FileError, OptionError
from .output import say
from .project import Project, find_project
from .pullworkflow import pull_workflow
from .targets import shown
from .workflows import comment_workflow, replay_workflow

_AGENT = re.compile(r"[\w.]+:[\w.]+", re.ASCII)
_TOOL = re.compile(r"[\w.]+:[\w.*?\[\]]+|mcp(:\*)?", re.ASCII)
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}")
_PLACE = re.compile(r"[A-Za-z0-9._/-]+")


@click.command("init")
@click.option("--agent", metavar="MODULE:ATTR", help="The agent under test.")
@click.option("--tools", multiple=True, metavar="PATTERN", help="Its tools, such as myapp.tools:*; several times.")
@click.option("--out", default="fixtures", show_default=True, metavar="DIR", help="The directory for the cassettes.")
@click.option("--ci/--no-ci", default=True, help="GitHub workflows that replay on every pull request, and comment.")
@click.option("--first/--no-first", default=True, help="A first cassette of what is found in the project.")
@click.option(
    "--pull",
    is_flag=True,
    help="Also a scheduled GitHub workflow that pulls failures before they expire, and proposes them.",
)
@click.option("--agent-id", metavar="ID", help="With --pull: the agent's id in StateBase, to pull its sessions alone.")
def command(
    agent: str | None, tools: tuple[str, ...], out: str, ci: bool, first: bool, pull: bool, agent_id: str | None
) -> None:
    """Set a project up for replays.

    Writes pytest.ini, the directory for the cassettes with a first one of what is found (journals of capture, pulled
    files, exports of tracers), conftest.py where no --agent is named, .gitattributes, a sample of CODEOWNERS and
    GitHub workflows, and says what each is for. Nothing that exists is changed: lines to add are printed.
    """
    _check(agent, _AGENT, "--agent", "myapp.agent:SupportAgent")
    for tool in tools:
        _check(tool, _TOOL, "--tools", "myapp.tools:*")
    _check(agent_id, _ID, "--agent-id", "customer-support")
    _check(out, _PLACE, "--out", "fixtures")
    if Path(out).is_absolute() or ".." in Path(out).parts or out.startswith("-"):
        raise OptionError(f"--out: {out!r} is not inside the project", remedy="Give a directory such as fixtures.")
    if agent_id and not pull:
        raise OptionError("--agent-id goes with --pull", remedy="Give both, or none.")
    project = find_project()
    if not project.text("statebase_agent"):
        agent, tools = _marked(project.root, agent, tools)
    lines = _ini(agent, tools, out)
    _settings(project, _import_path(project.root, agent) | lines if project.ini is None else lines)
    _make(project.root / out)
    if first:
        from .firstcassette import make_first_cassette

        make_first_cassette(project.root, project.root / out)
    if agent is None and not project.text("statebase_agent"):
        _conftest(project.root / "conftest.py")
    _attributes(project.root / ".gitattributes")
    _owners(project.root, out)
    _workflows(project.root / ".github" / "workflows", ci=ci, pull=pull, out=out, agent_id=agent_id)
    say("\nNow replay: pytest --statebase-replay")


def _marked(root: Path, agent: str | None, tools: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """What is not named, as the program says it to capture."""
    from .marked import find_marked

    found = find_marked(root) if agent is None or not tools else None
    if found is not None and agent is None:
        agents = [name for name in found.agents if _AGENT.fullmatch(name)]
        if len(agents) == 1:
            agent = agents[0]
            say(f"The agent is {agent}, as {shown(found.agents[agent])} marks it for capture.")
        elif agents:
            say(f"Several agents are marked for capture: name one with --agent: {', '.join(sorted(agents))}")
    if found is not None and not tools:
        tools = tuple(pattern for pattern in found.tools if _TOOL.fullmatch(pattern))
        if tools:
            say(f"The tools are {', '.join(tools)}, as {shown(found.tools[tools[0]])} has them captured.")
    return agent, tools


def _settings(project: Project, lines: dict[str, list[str]]) -> None:
    from .initfiles import INI_HINTS

    if project.ini is None:
        why = "tells pytest which agent is tested, which of its tools are answered, and where cassettes are"
        hints = "".join(hint for key, hint in INI_HINTS.items() if key not in lines)
        _write(project.root / "pytest.ini", "[pytest]\n" + _as_ini(lines) + hints, why)
    else:
        _say_missing(project, lines)


def _conftest(path: Path) -> None:
    """Where the agent comes from is not said yet."""
    from .initfiles import CONFTEST

    if not path.exists():
        _write(path, CONFTEST, "is where the agent comes from: name it there, or in pytest.ini as statebase_agent")
    elif "statebase_agent" not in path.read_text(encoding="utf-8", errors="replace"):
        say(f"{shown(path)} stays as it is. Where the agent comes from is still to be said: with --agent, or there:\n")
        say(CONFTEST.partition("\n\n")[2])


def _attributes(path: Path) -> None:
    from .initfiles import attributes_text, missing_attributes

    if not path.exists():
        _write(path, attributes_text(), "has reviews fold recordings, keeps their line ends, and lets no merge mix two")
        return
    missing = missing_attributes(path.read_text(encoding="utf-8", errors="replace"))
    say(f"{shown(path)} stays as it is" + (". Add to it:\n" if missing else ""))
    if missing:
        say("".join(f"{line}\n" for line in missing))


def _owners(root: Path, out: str) -> None:
    from .initfiles import owners_text

    there = [
        path for path in (root / ".github/CODEOWNERS", root / "CODEOWNERS", root / "docs/CODEOWNERS") if path.exists()
    ]
    if not there:
        _write(
            root / ".github/CODEOWNERS",
            owners_text(out),
            "is a sample, all in comments: who reviews which of these files",
        )
    elif f"/{out}/" not in there[0].read_text(encoding="utf-8", errors="replace"):
        say(f"{shown(there[0])} stays as it is. You may add to it:\n")
        say(owners_text(out))
    else:
        say(f"{shown(there[0])} stays as it is")


def _workflows(directory: Path, *, ci: bool, pull: bool, out: str, agent_id: str | None) -> None:
    if ci:
        why = "replays on every pull request, without keys, and keeps report and results as an artifact"
        _write(directory / "statebase-replay.yml", replay_workflow(__version__), why)
        why = "says on the pull request what its replay came to, also where it comes from a fork; once it is merged"
        _write(directory / "statebase-comment.yml", comment_workflow(__version__), why)
    if pull:
        why = "pulls failed sessions every six hours, and proposes them as a pull request"
        _write(directory / "statebase-pull.yml", pull_workflow(__version__, out, agent_id), why)
        say("Add the service's key to the repository's secrets as STATEBASE_API_KEY, and allow workflows to make")
        say("pull requests (Settings, Actions, General).")


def _check(text: str | None, pattern: re.Pattern[str], option: str, example: str) -> None:
    """Nothing else is written to files that run later."""
    if text is not None and pattern.fullmatch(text) is None:
        raise OptionError(f"{option}: {text!r} cannot be meant", remedy=f"Give it like {example}.")


def _ini(agent: str | None, tools: tuple[str, ...], out: str) -> dict[str, list[str]]:
    """The settings, each with its values."""
    lines = {} if out == "fixtures" else {"statebase_cassettes": [out]}
    lines |= {"statebase_agent": [agent]} if agent else {}
    return lines | ({"statebase_tools": list(tools)} if tools else {})


def _import_path(root: Path, agent: str | None) -> dict[str, list[str]]:
    """From where the agent is imported, where it is in the project and nothing was said of that."""
    package = (agent or "").partition(":")[0].partition(".")[0]
    for place in (".", "src"):
        if package and any((root / place / name).exists() for name in (package, f"{package}.py")):
            return {"pythonpath": [place]}
    return {}


def _as_ini(lines: dict[str, list[str]]) -> str:
    told = []
    for key, values in lines.items():
        told += [f"{key} = {values[0]}"] if len(values) == 1 else [f"{key} =", *(f"    {value}" for value in values)]
    return "".join(f"{line}\n" for line in told)


def _as_toml(lines: dict[str, list[str]]) -> str:
    told = []
    for key, values in lines.items():
        quoted = ", ".join(f'"{value}"' for value in values)
        told.append(f"{key} = {quoted}" if key == "statebase_agent" else f"{key} = [{quoted}]")
    return "".join(f"{line}\n" for line in told)


def _say_missing(project: Project, lines: dict[str, list[str]]) -> None:
    """The settings that a project's own file lacks, as it would say them."""
    assert project.ini is not None
    missing = {key: values for key, values in lines.items() if not project.values.get(key)}
    where = shown(project.ini)
    if not missing:
        say(f"{where} stays as it is")
        return
    is_toml = project.ini.suffix == ".toml"
    table = "[tool.pytest.ini_options]" if project.ini.name == "pyproject.toml" else "[pytest]"
    table = "[tool:pytest]" if project.ini.name == "setup.cfg" else table
    say(f"{where} stays as it is. Add to {table}:\n")
    say(_as_toml(missing) if is_toml else _as_ini(missing))


def _make(directory: Path) -> None:
    if directory.is_dir():
        say(f"{shown(directory)} is there already")
        return
    try:
        directory.mkdir(parents=True)
    except OSError as error:
        what = f"the directory cannot be made: {error.strerror or error}"
        raise FileError(what, where=shown(directory), remedy="Give another --out.") from None
    say(f"{shown(directory)} made")


def _write(path: Path, text: str, why: str) -> None:
    """Write a file that is not there yet, and say what it is for."""
    from ..cassette.files import write_atomic

    if path.exists():
        say(f"{shown(path)} is there already, and stays as it is")
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"the directory cannot be made: {error.strerror or error}"
        raise FileError(what, where=shown(path.parent), remedy="Make room for it.") from None
    write_atomic(path, text.encode())
    say(f"{shown(path)} written")
    say(f"    {why}")
