"""What crosses the hold-out: groups, time, near-duplicates, fitted artefacts, the requester's script, canaries."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from random import Random

from schemas.task import Fact, TaskSpec
from tasks.leaks import LeakInput
from tests.plants._edit import Edit, across, choose, likeness, line_of, own, sides, stamp, state_of, when
from tests.plants._planted import Plant, Planted, UnplantableError
from tests.plants._words import letter, resolution

GROUP, TIME, TWIN = "group on both sides", "time overlap", "near-duplicate"
FITTED, SCRIPT, CANARY = "fitted artefact", "requester template", "canary"
TOKEN = re.compile(r"\b([A-Z]+)_[0-9A-F]{8}")


# --- groups -----------------------------------------------------------------------------------------------------------
def organisation(data: LeakInput, rng: Random) -> Planted:
    train, held = across(data, rng)
    edit = Edit(data).task(held.task_id, organisation=train.organisation)
    groups = {g: dict(m) for g, m in data.groups.items()}
    for members in groups.values():
        if members.get(train.task_id) == train.organisation and held.task_id in members:
            members[held.task_id] = train.organisation
    return Planted(edit.done(groups=groups), (train.task_id, held.task_id), (train.organisation.casefold(),))


def requester(data: LeakInput, rng: Random) -> Planted:
    """One person asks on both sides, for two organisations."""
    train, held = across(data, rng)
    edit = Edit(data).opening(held.task_id, requester_id=train.opening.requester_id, contact=train.opening.contact)
    groups = {g: dict(m) for g, m in data.groups.items()}
    if "requester" in groups:
        groups["requester"][held.task_id] = groups["requester"].get(train.task_id, train.opening.requester_id)
    member = train.opening.requester_id.casefold()
    return Planted(edit.done(groups=groups), (train.task_id, held.task_id), (member,))


def _declared(name: str) -> Callable[[LeakInput, Random], Planted]:
    """A group that the supplier declares, in which each task has a member of its own but for two."""

    def make(data: LeakInput, rng: Random) -> Planted:
        train, held = across(data, rng)
        members = {t.task_id: f"{name}-{i}" for i, t in enumerate(data.tasks)}
        members[held.task_id] = members[train.task_id]
        changed = replace(data, groups={**data.groups, name: members})
        return Planted(changed, (train.task_id, held.task_id), (members[train.task_id],))

    return make


def state_shows_held_out(data: LeakInput, rng: Random) -> Planted:
    """A training task's state shows the record of a held-out task, with the answer that was given to it."""
    train, held = across(data, rng)
    system, kind, rid = own(held)
    text = resolution(rng)
    later = {**data.later_messages, held.task_id: (*data.later_messages.get(held.task_id, ()), text)}
    note = [{"at": stamp(when(train.started_at) - timedelta(days=4)), "from": "agent", "text": text}]
    edit = Edit(replace(data, later_messages=later)).declare(f"{system}.{kind}.messages", "json")
    edit.rows(train.task_id, {system: {kind: {rid: {"messages": note}}}})
    return Planted(edit.done(), (train.task_id, held.task_id), (rid.casefold(),))


# --- time -------------------------------------------------------------------------------------------------------------
def _timed(data: LeakInput, rng: Random, slice_: str) -> TaskSpec:
    if data.boundary is None:
        raise UnplantableError("nothing is held out by time")
    return choose(data, rng, lambda t: t.slice == slice_ and t.task_id in data.closed_at)


def closed_late(data: LeakInput, rng: Random) -> Planted:
    task = _timed(data, rng, "train")
    assert data.boundary is not None
    closed = {**data.closed_at, task.task_id: stamp(when(data.boundary) + timedelta(hours=5))}
    return Planted(replace(data, closed_at=closed), (task.task_id,))


def inside_embargo(data: LeakInput, rng: Random) -> Planted:
    if data.boundary is None:
        raise UnplantableError("nothing is held out by time")
    edge = when(data.boundary)
    task = choose(data, rng, lambda t: t.slice == "train" and data.embargo_s.get(t.workflow, 0) > 7200)
    start = edge - timedelta(seconds=data.embargo_s[task.workflow] / 2)
    edit = Edit(data).task(task.task_id, started_at=stamp(start)).opening(task.task_id, received_at=stamp(start))
    closed = {**data.closed_at, task.task_id: stamp(start + timedelta(minutes=40))}
    return Planted(edit.done(closed_at=closed), (task.task_id,))


