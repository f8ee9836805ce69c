"""From recording to accepting: no file and no line of output holds a secret that the agent used."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from .conftest import INI, PLAN, Project

pytest.importorskip("httpx", reason="the agent of these tests sends its requests with httpx")

SECRETS = {
    "HEADER_KEY": "hk7-4b1d9e0c2f",
    "MODEL_KEY": "sk-proj-q7Wm3nXk2LpR8sTvYz41",
    "QUERY_TOKEN": "qt7/8c2e+5a6b0d",
    "JSON_PASSWORD": 'pw7 "tr0ub4dor" & 3',
    "FORM_BEARER": "fb7.9d3c1e5b7a2f4c6e8d0b",
    "COOKIE": "ck7-0f9e8d7c6b5a",
    "GIVEN_TOKEN": "gt7-1a2b3c4d5e6f",
}
"""What stands in the environment of the agent, but for the last two, which the server gives it."""

AGENT = """
import json, os
import httpx
import shop

SYSTEM = "You help."
SUFFIX = ""


def service(client, base):
    secret = os.environ
    client.post(
        base + "/login", params={"access_token": secret["QUERY_TOKEN"], "page": "1"},
        json={"password": secret["JSON_PASSWORD"], "note": json.dumps({"api_key": secret["HEADER_KEY"]})},
        headers={"x-api-key": secret["HEADER_KEY"]},
    )
    client.post(base + "/form", data={"q": "1", "header": "Authorization: Bearer " + secret["FORM_BEARER"]})
    client.get(base + "/orders", headers={"authorization": "Bearer " + secret["HEADER_KEY"]})


def agent(messages):
    base, model = os.environ["SERVICE_URL"], os.environ["MODEL_URL"]
    with httpx.Client() as client:
        service(client, base)
        asked = {"model": "gpt-test", "messages": [{"role": "system", "content": SYSTEM}, *messages]}
        headers = {"authorization": "Bearer " + os.environ["MODEL_KEY"]}
        done = client.post(model + "/v1/chat/completions", json=asked, headers=headers)
        shop.note(messages[-1]["content"] + SUFFIX)
        if "fail" in messages[-1]["content"]:
            client.get(base + "/missing", params={"access_token": os.environ["QUERY_TOKEN"]}).raise_for_status()
    return done.json()["choices"][0]["message"]["content"]
"""
SHOP = """
def note(text):
    return "noted " + text
"""
RECORD = """
import agent
from pytest_statebase import record_session
from pytest_statebase.cassette import Plan, write_http, write_plan, write_record

http = []
ledger = record_session(
    agent.agent, ["Hello.", "Please fail."], session_id="sess_shop", tools=["shop:note"], state={}, http=http
)
write_record("fixtures/shop.record.yaml", ledger)
write_http("fixtures/shop.http.yaml", http)
write_plan("fixtures/shop.session.yaml", Plan(session="sess_shop"))
"""


class Handler(BaseHTTPRequestHandler):
    """Answers with what it was sent, a cookie and a token of its own."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None: ...

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        sent = {name.lower(): value for name, value in self.headers.items()}
        key = sent.get("x-api-key") or sent.get("authorization", "").removeprefix("Bearer ")
        told: dict[str, Any] = {"echo": key, "coded": base64.b64encode(f"you sent {key}".encode()).decode()}
        told |= {"path": self.path, "access_token": SECRETS["GIVEN_TOKEN"], "cookie": sent.get("cookie", "")}
        if self.path == "/v1/chat/completions":
            text = json.loads(body)["messages"][-1]["content"]
            told["choices"] = [{"message": {"role": "assistant", "content": f"You said: {text}"}}]
        elif body:
            told["sent"] = body.decode() if body.startswith(b"{") else "a form"
        data = json.dumps(told).encode()
        self.send_response(401 if self.path.startswith("/missing") else 200)
        self.send_header("content-type", "application/json")
        self.send_header("set-cookie", f"sid={SECRETS['COOKIE']}; Path=/; HttpOnly")
        self.send_header("content-length", str(len(data)))
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(data)


def serve() -> ThreadingHTTPServer:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    return server


