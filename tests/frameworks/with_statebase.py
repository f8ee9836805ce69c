"""An agent on the `statebase` package, as its page on tool calls describes one: checkpoints, rollback, logs."""

from __future__ import annotations

from typing import Any

from statebase import AsyncStateBase, StateBase

from tests import toy

KEY = "sb_live_never_sent_anywhere"
INPUTS = ["I like tea", "an apple?", "a unicorn?", "a fig?"]


class SdkAgent:
    """Asks for one thing a turn: context, checkpoint, tool, checkpoint or rollback, and the log of what it did."""

    base = "https://api.statebase.org"
    taste = "Likes tea"
    before = True
    after: Any = "done"

    def __init__(self) -> None:
        self.sb = StateBase(KEY, self.base)

    def __call__(self, session_id: str, user_input: str) -> str:
        sessions = self.sb.sessions
        context = sessions.get_context(session_id, query="tea")
        item = user_input.split()[1].rstrip("?")
        if item == "like":
            self.sb.memory.add(self.taste, "preference", session_id, tags=["drinks"])
            text = "Noted."
        else:
            text = self.buy(session_id, item, context)
        sessions.add_turn(session_id, user_input, text, {"model": "none"}, f"asked for {item}")
        return text

    def buy(self, session_id: str, item: str, context: dict[str, Any]) -> str:
        sessions = self.sb.sessions
        safe = sessions.get_state(session_id).version
        if self.before:
            sessions.update_state(session_id, {"asked": [*context["state"]["asked"], item]}, "before the tool")
        try:
            result = toy.price(item)
        except toy.PriceError as error:
            sessions.rollback(session_id, safe)
            sessions.add_tool_call(session_id, "price", {"item": item}, {"error": str(error)}, reasoning="it failed")
            return f"Sorry: {error}"
        sessions.update_state(session_id, {"last": result, "step": self.after}, "after the tool")
        sessions.add_tool_call(session_id, "price", {"item": item}, result, tool_call_id="call_1")
        known = [memory["content"] for memory in context["memories"]]
        return f"{result['price']} after {len(context['recent_turns'])} turns, {known}"


class AsyncSdkAgent:
    """The same, awaited."""

    def __init__(self) -> None:
        self.sb = AsyncStateBase(KEY)

    async def __call__(self, session_id: str, user_input: str) -> str:
        sessions = self.sb.sessions
        context = await sessions.get_context(session_id, query="tea")
        item = user_input.split()[1].rstrip("?")
        if item == "like":
            await self.sb.memory.add("Likes tea", "preference", session_id, tags=["drinks"])
            text = "Noted."
        else:
            text = await self.buy(session_id, item, context)
        await sessions.add_turn(session_id, user_input, text, {"model": "none"}, f"asked for {item}")
        return text

    async def buy(self, session_id: str, item: str, context: dict[str, Any]) -> str:
        sessions = self.sb.sessions
        safe = (await sessions.get_state(session_id)).version
        await sessions.update_state(session_id, {"asked": [*context["state"]["asked"], item]}, "before the tool")
        try:
            result = toy.price(item)
        except toy.PriceError as error:
            await sessions.rollback(session_id, safe)
            await sessions.add_tool_call(session_id, "price", {"item": item}, {"error": str(error)})
            return f"Sorry: {error}"
        await sessions.update_state(session_id, {"last": result, "step": "done"}, "after the tool")
        await sessions.add_tool_call(session_id, "price", {"item": item}, result, tool_call_id="call_1")
        known = [memory["content"] for memory in context["memories"]]
        return f"{result['price']} after {len(context['recent_turns'])} turns, {known}"
