"""The panel for tau2-bench: episodes of agents that do not solve a task, and of a reference with one thing wrong."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tasks.audits._tau2_score import Call, Run, gold_calls, required_strings, scenario_text

RANDOM_EPISODES = 20
RANDOM_CALLS = 8
"""Calls of one random episode."""
EXTRA_TRIED = 8
"""Other tasks' writes that are tried until one changes the state."""
ESCALATE = "transfer_to_human_agents"
REFUSAL = "I am sorry, but our policy does not allow me to do that."
ELSEWHERE = "YOU ARE BEING TRANSFERRED TO A HUMAN AGENT. PLEASE HOLD ON."
LITERAL = re.compile(r"'([^']*)'")
WORD = re.compile(r"#?\w[\w-]*\d[\w-]*")
Tools = Mapping[str, Mapping[str, Any]]
"""Tool name -> what the driver says of it: by, type, writes, parameters."""


def writes(tools: Tools, calls: Iterable[Call]) -> list[Call]:
    return [c for c in calls if c["name"] in tools and tools[c["name"]]["writes"]]


def acts(tools: Tools, calls: Iterable[Call]) -> list[Call]:
    """What an agent does that looks nothing up: the writes, and handing the case on where that is the right act."""
    return [c for c in calls if c["name"] == ESCALATE or c in writes(tools, [c])]


def panel(task: Mapping[str, Any], tools: Tools) -> dict[str, Run]:
    """The shortcuts, by name; a domain without a tool to hand a case on has no escalate_all."""
    gold, strings = gold_calls(task), required_strings(task)
    runs = {
        "do_nothing": Run(),
        "refuse_all": Run(says=(REFUSAL,)),
        "echo": Run(says=(scenario_text(task),)),
        "writes_only": Run(tuple(acts(tools, gold)), strings),
        "writes_only_silent": Run(tuple(acts(tools, gold))),
        "reference": Run(gold, strings),
    }
    if ESCALATE in tools:
        runs["escalate_all"] = Run((escalation(tools),), (ELSEWHERE,))
        runs["needless_transfer"] = Run((*gold, escalation(tools)), (*strings, ELSEWHERE))
    return runs


def escalation(tools: Tools) -> Call:
    arguments = dict.fromkeys(tools[ESCALATE]["parameters"], "the customer asks for help")
    return {"name": ESCALATE, "arguments": arguments, "requestor": "assistant"}


def without_reads(task: Mapping[str, Any], tools: Tools) -> list[Run]:
    """The reference without one of its look-ups, for each of them; checks of identity are look-ups here."""
    gold = gold_calls(task)
    left_out = [
        at for at, c in enumerate(gold) if c["requestor"] == "assistant" and tools.get(c["name"], {}).get("type") == "read"
    ]
    return [Run((*gold[:at], *gold[at + 1 :]), required_strings(task)) for at in left_out]


def with_extra(task: Mapping[str, Any], tools: Tools, others: Sequence[Call], start: int) -> list[Run]:
    """The reference and a write that belongs to another task; `others` are tried from `start` on."""
    gold = gold_calls(task)
    own = {_text(c) for c in gold}
    turned = [*others[start % len(others) :], *others[: start % len(others)]] if others else []
    extra = [c for c in turned if _text(c) not in own][:EXTRA_TRIED]
    return [Run((*gold, call), required_strings(task)) for call in extra]


def with_wrong_values(task: Mapping[str, Any], tools: Tools, others: Sequence[Call]) -> list[Run]:
    """The reference with one value of one of its writes changed, for each write of the agent that has a value to change."""
    gold = gold_calls(task)
    runs = []
    for at, call in enumerate(gold):
        if call["requestor"] == "assistant" and call in writes(tools, [call]):
            arguments = _one_wrong(call, tools, others)
            if arguments is not None:
                runs.append(Run((*gold[:at], {**call, "arguments": arguments}, *gold[at + 1 :]), required_strings(task)))
    return runs


def reversed_writes(task: Mapping[str, Any], tools: Tools) -> list[Run]:
    made = writes(tools, gold_calls(task))
    return [Run(tuple(reversed(made)), required_strings(task))] if len(made) > 1 else []


def random_runs(task: Mapping[str, Any], tools: Tools, answers: Sequence[str], seed: int = 1) -> list[Run]:
    """Random calls of the agent's tools with values from the person's words and from what the gold path's look-ups answer."""
    mine = sorted(name for name, tool in tools.items() if tool["by"] == "assistant")
    words = sorted({w for text in (scenario_text(task), *answers) for w in WORD.findall(text)})[:400] or ["none"]
    named = _by_key(answers)
    runs = []
    for episode in range(RANDOM_EPISODES):
        dice = random.Random(f"{seed}/{task['id']}/{episode}")
        calls = []
        for _ in range(RANDOM_CALLS):
            name = dice.choice(mine)
            parameters = tools[name]["parameters"]
            arguments = {p: _guess(p, kind["kind"], named, words, dice) for p, kind in parameters.items() if kind["required"]}
            calls.append({"name": name, "arguments": arguments, "requestor": "assistant"})
        runs.append(Run(tuple(calls), (REFUSAL,)))
    return runs


def options(kind: str) -> list[str]:
    """The values that a parameter's declared kind lists, if it lists them."""
    return LITERAL.findall(kind) if "Literal" in kind else []


def _guess(name: str, kind: str, named: Mapping[str, Sequence[Any]], words: Sequence[str], dice: random.Random) -> Any:
    if listed := options(kind):
        return dice.choice(listed)
    lower = kind.lower()
    singular = name.removesuffix("s")
    pool = [v for key in (name, singular, name.removeprefix("new_"), singular.removeprefix("new_")) for v in named.get(key, ())]
    if "list" in lower:
        return [dice.choice(pool or list(words)) for _ in range(dice.randint(1, 2))]
    if lower in ("int", "float"):
        return dice.randint(0, 3)
    if lower == "bool":
        return dice.random() < 0.5
    return dice.choice(pool or list(words))


def _by_key(answers: Iterable[str]) -> dict[str, list[Any]]:
    """Key -> the texts and numbers that stand under it in JSON answers."""
    found: dict[str, set[str]] = {}

    def look(value: Any) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                if isinstance(inner, str):
                    found.setdefault(str(key), set()).add(inner)
                look(inner)
        elif isinstance(value, list):
            for inner in value:
                look(inner)

    for answer in answers:
        try:
            look(json.loads(answer))
        except ValueError:
            continue  # an answer that is a sentence
    return {key: sorted(values) for key, values in found.items()}


def _one_wrong(call: Call, tools: Tools, others: Sequence[Call]) -> dict[str, Any] | None:
    """The arguments with one value wrong: a number + 1, else a listed option, else a value of the same argument elsewhere."""
    arguments = call["arguments"]
    for name, value in arguments.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            return {**arguments, name: value + 1}
    kinds = tools[call["name"]]["parameters"]
    for name, value in arguments.items():
        listed = [o for o in options(kinds.get(name, {}).get("kind", "")) if o != value]
        elsewhere = [c["arguments"][name] for c in others if c["name"] == call["name"] and name in c["arguments"]]
        different = [v for v in (*listed, *elsewhere) if v != value and v not in ("", [], {})]
        if different:
            return {**arguments, name: different[0]}
    return None


def _text(call: Call) -> str:
    return json.dumps([call["name"], call["arguments"]], sort_keys=True)