class Watched:
    """A project whose every file and every output is searched for the secrets."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path: Path = pytester.path
        self.forms = {form: name for name, secret in SECRETS.items() for form in forms(secret)}

    def leaks(self, *outputs: str) -> list[str]:
        places = {
            str(path.relative_to(self.path)): path.read_bytes() for path in self.path.rglob("*") if path.is_file()
        }
        places |= {f"output {number}": text.encode() for number, text in enumerate(outputs)}
        return sorted(
            {
                f"{name} in {place}"
                for form, name in self.forms.items()
                for place, data in places.items()
                if form in data
            }
        )

    def run(self, *options: str) -> pytest.RunResult:
        result = self.pytester.runpytest_subprocess("--statebase-replay", *options)
        assert not self.leaks(result.stdout.str(), result.stderr.str())
        return result

    def change(self, old: str, new: str) -> None:
        path = self.path / "agent.py"
        path.write_text(path.read_text().replace(old, new))


def forms(secret: str) -> set[bytes]:
    """As it stands in texts, addresses, JSON, XML and base64."""
    texts = {secret, quote(secret), quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1]}
    texts |= {json.dumps(json.dumps(secret))[3:-3], secret.replace("&", "&amp;").replace('"', "&quot;")}
    coded = {base64.b64encode(text.encode()) for text in texts}
    coded |= {base64.b64encode(f"you sent {secret}".encode()).rstrip(b"=")[:-2]}
    return {text.encode() for text in texts} | {one.rstrip(b"=")[:-1] for one in coded}


@pytest.fixture
def watched(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    model, service = serve(), serve()
    for name, secret in SECRETS.items():
        monkeypatch.setenv(name, secret)
    monkeypatch.setenv("MODEL_URL", f"http://127.0.0.1:{model.server_address[1]}")
    monkeypatch.setenv("SERVICE_URL", f"http://127.0.0.1:{service.server_address[1]}")
    pytester.makepyfile(agent=AGENT, shop=SHOP, record=RECORD)
    pytester.makeini(
        "[pytest]\nstatebase_agent = agent:agent\nstatebase_tools = shop:note\npythonpath = .\n"
        f"statebase_model_hosts = 127.0.0.1:{model.server_address[1]}\n"
    )
    (pytester.path / "fixtures").mkdir()
    done = pytester.runpython("record.py")
    assert done.ret == 0, done.stderr.str()
    made = Watched(pytester)
    recording = (pytester.path / "fixtures" / "shop.http.yaml").read_text()
    assert recording.count("REDACTED") > 20
    assert not made.leaks(done.stdout.str(), done.stderr.str())
    yield made
    for server in (model, service):
        server.shutdown()
        server.server_close()


REPORTS = (
    "--junitxml=junit.xml",
    "--statebase-report=report.html",
    "--statebase-results=results.jsonl",
    "-vv",
    "-rA",
)


def test_a_turn_that_fails(watched: Watched) -> None:
    assert watched.run(*REPORTS).ret == 0
    watched.change('SUFFIX = ""', 'SUFFIX = " indeed"')
    watched.change('"page": "1"', '"page": "2"')
    watched.change('"q": "1"', '"q": "2"')
    result = watched.run(*REPORTS, "--showlocals", "--tb=long", "--capture=no")
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_an_agent_that_raises_with_an_address(watched: Watched) -> None:
    watched.change('if "fail" in messages[-1]["content"]:', "if True:")
    result = watched.run(*REPORTS, "--statebase-http=all")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*HTTPStatusError*access_token=REDACTED*"])


def test_live_and_accepted(watched: Watched) -> None:
    watched.change("You help.", "You help the customers.")
    live = watched.run(*REPORTS, "--statebase-model=live", "--statebase-http=all")
    live.stdout.fnmatch_lines(["model calls*2 live"])
    kept = [path for path in (watched.path / ".pytest_cache").rglob("*.jsonl") if b"REDACTED" in path.read_bytes()]
    assert kept, "live answers wait in the cache"
    watched.run(*REPORTS, "--statebase-accept")
    assert "REDACTED" in (watched.path / "fixtures" / "shop.accepted.http.yaml").read_text()
    watched.run(*REPORTS).stdout.fnmatch_lines(["*turns:*1 accepted*"])


def test_names_of_the_ini_file_are_secret_in_a_replay(project: Project) -> None:
    project.ini(INI + "statebase_secrets = X-Acme-Member customer_code\n")
    project.cassette()
    agent = """
from pytest_statebase.cassette.secrets import is_secret_header, is_secret_name


def agent(user_input):
    return f"{is_secret_header('x-acme-member')} {is_secret_name('customerCode')}"
"""
    (project.path / "asks.py").write_text(agent, encoding="utf-8")
    project.run("--statebase-results=results.jsonl", "-Wdefault", agent="asks:agent")
    (row,) = project.results()
    assert row["turns"][0]["replayed"]["output"] == "True True"


OWN = ("hunter2x9QQ", "ghp_16C7e42F292c6912E7710c838347Ae178B4a")
"""Secrets of agents that need no server."""
FILES = (
    "--junitxml=junit.xml",
    "--statebase-report=report.html",
    "--statebase-results=results.jsonl",
    "--statebase-summary=summary.md",
    "-rA",
)


def own_leaks(project: Project, *outputs: str) -> list[str]:
    written = ("junit.xml", "report.html", "results.jsonl", "summary.md")
    places = {name: (project.path / name).read_text(encoding="utf-8") for name in written}
    places |= {f"output {number}": text for number, text in enumerate(outputs)}
    return [name for name, text in places.items() if any(secret in text for secret in OWN)]


def test_an_agent_that_cannot_be_made(project: Project) -> None:
    source = f"class agent:\n    def __init__(self):\n        raise ValueError('password={OWN[0]} {OWN[1]}')\n"
    (project.path / "mine.py").write_text(source, encoding="utf-8")
    project.cassette()
    result = project.run(*FILES, agent="mine:agent")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    (row,) = project.results()
    assert row["message"].startswith(
        "the agent mine:agent cannot be instantiated: ValueError: password=REDACTED REDACTED"
    )
    assert own_leaks(project, result.stdout.str(), result.stderr.str()) == []


RAISES = f"""
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    yield
    raise ValueError("password={OWN[0]} {OWN[1]}")
"""


def test_what_fails_an_item_besides_and_what_a_run_warns_of(project: Project) -> None:
    (project.path / "conftest.py").write_text(RAISES, encoding="utf-8")
    entry = f'{{fingerprint: 0123456789ab, until: "2999-01-01", ticket: "password={OWN[0]}"}}'
    project.cassette(plan=PLAN + f"known: [{entry}]\n")
    project.run(*FILES)
    assert project.results()[0]["failure"] == "pytest: ValueError: password=REDACTED REDACTED"
    first = (project.path / "results.jsonl").read_text(encoding="utf-8").splitlines()[0]
    (warning,) = json.loads(first)["run"]["warnings"]
    assert "(password=REDACTED) matched nothing" in warning
    # The failure itself is pytest's to tell, in the terminal and JUnit's XML.
    assert set(own_leaks(project)) <= {"junit.xml"}
