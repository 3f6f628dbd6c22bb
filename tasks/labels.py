"""Where each argument value of a path was first shown: told by playing it, from what the agent reads and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from environments.seen import Seen, asked_in, valued, ways
from schemas.episode import ToolCall
from schemas.task import ReferenceStep

if TYPE_CHECKING:
    from environments.episode import Episode
    from rewards.seen import Choice

CONSTANT, DECISION, NOWHERE = "constant", "decision", "nowhere"
"""Free words and pages; what the agent decides by itself; what nothing has shown."""
Source = tuple[str, Seen]
"""(label, what it showed)."""


def labelled(episode: Episode, calls: Sequence[tuple[ToolCall, bool, tuple[str, ...]]]) -> list[ReferenceStep]:
    """The steps of a path with `derived_from`. `calls`: (call, planned, ids of the rules that demand it). Plays on in `episode`,
    which stands at its start."""
    found = shown_in(episode, [call for call, _, _ in calls])
    firsts = [{name: (labels or [NOWHERE])[0] for name, labels in each.items()} for each in found]
    return [
        ReferenceStep(call=call, planned=planned, required_by=rules, derived_from=first)
        for (call, planned, rules), first in zip(calls, firsts, strict=True)
    ]


def shown_in(episode: Episode, calls: Sequence[ToolCall]) -> list[dict[str, list[str]]]:
    """For each call: argument -> labels of all that had shown its value by then, the first one first; [] where nothing had.
    Plays on in `episode`, which stands at its start."""
    found = []
    answers = {fact.id: fact.answer for fact in episode.task.requester.facts}
    sources: list[Source] = [("opening", Seen(episode.opening.text))]
    for index, call in enumerate(calls):
        found.append(_sources_of(episode, call, sources))
        text = episode.step(call).observation.text
        tool = episode.tools.get(call.tool)
        asked = asked_in(tool, call) if tool is not None else ""
        told = episode.journal.entries[-1].told
        sources += [(f"fact {fact}", _seen(answers[fact], asked)) for fact in told]
        sources += _clauses(call, text)
        sources.append((f"step {index}", _seen(text, asked)))
    return found


def _sources_of(episode: Episode, call: ToolCall, sources: Sequence[Source]) -> dict[str, list[str]]:
    """Labels by argument; of a value that is worked out, of what the call's other arguments do not hold (how long it lasts)."""
    tool = episode.tools[call.tool]
    needed = valued(tool, call.arguments)
    found = {}
    for name in call.arguments:
        if name in tool.decisions:
            found[name] = [DECISION]
        elif name not in needed or name == "page":
            found[name] = [CONSTANT]
        else:
            found[name] = list(_labels(needed, name, tool.chosen, sources))
    return found


def _labels(arguments: Mapping[str, Any], name: str, choices: Mapping[str, Choice], sources: Sequence[Source]) -> Iterator[str]:
    for way in ways(arguments, name, choices):
        places = [[label for label, seen in sources if seen.shows(want)] for want in way]
        if all(places):
            yield from places[-1]


def _seen(text: str, asked: str) -> Seen:
    seen = Seen()
    seen.add(text, asked)
    return seen


def _clauses(call: ToolCall, text: str) -> list[Source]:
    """Each clause of a policy that was read is a source of its own."""
    if call.tool != "read_policy" or not text.startswith("{"):
        return []
    shown = json.loads(text)
    name = f"policy {shown['document']} {shown['version']}"
    return [(f"{name} {c['clause']}", Seen(c["text"])) for c in shown["clauses"]]
