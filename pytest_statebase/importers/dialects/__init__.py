"""Messages in whatever form frameworks log them → chat messages."""

from .read import chat_messages
from .tools import tool_definitions, without_output_tools

__all__ = ["chat_messages", "tool_definitions", "without_output_tools"]
