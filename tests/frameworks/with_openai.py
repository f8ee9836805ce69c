"""Agents over the package `openai`: chat completions, streamed, async, and the responses API."""

from __future__ import annotations

import json
from typing import Any

from openai import AsyncOpenAI, OpenAI

from . import shop

CHAT_TOOLS: Any = [
    {"type": "function", "function": {"name": name, "description": tool.__doc__, "parameters": shop.schema(name)}}
    for name, tool in shop.TOOLS.items()
]
TOOLS: Any = [{"type": "function", "strict": False, **tool["function"]} for tool in CHAT_TOOLS]


class Chat:
    """The loop over chat completions that most people write."""

    system = shop.SYSTEM

    def __init__(self) -> None:
        self.client = OpenAI()

    def arguments(self, text: str) -> dict[str, Any]:
        return json.loads(text)  # type: ignore[no-any-return]

    def __call__(self, messages: list[dict[str, Any]]) -> str:
        talk: list[Any] = [{"role": "system", "content": self.system}, *messages]
        while True:
            answer = self.ask(talk)
            talk.append(answer)
            if not answer.get("tool_calls"):
                return answer["content"]  # type: ignore[no-any-return]
            for call in answer["tool_calls"]:
                function = call["function"]
                result = shop.TOOLS[function["name"]](**self.arguments(function["arguments"]))
                talk.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)})

    def ask(self, talk: list[Any]) -> dict[str, Any]:
        done = self.client.chat.completions.create(model="gpt-test", messages=talk, tools=CHAT_TOOLS)
        return done.choices[0].message.model_dump(exclude_none=True)


class Streamed(Chat):
    """Puts an answer together from its events."""

    def ask(self, talk: list[Any]) -> dict[str, Any]:
        with self.client.chat.completions.stream(model="gpt-test", messages=talk, tools=CHAT_TOOLS) as stream:
            self.kinds = [event.type for event in stream]
            message = stream.get_final_completion().choices[0].message
        return message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"})


class Responses:
    """The responses API, stateless."""

    system = shop.SYSTEM

    def __init__(self) -> None:
        self.client = OpenAI()

    def arguments(self, text: str) -> dict[str, Any]:
        return json.loads(text)  # type: ignore[no-any-return]

    def __call__(self, messages: list[dict[str, Any]]) -> str:
        talk: list[Any] = [m for m in messages if m["role"] != "tool" and "tool_calls" not in m]
        while True:
            answer = self.ask(talk)
            calls = [item for item in answer.output if item.type == "function_call"]
            if not calls:
                return answer.output_text  # type: ignore[no-any-return]
            for call in calls:
                result = shop.TOOLS[call.name](**self.arguments(call.arguments))
                asked = {"type": "function_call", "call_id": call.call_id, "name": call.name}
                talk.append({**asked, "arguments": call.arguments})
                talk.append({"type": "function_call_output", "call_id": call.call_id, "output": json.dumps(result)})

    def ask(self, talk: list[Any]) -> Any:
        return self.client.responses.create(model="gpt-test", instructions=self.system, input=talk, tools=TOOLS)


class StreamedResponses(Responses):
    """The same, event by event."""

    def ask(self, talk: list[Any]) -> Any:
        with self.client.responses.stream(
            model="gpt-test", instructions=self.system, input=talk, tools=TOOLS
        ) as stream:
            return stream.get_final_response()


class Async:
    """The async client, both streamed and not."""

    system = shop.SYSTEM

    def arguments(self, text: str) -> dict[str, Any]:
        return json.loads(text)  # type: ignore[no-any-return]

    async def __call__(self, messages: list[dict[str, Any]]) -> str:
        talk: list[Any] = [{"role": "system", "content": self.system}, *messages]
        async with AsyncOpenAI() as client:
            while True:
                done = await client.chat.completions.create(model="gpt-test", messages=talk, tools=CHAT_TOOLS)
                answer = done.choices[0].message
                if not answer.tool_calls:
                    break
                talk.append(answer.model_dump(exclude_none=True))
                for call in answer.tool_calls:
                    assert call.type == "function"
                    result = shop.TOOLS[call.function.name](**self.arguments(call.function.arguments))
                    talk.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})
            pieces = await client.chat.completions.create(model="gpt-test", messages=talk, stream=True)
            said = [piece.choices[0].delta.content or "" async for piece in pieces if piece.choices]
        return "".join(said)
