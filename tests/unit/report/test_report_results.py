from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from report_data import (
    RUN,
    all_rows,
    broken_plan,
    changed,
    clean,
    hostile,
    result,
    row,
    still_failing,
    turn_of,
    unchanged,
    unrecorded,
)

from pytest_statebase.errors import FileError, FormatVersionError
from pytest_statebase.report.results import (
    ResultsWriter,
    dump_row,
    load_row,
    read_results,
    read_runs,
    result_to_row,
    write_results,
)


def call_of(found: dict[str, Any], turn: int, label: str) -> Any:
    return next(call for call in found["turns"][turn]["calls"] if call["label"] == label)


def test_a_row_says_how_the_replay_went() -> None:
    found = row(still_failing())
    assert (found["outcome"], found["failure"]) == ("failed", "turn 2 still-failing")
    assert found["verdicts"] == {"unchanged": 1, "still-failing": 1}
    assert found["calls"]["repeated"] == 1
    turn = found["turns"][1]
    assert turn["recorded"]["output"] == "I have issued a refund of 42.50."
    assert turn["replayed"]["state"]["amount"] == {"!decimal": "42.50"}
    assert turn["divergences"][0]["path"] == "tools.issue_refund.arguments.amount"
    assert "recorded" not in turn["divergences"][2], "an absent side has no key"


def test_calls_stand_side_by_side() -> None:
    found = row(still_failing())
    assert call_of(found, 1, "lookup_order")["replayed"] == {"same": True}
    assert call_of(found, 1, "lookup_order")["reads"]
    assert call_of(found, 1, "issue_refund")["replayed"]["arguments"] == {"order_id": "1047", "amount": 40.0}
    extra = call_of(found, 1, "issue_refund#2")
    assert (extra["recorded"], extra["flags"]) == (None, ["repeated"])
    moved = call_of(row(changed()), 0, "lookup_order")
    assert (moved["flags"], moved["from_turn"], moved["source"]) == (["moved"], 1, "record")
    replaced = call_of(row(changed()), 0, "search_policy")
    assert (replaced["tool"], replaced["recorded"]["tool"]) == ("hand_over", "search_policy")


def test_a_miss_carries_its_explanation_and_what_was_not_reached() -> None:
    found = row(unrecorded())
    assert "answers:" in call_of(found, 1, "issue_refund")["explanation"]
    assert found["turns"][2]["replayed"] is None
    assert found["turns"][2]["calls"][0]["label"] == "change_address"


def test_an_unchanged_turn_is_short() -> None:
    found = row(clean())
    assert len(dump_row(found)) < 2_000
    assert {json.dumps(turn["replayed"]) for turn in found["turns"]} == {'{"same": true}'}


def test_what_goes_over_a_wire_is_ascii_and_comes_back() -> None:
    for found in [*all_rows(), hostile()]:
        line = dump_row(found)
        assert line.isascii()
        assert "\n" not in line
        assert load_row(line) == found


def test_files_come_back_equal(tmp_path: Path) -> None:
    path = tmp_path / "new" / "results.jsonl"
    write_results(path, [*all_rows(), hostile()], RUN)
    assert read_results(path) == (RUN, [*all_rows(), hostile()])
    assert json.loads(path.read_text("ascii").split("\n")[0]) == {"format": 1, "run": RUN, "replays": 10}