def after_boundary(data: LeakInput, rng: Random) -> Planted:
    """A training task that starts a day after the boundary."""
    task = _timed(data, rng, "train")
    assert data.boundary is not None
    start = when(data.boundary) + timedelta(days=1)
    edit = Edit(data).task(task.task_id, started_at=stamp(start)).opening(task.task_id, received_at=stamp(start))
    closed = {**data.closed_at, task.task_id: stamp(start + timedelta(hours=3))}
    return Planted(edit.done(closed_at=closed), (task.task_id,))


def held_out_early(data: LeakInput, rng: Random) -> Planted:
    """A task held out by time that starts before the boundary, among the training tasks of its organisation."""
    task = _timed(data, rng, "train")
    edit = Edit(data).task(task.task_id, slice="unseen_months", canary=data.canary)
    return Planted(edit.done(), (task.task_id,))


# --- near-duplicates --------------------------------------------------------------------------------------------------
def _twin(change: Callable[[str, Random], str], sentences: int = 0, least: float = 0.8) -> Callable[[LeakInput, Random], Planted]:
    def make(data: LeakInput, rng: Random) -> Planted:
        for _ in range(300):
            train, held = across(data, rng)
            text = letter(rng, sentences) if sentences else train.opening.text
            copy = change(text, rng)
            subject = train.opening.subject
            if len(text.split()) >= 12 and likeness(f"{subject}\n{text}", f"{subject}\n{copy}") >= least:
                edit = Edit(data).opening(train.task_id, text=text).opening(held.task_id, text=copy, subject=subject)
                return Planted(edit.done(), (train.task_id, held.task_id))
        raise UnplantableError("no opening is long enough")

    return make


def _few_words(text: str, rng: Random) -> str:
    words = text.split()
    words[-1] = words[-1] + " regards"
    words[0] = "Well, " + words[0].lower()
    return " ".join(words)


def _other_tokens(text: str, rng: Random) -> str:
    """The same request about another record: tokens replaced by others of their type."""
    return TOKEN.sub(lambda m: f"{m[1]}_{rng.randrange(16**8):08X}", text)


def _case(text: str, _: Random) -> str:
    return text.upper().replace(",", "").replace(".", " !")


