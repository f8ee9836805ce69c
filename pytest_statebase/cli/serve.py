"""`pytest-statebase serve`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from .output import counted, say, warn

PORT = 8042


@click.command("serve")
@click.argument("place", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", default=PORT, show_default=True, type=click.IntRange(0, 65535), help="The port; 0 is any that is free."
)
@click.option(
    "--key",
    envvar="STATEBASE_SERVE_KEY",
    help="What X-API-Key has to hold; by default any key, or none, will do. Also from STATEBASE_SERVE_KEY.",
)
@click.option(
    "--rate-limit", type=click.IntRange(1), metavar="N", help="Requests a minute, above which 429 is answered."
)
@click.option("--folded", is_flag=True, help="Lists show turns alone, without a turn for each tool call.")
def command(place: Path, host: str, port: int, key: str | None, rate_limit: int | None, folded: bool) -> None:
    """Serve recorded sessions as the StateBase service would.

    DIR is a directory with cassettes or records, or one of them. Clients that are given the address that is printed
    (`StateBase(api_key=…, base_url=…)`) read the sessions, write to them, and fork them; what they change is kept
    until the server ends, and in no file. Tool calls are turns of their own, as production logs them.

    Needs uvicorn: pip install 'pytest-statebase[serve]'.
    """
    from ..statebase import LocalClient
    from ..statebase.app import address_of, asgi_app, listening, server_of
    from ..statebase.router import Router
    from ..statebase.shelf import sessions_in
    from ..wire.hosts import is_loopback, plain_host

    if key == "":
        raise click.UsageError("--key is empty: leave it away, or give a key.")
    sessions = sessions_in(place)
    router = Router(LocalClient(sessions), tool_turns=not folded, rate_limit=rate_limit)
    is_here = is_loopback(plain_host(host))
    server = server_of(asgi_app(router, key=key, only_loopback=is_here and key is None))
    with listening(host, port) as sock:
        say(f"{counted(len(sessions), 'session')} at {address_of(sock)}")
        if not is_here and key is None:
            warn("Whoever reaches this machine can read them: give --key to prevent that.")
        say("Nothing is written to a file. Ctrl-C ends it.")
        with suppress(KeyboardInterrupt):
            server.run(sockets=[sock])
