"""A prompt changes: run once with the model live and the tools stubbed, review, accept, replay offline from then on."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.frameworks.model_server import ModelServer

pytest.importorskip("httpx", reason="the agent of these tests talks to its model with httpx")

AGENT = """
import json, os, signal
import httpx
import shop

signal.signal(signal.SIGINT, signal.default_int_handler)

SYSTEM = "You help the customers of a shop."


def agent(messages):
    talk = [{"role": "system", "content": SYSTEM}, *messages]
    while True:
        asked = {"model": "gpt-test", "messages": talk, "tools": shop.SCHEMAS}
        headers = {"authorization": "Bearer " + os.environ.get("OPENAI_API_KEY", "none"), "x-process": str(os.getpid())}
        done = httpx.post(os.environ["MODEL_URL"] + "/v1/chat/completions", json=asked, headers=headers, timeout=60)
        done.raise_for_status()
        answer = done.json()["choices"][0]["message"]
        talk.append(answer)
        if not answer.get("tool_calls"):
            return answer["content"]
        for call in answer["tool_calls"]:
            arguments = json.loads(call["function"]["arguments"])
            result = getattr(shop, call["function"]["name"])(**arguments)
            talk.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)})
"""
SHOP = """
ORDERS = {"1047": "delivered", "2093": "lost"}


def lookup_order(order_id):
    with open("live.log", "a") as log:
        log.write("lookup_order\\n")
    return {"order": order_id, "status": ORDERS[order_id]}


def refund(order_id, reason):
    with open("live.log", "a") as log:
        log.write("refund\\n")
    return f"refunded {order_id}: {reason}"


def schema(name, *arguments):
    properties = {argument: {"type": "string"} for argument in arguments}
    parameters = {"type": "object", "properties": properties, "required": list(arguments)}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


SCHEMAS = [schema("lookup_order", "order_id"), schema("refund", "order_id", "reason")]
"""
RECORD = """
import agent
from pytest_statebase import record_session
from pytest_statebase.cassette import Plan, write_http, write_plan, write_record

