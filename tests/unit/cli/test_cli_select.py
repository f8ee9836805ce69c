from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from pytest_statebase.cassette import load_cassette, write_record
from pytest_statebase.ledger import Ledger, SessionCreated, ToolCalled, TurnAdded, TurnStarted
from tests.journals import session, write_journal

Run = Callable[..., Result]


def write(path: Path, *tools: str, agent: str | None = None, at: str | None = None) -> Path:
    """A record of one turn."""
    said = {"type": "text", "content": "x"}
    calls = [ToolCalled(tool, {}, "ok") for tool in tools]
    path.parent.mkdir(parents=True, exist_ok=True)
    name = path.name.removesuffix(".record.yaml")
    write_record(path, Ledger([SessionCreated(name, agent, at=at), TurnStarted(1, said), *calls, TurnAdded(said)]))
    return path


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three sessions, of which the second shows all that the first does."""
    monkeypatch.chdir(tmp_path)
    write(Path("in/one.record.yaml"), "a", "b", agent="billing", at="2026-11-01T00:00:00Z")
    write(Path("in/two.record.yaml"), "a", "b", "a", "b", agent="billing", at="2026-11-20T00:00:00Z")
    write(Path("in/three.record.yaml"), "c", agent="shop", at="2026-11-20T00:00:00Z")
    return Path("in")


def test_each_says_what_it_adds(records: Path, run: Run) -> None:
    result = run("select", records)
    assert result.exit_code == 0
    assert "   6      1      4  two\n      in/two.record.yaml\n" in result.output
    assert "   4      1      1  three\n" in result.output
    assert "2 of 3 sessions show all of 10: 0 kinds of error, 10 transitions, 0 places of the state" in result.output
    assert "No fewer than 2 do so: this is the smallest choice." in result.output
    assert "and 4 more" in result.output
    full = run("select", records, "--full").output
    assert "more" not in full
    assert "b → a" in full


def test_json(records: Path, run: Run) -> None:
    found = json.loads(run("select", records, "--json", "--limit", 1).output)
    [one] = found["sessions"]
    assert (one["session"], one["path"], one["agent"], one["turns"], one["calls"]) == (
        "two",
        "in/two.record.yaml",
        "billing",
        1,
        4,
    )
    assert one["at"] == "2026-11-20T00:00:00+00:00"
    assert len(one["adds"]["transition"]) == 6
    assert "c → turn ends" in found["missing"]
    assert (found["of"], found["smallest"], found["broken"]) == (3, None, [])


def test_paths_alone(records: Path, run: Run) -> None:
    assert run("select", records, "--paths").output == "in/two.record.yaml\nin/three.record.yaml\n"


def test_captured_sessions_have_no_paths_of_their_own(captured: Path, run: Run) -> None:
    write(Path("cassettes/x.record.yaml"), "c", "d")
    assert run("select", captured, "cassettes", "--paths").output == "cassettes/x.record.yaml\n"


def test_of_an_agent_and_since(records: Path, run: Run) -> None:
    assert run("select", records, "--paths", "--agent", "shop").output == "in/three.record.yaml\n"
    assert run("select", records, "--paths", "--since", "2026-11-10", "--all").output.count("\n") == 2
    result = run("select", records, "--agent", "nobody")
    assert result.exit_code == 1
    assert "none of 3 sessions is wanted" in result.output


def test_what_is_covered_already(records: Path, run: Run) -> None:
    write(Path("fixtures/x.record.yaml"), "c")
    result = run("select", records, "--covered-by", "fixtures", "--json")
    found = json.loads(result.output)
    assert [one["session"] for one in found["sessions"]] == ["two"]
    assert found["covered"] == 4


def test_rules(project: Path, run: Run) -> None:
    found = json.loads(run("select", "fixtures", "--keep", "errors, rollbacks", "--json").output)
    kept = {one["session"]: one["kept"] for one in found["sessions"] if one["kept"]}
    assert kept == {
        "sess_tool_raised": ["errors: change_address raised AddressLockedError and 1 more"],
        "sess_took_it_back": ["rollbacks: the state was rolled back once"],
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--keep", "errors,fun"], "'fun' is no rule"),
        (["--slow", "5"], "--slow: '5' means nothing"),
        (["--slow", "200%"], "--slow: '200%' means nothing"),
        (["--unusual", "1s"], "--unusual: '1s' means nothing"),
        (["--since", "soon"], "--since: 'soon' is no time"),
        (["--copy"], "go with --out"),
        (["--out", "x"], "add --copy"),
    ],
)
def test_what_means_nothing(records: Path, run: Run, arguments: list[str], said: str) -> None:
    result = run("select", records, *arguments)
    assert result.exit_code == 1
    assert said in result.output
    assert not Path("x").exists()


def test_copies_are_whole_and_nothing_is_written_over(project: Path, run: Run) -> None:
    before = {path.name: path.read_bytes() for path in Path("fixtures").iterdir() if path.is_file()}
    dry = run("select", "fixtures", "--out", "chosen", "--copy", "--dry-run")
    assert (dry.exit_code, Path("chosen").exists()) == (0, False)
    result = run("select", "fixtures", "--out", "chosen", "--copy")
    assert result.exit_code == 0
    copied = {path.name: path.read_bytes() for path in Path("chosen").iterdir()}
    assert "second-refund.record.yaml" in copied
    assert copied.items() <= before.items()
    assert f"files: {len(copied):,} written, 0 unchanged, 0 refused; in chosen" in result.output
    assert load_cassette("chosen/second-refund.session.yaml").ledger.turns
    assert (
        f"files: 0 written, {len(copied):,} unchanged" in run("select", "fixtures", "--out", "chosen", "--copy").output
    )
    Path("chosen/second-refund.session.yaml").write_text("cassette: 1\n", encoding="utf-8")
    refused = run("select", "fixtures", "--out", "chosen", "--copy")
    assert refused.exit_code == 1
    assert "Not copied: chosen/second-refund.session.yaml: the file is there already" in refused.output
    assert Path("chosen/second-refund.session.yaml").read_text(encoding="utf-8") == "cassette: 1\n"


def test_what_cannot_be_read_is_told_and_the_rest_chosen(records: Path, run: Run) -> None:
    (records / "bad.record.yaml").write_text("nonsense: [", encoding="utf-8")
    result = run("select", records)
    assert result.exit_code == 1
    assert "Not read: in/bad.record.yaml:" in result.output
    assert "2 of 3 sessions" in result.output
    broken = json.loads(run("select", records, "--json").stdout)["broken"]
    assert len(broken) == 1


def test_a_record_counts_once(records: Path, run: Run) -> None:
    plan = "cassette: 1\nrecord: {}\n"
    (records / "one.session.yaml").write_text(plan.format("one.record.yaml"), encoding="utf-8")
    (records / "again.session.yaml").write_text(plan.format("one.record.yaml"), encoding="utf-8")
    assert json.loads(run("select", records, "--json").output)["of"] == 3


def test_hostile_sessions(everything: Path, run: Run) -> None:
    for result in (run("select", everything.parent, "--full", "--keep", "errors"), run("select", everything, "--json")):
        assert result.exit_code == 0
        assert all(char == "\n" or char.isprintable() for char in result.output)


FAILED = ToolCalled("pay", {}, error={"type": "bank:Refused", "message": "no"})


@pytest.fixture
def captured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Journals of two processes."""
    monkeypatch.chdir(tmp_path)
    write_journal(
        Path("captured"),
        session("one", ["a", "b"], keep=("sample",), agent_id="shop"),
        session("two", ["a", "b", "a"], ["b"], keep=("slow",), agent_id="shop"),
        session("dull", ["z"], keep=(), agent_id="shop"),
    )
    write_journal(Path("captured"), session("three", [FAILED], keep=("errors", "sample"), agent_id="bank"))
    return Path("captured")


