"""How tau2-bench scores an episode, as far as that needs no language model.

src/tau2/evaluator/evaluator.py multiplies the parts that a task's `reward_basis` names (evaluation_criteria without one: DB and
COMMUNICATE, src/tau2/data_model/tasks.py): DB, both databases hash as after the gold calls, and ENV_ASSERTION
(evaluator_env.py); ACTION, each gold call was made (evaluator_action.py); COMMUNICATE, each string stands in what the agent said
(evaluator_communicate.py); NL_ASSERTION, a language model says so (evaluator_nl_assertions.py; without assertions it passes).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Verdict = Literal["full", "judge", "not_full"]
"""judge: all that can be computed passes, and a language model would decide the rest."""
GREETING = "Hi! How can I help you today?"
"""What the benchmark lets every agent say first (src/tau2/orchestrator/orchestrator.py)."""
DEFAULT_BASIS = ("DB", "COMMUNICATE")
Call = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Run:
    """What a scripted agent does in one episode; the user then ends it."""

    calls: tuple[Call, ...] = ()
    says: tuple[str, ...] = ()
    walk: bool = False

    def request(self) -> dict[str, Any]:
        return {"calls": list(self.calls), "walk": self.walk}


def criteria(task: Mapping[str, Any]) -> dict[str, Any]:
    return dict(task.get("evaluation_criteria") or {})


def basis(task: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(criteria(task).get("reward_basis") or DEFAULT_BASIS) if task.get("evaluation_criteria") else ()


def gold_calls(task: Mapping[str, Any]) -> tuple[Call, ...]:
    return tuple(
        {"name": a["name"], "arguments": a.get("arguments") or {}, "requestor": a.get("requestor") or "assistant"}
        for a in criteria(task).get("actions") or []
    )


def required_strings(task: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(criteria(task).get("communicate_info") or ())


def judged_by_a_model(task: Mapping[str, Any]) -> bool:
    return "NL_ASSERTION" in basis(task) and bool(criteria(task).get("nl_assertions"))


def verdict(task: Mapping[str, Any], run: Run, played: Mapping[str, Any], gold: Mapping[str, Any]) -> Verdict:
    """The episode's reward: 1 is full. `played` and `gold` are the driver's answers."""
    told = criteria(task)
    parts = set(basis(task))
    compared = told.get("actions") is not None or told.get("env_assertions") is not None
    if "DB" in parts and compared and played["exact"] != gold["exact"]:
        return "not_full"
    if "ENV_ASSERTION" in parts and not all(played["assertions"]):
        return "not_full"
    if "ACTION" in parts and not all(played["actions"]):
        return "not_full"
    if "COMMUNICATE" in parts and not _said(required_strings(task), (GREETING, *_history(task), *run.says)):
        return "not_full"
    return "judge" if judged_by_a_model(task) else "full"


def _said(wanted: Sequence[str], says: Sequence[str]) -> bool:
    texts = [text.lower().replace(",", "") for text in says]
    return all(any(str(one).lower() in text for text in texts) for one in wanted)


def _history(task: Mapping[str, Any]) -> list[str]:
    messages = (task.get("initial_state") or {}).get("message_history") or []
    return [m["content"] for m in messages if m.get("role") == "assistant" and m.get("content")]


def scenario_text(task: Mapping[str, Any]) -> str:
    """All that the person who asks is told; what an agent can at most hear from them."""
    return "\n".join(_leaves(task["user_scenario"]))


def opening_text(task: Mapping[str, Any]) -> str:
    """Why the person calls and what they know, without the instructions how to play them."""
    told = task["user_scenario"].get("instructions")
    if not isinstance(told, dict):
        return str(told)
    return "\n".join(str(told[key]) for key in ("reason_for_call", "known_info") if told.get(key))


def _leaves(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in _leaves(inner)]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in _leaves(inner)]
    return [] if value is None else [str(value)]
