"""Whether an agent may make a call: which of its argument values were shown to it (`rewards.seen` says what counts as shown)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rewards.seen import Seen, Want, days_in, first_unseen, numbers_in, ways

if TYPE_CHECKING:
    from environments.tool import Tool
    from schemas.episode import ToolCall

__all__ = ["Seen", "Want", "asked_in", "days_in", "numbers_in", "unseen", "valued", "ways"]


def unseen(tool: Tool, arguments: dict[str, Any], seen: Seen) -> tuple[str, Any] | None:
    """The first argument whose value was never shown, or None. Free words and the agent's own decisions need not be seen."""
    name = first_unseen(valued(tool, arguments), tool.chosen, seen)
    return None if name is None else (name, arguments[name])


def valued(tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments whose values have to be shown."""
    return {name: value for name, value in arguments.items() if name not in tool.prose and name not in tool.decisions}


def asked_in(tool: Tool, call: ToolCall) -> str:
    """The message to the requester that a call sends: a yes or no answers it. "" for any other call."""
    return " ".join(str(call.arguments.get(name, "")) for name in tool.prose) if tool.speaks else ""
