from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_statebase.cassette import ToolRules, load_cassette
from pytest_statebase.cassette.defaults import defaults_for
from pytest_statebase.errors import PlanError


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "statebase.yaml").write_text("owner: beyond the root\n")
    root = tmp_path / "project"
    deep = root / "fixtures" / "deep"
    deep.mkdir(parents=True)
    (root / "pyproject.toml").touch()
    (root / "statebase.yaml").write_text(
        "agent: app:agent\nowner: all\nignore: [a, b]\ntools: {look: {reads: true}, think: {reads: true}}\n"
    )
    (deep / "statebase.yaml").write_text(
        "owner: deep\nignore: [b, c]\ntools: {think: {ignore: arguments}}\ngate: warn\n"
    )
    (deep / "x.session.yaml").write_text("cassette: 1\nignore: d\ngate: block\n")
    return deep


def test_the_nearest_wins_key_by_key_and_ignore_adds_up(tree: Path) -> None:
    plan = load_cassette(tree / "x.session.yaml").plan
    assert plan.agent == "app:agent"
    assert plan.owner == "deep"
    assert plan.gate == "block"
    assert plan.ignore == ("a", "b", "c", "d")
    assert plan.tools == {"look": ToolRules(reads=True), "think": ToolRules(reads=True, ignore=("arguments",))}


def test_the_root_can_be_named(tree: Path) -> None:
    assert load_cassette(tree / "x.session.yaml", root=tree).plan.agent is None
    assert load_cassette(tree / "x.session.yaml", root=tree.parents[2]).plan.agent == "app:agent"
    assert defaults_for(str(tree.parent), root=str(tree.parents[2]))["owner"] == "all"


def test_without_a_root_only_the_directory_itself_counts(tmp_path: Path) -> None:
    inner = tmp_path / "a"
    inner.mkdir()
    (tmp_path / "statebase.yaml").write_text("owner: above\n")
    (inner / "statebase.yaml").write_text("agent: here\n")
    if any((parent / mark).exists() for parent in tmp_path.parents for mark in ("pyproject.toml", ".git")):
        pytest.skip("the temporary directory is inside a project")
    assert defaults_for(str(inner)) == {"agent": "here"}


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "statebase.yaml"
    path.write_text("owner: one\n")
    assert defaults_for(str(tmp_path), root=str(tmp_path)) == {"owner": "one"}
    path.write_text("owner: two\n")
    os.utime(path, ns=(1, 1))
    assert defaults_for(str(tmp_path), root=str(tmp_path)) == {"owner": "two"}
    path.unlink()
    assert defaults_for(str(tmp_path), root=str(tmp_path)) == {}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sesion: a\n", "statebase.yaml:1:1: unknown key `sesion`"),
        ("session: a\n", "statebase.yaml:1:1: unknown key `session`\n  Known keys: agent, replay, ignore"),
        ("tools:\n  a: {read: true}\n", "statebase.yaml:2:7: unknown key `read` in `tools.a`\n  Did you mean `reads`?"),
        ("- a\n", "the file must be a mapping"),
    ],
)
def test_errors(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "statebase.yaml").write_text(text)
    (tmp_path / "x.session.yaml").write_text("cassette: 1\n")
    with pytest.raises(PlanError) as caught:
        load_cassette(tmp_path / "x.session.yaml", root=tmp_path)
    assert says in str(caught.value)
