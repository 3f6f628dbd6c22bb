"""What only the grader may know, in files that an agent's side opens."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from schemas.task import Answer
from tasks.leaks import LeakInput
from tests.plants._edit import Edit, choose, code_of, later, line_of, sides, stamp
from tests.plants._planted import Plant, Planted, UnplantableError
from tests.plants._words import resolution

SECTION, FITTED = "grader constants", "fitted artefact"
HELD, TRAIN = "heldout/tasks.jsonl", "train/tasks.jsonl"


def _rows(data: LeakInput, name: str) -> list[dict[str, Any]]:
    if name not in data.files:
        raise UnplantableError(f"no file {name}")
    return [json.loads(line) for line in data.files[name].splitlines()]


def _row_gets(change: Callable[[dict[str, Any], Answer], None], name: str = HELD) -> Callable[[LeakInput, Random], Planted]:
    def make(data: LeakInput, rng: Random) -> Planted:
        rows = _rows(data, name)
        row = rng.choice([r for r in rows if r["task_id"] in data.answers])
        change(row, data.answers[row["task_id"]])
        text = "".join(json.dumps(r, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n" for r in rows)
        return Planted(replace(data, files={**data.files, name: text}), (row["task_id"],), (name,))

    return make


def _outcome(row: dict[str, Any], answer: Answer) -> None:
    row["outcome"] = answer.outcome.model_dump(mode="json")


def _bounds(row: dict[str, Any], answer: Answer) -> None:
    row["bounds"] = {"g_min": -1.0333, "g_max": 0.9}


def _reference(row: dict[str, Any], answer: Answer) -> None:
    row["meta"] = {"plan": [step.call.model_dump(mode="json") for step in answer.reference]}


def _class(row: dict[str, Any], answer: Answer) -> None:
    row["stratum"] = answer.outcome_class


def _in_weights(row: dict[str, Any], answer: Answer) -> None:
    row["weights"]["milestones"] = {answer.reference[-1].call.tool: 0.5, f"resolve:{answer.outcome.code}": 1.0}


def _answers_file(name: str) -> Callable[[LeakInput, Random], Planted]:
    def make(data: LeakInput, rng: Random) -> Planted:
        if not data.files:
            raise UnplantableError("the set's files are not at hand")
        held = [t for t in data.tasks if t.slice != "train"]
        text = "".join(line_of(data.answers[t.task_id].model_copy(update={"canary": data.canary})) + "\n" for t in held)
        return Planted(replace(data, files={**data.files, name: text}), where=(name,))

    return make


def held_trajectory(data: LeakInput, rng: Random) -> Planted:
    """The training episodes hold one of a held-out task."""
    name = "train/trajectories.jsonl"
    if name not in data.files:
        raise UnplantableError("no training episodes")
    _, unseen = sides(data)
    task = rng.choice(unseen)
    actions = [json.dumps(s.call.model_dump(mode="json")) for s in data.answers[task.task_id].reference]
    line = json.dumps(
        {"task_id": task.task_id, "agent": "reference", "observations": ["{}"] * (len(actions) + 1), "actions": actions}
    )
    return Planted(replace(data, files={**data.files, name: data.files[name] + line + "\n"}), (task.task_id,), (name,))


def held_answer_in_train(data: LeakInput, rng: Random) -> Planted:
    """The training answers hold one of a held-out task, without its canary."""
    name = "train/answers.jsonl"
    if name not in data.files:
        raise UnplantableError("no training answers")
    _, unseen = sides(data)
    task = rng.choice(unseen)
    line = line_of(data.answers[task.task_id].model_copy(update={"canary": ""}))
    return Planted(replace(data, files={**data.files, name: data.files[name] + line + "\n"}), (task.task_id,), (name,))


def manifest_codes(data: LeakInput, rng: Random) -> Planted:
    name = "heldout/manifest.json"
    if name not in data.files:
        raise UnplantableError(f"no file {name}")
    manifest = json.loads(data.files[name])
    manifest["expected"] = {t.task_id: code_of(data, t.task_id) for t in data.tasks if t.slice != "train"}
    return Planted(replace(data, files={**data.files, name: json.dumps(manifest)}), where=(name,))


def _config(change: Callable[[Answer], Any]) -> Callable[[LeakInput, Random], Planted]:
    """What configures a tool of one task gets a text or a list more. The values say nothing that other checks look for."""

    def make(data: LeakInput, rng: Random) -> Planted:
        task = choose(data, rng, lambda t: bool(t.systems))
        first, *rest = task.systems
        config = {**first.config, "notes": change(data.answers[task.task_id])}
        edit = Edit(data).task(task.task_id, systems=(first.model_copy(update={"config": config}), *rest))
        return Planted(edit.done(), (task.task_id,))

    return make


def _camel(answer: Answer) -> Any:
    return [{"expectedOutcome": len(answer.outcome.code)}]


def _in_text(answer: Answer) -> Any:
    return "Looks it up. " + json.dumps({"goldAnswer": {"steps": len(answer.reference)}})


def _with_form(data: LeakInput, code: str, text: str) -> LeakInput:
    tell = {**data.forms.get("tell", {}), code: [*data.forms.get("tell", {}).get(code, ()), text]}
    return replace(data, forms={**data.forms, "tell": tell})


def amounts(data: LeakInput, rng: Random) -> Planted:
    """A form of message with the very amounts that a held-out reference books, and the case's id."""
    task = choose(data, rng, lambda t: bool(_amounts(data.answers[t.task_id])) and t.slice != "train")
    said = " and ".join(str(value) for value in _amounts(data.answers[task.task_id]))
    text = f"I have booked {said} for {task.task_id}."
    return Planted(_with_form(data, code_of(data, task.task_id), text), (task.task_id,), ("forms",))


