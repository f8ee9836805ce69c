"""The workflows of pull requests: what they may do, and what their steps do with a GitHub that is played."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_statebase.cli.workflows import comment_workflow, replay_workflow
from pytest_statebase.report.results import error_row, write_results

REPLAY, COMMENT = (yaml.safe_load(text) for text in (replay_workflow("1.2.3"), comment_workflow("1.2.3")))
URL = "https://github.example/us/app/actions/runs/99"
UNREAD = "Say why the results could not be read"
SHELLS = {None: ["bash", "-e"], "bash": ["bash", "--noprofile", "--norc", "-eo", "pipefail"]}
"""What GitHub's runner runs for the `shell` that a workflow names, on Linux."""
TRIGGER = True
"""YAML 1.1 reads the key `on` so."""
GH = """\
#!{python}
import json, os, pathlib, shutil, subprocess, sys

words = sys.argv[1:]
place = pathlib.Path(os.environ["PLAYED"])
with open(place / "asked.jsonl", "a") as log:
    log.write(json.dumps(words) + "\\n")
known = json.loads((place / "github.json").read_text())


def option(name):
    return words[words.index(name) + 1]


def answer(value):
    if "--jq" not in words:
        return print(json.dumps(value))
    subprocess.run(["jq", "--raw-output", option("--jq")], input=json.dumps(value), text=True, check=True)


if words[:2] == ["run", "list"]:
    assert option("--event") == "push"
    answer([{{"databaseId": number}} for number in known["runs"].get(option("--branch"), [])])
elif words[:2] == ["run", "download"]:
    source = place / "artifacts" / words[2]
    if not source.is_dir():
        sys.exit("no artifact matches any of the names")
    shutil.copytree(source, option("--dir"), dirs_exist_ok=True)
elif words[-3].startswith("name="):
    assert words[:3] == ["api", "--method", "GET"]
    run = words[3].removeprefix("repos/us/app/actions/runs/").removesuffix("/artifacts")
    if known.get("is_down"):
        sys.exit("gh: Bad Gateway (HTTP 502)")
    answer({{"total_count": int((place / "artifacts" / run).is_dir() or known.get("is_lost", False))}})
elif "PATCH" in words or "POST" in words:
    (place / "written.md").write_text(pathlib.Path(words[-1].partition("@")[2]).read_text())
elif words[-3].startswith("head=") or "/pulls" in words[3]:
    answer(known["pulls"].get(next(word for word in words if word.startswith("head="))[5:], []))
elif known["comments"] is None:
    sys.exit("gh: Bad Gateway (HTTP 502)")
else:
    answer(known["comments"])
"""