def test_captured_sessions_are_chosen_and_told_why_capture_kept_them(captured: Path, run: Run) -> None:
    result = run("select", captured)
    assert result.exit_code == 0
    assert "  two\n      captured\n" in result.output
    assert "      capture  kept it: slow\n" in result.output
    assert "      capture  kept it: errors, sample\n" in result.output
    assert "2 of 3 sessions show all" in result.output
    assert "1 more were captured that no rule of the capture keeps; --all takes them, too." in result.output
    found = json.loads(run("select", captured, "--keep", "slow,errors", "--limit", 2, "--json").output)
    told = {one["session"]: (one["kept"], one["captured_for"]) for one in found["sessions"]}
    assert told == {
        "two": (["slow: as it was captured"], ["slow"]),
        "three": (["errors: pay raised Refused"], ["errors", "sample"]),
    }


def test_the_chosen_ones_are_written(captured: Path, run: Run) -> None:
    assert not run("select", captured, "--out", "fixtures", "--dry-run").exit_code
    assert not Path("fixtures").exists()
    result = run("select", captured, "--out", "fixtures", "--keep", "errors", "--agent", "bank")
    assert result.exit_code == 0
    assert "files: 3 written, 0 unchanged, 0 refused; in fixtures" in result.output
    assert sorted(path.name for path in Path("fixtures").iterdir()) == [
        "statebase.yaml",
        "three.record.yaml",
        "three.session.yaml",
    ]
    assert not run("verify", "fixtures").exit_code
    cassette = load_cassette("fixtures/three.session.yaml")
    assert cassette.ledger.turns[0].calls[0].error is not None
    plan = Path("fixtures/three.session.yaml").read_text(encoding="utf-8")
    assert "# Chosen for errors: pay raised Refused\n# Kept by capture: errors, sample\n" in plan
    again = run("select", captured, "--out", "fixtures", "--agent", "bank")
    assert "files: 0 written, 3 unchanged, 0 refused; in fixtures" in again.output