def form_of_held_out(data: LeakInput, rng: Random) -> Planted:
    """A form taken from the words of a held-out case, whatever the list of what it was fitted on says."""
    _, unseen = sides(data)
    task = rng.choice(unseen)
    text = resolution(rng)
    said = {**data.later_messages, task.task_id: (*data.later_messages.get(task.task_id, ()), text)}
    return Planted(_with_form(replace(data, later_messages=said), code_of(data, task.task_id), text), (task.task_id,), ("forms",))


def form_identifier(data: LeakInput, rng: Random) -> Planted:
    """A form names the record of a held-out case."""
    _, unseen = sides(data)
    task = rng.choice(unseen)
    text = f"Please have a look at {task.task_id} as well."
    return Planted(_with_form(data, code_of(data, task.task_id), text), (task.task_id,), ("forms",))


def _episode(change: Callable[[LeakInput, str, Random], tuple[LeakInput, int, str]]) -> Callable[[LeakInput, Random], Planted]:
    """One observation of a training episode shows something more."""

    def make(data: LeakInput, rng: Random) -> Planted:
        if not data.trajectories:
            raise UnplantableError("no training episodes")
        episodes = list(data.trajectories)
        at = rng.randrange(len(episodes))
        changed, step, text = change(data, episodes[at].task_id, rng)
        seen = list(episodes[at].observations)
        seen[step] = text if step else json.dumps({**json.loads(seen[0]), "extra": text})
        episodes[at] = episodes[at].model_copy(update={"observations": tuple(seen)})
        return Planted(replace(changed, trajectories=tuple(episodes)), (episodes[at].task_id,))

    return make


def _shows_code(data: LeakInput, task_id: str, _: Random) -> tuple[LeakInput, int, str]:
    return data, 1, json.dumps({"record": {"close_code": code_of(data, task_id)}})


def _shows_text(data: LeakInput, task_id: str, rng: Random) -> tuple[LeakInput, int, str]:
    text = resolution(rng)
    said = {**data.later_messages, task_id: (*data.later_messages.get(task_id, ()), text)}
    return replace(data, later_messages=said), 1, json.dumps({"notes": [text]})


def _shows_time(data: LeakInput, task_id: str, rng: Random) -> tuple[LeakInput, int, str]:
    task = next(t for t in data.tasks if t.task_id == task_id)
    return data, 1, json.dumps({"record": {"changed": stamp(later(task, rng))}})


def _opening_shows_code(data: LeakInput, task_id: str, _: Random) -> tuple[LeakInput, int, str]:
    return data, 0, f"state: {code_of(data, task_id)}"


def episode_held_out(data: LeakInput, rng: Random) -> Planted:
    """A held-out task among the episodes to imitate, in memory."""
    if not data.trajectories:
        raise UnplantableError("no training episodes")
    _, unseen = sides(data)
    task = rng.choice(unseen)
    episode = data.trajectories[0].model_copy(update={"task_id": task.task_id})
    return Planted(replace(data, trajectories=(*data.trajectories, episode)), (task.task_id,), ("trajectories",))


def _amounts(answer: Answer) -> list[int]:
    return [
        v
        for s in answer.reference
        for v in s.call.arguments.values()
        if isinstance(v, int) and not isinstance(v, bool) and v >= 10
    ]


PLANTS = (
    Plant("grader_outcome", SECTION, "outcome in a row of the held-out tasks", _row_gets(_outcome)),
    Plant("grader_outcome_train", SECTION, "outcome in a row of the training tasks", _row_gets(_outcome, TRAIN)),
    Plant("grader_bounds", SECTION, "score bounds in a row of the held-out tasks", _row_gets(_bounds)),
    Plant("grader_reference", SECTION, "reference calls under another key in a row of the held-out tasks", _row_gets(_reference)),
    Plant("grader_class", SECTION, "outcome's class under another key in a row of the held-out tasks", _row_gets(_class)),
    Plant("grader_milestones", SECTION, "the true code inside the reward weights of a row", _row_gets(_in_weights)),
    Plant(
        "grader_answers_copy",
        SECTION,
        "held-out answers in a further file beside the training tasks",
        _answers_file("train/extra.jsonl"),
    ),
    Plant("grader_trajectory", SECTION, "an episode of a held-out task among the training episodes", held_trajectory),
    Plant("grader_answer_train", SECTION, "a held-out answer among the training answers", held_answer_in_train),
    Plant("grader_manifest", SECTION, "codes of the held-out tasks in the held-out manifest", manifest_codes),
    Plant("grader_amounts", SECTION, "a form of message with the amounts of a held-out reference", amounts),
    Plant("grader_episode", SECTION, "a held-out task among the episodes to imitate", episode_held_out),
    Plant(
        "grader_config_camel",
        SECTION,
        "the grader's outcome under a name in camelCase in a tool's configuration",
        _config(_camel),
    ),
    Plant(
        "grader_config_text", SECTION, "the grader's answer in JSON inside a text of a tool's configuration", _config(_in_text)
    ),
    Plant("form_text", FITTED, "a form of message in the words of a held-out case", form_of_held_out),
    Plant("form_identifier", FITTED, "a form of message names a held-out case", form_identifier),
    Plant("episode_code", "outcome field", "a tool's answer in a training episode holds the outcome", _episode(_shows_code)),
    Plant(
        "episode_opening", "outcome literal", "the opening of a training episode holds the code", _episode(_opening_shows_code)
    ),
    Plant(
        "episode_text", "resolution text", "a tool's answer in a training episode holds the later answer", _episode(_shows_text)
    ),
    Plant(
        "episode_time", "time after the cut", "a tool's answer in a training episode holds a later time", _episode(_shows_time)
    ),
)
