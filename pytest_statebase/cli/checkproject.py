"""How a project stands: its settings, its cassettes, the packages that they need."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from ..cassette import RECORD_SUFFIX, load_cassette, verify
from ..errors import HttpError, StatebaseError
from .checked import Finding, look, mend, ok
from .output import counted
from .project import Project, find_project
from .sourcenames import names_of
from .targets import cassette_files, shown

KEYS: Final = frozenset(
    f"statebase_{name}"
    for name in [
        "agent",
        "allowed_hosts",
        "annotations",
        "api_hosts",
        "blocked_hosts",
        "cassettes",
        "clock",
        "history",
        "http",
        "job_summary",
        "mode",
        "model",
        "model_hosts",
        "names",
        "pin",
        "redact",
        "report",
        "report_assets",
        "report_url",
        "results",
        "secrets",
        "sidecar",
        "simulator",
        "summary",
        "tools",
        "turn_timeout",
        "unrecorded",
    ]
)
"""The ini keys of the plugin."""
_MOST = 10
"""Findings of one sort that are told one by one."""


def check_project(start: Path) -> Iterator[Finding]:
    """Everything about the project around a directory."""
    try:
        project = find_project(start)
    except StatebaseError as error:
        yield mend(f"{error.where}: {error.what}", error.remedy or "Correct the file.")
        return
    yield from check_settings(project)
    yield from check_cassettes(project)
    yield from check_packages()


# --- Settings


def check_settings(project: Project) -> Iterator[Finding]:
    """Keys that are none, and values that name nothing."""
    if project.ini is None:
        yield look("there is no file with pytest's settings", "Run pytest-statebase init.")
        return
    found = [*_unknown_keys(project), *_agent(project), *_tools(project), *_places(project)]
    yield from found
    if not found:
        yield ok(f"{shown(project.ini)}: every key is known, and what it names is there")


def _unknown_keys(project: Project) -> Iterator[Finding]:
    for key in sorted(project.values):
        if key.startswith("statebase_") and key not in KEYS:
            near = get_close_matches(key, KEYS, 1)
            do = f"Write {near[0]}." if near else "Take the line out; docs/reference.md has all keys."
            yield mend(f"{shown(project.ini or '')}: there is no key {key:.60}", do)


def _agent(project: Project) -> Iterator[Finding]:
    for key in ("statebase_agent", "statebase_names", "statebase_simulator"):
        named = project.text(key)
        if named is not None:
            yield from _named(project, key, named)
    conftest = project.root / "conftest.py"
    if project.text("statebase_agent") is None and not _speaks_of_agent(conftest):
        yield look(
            "nothing says where the agent comes from",
            "Set statebase_agent = module:attribute, or write the fixture statebase_agent in conftest.py.",
        )


def _speaks_of_agent(conftest: Path) -> bool:
    try:
        return "statebase_agent" in conftest.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def _named(project: Project, key: str, named: str) -> Iterator[Finding]:
    module, colon, attribute = named.partition(":")
    if not colon or not module or not attribute:
        yield mend(f"{key} = {named:.80} names nothing", "Write module:attribute, such as myapp.agent:SupportAgent.")
        return
    names = names_of(module, project.import_path)
    if names is None:
        yield mend(f"{key}: there is no module {module:.80}", _module_remedy(project))
    elif not names.holds(attribute):
        yield mend(f"{key}: {module:.80} has no {attribute:.80}", f"Correct the name in {shown(project.ini or '')}.")


def _module_remedy(project: Project) -> str:
    return f"Correct the name, or say where it is in {shown(project.ini or '')}: pythonpath = src"


def _tools(project: Project) -> Iterator[Finding]:
    for pattern in project.lines("statebase_tools"):
        module, _, name = pattern.partition(":")
        if module == "mcp" and name in ("", "*"):
            if find_spec("mcp") is None:
                yield mend("statebase_tools = mcp, and the package mcp is not installed", "pip install mcp")
        elif any(sign in name for sign in "*?["):
            names = names_of(module, project.import_path)
            if names is None:
                yield mend(f"statebase_tools: there is no module {module:.80}", _module_remedy(project))
            elif not names.matches(name):
                what = f"statebase_tools: {pattern:.80} matches no public function that is defined there"
                yield mend(what, "Name the module in which the tools are defined.")
        else:
            yield from _named(project, "statebase_tools", pattern)


def _places(project: Project) -> Iterator[Finding]:
    for path in project.cassettes:
        if not path.exists():
            do = "Correct statebase_cassettes, or make it: pytest-statebase init."
            yield mend(f"{shown(path)} should hold the cassettes, and is not there", do)


# --- Cassettes


def check_cassettes(project: Project) -> Iterator[Finding]:
    """Seals, HTTP recordings, plans without a record and records without a plan."""
    places = [path for path in project.cassettes if path.exists()]
    try:
        files = cassette_files(places) if places else []
    except StatebaseError:
        files = []
    if not files:
        where = ", ".join(map(shown, project.cassettes))
        yield look(f"there is no cassette in {where}", "Make one: pytest-statebase select, pull or import.")
        return
    told: Counter[str] = Counter()
    for path in files:
        for sort, finding in _of_cassette(path):
            told[sort] += 1
            if told[sort] <= _MOST:
                yield finding
    for sort, count in told.items():
        if count > _MOST:
            yield look(f"{count - _MOST:,} more: {sort}", "Do for them what stands above.")
    if not told:
        yield ok(f"{counted(len(files), 'cassette')}: all sealed, nothing missing")


def _of_cassette(path: Path) -> Iterator[tuple[str, Finding]]:
    if path.name.endswith(RECORD_SUFFIX):
        plan = path.name.removesuffix(RECORD_SUFFIX) + ".session.yaml"
        do = f"Write `cassette: 1` into {plan} beside it."
        yield "no plan", look(f"{shown(path)} has no plan: it is not replayed", do)
    try:
        cassette = load_cassette(shown(path))
        cassette.ledger  # noqa: B018
        if cassette.record_path is not None and verify(cassette.record_path).state == "unsealed":
            record = shown(cassette.record_path)
            do = f"Look through it, then: pytest-statebase seal {record}"
            yield "no seal", mend(f"{record} has no seal: anybody could have changed it", do)
        cassette.http  # noqa: B018
        cassette.accepted_http  # noqa: B018
    except HttpError as error:
        yield "HTTP recording", _of_error(error, path)
    except StatebaseError as error:
        yield "cannot be read", _of_error(error, path)


def _of_error(error: StatebaseError, path: Path) -> Finding:
    do = (error.remedy or "Restore it from version control.").replace("\n", " ")
    return mend(f"{error.where or shown(path)}: {error.what}".replace("\n", " "), do)


# --- Packages


def check_packages() -> Iterator[Finding]:
    """Whether what is installed is new enough."""
    from packaging.requirements import Requirement

    try:
        needed = [Requirement(text) for text in metadata.requires("pytest-statebase") or ()]
        own = metadata.version("pytest-statebase")
    except metadata.PackageNotFoundError:
        yield look("the package pytest-statebase is not installed, only imported", "pip install pytest-statebase")
        return
    versions: dict[str, str] = {}
    for one in needed:
        is_extra = one.marker is not None and not one.marker.evaluate({"extra": ""})
        try:
            found = metadata.version(one.name)
        except metadata.PackageNotFoundError:
            if not is_extra:
                yield mend(f"the package {one.name} is not installed", f"pip install '{one.name}{one.specifier}'")
            continue
        if not is_extra:
            versions[one.name] = found
        if not one.specifier.contains(found, prereleases=True):
            told = look if is_extra else mend
            yield told(f"{one.name} {found} is installed, {one.specifier} is needed", f"pip install -U {one.name}")
    listed = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    yield ok(f"pytest-statebase {own} on Python {platform.python_version()}; {listed}")
