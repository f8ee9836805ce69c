"""`pytest-statebase pull` as people type it, against served recordings of the sample agent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytest_statebase import pull as pulling
from pytest_statebase.cassette import load_cassette
from pytest_statebase.cli import main
from pytest_statebase.cli.pull import _minutes
from pytest_statebase.statebase.app import Served

FIXTURES = Path(__file__).parents[3] / "fixtures"
KEY = "sb-test-0123456789abcdef"
Pull = Callable[..., Result]


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    with Served(FIXTURES, key=KEY) as url:
        yield url


@pytest.fixture
def pull(service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pull:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STATEBASE_API_KEY", KEY)
    monkeypatch.setenv("STATEBASE_BASE_URL", service)

    def run(*arguments: str) -> Result:
        result = CliRunner().invoke(main, ["pull", *arguments])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert KEY not in result.output
        assert KEY.encode() not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
        return result

    return run


def names(suffix: str = ".session.yaml") -> list[str]:
    return sorted(path.name.removesuffix(suffix) for path in Path("fixtures").glob(f"*{suffix}"))


def test_a_session_by_its_id(pull: Pull) -> None:
    result = pull("sess_tool_raised", "sess_tool_raised")
    assert result.exit_code == 0, result.output
    assert names() == names(".record.yaml") == names(".pulled.json") == ["sess_tool_raised"]
    assert load_cassette("fixtures/sess_tool_raised.session.yaml").plan.failing == {2}
    assert "sess_tool_raised  3 turns, 2 calls\n  replayable; state versions placed: 1 by traces\n" in result.stdout
    assert (
        "  turn 2 looks wrong:\n    the output is an error (order 1052 is already with North Parcel)\n" in result.stdout
    )
    assert "1 session: 1 pulled, 0 unchanged; in fixtures\n4 requests\n" in result.stdout
    assert result.stderr == "Estimate: 1 session, at least 4 requests.\n"


def test_failed_ones(pull: Pull) -> None:
    result = pull("--failed", "--agent", "customer-support")
    assert names() == ["sess_tool_raised"]
    assert "8 sessions: 1 pulled, 0 unchanged, 7 without a failure; in fixtures" in result.stdout
    assert "Estimate: 8 sessions with 50 turns, at least 24 requests, less than 1 min at 100 a minute." in result.stderr


def test_the_newest(pull: Pull) -> None:
    assert pull("--limit", "3").exit_code == 0
    assert len(names()) == 3
    assert "3 sessions: 0 pulled, 3 unchanged" in pull("--limit", "3").stdout


def test_only_so_many_failed_ones(pull: Pull) -> None:
    assert "1 pulled" in pull("--failed", "--limit", "1").stdout
    before = names()
    assert "0 pulled, 1 unchanged" in pull("--failed", "--limit", "1").stdout
    assert names() == before


def test_a_dry_run_writes_nothing(pull: Pull) -> None:
    result = pull("--limit", "2", "--dry-run")
    assert len(result.stdout.splitlines()) == 3
    assert result.stdout.endswith("\n2 sessions would be read; none pulled\n")
    assert "turns, active 20" in result.stdout
    assert not Path("fixtures").exists()


def test_none_that_is_wanted(pull: Pull) -> None:
    assert pull("--agent", "nobody").stdout == "0 sessions of the service --agent nobody; none pulled\n"
    assert pull("--since", "1m", "--dry-run").stdout == "0 sessions of the service --since 1m; none pulled\n"
    assert not Path("fixtures").exists()


def test_a_session_that_is_not_there(pull: Pull) -> None:
    result = pull("sess_gone", "sess_clean")
    assert (result.exit_code, names()) == (1, ["sess_clean"])
    assert "Not pulled: sess_gone: the session is not there: it has expired, was deleted" in result.stderr
    assert "2 sessions: 1 pulled, 0 unchanged, 1 not there" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ([], "either sessions are named, or chosen by"),
        (["sess_1", "--failed"], "either sessions are named, or chosen by"),
        (["--since", "soon"], "--since: 'soon' is no time"),
        (["x", "--base-url", "nowhere"], "--base-url: 'nowhere' is no address"),
    ],
)
def test_what_cannot_be_meant(pull: Pull, arguments: list[str], what: str) -> None:
    result = pull(*arguments)
    assert (result.exit_code, what in result.stderr) == (1, True), result.output


def test_the_key_is_needed_and_checked(pull: Pull, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATEBASE_API_KEY", "sb-wrong-0123456789")
    result = pull("sess_clean")
    assert "the key is refused (the key in X-API-Key is not known)\n  Check STATEBASE_API_KEY." in result.stderr
    assert result.stdout == "1 session: none pulled\n1 request\n"
    assert "sb-wrong" not in result.output
    monkeypatch.delenv("STATEBASE_API_KEY")
    assert "the header X-API-Key is missing" in pull("sess_clean").stderr
    assert "STATEBASE_API_KEY is not set" in pull("sess_clean", "--base-url", "https://api.example.com").stderr


def test_a_directory_that_cannot_be_made(pull: Pull) -> None:
    Path("file").write_text("", encoding="utf-8")
    result = pull("sess_clean", "--out", "file/here")
    assert (result.exit_code, "the directory cannot be made" in result.stderr) == (1, True)


def test_a_damaged_file_is_named_and_the_others_are_pulled(pull: Pull) -> None:
    Path("fixtures").mkdir()
    Path("fixtures/sess_clean.pulled.json").write_text("{", encoding="utf-8")
    result = pull("sess_clean", "sess_tool_raised")
    assert (result.exit_code, names()) == (1, ["sess_tool_raised"])
    assert "Not pulled: fixtures/sess_clean.pulled.json: the file is no JSON" in result.stderr
    assert "2 sessions: 1 pulled, 0 unchanged, 1 not pulled; in fixtures" in result.stdout
    other = pull("sess_tool_raised")
    assert (other.exit_code, "Not read: fixtures/sess_clean.pulled.json" in other.stderr) == (1, True)


def test_a_session_that_went_on_fails_a_run_only_where_it_was_named(pull: Pull) -> None:
    pull("sess_clean")
    raw = Path("fixtures/sess_clean.pulled.json")
    raw.write_text(raw.read_text(encoding="utf-8").replace('"updated_at": "', '"updated_at": "1', 1), encoding="utf-8")
    found = pull("--agent", "customer-support")
    assert (found.exit_code, "7 pulled, 0 unchanged, 1 went on since; in fixtures" in found.stdout) == (0, True)
    assert "Not pulled again: fixtures/sess_clean.pulled.json: the session went on" in found.stderr
    assert pull("sess_clean").exit_code == 1


def test_the_tools_are_those_of_all_sessions_also_where_a_run_was_stopped(
    pull: Pull, monkeypatch: pytest.MonkeyPatch
) -> None:
    pull("--agent", "customer-support", "--out", "whole")
    real, left = pulling.Pull.one, [3]

    def stopped(self: pulling.Pull, found: pulling.Found) -> pulling.Outcome:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return real(self, found)

    with monkeypatch.context() as patch:
        patch.setattr(pulling.Pull, "one", stopped)
        assert "Stopped. What was pulled is kept" in pull("--agent", "customer-support").stderr
    assert (len(names()), Path("fixtures/statebase.yaml").exists()) == (3, False)
    pull("--agent", "customer-support")
    assert Path("fixtures/statebase.yaml").read_text(encoding="utf-8") == Path("whole/statebase.yaml").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize(
    ("requests", "expected"), [(6, "less than 1 min"), (100, "less than 1 min"), (301, "about 3 min")]
)
def test_how_long_a_limit_holds_up(requests: int, expected: str) -> None:
    assert _minutes(requests, 100) == expected