http = []
ledger = record_session(
    agent.agent, ["Where is order 1047?", "A refund for 2093, please."], session_id="sess_shop",
    tools=["shop:lookup_order", "shop:refund"], state={}, http=http,
)
write_record("fixtures/shop.record.yaml", ledger)
write_http("fixtures/shop.http.yaml", http)
write_plan("fixtures/shop.session.yaml", Plan(session="sess_shop"))
"""
KEY = "sk-proj-abcdefghijklmnopqrstuvwx"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer() as server:
        monkeypatch.setenv("MODEL_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield server


@pytest.fixture
def project(pytester: pytest.Pytester, server: ModelServer) -> pytest.Pytester:
    """A project with one session, recorded against the live model."""
    pytester.makepyfile(agent=AGENT, shop=SHOP, record=RECORD)
    pytester.makeini(
        "[pytest]\nstatebase_agent = agent:agent\nstatebase_tools = shop:lookup_order shop:refund\n"
        f"statebase_model_hosts = 127.0.0.1:{server.port}\npythonpath = .\n"
    )
    (pytester.path / "fixtures").mkdir()
    done = pytester.runpython("record.py")
    assert done.ret == 0, done.stderr.str()
    (pytester.path / "live.log").unlink()
    return pytester


def run(project: pytest.Pytester, *options: str) -> pytest.RunResult:
    return project.runpytest_subprocess("--statebase-replay", *options)


def change_prompt(project: pytest.Pytester, to: str = "You are a pirate who helps the customers of a shop.") -> None:
    path = project.path / "agent.py"
    path.write_text(path.read_text().replace("You help the customers of a shop.", to))


def tools_ran(project: pytest.Pytester) -> bool:
    return (project.path / "live.log").exists()


def files(project: pytest.Pytester) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (project.path / "fixtures").iterdir()}


def test_offline_without_a_key(project: pytest.Pytester, server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    before = server.count
    server.stop()
    monkeypatch.delenv("OPENAI_API_KEY")
    result = run(project)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["model calls*5 answered"])
    assert server.count == before
    assert not tools_ran(project)


def test_a_changed_prompt_is_one_line_and_never_green(project: pytest.Pytester, server: ModelServer) -> None:
    before = server.count
    change_prompt(project)
    result = run(project)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    lines = [line for line in result.outlines if "--statebase-model=auto" in line]
    assert len(lines) == 1, result.stdout.str()
    verbose = run(project, "-v")
    moved = '*shop.session.yaml::version-0 turn 1  *system text*: recorded "You help*", now "You are a pirate*'
    verbose.stdout.fnmatch_lines(["stale *--statebase-model=auto*", moved])
    verbose.stdout.no_fnmatch_line("*--statebase-mode=isolated*")
    page = (project.path / "statebase-report.html").read_text("utf-8")
    assert "pytest --statebase-replay --statebase-model=auto" in page
    assert "1 model call in 1 cassette" in lines[0]
    result.stdout.no_fnmatch_line("*= FAILURES =*")
    assert server.count == before


def test_once_live_then_offline(project: pytest.Pytester, server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = files(project)
    change_prompt(project)
    before = server.count
    live = run(project, "--statebase-model=auto")
    assert server.count == before + 5, live.stdout.str()
    announced = "statebase: model calls without a recording go live: up to 5 model calls, about * tokens*"
    live.stdout.no_fnmatch_line("*of an earlier run*")
    live.stdout.fnmatch_lines([announced])
    live.stdout.fnmatch_lines(["model calls*5 live"])
    assert live.ret == 0, "only the wording of the outputs differs"
    assert not tools_ran(project)
    assert files(project) == evidence, "a replay writes nothing beside the cassettes"

    again = run(project, "--statebase-model=auto")
    assert again.ret == 0
    assert server.count == before + 5, "what came live once is not asked for again"
    again.stdout.fnmatch_lines([f"{announced}; 5 answers of an earlier run are kept, and not asked for again*"])
    again.stdout.fnmatch_lines(["model calls*5 kept"])
    again.stdout.no_fnmatch_line("*5 live*")

    accepted = run(project, "--statebase-accept")
    assert accepted.ret == 0, accepted.stdout.str()
    accepted.stdout.fnmatch_lines(["model calls*5 kept"])
    assert server.count == before + 5
    assert sorted(set(files(project)) - set(evidence)) == ["shop.accepted.http.yaml", "shop.accepted.yaml"]
    assert {name: data for name, data in files(project).items() if name in evidence} == evidence

    server.stop()
    monkeypatch.delenv("OPENAI_API_KEY")
    offline = run(project, "-p", "no:cacheprovider")
    assert offline.ret == 0, offline.stdout.str()
    offline.stdout.fnmatch_lines(["*turns: 2 accepted"])
    # Accepted answers stand in the place of the recorded ones, and are not counted beside them.
    run(project, "--statebase-model=auto").stdout.fnmatch_lines([announced])
    for data in files(project).values():
        assert KEY.encode() not in data


def test_a_prompt_that_changes_what_is_done_is_named(project: pytest.Pytester) -> None:
    change_prompt(project, "You help. Order numbers take the prefix A-.")
    result = run(project, "--statebase-model=auto")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    told = ["*turn 1 unrecorded*", "*tools.lookup_order.arguments.order_id*", '*recorded*"1047"', '*replayed*"A-1047"']
    result.stdout.fnmatch_lines(told)


def test_a_model_call_without_a_recording_tells_the_next_step(project: pytest.Pytester) -> None:
    """The conversation is another one, so that it is no moved prompt."""
    path = project.path / "agent.py"
    path.write_text(path.read_text().replace("*messages]", '*messages, {"role": "user", "content": "Be brief."}]'))
    hint = "*to ask the model, with the tools stubbed: --statebase-model=auto*"
    result = run(project, "--statebase-accept")
    result.stdout.fnmatch_lines(["*turn 1 unrecorded*", hint])
    result.stdout.fnmatch_lines(
        ["refused*unrecorded: a model call had no answer; ask the model with --statebase-model=*"]
    )


def test_a_host_that_nobody_named_is_told(project: pytest.Pytester, server: ModelServer) -> None:
    path = project.path / "pytest.ini"
    path = path if path.exists() else project.path / "tox.ini"
    path.write_text(path.read_text().replace(f"statebase_model_hosts = 127.0.0.1:{server.port}\n", ""))
    change_prompt(project)
    result = run(project, "--statebase-model=auto")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    told = f"*this path looks like a model's; if it is one*statebase_model_hosts = 127.0.0.1:{server.port}"
    result.stdout.fnmatch_lines(["*turn 1 unrecorded*", told, "*ignore: *http.body.messages[[]0].content*"])


def test_what_was_interrupted_is_never_an_answer(project: pytest.Pytester, server: ModelServer) -> None:
    before, script = server.count, server.script
    change_prompt(project)

    def interrupting(request: Any) -> Any:
        if server.count == before + 3:
            os.kill(int(server.requests[-1]["headers"]["x-process"]), signal.SIGINT)
            time.sleep(2)  # the answer comes when nobody waits for it any more
        return script(request)

    server.script = interrupting
    result = run(project, "--statebase-model=auto")
    assert result.ret == pytest.ExitCode.INTERRUPTED, result.stdout.str()
    (kept,) = (project.path / ".pytest_cache" / "d" / "statebase").glob("*.jsonl")
    assert kept.read_text().count("\n") == 2
    again = run(project, "--statebase-model=auto")
    assert again.ret == 0, again.stdout.str()
    assert server.count == before + 6
    assert run(project, "--statebase-accept").ret == 0
    assert "waited no longer" not in (project.path / "fixtures" / "shop.accepted.http.yaml").read_text()


def test_a_budget(project: pytest.Pytester, server: ModelServer) -> None:
    before = server.count
    change_prompt(project)
    result = run(project, "--statebase-model=auto", "--statebase-max-model-calls=3")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert server.count == before + 3
    result.stdout.fnmatch_lines(["*inconclusive*"])
    again = run(project, "--statebase-model=auto")
    assert again.ret == 0, again.stdout.str()
    assert server.count == before + 5, "a rerun goes on where the first one ended"


def test_a_provider_that_is_busy_is_waited_for(project: pytest.Pytester, server: ModelServer) -> None:
    change_prompt(project)
    server.fail(2, 429, retry_after_ms="20")
    server.fail(1, 503, retry_after="0.02")
    result = run(project, "--statebase-model=auto")
    assert result.ret == 0, result.stdout.str()


def test_a_provider_that_refuses_is_inconclusive(project: pytest.Pytester, server: ModelServer) -> None:
    change_prompt(project)
    server.fail(1, 401)
    result = run(project, "--statebase-model=auto")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*inconclusive*", "*401*", "*turn 1 is inconclusive: its model gave no answer"])
    result.stdout.no_fnmatch_line("*made a call that has no answer*")
    result.stdout.no_fnmatch_line("*--statebase-mode=isolated*")


def test_one_worker_a_file(project: pytest.Pytester) -> None:
    change_prompt(project)
    result = run(project, "--statebase-model=auto", "-n2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--statebase-model=auto*one worker a file*", "Add --dist=loadfile*"])
    assert run(project, "--statebase-model=auto", "-n2", "--dist=loadfile").ret == 0


def test_without_a_model_recording(project: pytest.Pytester, server: ModelServer) -> None:
    for path in (project.path / "fixtures").iterdir():
        path.unlink()
    recorder = RECORD.replace(", http=http", "").replace('write_http("fixtures/shop.http.yaml", http)', "")
    assert project.runpython(project.makepyfile(record_alone=recorder)).ret == 0
    (project.path / "live.log").unlink()
    result = run(project)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["stale*1 session without a model recording*--statebase-model=auto*"])
    before = server.count
    assert run(project, "--statebase-model=auto").ret == 0
    assert server.count == before + 5


@pytest.mark.parametrize("most", [1, 3])
def test_workers_have_one_budget(project: pytest.Pytester, server: ModelServer, most: int) -> None:
    for name in ("record", "http", "session"):
        source = project.path / "fixtures" / f"shop.{name}.yaml"
        (project.path / "fixtures" / f"again.{name}.yaml").write_bytes(source.read_bytes())
    change_prompt(project)
    before = server.count
    options = ("--statebase-model=auto", f"--statebase-max-model-calls={most}", "-n2", "--dist=loadfile")
    result = run(project, *options)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines([f"*the budget of {most} model call*is used up*"])
    assert server.count == before + most, "neither a share of it, nor as much for each"


def test_a_recording_that_was_deleted_is_missing(project: pytest.Pytester, server: ModelServer) -> None:
    (project.path / "fixtures" / "shop.http.yaml").unlink()
    before = server.count
    for options in ((), ("--statebase-model=auto",), ("--statebase-model=auto", "--statebase-accept")):
        result = run(project, *options)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        result.stdout.fnmatch_lines(["*shop.http.yaml: the HTTP recording is missing*", "*Restore it from version*"])
        result.stdout.no_fnmatch_line("*stale*")
    assert server.count == before


def test_accepted_exchanges_that_were_deleted_are_missing(project: pytest.Pytester, server: ModelServer) -> None:
    change_prompt(project)
    assert run(project, "--statebase-model=auto", "--statebase-accept").ret == 0
    before = server.count
    (project.path / "fixtures" / "shop.accepted.http.yaml").unlink()
    for options in ((), ("--statebase-model=auto",)):
        result = run(project, *options)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        missing = "*shop.accepted.http.yaml: the HTTP recording is missing: shop.accepted.yaml was accepted with*"
        result.stdout.fnmatch_lines([missing, "*Restore it from version control.*"])
        result.stdout.no_fnmatch_line("*stale*")
    assert server.count == before
    (project.path / "fixtures" / "shop.accepted.yaml").unlink()
    result = run(project)
    result.stdout.fnmatch_lines(["stale*--statebase-model=auto*"])


def test_exchanges_of_turns_that_are_as_recorded_are_missed_as_well(project: pytest.Pytester) -> None:
    """The answers are the recorded ones, so that the baseline has no turns."""
    path = project.path / "agent.py"
    path.write_text(path.read_text().replace('"model": "gpt-test"', '"temperature": 0, "model": "gpt-test"'))
    result = run(project, "--statebase-model=auto", "--statebase-accept")
    assert result.ret == 0, result.stdout.str()
    assert {"shop.accepted.http.yaml", "shop.accepted.yaml"} <= set(files(project))
    assert run(project).ret == 0
    (project.path / "fixtures" / "shop.accepted.http.yaml").unlink()
    result = run(project)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*shop.accepted.http.yaml: the HTTP recording is missing*"])


def test_live_asks_again(project: pytest.Pytester, server: ModelServer) -> None:
    before = server.count
    assert run(project, "--statebase-model=live").ret == 0
    assert server.count == before + 5
    assert run(project, "--statebase-model=live").ret == 0
    assert server.count == before + 10
    assert sorted(files(project)) == ["shop.http.yaml", "shop.record.yaml", "shop.session.yaml"]
