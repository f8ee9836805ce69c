"""Names of files for sessions: portable, inside the directory, the same in every run."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from unicodedata import ucd_3_2_0

LONGEST = 80
"""Characters of a name, without `.session.yaml`."""

_FORBIDDEN = re.compile(r"[^A-Za-z0-9._-]+")
# What follows would be read as the end of another cassette's file: of `x` where the session is `x.accepted`.
_ENDING = re.compile(r".*\.(accepted|(session|record|http)\.yaml|pulled\.json)", re.IGNORECASE)
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE | re.DOTALL)


def safe_name(session: str) -> str:
    """A file name, without suffix, for the session of that id or title.

    Only `A-Za-z0-9._-`, 1 to 80 characters, no name that a file system reserves, no dot at either end, no ending that
    files of cassettes have. A text that is such a name already stays as it is; any other gets eight digits of its
    hash, so that two texts hardly ever share a name (`Names` sees to the rest, and to upper and lower case). The same
    on every platform and Python version.
    """
    name = _readable(session)
    if name == session and len(name) <= LONGEST and not _ENDING.fullmatch(name):
        return name
    return _with_hash(name, session)


def _readable(session: str) -> str:
    # The database of one fixed Unicode version: a newer Python must not name files otherwise.
    plain = ucd_3_2_0.normalize("NFKD", session)
    plain = "".join(char for char in plain if not ucd_3_2_0.combining(char))
    name = _FORBIDDEN.sub("-", plain).strip(".-") or "session"
    return f"session-{name}" if _RESERVED.fullmatch(name) else name


def _with_hash(name: str, identity: str) -> str:
    digits = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[: LONGEST - 9].rstrip('.-')}-{digits}"


class Names:
    """Gives each session of a run a name of its own, also where a file system ignores case.

    existing: names that the directory has already; one of them is given to the session that asks for just that name.
    """

    def __init__(self, existing: Iterable[str] = ()) -> None:
        self._existing = {name.casefold(): name for name in existing}
        self._given: set[str] = set()

    def claim(self, session: str, identity: str = "") -> str:
        """The name for the next session of that id or title; asked again, the next name for it.

        identity: what tells sessions of one title apart, so that each gets the same hash in any run.
        """
        name = safe_name(session)
        copy = 1
        while not self._is_free(name):
            name = _with_hash(_readable(session), "\0".join([session, identity, *["again"] * (copy - 1)]))
            copy += 1
        self._given.add(name.casefold())
        return name

    def _is_free(self, name: str) -> bool:
        folded = name.casefold()
        return folded not in self._given and self._existing.get(folded, name) == name