def test_all_takes_those_that_no_rule_keeps(captured: Path, run: Run) -> None:
    assert len(json.loads(run("select", captured, "--all", "--json").output)["sessions"]) == 4


def test_what_was_selected_before_covers(captured: Path, run: Run) -> None:
    run("select", captured, "--out", "fixtures")
    result = run("select", captured, "--covered-by", "fixtures")
    assert "None of 3 sessions adds anything" in result.output
    write_journal(captured, session("new", ["a", "c"]))
    found = json.loads(run("select", captured, "--covered-by", "fixtures", "--json").output)
    assert [one["session"] for one in found["sessions"]] == ["new"]


def test_damaged_lines_are_told_and_passed_over(captured: Path, run: Run) -> None:
    journal = next(path for path in captured.glob("*.journal") if b"two" in path.read_bytes())
    lines = journal.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2][:50] + b"\x1b[31m" + lines[2][50:]
    journal.write_bytes(b"".join([*lines, b"12345678\thalf"]))
    result = run("select", captured)
    assert result.exit_code == 1
    assert f"Not read: {journal}:3: the check sum does not fit" in result.output
    assert f"{journal}:{len(lines) + 1}: the line ends before its time" in result.output
    assert "\x1b" not in result.output
    assert "2 of 2 sessions show all" in result.output


def test_a_torn_line_alone_is_no_failure(captured: Path, run: Run) -> None:
    with sorted(captured.glob("*.journal"))[0].open("ab") as file:
        file.write(b"12345678\thalf")
    result = run("select", captured)
    assert result.exit_code == 0
    assert "the line ends before its time" in result.output


def test_journals_and_cassettes_at_once(captured: Path, run: Run) -> None:
    write(Path("cassettes/x.record.yaml"), "c", "d")
    refused = run("select", captured, "cassettes", "--out", "fixtures")
    assert (refused.exit_code, "add --copy" in refused.output) == (1, True)
    result = run("select", captured, "cassettes", "--out", "fixtures", "--copy")
    assert result.exit_code == 0
    assert {load_cassette(path).ledger.id for path in Path("fixtures").glob("*.record.yaml")} == {
        "two",
        "three",
        "x",
    }


def test_a_directory_with_neither(tmp_path: Path, run: Run) -> None:
    result = run("select", tmp_path)
    assert (result.exit_code, "there is no journal and no cassette here" in result.output) == (1, True)


def test_hostile_captured_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.chdir(tmp_path)
    ids = ["../../etc/x\x1b[2J", "C:con", "NUL", "a/b", "A/b", "é" * 130, "x.record.yaml", "\u202eevil"]
    write_journal(
        Path("captured"), *(session(one, [f"t{at}\x1b]0;"], keep=(f"k\x1b{at}",)) for at, one in enumerate(ids))
    )
    result = run("select", "captured", "--out", "fixtures", "--full")
    assert result.exit_code == 0
    assert all(char == "\n" or char.isprintable() for char in result.output)
    plans = sorted(Path("fixtures").glob("*.session.yaml"))
    assert sorted(load_cassette(plan).ledger.id for plan in plans) == sorted(ids)
    assert len({plan.name.lower() for plan in plans}) == len(ids)
    assert sorted(path.name for path in Path().iterdir()) == ["captured", "fixtures"]
