"""Agents over the package `anthropic`: the loop over messages, streamed, async."""

from __future__ import annotations

import json
from typing import Any

from anthropic import Anthropic, AsyncAnthropic

from . import shop

TOOLS: Any = [
    {"name": name, "description": tool.__doc__, "input_schema": shop.schema(name)} for name, tool in shop.TOOLS.items()
]


class Messages:
    """Hands the model its own words of earlier turns and runs the tools that it asks for."""

    system = shop.SYSTEM

    def __init__(self) -> None:
        self.client = Anthropic()

    def arguments(self, found: dict[str, Any]) -> dict[str, Any]:
        return found

    def __call__(self, messages: list[dict[str, Any]]) -> str:
        talk: list[Any] = [m for m in messages if m["role"] != "tool" and "tool_calls" not in m]
        while True:
            answer = self.ask(talk)
            if answer.stop_reason != "tool_use":
                return "".join(block.text for block in answer.content if block.type == "text")
            talk.append({"role": "assistant", "content": [block.to_dict() for block in answer.content]})
            talk.append({"role": "user", "content": self.results(answer)})

    def results(self, answer: Any) -> list[dict[str, Any]]:
        used = [block for block in answer.content if block.type == "tool_use"]
        results = [json.dumps(shop.TOOLS[block.name](**self.arguments(block.input))) for block in used]
        return [
            {"type": "tool_result", "tool_use_id": block.id, "content": result}
            for block, result in zip(used, results, strict=True)
        ]

    def ask(self, talk: list[Any]) -> Any:
        return self.client.messages.create(
            model="claude-test", max_tokens=1000, system=self.system, messages=talk, tools=TOOLS
        )


class Streamed(Messages):
    """The same, event by event."""

    def ask(self, talk: list[Any]) -> Any:
        with self.client.messages.stream(
            model="claude-test", max_tokens=1000, system=self.system, messages=talk, tools=TOOLS
        ) as stream:
            self.said = "".join(stream.text_stream)
            return stream.get_final_message()


class Async(Messages):
    """The async client, streamed."""

    async def __call__(self, messages: list[dict[str, Any]]) -> str:  # type: ignore[override]
        talk: list[Any] = [m for m in messages if m["role"] != "tool" and "tool_calls" not in m]
        async with AsyncAnthropic() as client:
            while True:
                async with client.messages.stream(
                    model="claude-test", max_tokens=1000, system=self.system, messages=talk, tools=TOOLS
                ) as stream:
                    said = [text async for text in stream.text_stream]
                    answer = await stream.get_final_message()
                if answer.stop_reason != "tool_use":
                    return "".join(said)
                talk.append({"role": "assistant", "content": [block.to_dict() for block in answer.content]})
                talk.append({"role": "user", "content": self.results(answer)})
