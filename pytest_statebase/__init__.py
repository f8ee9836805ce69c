"""Turn failures of AI agents in production into regression tests.

The public names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy import loader

if TYPE_CHECKING:
    from .cassette import Cassette, load_cassette
    from .compare.model import Divergence, ReplayResult, TurnResult, Verdict
    from .engine.acting import acting_as
    from .engine.agents import AgentReply
    from .engine.answer import ServiceAnswer, ServiceError
    from .engine.runner import replay, replay_async
    from .engine.service import asgi_agent, http_agent
    from .errors import StatebaseError, UnrecordedCall
    from .ledger import ForkPoint, Ledger
    from .marks import tool
    from .recorder.capture import capture
    from .recorder.middleware import CaptureMiddleware
    from .recorder.session import record_session
    from .values import ABSENT

__version__ = "0.1.0"

__all__ = [
    "ABSENT",
    "AgentReply",
    "CaptureMiddleware",
    "Cassette",
    "Divergence",
    "ForkPoint",
    "Ledger",
    "ReplayResult",
    "ServiceAnswer",
    "ServiceError",
    "StatebaseError",
    "TurnResult",
    "UnrecordedCall",
    "Verdict",
    "acting_as",
    "asgi_agent",
    "capture",
    "http_agent",
    "load_cassette",
    "record_session",
    "replay",
    "replay_async",
    "tool",
]

_HOMES = {
    "ABSENT": "values",
    "AgentReply": "engine.agents",
    "CaptureMiddleware": "recorder.middleware",
    "Cassette": "cassette",
    "Divergence": "compare.model",
    "ForkPoint": "ledger",
    "Ledger": "ledger",
    "ReplayResult": "compare.model",
    "ServiceAnswer": "engine.answer",
    "ServiceError": "engine.answer",
    "StatebaseError": "errors",
    "TurnResult": "compare.model",
    "UnrecordedCall": "errors",
    "Verdict": "compare.model",
    "acting_as": "engine.acting",
    "asgi_agent": "engine.service",
    "capture": "recorder.capture",
    "http_agent": "engine.service",
    "load_cassette": "cassette",
    "record_session": "recorder.session",
    "replay": "engine.runner",
    "replay_async": "engine.runner",
    "tool": "marks",
}

__getattr__ = loader(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