def _half(text: str, rng: Random) -> str:
    """The first two thirds of a long text, and then something else."""
    sentences = text.split(". ")
    keep = sentences[: round(len(sentences) * 0.75)]
    return ". ".join(keep) + ". " + letter(rng, max(1, len(sentences) // 8))


def _shuffled(text: str, rng: Random) -> str:
    """The same sentences in another order."""
    parts = text.rstrip(".").split(". ")
    rng.shuffle(parts)
    return ". ".join(parts) + "."


def _embedded(text: str, rng: Random) -> str:
    """Forwarded: a header before, a line after."""
    return f"---- Forwarded message ----\n{text}\n-- sent from my phone"


def chain_twin(data: LeakInput, rng: Random) -> Planted:
    """One training request copied to three held-out tasks."""
    train, held = across(data, rng)
    _, unseen = sides(data, train.workflow)
    chosen = {held.task_id, *(t.task_id for t in rng.sample(unseen, min(2, len(unseen))))}
    text = letter(rng, 3)
    edit = Edit(data).opening(train.task_id, text=text)
    for task_id in chosen:
        edit.opening(task_id, text=text)
    return Planted(edit.done(), (train.task_id, *sorted(chosen)))


# --- fitted artefacts and the requester's script ----------------------------------------------------------------------
def _fitted(name: str) -> Callable[[LeakInput, Random], Planted]:
    def make(data: LeakInput, rng: Random) -> Planted:
        train, unseen = sides(data)
        bad = rng.choice(unseen).task_id
        ids = (*data.fitted_on.get(name, tuple(t.task_id for t in train)), bad)
        return Planted(replace(data, fitted_on={**data.fitted_on, name: ids}), (bad,), (name,))

    return make


def fitted_on_all(data: LeakInput, _: Random) -> Planted:
    """Fitted before the split was made: on every task."""
    sides(data)
    ids = tuple(t.task_id for t in data.tasks)
    held = tuple(t.task_id for t in data.tasks if t.slice != "train")
    return Planted(replace(data, fitted_on={**data.fitted_on, "forms": ids}), held, ("forms",))


def _script(*, same_tokens: bool, facts: int = 2) -> Callable[[LeakInput, Random], Planted]:
    def make(data: LeakInput, rng: Random) -> Planted:
        train, held = across(data, rng)
        edit = Edit(data)
        story = [(letter(rng, 1), f"{letter(rng, 2)} The number is ORDER_{rng.randrange(16**8):08X}.") for _ in range(facts)]
        for task in (train, held):
            own_facts = tuple(
                Fact(
                    id=f"f{80 + i}",
                    slots=("story",),
                    question=f"Could you tell me: {q}?",
                    answer=a if same_tokens else _other_tokens(a, rng),
                )
                for i, (q, a) in enumerate(story)
            )
            edit.requester(task.task_id, facts=own_facts)
        return Planted(edit.done(), (train.task_id, held.task_id))

    return make


# --- canaries ---------------------------------------------------------------------------------------------------------
def _files(data: LeakInput) -> LeakInput:
    if not data.canary or not data.files:
        raise UnplantableError("the set's files are not at hand")
    return data


def _changed(data: LeakInput, name: str, change: Callable[[str], str]) -> LeakInput:
    if name not in data.files:
        raise UnplantableError(f"no file {name}")
    return replace(data, files={**data.files, name: change(data.files[name])})


def canary_missing_row(data: LeakInput, rng: Random) -> Planted:
    """One held-out row of many has lost its canary, in the file and in memory."""
    _files(data)
    task = choose(data, rng, lambda t: t.slice != "train" and bool(t.canary))
    marked = f'"{data.canary}"'
    changed = _changed(
        data,
        "heldout/tasks.jsonl",
        lambda text: "".join(
            line.replace(marked, '""') if f'"task_id":"{task.task_id}"' in line else line
            for line in text.splitlines(keepends=True)
        ),
    )
    return Planted(Edit(changed).task(task.task_id, canary="").done(), (task.task_id,), ("heldout/tasks.jsonl",))


def _canary_gone(name: str) -> Callable[[LeakInput, Random], Planted]:
    def make(data: LeakInput, _: Random) -> Planted:
        return Planted(_changed(_files(data), name, lambda text: text.replace(data.canary, "")), where=(name,))

    return make


def canary_in_train(data: LeakInput, rng: Random) -> Planted:
    name = "train/tasks.jsonl"
    changed = _changed(_files(data), name, lambda text: text.replace('"canary":""', f'"canary":"{data.canary}"', 1))
    return Planted(changed, where=(name,))


def canary_in_trajectories(data: LeakInput, rng: Random) -> Planted:
    name = "train/trajectories.jsonl"
    line = json.dumps({"task_id": "x", "agent": "recorded", "observations": [f"see {data.canary.upper()}"], "actions": []})
    return Planted(_changed(_files(data), name, lambda text: text + line + "\n"), where=(name,))


def canary_new_file(data: LeakInput, _: Random) -> Planted:
    """A copy of held-out rows lies beside the training files."""
    held = _files(data).files.get("heldout/tasks.jsonl")
    if held is None:
        raise UnplantableError("no held-out file")
    name = "train/more.jsonl"
    return Planted(replace(data, files={**data.files, name: held}), where=(name,))


def canary_new_held_file(data: LeakInput, rng: Random) -> Planted:
    """A further held-out file that nobody marked."""
    _, unseen = sides(_files(data))
    name = "heldout/extra.jsonl"
    row = line_of(rng.choice(unseen).model_copy(update={"canary": ""}))
    return Planted(replace(data, files={**data.files, name: row + "\n"}), where=(name,))


def canary_other(data: LeakInput, _: Random) -> Planted:
    """The held-out answers carry the GUID of another task set."""
    name = "heldout/answers.jsonl"
    other = "00000000-1111-5222-8333-444444444444"
    return Planted(_changed(_files(data), name, lambda text: text.replace(data.canary, other)), where=(name,))


def canary_in_state(data: LeakInput, rng: Random) -> Planted:
    """The held-out GUID in the opening of a training task, in memory only."""
    _files(data)
    task = choose(data, rng, lambda t: t.slice == "train" and bool(state_of(data, t)))
    text = f"{task.opening.text}\nref {data.canary}"
    return Planted(Edit(data).opening(task.task_id, text=text).done(), (task.task_id,))


PLANTS = (
    Plant("group_organisation", GROUP, "one organisation in training and among the unseen organisations", organisation),
    Plant("group_requester", GROUP, "one requester on both sides, for two organisations", requester),
    Plant("group_thread", GROUP, "one thread on both sides, declared as a group", _declared("thread")),
    Plant("group_parent", GROUP, "one parent case on both sides, declared as a group", _declared("parent")),
    Plant("group_wizard", GROUP, "one wizard on both sides, declared as a group", _declared("wizard")),
    Plant("group_state", GROUP, "a training task's state shows a held-out case and its answer", state_shows_held_out),
    Plant("time_closed_late", TIME, "training case closed after the boundary", closed_late),
    Plant("time_embargo", TIME, "training case that starts inside the embargo", inside_embargo),
    Plant("time_train_late", TIME, "training case that starts after the boundary", after_boundary),
    Plant("time_held_early", TIME, "case held out by time that starts before the boundary", held_out_early),
    Plant("twin_verbatim", TWIN, "the same opening on both sides, verbatim", _twin(lambda t, _: t, least=0.999)),
    Plant("twin_few_words", TWIN, "the same opening with a few words changed at its ends", _twin(_few_words)),
    Plant("twin_case", TWIN, "the same opening in capitals with other punctuation", _twin(_case, least=0.95)),
    Plant("twin_tokens", TWIN, "the same long opening about another record", _twin(_other_tokens, sentences=6)),
    Plant("twin_long_half", TWIN, "three quarters of a long opening, then another text", _twin(_half, sentences=12, least=0.55)),
    Plant(
        "twin_long_shuffled",
        TWIN,
        "a long opening with its sentences in another order",
        _twin(_shuffled, sentences=10, least=0.6),
    ),
    Plant("twin_forwarded", TWIN, "a long opening forwarded, with a header and a signature", _twin(_embedded, sentences=5)),
    Plant("twin_several", TWIN, "one training opening copied to several held-out tasks", chain_twin),
    Plant("fitted_forms", FITTED, "message forms fitted on one held-out task", _fitted("forms")),
    Plant("fitted_vocabulary", FITTED, "an artefact of another name fitted on one held-out task", _fitted("vocabulary")),
    Plant("fitted_all", FITTED, "message forms fitted on all tasks before the split", fitted_on_all),
    Plant("script_same", SCRIPT, "the same two questions and answers of the requester on both sides", _script(same_tokens=True)),
    Plant("script_tokens", SCRIPT, "the same script on both sides with other identifiers", _script(same_tokens=False)),
    Plant(
        "script_one", SCRIPT, "one long question and answer of the requester on both sides", _script(same_tokens=False, facts=1)
    ),
    Plant("canary_row", CANARY, "one held-out task without its canary", canary_missing_row),
    Plant("canary_answers", CANARY, "held-out answers without a canary", _canary_gone("heldout/answers.jsonl")),
    Plant("canary_manifest", CANARY, "the held-out manifest without a canary", _canary_gone("heldout/manifest.json")),
    Plant("canary_train", CANARY, "the canary in one row of the training tasks", canary_in_train),
    Plant("canary_trajectories", CANARY, "the canary in upper case in a training trajectory", canary_in_trajectories),
    Plant("canary_copy", CANARY, "held-out rows in a further training file", canary_new_file),
    Plant("canary_unmarked_file", CANARY, "a further held-out file without the canary", canary_new_held_file),
    Plant("canary_other_guid", CANARY, "held-out answers with the GUID of another set", canary_other),
    Plant("canary_opening", CANARY, "the canary in the opening of a training task", canary_in_state),
)
