"""The workflows in the documentation: those of `init`, and a pipeline of GitLab whose steps are run here."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from pytest_statebase import __version__
from pytest_statebase.cli import main
from pytest_statebase.cli.workflows import comment_workflow, replay_workflow
from pytest_statebase.report.results import error_row, read_results, write_results

PAGE = (Path(__file__).parents[2] / "docs" / "ci.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"<!-- workflow: (\S+) -->\n```yaml\n(.*?)```", PAGE, re.DOTALL))
GITLAB: dict[str, Any] = yaml.safe_load(BLOCKS[".gitlab-ci.yml"])


def test_the_workflows_are_those_that_init_writes() -> None:
    assert BLOCKS["statebase-replay.yml"] == replay_workflow(__version__)
    assert BLOCKS["statebase-comment.yml"] == comment_workflow(__version__)
    assert GITLAB["variables"]["STATEBASE"] == f"pytest-statebase=={__version__}"


def test_options_of_the_page_are_those_of_the_command() -> None:
    report: Any = main.get_command(click.Context(main), "report")
    merge = report.get_command(click.Context(report), "merge")
    options = {name for param in merge.params for name in param.opts if name.startswith("--")} - {"--help"}
    table = PAGE.partition("## Shards")[2].partition("## JUnit")[0]
    assert options == set(re.findall(r"`(?:-o`, `)?(--(?!statebase|lf)[a-z-]+)", table))


def step(job: str, *numbers: int, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run lines of a job as GitLab's runner does: one after the other, in one shell."""
    script = "\n".join(GITLAB[job]["script"][number] for number in numbers)
    known = {"PATH": f"{cwd}/bin{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(sys.path)}
    known |= {"CI_DEFAULT_BRANCH": "main", "CI_JOB_TOKEN": "job-token", "CI_PROJECT_ID": "1"}
    shell = ["bash", "-eo", "pipefail", "-c", script]
    return subprocess.run(shell, cwd=cwd, env=known | environment, capture_output=True, text=True)


def program(cwd: Path, name: str, text: str) -> None:
    path = cwd / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_each_session_is_replayed_by_one_job(tmp_path: Path) -> None:
    names = [f"fixtures/{name}.session.yaml" for name in ("a", "b c", "deep/d", "e", "f")]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    program(tmp_path, "pytest", "#!/bin/sh\nexit 0\n")
    found: list[str] = []
    for index in "123":
        assert step("replay", 1, cwd=tmp_path, CI_NODE_TOTAL="3", CI_NODE_INDEX=index).returncode == 0
        share = (tmp_path / "sessions.txt").read_text().splitlines()
        assert share
        found += share
    assert sorted(found) == sorted(names)
    assert GITLAB["replay"]["parallel"] == 3
    assert "--shards 3 " in GITLAB["report"]["script"][-1]


def bad(name: str) -> dict[str, Any]:
    return error_row(f"fixtures/{name}.session.yaml", "version 0", f"{name} is broken")


def shards(place: Path, number: int = 3) -> None:
    program(place, "pytest-statebase", f'#!/bin/sh\nexec {sys.executable} -m pytest_statebase.cli "$@"\n')
    for index in range(1, number + 1):
        write_results(place / f"statebase-results-{index}.jsonl", [bad(f"s{index}")], {})


@pytest.mark.parametrize("has_base", [True, False])
def test_a_report_is_made_of_the_shares(tmp_path: Path, has_base: bool) -> None:
    shards(tmp_path)
    if has_base:
        write_results(tmp_path / "base.jsonl", [bad("s1")], {})
    done = step("report", -2, -1, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert ("against base" in done.stdout) is has_base
    _, rows = read_results(tmp_path / "statebase-results.jsonl")
    assert len(rows) == 3
    for name in GITLAB["report"]["artifacts"]["paths"]:
        assert (tmp_path / name).stat().st_size > 0, name


def test_a_job_that_was_lost_is_told(tmp_path: Path) -> None:
    shards(tmp_path, 2)
    done = step("report", -2, -1, cwd=tmp_path)
    assert done.returncode == 1
    assert "2 results files of 3" in done.stderr
    assert "2 results files of 3" in (tmp_path / "statebase-report.html").read_text(encoding="utf-8")


def test_the_base_is_fetched_or_left_away(tmp_path: Path) -> None:
    curl = '#!/bin/sh\necho "$@" >> asked\nwhile [ $# -gt 1 ]; do [ "$1" = --output ] && out=$2; shift; done\n'
    api = {"CI_API_V4_URL": "https://gitlab.example/api/v4", "CI_MERGE_REQUEST_PROJECT_ID": "7"}
    program(tmp_path, "curl", curl + 'echo there > "$out"\n')
    assert step("report", 1, 2, 3, cwd=tmp_path, **api).returncode == 0
    assert (tmp_path / "base.jsonl").read_text() == (tmp_path / "statebase-history.jsonl").read_text() == "there\n"
    url = "https://gitlab.example/api/v4/projects/7/jobs/artifacts/main/raw/statebase-results.jsonl?job=report"
    assert (tmp_path / "asked").read_text().splitlines()[1].endswith(url)
    program(tmp_path, "curl", curl + 'echo half > "$out"\nexit 22\n')
    assert step("report", 1, 2, 3, cwd=tmp_path, **api).returncode == 0
    assert not (tmp_path / "base.jsonl").exists()
    assert not (tmp_path / "statebase-history.jsonl").exists()


class Notes(BaseHTTPRequestHandler):
    """The notes of a merge request; the token's user is 5."""

    def do_GET(self) -> None:
        page = int((re.search(r"[?&]page=(\d+)", self.path) or ["", "1"])[1])
        self.reply({"id": 5} if self.path.endswith("/user") else self.server.pages.get(page, []))  # type: ignore[attr-defined]

    def do_POST(self) -> None:
        self.write()

    def do_PUT(self) -> None:
        self.write()

    def write(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.headers["PRIVATE-TOKEN"] == "note-token"
        self.server.written.append((self.command, self.path, body["body"]))  # type: ignore[attr-defined]
        self.reply({})

    def reply(self, value: object) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def gitlab() -> Iterator[Any]:
    server: Any = HTTPServer(("127.0.0.1", 0), Notes)
    server.pages, server.written = {}, []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def note(number: int, body: str, author: int = 5) -> dict[str, Any]:
    return {"id": number, "author": {"id": author}, "body": body}


MINE = "<!-- pytest-statebase -->\nold"


@pytest.mark.parametrize(
    ("pages", "wanted"),
    [
        ({}, ("POST", "/projects/7/merge_requests/3/notes")),
        ({1: [note(1, MINE, author=6), note(2, "hello")]}, ("POST", "/projects/7/merge_requests/3/notes")),
        ({1: [note(1, "hello")], 2: [note(8, MINE)]}, ("PUT", "/projects/7/merge_requests/3/notes/8")),
    ],
)
def test_one_note_is_kept_up_to_date(tmp_path: Path, gitlab: Any, pages: Any, wanted: tuple[str, str]) -> None:
    gitlab.pages = pages
    (tmp_path / "statebase-summary.md").write_text("<!-- pytest-statebase -->\nnew \u2028\n", encoding="utf-8")
    program(tmp_path, "python", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    done = step(
        "note",
        0,
        cwd=tmp_path,
        CI_API_V4_URL=f"http://127.0.0.1:{gitlab.server_port}",
        CI_MERGE_REQUEST_PROJECT_ID="7",
        CI_MERGE_REQUEST_IID="3",
        CI_PIPELINE_URL="https://gitlab.example/us/app/-/pipelines/1",
        STATEBASE_NOTE_TOKEN="note-token",
        no_proxy="*",
    )
    assert done.returncode == 0, done.stderr
    [(method, path, body)] = gitlab.written
    assert (method, path) == wanted
    assert body.startswith("<!-- pytest-statebase -->\nnew \u2028\n")
    assert body.endswith("(https://gitlab.example/us/app/-/pipelines/1)\n")


def test_the_token_is_in_one_job_which_has_nothing_of_the_change() -> None:
    holders = [name for name, job in GITLAB.items() if "STATEBASE_NOTE_TOKEN" in json.dumps(job)]
    assert holders == ["note"]
    for job in ("report", "note"):
        assert GITLAB[job]["variables"]["GIT_STRATEGY"] == "none"
