from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_statebase.cassette import load_cassette
from pytest_statebase.cassette.model import stem_of
from pytest_statebase.importers import ImportedSession
from pytest_statebase.importers.names import LONGEST, Names, safe_name
from pytest_statebase.importers.proposal import propose_plan
from pytest_statebase.importers.store import Store
from pytest_statebase.ledger import Ledger, SessionCreated

HOSTILE = [
    "a/b",
    "../../etc/x",
    "C:con",
    "q?*|",
    "x" * 300,
    "é" * 130,
    "trailing.",
    "NUL",
    "nul.txt",
    "con.session",
    "LPT1",
    "com0.tar.gz",
    "CONIN$",
    "",
    ".",
    "..",
    ".hidden",
    "-rf",
    "a b",
    "tab\tnew\nline\0",
    "日本語",
    "\ud800",
    "[mobile_data_issue]a|b[PERSONA:Hard]",
    "CON",
    "aux.record.yaml",
    "COM¹",
    "ｃｏｎ",
    "lpt9 ",
    "prn . . .",
    "a\u202egnp.exe",
    "~",
    "$HOME",
    "a:b",
    "\\\\server\\share",
    "x" * 79 + ".",
    "-" * 90,
    "x.accepted",
    "x.ACCEPTED",
    "x.record.yaml",
    "x.session.yaml",
    "x.http.yaml",
    "x.pulled.json",
]
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


@pytest.mark.parametrize("session", HOSTILE)
def test_names_are_portable(session: str) -> None:
    name = safe_name(session)
    assert re.fullmatch(r"[A-Za-z0-9._-]+", name)
    assert len(name) <= LONGEST
    assert not RESERVED.fullmatch(name)
    assert not name.startswith((".", "-"))
    assert not name.endswith(".")


def test_hostile_names_stay_apart() -> None:
    assert len({safe_name(session).casefold() for session in HOSTILE}) == len(HOSTILE)


@pytest.mark.parametrize("session", ["sess_bug_report_456", "a.b-c_D", "x" * 80, "0"])
def test_a_portable_name_stays_as_it_is(session: str) -> None:
    assert safe_name(session) == session


@pytest.mark.parametrize(
    ("session", "name"),
    [
        ("a/b", "a-b-c14cddc0"),
        ("../../etc/x", "etc-x-56da1a2e"),
        ("NUL", "session-NUL-ae6de182"),
        ("é" * 130, "e" * 71 + "-0e453436"),
    ],
)
def test_names_do_not_change_between_versions(session: str, name: str) -> None:
    assert safe_name(session) == name


def test_names_are_the_same_in_another_run() -> None:
    program = "from pytest_statebase.importers.names import safe_name; print(safe_name('[a]|é' * 40))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == safe_name("[a]|é" * 40)


def test_collisions_that_ignore_case() -> None:
    def run() -> list[str]:
        names = Names()
        return [names.claim("Sess", "1"), names.claim("sess", "2"), names.claim("SESS", "3"), names.claim("sess", "2")]

    claimed = run()
    assert claimed[0] == "Sess"
    assert len({name.casefold() for name in claimed}) == 4
    assert claimed == run()


def test_a_name_that_exists_is_given_to_its_own_session_only() -> None:
    names = Names(["Sess"])
    other = names.claim("sess")
    assert other.casefold() != "sess"
    assert names.claim("Sess") == "Sess"


LONGEST_ENDING = ".accepted.http.yaml"


@pytest.mark.parametrize("session", HOSTILE)
def test_every_file_of_a_session_is_inside_and_its_name_short(session: str, tmp_path: Path) -> None:
    base = safe_name(session) + LONGEST_ENDING
    assert len(base.encode()) <= 200
    path = tmp_path / "fixtures" / base
    assert path.resolve().parent == (tmp_path / "fixtures").resolve()
    # Where the file system is Windows'.
    assert PureWindowsPath("C:/fixtures", base).parent == PureWindowsPath("C:/fixtures")


ENDINGS = (".session.yaml", ".record.yaml", ".http.yaml", ".accepted.yaml", ".accepted.http.yaml", ".pulled.json")


def test_no_file_of_one_session_is_that_of_another() -> None:
    names = Names()
    stems = [names.claim(session) for session in HOSTILE]
    files = [(stem + ending).lower() for stem in stems for ending in ENDINGS]
    assert len(set(files)) == len(files)
    assert all(stem_of(stem + ".session.yaml") == stem_of(stem + ".record.yaml") == stem for stem in stems)


def test_a_name_that_another_session_has_by_its_hash() -> None:
    """The id of the second is what the first is called."""
    names = Names()
    first = names.claim("a/b")
    second = names.claim(first)
    assert first != second
    again = Names([first, second])
    assert (again.claim("a/b"), again.claim(first)) == (first, second)


@given(st.lists(st.text(max_size=120), max_size=6))
def test_any_ids(sessions: list[str]) -> None:
    names = Names()
    claimed = [names.claim(session, str(number)) for number, session in enumerate(sessions)]
    assert len({name.lower() for name in claimed}) == len(sessions)
    for name in claimed:
        assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", name)
        assert len(name) <= LONGEST
        assert not RESERVED.fullmatch(name)
        assert not name.endswith(".")


def test_cassettes_of_hostile_sessions_are_found_again(tmp_path: Path) -> None:
    def stored() -> Store:
        store = Store(tmp_path / "out")
        for name in HOSTILE:
            ledger = Ledger([SessionCreated(name or "session")])
            store.add(ImportedSession(name, ledger, propose_plan(ledger, None)))
        return store

    assert stored().tally.written == 2 * len(HOSTILE)
    plans = sorted((tmp_path / "out").glob("*.session.yaml"))
    assert sorted(load_cassette(plan).ledger.id for plan in plans) == sorted(name or "session" for name in HOSTILE)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert stored().tally.written == 0


@pytest.mark.parametrize("ending", [".session.yaml", ".http.yaml", ".record.yaml", ".pulled.json"])
def test_a_file_that_differs_by_case_is_another_ones(tmp_path: Path, ending: str) -> None:
    """Where the file system ignores case, it would be taken for the session's own."""
    (tmp_path / f"Refund{ending}").write_text("cassette: 1\n", encoding="utf-8")
    ledger = Ledger([SessionCreated("refund")])
    Store(tmp_path).add(ImportedSession("refund", ledger, propose_plan(ledger, None)))
    [record] = [path.name for path in tmp_path.glob("*.record.yaml") if not path.name.startswith("Refund.")]
    assert re.fullmatch(r"refund-[0-9a-f]{8}\.record\.yaml", record)
