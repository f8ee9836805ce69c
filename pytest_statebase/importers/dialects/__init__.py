"""Messages in whatever form frameworks log them → chat messages."""

from .read import chat_messages, is_other_dialect, typed_role
from .tools import tool_definitions, without_output_tools

__all__ = ["chat_messages", "is_other_dialect", "tool_definitions", "typed_role", "without_output_tools"]
