"""What the fixture `statebase_client` hands to a test."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest

from .cassette import Cassette, load_cassette
from .engine.free import FreeForks
from .engine.remains import keep_guard
from .engine.tools import current, stubbed, with_marked
from .engine.web.doorway import door_here
from .engine.web.fence import fenced
from .errors import OptionError
from .ledger import Ledger
from .plugin_marker import sessions_of
from .plugin_settings import settings_of
from .report.ci.joblog import printable
from .statebase import LocalClient
from .wire.intercept import intercepted


@contextmanager
def local_client(config: pytest.Config) -> Iterator[LocalClient]:
    """A client that holds every cassette, with the tools stubbed while it is held.

    A call without an answer fails the test at the end, whatever the test or the agent caught.
    """
    settings = settings_of(config)
    shelf = _Shelf(sessions_of(config, settings))
    options = settings.options()
    forks = FreeForks(shelf.cassette, options)
    client = LocalClient({session: partial(shelf.ledger, session) for session in shelf.paths}, on_fork=forks.forked)
    forks.client = client
    with (
        stubbed(with_marked(options.tools)),
        intercepted(door_here),
        fenced(options.allowed_hosts, options.blocked_hosts) as fence,
        ExitStack() as stack,
    ):
        stack.callback(keep_guard)
        with current(forks):
            yield client
        forks.is_closed = True
    if fence.refused:
        warnings.warn(pytest.PytestWarning("\n".join(fence.refused)), stacklevel=1)
    if forks.misses:
        text = "\n\n".join(forks.misses)
        pytest.fail(printable(text), pytrace=False)


class _Shelf:
    """The cassettes by session, each read when it is first asked for."""

    def __init__(self, paths: dict[str, list[Path]]) -> None:
        self.paths = paths
        self._read: dict[str, Cassette] = {}

    def ledger(self, session: str) -> Ledger:
        """The recording of a session that there is."""
        cassette = self.cassette(session)
        assert cassette is not None
        return cassette.ledger

    def cassette(self, session: str) -> Cassette | None:
        """The cassette of a session, None where there is none.

        Raises OptionError where two recordings have the same id.
        """
        if session not in self._read:
            found = [load_cassette(path) for path in self.paths.get(session, ())]
            if not found:
                return None
            if len({cassette.record_path for cassette in found}) > 1:
                where = ", ".join(str(cassette.path) for cassette in found)
                raise OptionError(
                    f"{len(found)} recordings have the session id {session!r}: {where}",
                    remedy="Keep one of them in statebase_cassettes.",
                )
            self._read[session] = found[0]
        return self._read[session]
