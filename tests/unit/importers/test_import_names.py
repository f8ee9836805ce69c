from __future__ import annotations

import re
import subprocess
import sys

import pytest

from pytest_statebase.importers.names import LONGEST, Names, safe_name

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
