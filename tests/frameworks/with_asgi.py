"""An agent that is a web service: Starlette, with a client that its lifespan opens and closes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from openai import AsyncOpenAI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from . import shop
from .with_openai import CHAT_TOOLS

CLOSED: list[str] = []
SETTINGS = {"system": shop.SYSTEM, "prefix": ""}


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[dict[str, Any]]:
    async with AsyncOpenAI() as client:
        yield {"client": client}
    CLOSED.append("client")


async def answer(request: Request) -> JSONResponse:
    talk = (await request.json())["messages"]
    if not talk[-1]["content"]:
        return JSONResponse({"error": "say something"}, status_code=422)
    text = await think(request.state.client, talk)
    said = [message["content"] for message in talk if message["role"] == "user"]
    return JSONResponse({"reply": {"text": text}, "session": {"state": {"said": said}}})


async def think(client: AsyncOpenAI, talk: list[Any]) -> str:
    steps: list[Any] = [{"role": "system", "content": SETTINGS["system"]}, *talk]
    while True:
        done = await client.chat.completions.create(model="gpt-test", messages=steps, tools=CHAT_TOOLS)
        message = done.choices[0].message
        steps.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return message.content or ""
        for call in message.tool_calls:
            assert call.type == "function"
            arguments = json.loads(call.function.arguments)
            arguments["order_id"] = SETTINGS["prefix"] + arguments["order_id"]
            result = shop.TOOLS[call.function.name](**arguments)
            steps.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


app = Starlette(routes=[Route("/sessions/{session}/messages", answer, methods=["POST"])], lifespan=lifespan)
