"""Whole sessions from a service: every page, each thing once, hostile servers, and runs that go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pull_answers import OneSession, answering, error, listed

from pytest_statebase.cassette import read_record
from pytest_statebase.errors import OptionError
from pytest_statebase.importers.service import Pulled
from pytest_statebase.pull import Api, Found, Outcome, Pull, Wanted, find_sessions, since_time
from pytest_statebase.pull.api import Stopped
from pytest_statebase.pull.fetch import fetch, session_of

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@contextmanager
def pulling(respond: Callable[..., Any], out: Path, **more: Any) -> Iterator[tuple[Pull, list[str]]]:
    with answering(respond) as (url, asked), Api(url, "key-0123456789", sleep=lambda seconds: None) as api:
        yield Pull(api, out, **more), asked


def pulled_once(respond: Callable[..., Any], out: Path) -> Outcome:
    with pulling(respond, out) as (pull, _):
        outcome = pull.one(Found("sess_1"))
        pull.store.finish()
        return outcome


def fetched(respond: Callable[..., Any]) -> tuple[Pulled, list[str]]:
    with answering(respond) as (url, asked), Api(url, None, sleep=lambda seconds: None) as api:
        return fetch(api, session_of(api, "sess_1")), asked


# --- all of it, once


def test_pages_come_newest_first_and_twenty_at_a_time() -> None:
    found, asked = fetched(OneSession(count=55))
    assert [turn["turn_number"] for turn in found.turns] == list(range(1, 56))
    assert sum("/turns" in target for target in asked) == 3


def test_what_a_page_has_again_is_taken_once() -> None:
    service = OneSession(count=3)
    pages = {None: service.turns[:2], "turn_2": service.turns[1:], "turn_3": []}
    service.paths["turns"] = lambda query: {"data": pages[query.get("starting_after")]}
    found, asked = fetched(service)
    assert [turn["turn_number"] for turn in found.turns] == [1, 2, 3]
    assert sum("/turns" in target for target in asked) == 3


def test_a_service_that_does_not_know_limit_or_order_is_asked_without() -> None:
    service = OneSession(count=3)
    service.paths["turns"] = lambda query: error(422) if "order" in query else listed(*service.turns)
    assert len(fetched(service)[0].turns) == 3


@pytest.mark.parametrize("ascending", [True, False])
def test_a_state_history_of_many_pages(ascending: bool) -> None:
    versions = [{"id": f"v{number}", "version": number, "state": {"v": number}} for number in range(250)]
    versions = versions if ascending else versions[::-1]

    def history(query: dict[str, str]) -> Any:
        start = 0
        if "since_version" in query:
            start = int(query["since_version"]) + 1
        elif "starting_after" in query:
            start = [version["id"] for version in versions].index(query["starting_after"]) + 1
        return {**listed(*versions[start : start + 100], more=start + 100 < 250), "current_version": 249}

    found, asked = fetched(OneSession(**{"state/history": history}))
    assert [version["version"] for version in found.versions] == list(range(250))
    assert sum("history" in target for target in asked) == 3
    assert found.missing == []


def test_versions_that_the_service_keeps_to_itself_are_counted() -> None:
    some = {**listed({"version": 8, "state": {}}, {"version": 9, "state": {}}), "current_version": 9}
    found, _ = fetched(OneSession(**{"state/history": some}))
    assert found.missing == ["8 state versions missing from the state history"]


def test_details_of_traces_are_asked_for_only_where_nothing_else_tells() -> None:
    versions = [{"version": n, "state": {"v": n % 2}, "reasoning": "why"} for n in range(4)]
    traces = [
        {"id": "t1", "action": "session.created"},
        {"id": "t2", "action": "state.updated"},
        {"id": "t3", "action": "state.rolled_back"},
        {"id": "t4", "action": "turn.added", "resource_id": "turn_1"},
        {"id": "t5", "action": "state.rolled_back"},
        {"id": "t6", "action": "memory.created", "resource_id": "mem_1"},
        {"id": "t7", "action": "memory.created", "resource_id": "mem_2"},
    ]
    details = {"details": {"from_version": 2, "to_version": 1}}
    service = OneSession(
        **{
            "state/history": {**listed(*versions), "current_version": 3},
            "traces": listed(*traces),
            "memories": listed({"id": "mem_1", "content": "x"}),
            "traces/t5": details,
            "traces/t7": error(404, "trace_not_found"),
        }
    )
    found, asked = fetched(service)
    # Version 2 equals version 0 alone; version 3 equals 1 alone, too: only the second memory is told by nothing else.
    assert [target for target in asked if "/traces/t" in target] == ["/v1/traces/t7"]
    versions[3]["state"] = {"v": 0}
    found, asked = fetched(service)
    assert [target for target in asked if "/traces/t" in target] == ["/v1/traces/t5", "/v1/traces/t7"]
    assert found.traces[4]["details"] == details["details"]


def test_traces_of_other_sessions_are_not_taken_for_ours() -> None:
    own = {"id": "t1", "action": "turn.added", "session_id": "sess_1"}
    service = OneSession(
        **{
            "traces": listed({**own, "session_id": "sess_2"}, own),
            "traces/sessions/sess_1/traces": listed(own),
        }
    )
    assert fetched(service)[0].traces == [own]


def test_what_a_service_does_not_have_is_said() -> None:
    found, _ = fetched(OneSession(**{"traces": error(403), "state/history": error(404, "path_not_found")}))
    assert found.missing == ["the state history cannot be had (HTTP 404)", "the traces cannot be had (HTTP 404)"]
    assert found.session["state"] == {"v": 0}


# --- files


def test_the_files_of_a_session_and_that_again_changes_none(tmp_path: Path) -> None:
    assert pulled_once(OneSession(), tmp_path).what == "pulled"
    names = ["sess_1.pulled.json", "sess_1.record.yaml", "sess_1.session.yaml", "statebase.yaml"]
    before = {path.name: path.read_bytes() for path in sorted(tmp_path.iterdir())}
    assert list(before) == names
    with pulling(OneSession(), tmp_path) as (pull, asked):
        assert pull.one(Found("sess_1")).what == "unchanged"
        pull.store.finish()
        assert asked == ["/v1/sessions/sess_1"]
    assert {path.name: path.read_bytes() for path in sorted(tmp_path.iterdir())} == before


def test_secrets_are_out_before_anything_is_written(tmp_path: Path) -> None:
    secret = "sk-proj-abcdefghij0123456789ABCDEFGHIJ"
    service = OneSession(count=1)
    service.turns[0] |= {
        "metadata": {"api_key": "tiger", "note": f"used {secret}"},
        "reasoning": "key-0123456789 given",
    }
    service.session["metadata"] = {"password": "swordfish-1"}
    assert pulled_once(service, tmp_path).what == "pulled"
    text = "".join(path.read_text(encoding="utf-8") for path in tmp_path.iterdir())
    assert text.count("REDACTED") >= 8
    for one in (secret, "tiger", "swordfish", "key-0123456789"):
        assert one not in text


@pytest.mark.parametrize("stopped_at", [0, 1, 2, 3])
def test_a_run_that_was_stopped_anywhere_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopped_at: int
) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    pulled_once(OneSession(), whole)
    from pytest_statebase.cassette import files

    real = files.os.replace
    left = [stopped_at]

    def stop(source: str, target: Any) -> None:
        if left[0] == 0:
            raise KeyboardInterrupt
        left[0] -= 1
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr("pytest_statebase.cassette.files.os.replace", stop)
        with pytest.raises(KeyboardInterrupt):
            pulled_once(OneSession(), broken)
    assert list(broken.glob(".*.tmp"))
    assert pulled_once(OneSession(), broken).what == ["pulled", "completed", "completed", "unchanged"][stopped_at]
    assert {path.name: path.read_bytes() for path in sorted(broken.iterdir())} == {
        path.name: path.read_bytes() for path in sorted(whole.iterdir())
    }


def test_a_session_that_went_on_is_not_written_over(tmp_path: Path) -> None:
    pulled_once(OneSession(count=2), tmp_path)
    before = (tmp_path / "sess_1.record.yaml").read_bytes()
    service = OneSession(count=3)
    service.session["updated_at"] = "2026-11-29T12:00:00Z"
    outcome = pulled_once(service, tmp_path)
    assert outcome.what == "went on"
    assert "went on after it was pulled: 2 turns then, 3 now" in str(outcome.error)
    assert (tmp_path / "sess_1.record.yaml").read_bytes() == before


def test_a_record_of_other_origin_is_not_written_over(tmp_path: Path) -> None:
    pulled_once(OneSession(count=2), tmp_path)
    (tmp_path / "sess_1.pulled.json").unlink()
    outcome = pulled_once(OneSession(count=3), tmp_path)
    assert outcome.what == "failed"
    assert "a record of session sess_1 exists with other content" in str(outcome.error)


def test_what_was_pulled_stays_when_the_session_is_gone(tmp_path: Path) -> None:
    pulled_once(OneSession(), tmp_path)
    gone = error(404, "session_not_found")
    assert pulled_once(lambda path, query: gone, tmp_path).what == "unchanged"
    outcome = pulled_once(lambda path, query: gone, tmp_path / "new")
    assert outcome.what == "expired"
    assert "has expired, was deleted, or has another id" in str(outcome.error)
    assert not (tmp_path / "new").exists()


def test_a_session_that_expires_meanwhile_leaves_nothing(tmp_path: Path) -> None:
    service = OneSession(**{"state/history": error(404, "session_not_found")})
    assert pulled_once(service, tmp_path / "out").what == "expired"
    assert not (tmp_path / "out").exists()


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.pulled.json").write_text("{", encoding="utf-8")
    assert pulled_once(OneSession(), tmp_path).what == "pulled"
    (tmp_path / "sess_1.pulled.json").write_text("{}", encoding="utf-8")
    with pulling(OneSession(), tmp_path) as (pull, asked):
        outcome = pull.one(Found("sess_1"))
    assert (outcome.what, asked) == ("failed", [])
    assert "sess_1.pulled.json: is a pulled session of format None" in str(outcome.error)
    assert list(pull.damaged) == ["sess_1", "x"]
    assert "x.pulled.json: the file is no JSON" in str(pull.damaged["x"])


def test_only_failed_ones_are_kept_where_that_is_wanted(tmp_path: Path) -> None:
    service = OneSession()
    with pulling(service, tmp_path, only_failed=True) as (pull, _):
        assert pull.one(Found("sess_1")).what == "passed"
    service.turns[1]["output"] = {"type": "error", "message": "overloaded"}
    with pulling(service, tmp_path, only_failed=True) as (pull, _):
        assert pull.one(Found("sess_1")).what == "pulled"


# --- hostile services


@pytest.mark.parametrize(
    ("paths", "what"),
    [
        ({"turns": {"data": [OneSession.turn(1)], "has_more": True}}, "says that there is more, and gives nothing new"),
        ({"turns": {"data": [], "has_more": True}}, "gives nothing new after 0 items"),
        ({"turns": {"data": [{"turn_number": 1}]}}, "an object of the list has no id"),
        ({"turns": {"data": {"id": "x"}}}, "a list of objects was to come, and one whose `data` is none came"),
        ({"turns": [1, 2]}, "a list of objects was to come, and a list of something else came"),
        ({"turns": "no"}, "a list of objects was to come, and a text came"),
        ({"turns": listed({**OneSession.turn(1), "session_id": "sess_2"})}, "objects of another session came"),
        ({"turns": listed({"id": "a", "input": 5})}, "the input of turn None is no object"),
        ({"session": {"id": "sess_2"}}, "sess_1 was asked for, and another one came"),
        ({"session": []}, "an object was to come, and a list of something else came"),
        ({"state/history": {"data": [{"state": {}}]}}, "a state version without a number came"),
        ({"state/history": {"data": [{"version": 0}]}}, "no number or no state"),
    ],
)
def test_what_a_service_should_not_answer_is_one_message(tmp_path: Path, paths: dict[str, Any], what: str) -> None:
    outcome = pulled_once(OneSession(**paths), tmp_path / "out")
    assert (outcome.what, what in str(outcome.error)) == ("failed", True), outcome
    assert not (tmp_path / "out").exists()


def test_a_list_without_an_end_is_left(tmp_path: Path) -> None:
    count = iter(range(10**9))
    service = OneSession(count=0)
    service.paths["turns"] = lambda query: listed(*[{"id": f"t{next(count)}"} for _ in range(5000)], more=True)
    outcome = pulled_once(service, tmp_path)
    assert "more than 20,000 items" in str(outcome.error)
    versions = iter(range(10**9))

    def history(query: dict[str, str]) -> Any:
        return listed(*[{"version": next(versions), "state": {}} for _ in range(5000)], more=True)

    outcome = pulled_once(OneSession(**{"state/history": history}), tmp_path)
    assert "more than 20,000 state versions" in str(outcome.error)


@pytest.mark.parametrize("id", ["../../etc/passwd", "a/b", "a b\n", "ünïcode", "x" * 200, "CON", "..x", "%2e%2e"])
def test_ids_are_no_paths(tmp_path: Path, id: str) -> None:
    seen: list[str] = []

    def respond(path: str, query: dict[str, str]) -> Any:
        seen.append(path)
        if path.endswith(("turns", "traces")):
            return listed({**OneSession.turn(1), "session_id": id}) if path.endswith("turns") else listed()
        return {**listed(), "current_version": 0} if path.endswith("history") else {"id": id, "turn_count": 1}

    with pulling(respond, tmp_path) as (pull, _):
        outcome = pull.one(Found(id))
    assert outcome.what == "pulled"
    assert seen[0].count("/") == 3
    [record] = tmp_path.glob("*.record.yaml")
    assert read_record(record).id == id
    assert len(list(tmp_path.rglob("*"))) == 3


@pytest.mark.parametrize("id", ["", ".", "..", "x" * 501])
def test_ids_that_cannot_be_asked_for(tmp_path: Path, id: str) -> None:
    with pulling(OneSession(), tmp_path) as (pull, asked):
        outcome = pull.one(Found(id))
        assert (outcome.what, asked) == ("failed", [])
        assert "is no id" in str(outcome.error)


def test_three_sessions_in_a_row_that_cannot_be_had_end_the_run(tmp_path: Path) -> None:
    with pulling(lambda path, query: error(500), tmp_path) as (pull, _):
        assert [pull.one(Found(f"s{number}")).what for number in range(2)] == ["failed"] * 2
        with pytest.raises(Stopped, match="3 sessions one after another could not be had"):
            pull.one(Found("s3"))


# --- which ones


def sessions(*items: dict[str, Any]) -> Callable[..., Any]:
    return lambda path, query: listed(*items)


def found_ids(wanted: Wanted, *items: dict[str, Any]) -> list[str]:
    with answering(sessions(*items)) as (url, _), Api(url, None) as api:
        return [found.id for found in find_sessions(api, wanted)]


def test_sessions_by_agent_time_and_number() -> None:
    old = {"id": "old", "agent_id": "a", "created_at": "2026-11-01T00:00:00Z", "updated_at": "2026-11-02T00:00:00Z"}
    late = {**old, "id": "late", "updated_at": "2026-11-30T11:00:00Z"}
    other = {**late, "id": "other", "agent_id": "b"}
    since = NOW - timedelta(hours=24)
    assert found_ids(Wanted("a"), late, other, old) == ["late", "old"]
    assert found_ids(Wanted("a", since), late, other, old) == ["late"]
    assert found_ids(Wanted(limit=2), late, other, old) == ["late", "other"]


def test_what_expires_first_comes_first() -> None:
    times = {"a": None, "b": "2026-12-01T00:00:00Z", "c": "2026-11-30T13:00:00Z"}
    items = [{"id": name, "ttl_expires_at": at} for name, at in times.items()]
    assert found_ids(Wanted(), *items) == ["c", "b", "a"]


def test_the_service_is_asked_for_what_may_have_been_active() -> None:
    with answering(sessions()) as (url, asked), Api(url, None) as api:
        find_sessions(api, Wanted("a b", NOW))
    assert asked == ["/v1/sessions?agent_id=a+b&created_after=2026-10-31T12%3A00%3A00%2B00%3A00&limit=100"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("24h", NOW - timedelta(hours=24)),
        ("90m", NOW - timedelta(minutes=90)),
        ("2w", NOW - timedelta(weeks=2)),
        ("2026-11-29", datetime(2026, 11, 29, tzinfo=UTC)),
        ("2026-11-29T08:00+02:00", datetime(2026, 11, 29, 6, tzinfo=UTC)),
        ("999999w", datetime.min.replace(tzinfo=UTC)),
    ],
)
def test_times(text: str, expected: datetime) -> None:
    assert since_time(text, NOW) == expected
    assert find_empty(expected) == []


def find_empty(since: datetime) -> list[Found]:
    with answering(sessions()) as (url, _), Api(url, None) as api:
        return find_sessions(api, Wanted(None, since))


@pytest.mark.parametrize("text", ["", "yesterday", "24", "-3h", "h", "2026-13-01"])
def test_times_that_are_none(text: str) -> None:
    with pytest.raises(OptionError, match="is no time"):
        since_time(text, NOW)