def test_replays_are_on_disk_as_they_end(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with ResultsWriter(path, RUN) as writer:
        writer.append(row(clean()))
        assert len(read_results(path)[1]) == 1


def test_a_killed_run_loses_its_last_line_alone(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    write_results(path, [row(clean()), broken_plan()], RUN)
    path.write_text(path.read_text()[:-40])
    run, rows = read_results(path)
    assert rows == [row(clean())]
    assert "line was cut off" in run["warnings"][0]


def cut(path: Path, lines: int, *, end: str = "\n", counted: bool = True) -> Path:
    """A file of four replays of which the first lines are left."""
    write_results(path, [row(clean(name)) for name in "abcd"], RUN)
    head, *rest = path.read_text("ascii").splitlines()
    head = head if counted else dump_row({"format": 1, "run": RUN})
    path.write_text("\n".join([head, *rest[:lines]]) + end, encoding="ascii")
    return path


@pytest.mark.parametrize("lines", [0, 1, 3])
def test_a_file_that_was_cut_off_between_lines_is_known_by_its_number(tmp_path: Path, lines: int) -> None:
    path = cut(tmp_path / "results.jsonl", lines)
    run, rows = read_results(path)
    assert len(rows) == lines
    assert run["missing"] == {"cut": 1, "replays": 4 - lines}
    assert run["warnings"] == [f"{path}: cut off: {lines} of 4 replays are there"]


def test_a_file_that_was_cut_off_within_a_line_lacks_that_one_too(tmp_path: Path) -> None:
    run, rows = read_results(cut(tmp_path / "results.jsonl", 2, end='\n{"cassette": "fix'))
    assert len(rows) == 2
    assert run["missing"] == {"cut": 1, "replays": 2}
    assert [text.split(": ", 1)[1] for text in run["warnings"]] == [
        "the last line was cut off and is left out",
        "cut off: 2 of 4 replays are there",
    ]


def test_a_whole_file_lacks_nothing_without_its_last_line_end(tmp_path: Path) -> None:
    assert read_results(cut(tmp_path / "results.jsonl", 4, end=""))[0] == RUN


def test_a_file_without_a_number_claims_nothing(tmp_path: Path) -> None:
    assert read_results(cut(tmp_path / "1.jsonl", 2, counted=False))[0] == RUN
    run, _ = read_results(cut(tmp_path / "2.jsonl", 2, end='\n{"cas', counted=False))
    assert run["missing"] == {"cut": 1, "replays": 1}


@pytest.mark.parametrize("number", ["4", True, -1, 10**40, None, [4], 4.0])
def test_a_number_that_is_none_claims_nothing(tmp_path: Path, number: object) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(dump_row({"format": 1, "run": {}, "replays": number}) + "\n", encoding="ascii")
    assert read_results(path) == ({}, [])


@pytest.mark.parametrize(
    ("content", "kind", "words"),
    [
        (b"", FileError, "empty"),
        (b"\xff\xfe", FileError, "UTF-8"),
        (b"<html>\n", FileError, "no `format`"),
        (
            b'{"format": 2, "run": {}}\n',
            FormatVersionError,
            "format 2, and this version of pytest-statebase reads format 1",
        ),
        (b'{"format": 1, "run": {}}\n[1]\n{}\n', FileError, ":2: this line is no result"),
        (b'{"format": 1, "run": {}}\n{"cassette": "x"}\n{}\n', FileError, "it has no `fork`"),
        (b'{"format": 1, "run": {}}\n' + b"[" * 200_000 + b"\n{}\n", FileError, "nested too deeply"),
        (b'{"format": 1, "run": {}}\n{"cassette": NaN}\n{}\n', FileError, "NaN is no JSON"),
        (b'{"format": 1, "run": {}}\n{"duration_ms": 1e999}\n', FileError, "a number that is too large"),
        (b'{"format": 1, "run": {}}\n{"x": [-1e999]}\n{}\n', FileError, "a number that is too large"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, kind: type[FileError], words: str) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(content)
    with pytest.raises(kind, match=r"results\.jsonl") as caught:
        read_results(path)
    assert words in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be read"):
        read_results(tmp_path / "none.jsonl")


def test_a_row_is_a_snapshot() -> None:
    made = still_failing()
    found = result_to_row(made)
    made.turns[1].replayed.state["amount"] = "changed later"  # type: ignore[union-attr]
    assert found["turns"][1]["replayed"]["state"]["amount"] == {"!decimal": "42.50"}


def test_lines_that_are_no_results_are_left_out_where_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    write_results(path, [row(clean("a")), row(clean("b"))], RUN)
    head, first, second = path.read_text("ascii").splitlines()
    lines = [head, '{"cassette": "x"}', first, '{"torn": ', first.replace('"turn":1', '"turn":true'), second]
    path.write_text("\n".join([*lines, '{"cassette": "c']), "ascii")
    left_out: list[FileError] = []
    ((run, rows),) = read_runs(path, left_out=left_out)
    assert rows == [row(clean("a")), row(clean("b"))]
    assert [error.where for error in left_out] == [f"{path}:{number}" for number in (2, 4, 5)]
    assert left_out[0].what == "this line is no result of a replay: it has no `fork`"
    assert run["warnings"] == [f"{path}:7: the last line was cut off and is left out"]


def test_a_file_of_several_runs_is_read_run_by_run(tmp_path: Path) -> None:
    whole, torn, last = (tmp_path / name for name in ("whole", "torn", "last"))
    write_results(whole, [row(clean("a"))], {"agent": "x"})
    cut(torn, 2, end='\n{"cas\n')
    write_results(last, [row(clean("a")), row(clean("b"))], {"agent": "y"})
    path = tmp_path / "all.jsonl"
    path.write_bytes(b"\n".join(part.read_bytes() for part in (whole, torn, last)))
    (one, two, three) = read_runs(path)
    assert one == ({"agent": "x"}, [row(clean("a"))])
    assert (len(two[1]), two[0]["missing"]) == (2, {"cut": 1, "replays": 2})
    assert [text.partition(": ")[0] for text in two[0]["warnings"]] == [f"{path}:7", str(path)]
    assert three == ({"agent": "y"}, [row(clean("a")), row(clean("b"))])
    run, rows = read_results(path)
    assert (len(rows), run["missing"]["replays"]) == (2, 2)
    assert run["warnings"][0] == "2 replays have several results: of each the last one counts"


def test_a_further_run_in_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    path.write_text('{"format": 1, "run": {}}\n{"format": 2, "run": {}}\n', encoding="ascii")
    with pytest.raises(FormatVersionError, match=r"all\.jsonl:2"):
        read_runs(path)


def test_a_last_line_that_is_whole_and_no_result_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(dump_row({"format": 1, "run": {}}) + '\n{"cassette": "a"}\n', encoding="ascii")
    with pytest.raises(FileError, match="is no result of a replay"):
        read_results(path)


def test_the_reasoning_of_an_unchanged_turn_is_kept_or_says_its_size() -> None:
    short, long = "a" * 1_999 + "!", "b" * 2_001
    turns = [unchanged(turn_of(at, "Hi", "Hello", reasoning=why)) for at, why in enumerate([short, long], 1)]
    kept, cut = (turn["recorded"]["reasoning"] for turn in row(result("why", turns))["turns"])
    assert kept == short
    assert cut == {"!cut": {"head": "b" * 2_000, "size": 2_001}}
