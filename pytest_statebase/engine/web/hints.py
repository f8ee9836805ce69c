"""What to do about a request that no recording answers."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ...compare.paths import render
from ...wire.exchange import Request
from .models import body_of, dialect_of
from .pool import Missed

_ASKED = frozenset({"messages", "input", "inputs", "contents", "prompt", "instances", "inputText", "model", "query"})
"""Keys of which a request to a model has one."""
_SHOWN = 4
ASK_MODEL = "to ask the model, with the tools stubbed: --statebase-model=auto, review, then --statebase-accept"


def hint_for(request: Request, missed: Missed, *, model: bool) -> str:
    """The next steps, a line each. request: without its secrets; model: it is known to ask a model."""
    return ASK_MODEL if model else "\n".join(_of_request(request, missed))


def _of_request(request: Request, missed: Missed) -> Iterator[str]:
    if _looks_like_model(request):
        port = request.parts.port
        host = request.host if port is None else f"{request.host}:{port}"
        yield f"this path looks like a model's; if it is one, name it in the ini file: statebase_model_hosts = {host}"
    if missed.differences:
        paths = [json.dumps(render(found.path), ensure_ascii=False) for found in missed.differences[:_SHOWN]]
        yield f"where it makes no difference, in the plan or in statebase.yaml: ignore: [{', '.join(paths)}]"
    yield (
        "to send it for real: --statebase-http=new_episodes, review, then --statebase-accept; "
        "or record the session again"
    )


def _looks_like_model(request: Request) -> bool:
    if request.method.upper() != "POST" or dialect_of(request) is None:
        return False
    body = body_of(request)
    return isinstance(body, dict) and not _ASKED.isdisjoint(body)