class Played:
    """Runs the steps of a workflow in a directory of their own, with a `gh` that answers from a file."""

    def __init__(self, place: Path) -> None:
        self.place, self.work = place, place / "work"
        self.work.mkdir()
        (place / "bin").mkdir()
        self.program("gh", GH.format(python=sys.executable))
        self.program("pip", '#!/bin/sh\necho "$@" >> "$PLAYED/installed"\n')
        self.program("pytest-statebase", f'#!/bin/sh\nexec {sys.executable} -m pytest_statebase.cli "$@"\n')
        self.github: dict[str, Any] = {"runs": {}, "pulls": {}, "comments": []}
        self.outputs: dict[str, str] = {}

    def program(self, name: str, text: str) -> None:
        path = self.place / "bin" / name
        path.write_text(text, encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def artifact(self, run: int, name: str = "statebase-results.jsonl", text: str | None = None) -> Path:
        path = self.place / "artifacts" / str(run) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text or "", encoding="utf-8")
        return path

    def step(self, workflow: dict[str, Any], name: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a step as the runner does; its outputs are in `outputs` afterwards."""
        (self.place / "github.json").write_text(json.dumps(self.github), encoding="utf-8")
        (self.place / "outputs").write_text("", encoding="utf-8")
        [step] = [step for step in steps(workflow) if step.get("name") == name]
        known = {"PATH": f"{self.place / 'bin'}{os.pathsep}{os.environ['PATH']}", "PLAYED": str(self.place)}
        known |= {"GITHUB_OUTPUT": str(self.place / "outputs"), "RUNNER_TEMP": str(self.work), "GH_REPO": "us/app"}
        known |= {"PYTHONPATH": os.pathsep.join(sys.path)}
        shell = [*SHELLS[step.get("shell", workflow.get("defaults", {}).get("run", {}).get("shell"))], "-c"]
        done = subprocess.run(
            [*shell, step["run"]], cwd=self.work, env=known | environment, capture_output=True, text=True
        )
        lines = (self.place / "outputs").read_text(encoding="utf-8").splitlines()
        self.outputs |= dict(line.split("=", 1) for line in lines)
        return done

    def asked(self) -> list[list[str]]:
        path = self.place / "asked.jsonl"
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


@pytest.fixture
def played(tmp_path: Path) -> Played:
    if shutil.which("jq") is None:  # of which the real `gh` has a copy
        assert "STATEBASE_REQUIRE_BROWSER" not in os.environ, "jq is missing"
        pytest.skip("needs jq")
    return Played(tmp_path)


def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    [job] = workflow["jobs"].values()
    return list(job["steps"])


def results(path: Path, *names: str) -> None:
    rows = [error_row(f"fixtures/{name}.session.yaml", "version 0", f"{name} is broken") for name in names]
    write_results(path, rows, {})


def test_what_runs_foreign_code_may_only_read() -> None:
    assert REPLAY["permissions"] == {"actions": "read", "contents": "read"}
    assert set(REPLAY[TRIGGER]) == {"pull_request", "push"}
    assert "secrets." not in replay_workflow("1")
    [checkout] = [step for step in steps(REPLAY) if "checkout" in step.get("uses", "")]
    assert checkout["with"] == {"persist-credentials": False}
    # The token that may read is there for the step that fetches, before anything of the change has run.
    names = [step.get("name", step.get("uses", step.get("run"))) for step in steps(REPLAY)]
    given = [index for index, step in enumerate(steps(REPLAY)) if "GH_TOKEN" in step.get("env", {})]
    assert [names[index] for index in given] == ["Fetch what the base branch came to"]
    assert given[0] < min(index for index, name in enumerate(names) if name.startswith("pip") or name == "Replay")


def test_what_may_write_runs_nothing_of_the_change() -> None:
    assert COMMENT["permissions"] == {"actions": "read", "pull-requests": "write"}
    assert COMMENT[TRIGGER] == {"workflow_run": {"workflows": [REPLAY["name"]], "types": ["completed"]}}
    assert [step["uses"].partition("@")[0] for step in steps(COMMENT) if "uses" in step] == ["actions/setup-python"]
    scripts = "\n".join(step["run"] for step in steps(COMMENT) if "run" in step)
    assert not re.search(r"\bgit\b|checkout|secrets\.|requirements", scripts)
    assert re.findall(r"pip install .*", scripts) == ['pip install --quiet "pytest-statebase==1.2.3"']


@pytest.mark.parametrize("workflow", [REPLAY, COMMENT], ids=["replay", "comment"])
def test_nothing_of_an_event_is_put_into_a_script(workflow: dict[str, Any]) -> None:
    """A branch may be called `$(curl …)`: what others chose reaches a script by its environment alone."""
    for step in steps(workflow):
        assert "${{" not in step.get("run", "")
        subprocess.run(["bash", "-n"], input=step.get("run", ""), text=True, check=True)
        assert re.fullmatch(r"actions/[a-z-]+@v\d+\.\d+\.\d+", step.get("uses", "actions/x@v1.1.1"))


def fetch(played: Played, base: str = "main") -> subprocess.CompletedProcess[str]:
    return played.step(REPLAY, "Fetch what the base branch came to", BASE=base)


def test_results_and_history_of_the_base_are_those_of_its_last_run_that_has_any(played: Played) -> None:
    played.github["runs"] = {"main": [30, 20, 10]}
    for run in (20, 10):
        played.artifact(run, text=f"results of {run}")
        played.artifact(run, "statebase-history.jsonl", f"history of {run}")
    assert fetch(played).returncode == 0
    assert (played.work / "base/statebase-results.jsonl").read_text() == "results of 20"
    assert (played.work / "statebase-history.jsonl").read_text() == "history of 20"


def test_without_a_run_of_the_base_there_is_nothing_to_fetch(played: Played) -> None:
    assert fetch(played).returncode == 0
    assert list(played.work.iterdir()) == []


@pytest.mark.parametrize("has_base", [True, False])
def test_the_replay_is_compared_where_there_is_a_base(played: Played, has_base: bool) -> None:
    played.program("pytest", '#!/bin/sh\nfor one in "$@"; do echo "$one" >> "$PLAYED/given"; done\nexit 1\n')
    if has_base:
        (played.work / "base").mkdir()
        (played.work / "base/statebase-results.jsonl").touch()
    assert played.step(REPLAY, "Replay").returncode == 1
    given = (played.place / "given").read_text().splitlines()
    assert given.pop(0) == "--statebase-replay"
    options = dict(word.split("=") for word in given)
    base = options.pop("--statebase-base-results", None)
    assert base == ("base/statebase-results.jsonl" if has_base else None)
    [upload] = [step for step in steps(REPLAY) if "upload-artifact" in step.get("uses", "")]
    assert upload["if"] == "always()"
    assert set(options.values()) <= set(upload["with"]["path"].split())


SHA = "a" * 40


def pull(number: int, sha: str = SHA, repository: str = "they/app", base: str = "main") -> dict[str, Any]:
    return {"number": number, "head": {"sha": sha, "repo": {"full_name": repository}}, "base": {"ref": base}}


def find(played: Played, branch: str = "patch-1") -> dict[str, str]:
    name = "Find the open pull request that stands at this commit"
    done = played.step(COMMENT, name, OWNER="they", HEAD="they/app", BRANCH=branch, SHA=SHA)
    assert done.returncode == 0, done.stderr
    return played.outputs


def test_the_pull_request_is_the_one_that_github_names(played: Played) -> None:
    played.github["pulls"] = {"they:patch-1": [pull(7, base="release/2")]}
    assert find(played) == {"number": "7", "base": "release/2"}


@pytest.mark.parametrize("others", [[], [pull(7, sha="b" * 40)], [pull(7, repository="they/other")]])
def test_a_commit_at_which_none_stands_gets_no_comment(played: Played, others: list[dict[str, Any]]) -> None:
    """It was closed, or more was pushed meanwhile, whose own run will tell."""
    played.github["pulls"] = {"they:patch-1": others}
    assert find(played) == {}


def test_names_of_branches_are_never_run(played: Played) -> None:
    branch = "$(touch${IFS}owned);`touch owned`;x"
    played.github["pulls"] = {f"they:{branch}": [pull(7, base='$(touch${IFS}owned)"')]}
    assert find(played, branch) == {"number": "7", "base": '$(touch${IFS}owned)"'}
    take(played, base='$(touch${IFS}owned)"')
    assert list(played.work.iterdir()) == []


def take(played: Played, run: str = "99", base: str = "main") -> subprocess.CompletedProcess[str]:
    return played.step(COMMENT, "Fetch its results, and those of its base branch", RUN=run, BASE=base)


def write(played: Played) -> str:
    done = played.step(COMMENT, "Write the comment", URL=URL)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    return (played.work / "comment.md").read_text(encoding="utf-8")


def test_a_run_without_results_gets_no_comment(played: Played) -> None:
    done = take(played)
    assert (done.returncode, played.outputs) == (0, {})


@pytest.mark.parametrize("how", ["is_down", "is_lost"])
def test_results_that_are_there_and_do_not_come_fail_the_step(played: Played, how: str) -> None:
    """Green without a comment would say that there is nothing to tell."""
    played.github[how] = True
    assert take(played).returncode != 0
    assert played.outputs == {}


def test_the_comment_says_what_the_change_did(played: Played) -> None:
    played.github["runs"] = {"main": [50]}
    results(played.artifact(99), "one", "two")
    results(played.artifact(50), "two")
    assert take(played).returncode == 0
    assert played.outputs == {"found": "true"}
    text = write(played)
    assert text.startswith("<!-- pytest-statebase -->")
    assert text.endswith("\n[The run, with the report as an artifact](https://github.example/us/app/actions/runs/99)\n")
    assert len(text) < 65_536
    assert "one is broken" in text
    assert (played.place / "installed").read_text().split()[-1] == "pytest-statebase==1.2.3"


def test_a_base_that_is_no_results_costs_no_comment(played: Played) -> None:
    played.github["runs"] = {"main": [50]}
    results(played.artifact(99), "one")
    played.artifact(50, text="<html>")
    take(played)
    assert "one is broken" in write(played)


def test_an_artifact_with_programs_in_it_runs_none_of_them(played: Played) -> None:
    results(played.artifact(99), "one")
    for name in ("pytest_statebase.py", "sitecustomize.py", "click.py", "json.py", "pytest.ini"):
        played.artifact(99, name, "import pathlib\npathlib.Path('/nowhere/owned').touch()\nraise SystemExit(9)\n")
    take(played)
    assert "one is broken" in write(played)


@pytest.mark.parametrize("name", ["statebase-results.jsonl", "statebase-junit.xml"])
def test_results_that_cannot_be_read_are_told_in_fixed_words(played: Played, name: str) -> None:
    played.artifact(99, name, '{"format": "::error::@all ##[x]"}\n')
    take(played)
    assert write(played) == (
        "<!-- pytest-statebase -->\n### The results could not be read\n"
        f"\n[The run, with the report as an artifact]({URL})\n"
    )
    assert played.outputs == {"found": "true", "unread": "true"}
    assert played.step(COMMENT, "Comment", NUMBER="7").returncode == 0
    assert (played.place / "written.md").read_text() == (played.work / "comment.md").read_text()
    done = played.step(COMMENT, UNREAD)
    assert done.returncode == 1
    assert "statebase-results.jsonl" in done.stdout


def test_the_reason_in_the_log_is_no_command(played: Played) -> None:
    (played.work / "merge.log").write_bytes(b"::a::\r::b::\n  ::c::\n##[d]###[e] ##vso[f]\x1b[1m\xe2\x80\xa8::g::\n")
    done = played.step(COMMENT, UNREAD)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == "| ::a::?::b::\n|   ::c::\n| #\\x23[d]#\\x23#[e] #\\x23vso[f]?[1m???::g::\n"


def test_what_can_be_read_is_told_though_the_command_fails(played: Played) -> None:
    """As it does where it left something out."""
    results(played.artifact(99), "one")
    take(played)
    own = f'#!/bin/sh\n{sys.executable} -m pytest_statebase.cli "$@"\nexit 1\n'
    played.program("pytest-statebase", own)
    assert "one is broken" in write(played)
    assert played.outputs == {"found": "true"}


def comment(number: int, body: str, login: str = "github-actions[bot]") -> dict[str, Any]:
    return {"id": number, "user": {"login": login}, "body": body}


@pytest.mark.parametrize(
    ("comments", "asked"),
    [
        ([], "POST repos/us/app/issues/7/comments"),
        ([comment(1, "hello")], "POST repos/us/app/issues/7/comments"),
        ([comment(1, "<!-- pytest-statebase -->\nmine", "somebody")], "POST repos/us/app/issues/7/comments"),
        (
            [comment(1, "x"), comment(2, "<!-- pytest-statebase -->\nold"), comment(3, "<!-- pytest-statebase -->")],
            "PATCH repos/us/app/issues/comments/2",
        ),
    ],
)
def test_one_comment_is_kept_up_to_date(played: Played, comments: list[dict[str, Any]], asked: str) -> None:
    played.github["comments"] = comments
    (played.work / "comment.md").write_text("<!-- pytest-statebase -->\nnew\n", encoding="utf-8")
    done = played.step(COMMENT, "Comment", NUMBER="7")
    assert done.returncode == 0, done.stderr
    last = played.asked()[-1]
    assert " ".join(last[3:5]) == asked
    assert (played.place / "written.md").read_text() == "<!-- pytest-statebase -->\nnew\n"


def test_a_listing_that_fails_posts_nothing(played: Played) -> None:
    """A second comment would stand beside the first for good."""
    played.github["comments"] = None
    (played.work / "comment.md").write_text("<!-- pytest-statebase -->\nnew\n", encoding="utf-8")
    done = played.step(COMMENT, "Comment", NUMBER="7")
    assert done.returncode != 0
    assert "HTTP 502" in done.stderr
    [listing] = played.asked()
    assert "--paginate" in listing
    assert not (played.place / "written.md").exists()


def test_conditions_lead_from_step_to_step() -> None:
    assert [step.get("if") for step in steps(COMMENT)] == [
        None,
        "steps.pull.outputs.number",
        "steps.results.outputs.found",
        "steps.results.outputs.found",
        "steps.results.outputs.found",
        "always() && steps.write.outputs.unread",
    ]
    assert COMMENT["jobs"]["comment"]["if"] == "github.event.workflow_run.event == 'pull_request'"
