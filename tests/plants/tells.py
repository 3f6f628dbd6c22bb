"""Leaks that tell by probability: in the request's words, in metadata, in ids and order, in what is there and what is not.

Each comes in one or more strengths: the share of the cases with the outcome that carry the mark, and the share of the others.
At full strength (1.0 and 0.0) it must be found each time; at moderate strength over many seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

from schemas.files import canonical_json
from schemas.task import Fact, TaskSpec
from tasks.leaks import LeakInput
from tests.plants._classes import chosen
from tests.plants._edit import Edit, own, stamp, subset, when
from tests.plants._planted import Make, Plant, Planted, UnplantableError
from tests.plants._words import asides, letter

IMPLIED, META, IDS, KEYS = "implied by the request", "metadata", "ids or order encode", "key presence"
CONFLICT = "conflicting outcomes"
Mark = Callable[[Edit, TaskSpec, Random], None]
"""Puts the mark on one task."""


@dataclass(frozen=True, slots=True)
class Strength:
    yes: float
    no: float


FULL, STRONG, MODERATE = Strength(1.0, 0.0), Strength(0.7, 0.05), Strength(0.7, 0.25)


def _spread(mark: Mark, strength: Strength, prepare: Callable[[Edit, TaskSpec], None] | None = None) -> Make:
    def make(data: LeakInput, rng: Random) -> Planted:
        which = chosen(data, rng)
        edit = Edit(data)
        if prepare is not None:
            prepare(edit, which.yes[0])
        for task in which.marked(rng, strength.yes, strength.no):
            mark(edit, task, rng)
        planted = edit.done()
        if planted.tasks == data.tasks:
            raise UnplantableError("no task has what the mark takes away")
        return Planted(planted)

    return make


# --- in the words of the request --------------------------------------------------------------------------------------
def _append(text: str) -> Mark:
    return lambda edit, task, _: _say(edit, task, f"{task.opening.text}\n{text}")


def _say(edit: Edit, task: TaskSpec, text: str) -> None:
    edit.opening(task.task_id, text=text)


def _first_word(word: str) -> Mark:
    return lambda edit, task, _: _say(edit, task, f"{word} {task.opening.text}")


def _in_middle(words: str) -> Mark:
    def mark(edit: Edit, task: TaskSpec, rng: Random) -> None:
        parts = task.opening.text.split(" ")
        at = rng.randrange(1, max(2, len(parts)))
        _say(edit, task, " ".join([*parts[:at], words, *parts[at:]]))

    return mark


def _subject(prefix: str) -> Mark:
    return lambda edit, task, _: _retitle(edit, task, f"{prefix}{task.opening.subject}")


def _retitle(edit: Edit, task: TaskSpec, subject: str) -> None:
    edit.opening(task.task_id, subject=subject)


def _one_of(texts: Sequence[str]) -> Mark:
    """A turn of speech with several wordings, none of them frequent."""
    return lambda edit, task, rng: _say(edit, task, f"{task.opening.text}\n{rng.choice(texts)}")


def _shout(edit: Edit, task: TaskSpec, _: Random) -> None:
    _say(edit, task, task.opening.text.upper())


def _contact(edit: Edit, task: TaskSpec, _: Random) -> None:
    edit.opening(task.task_id, contact=f"{task.opening.contact}@partner")


def _trailing(edit: Edit, task: TaskSpec, _: Random) -> None:
    _retitle(edit, task, task.opening.subject + "  ")


# --- metadata ---------------------------------------------------------------------------------------------------------
def _moved(edit: Edit, task: TaskSpec, start: datetime) -> None:
    """The request arrives and closes later; not where that would cross the boundary or the end of a policy."""
    data = edit.data
    closed = data.closed_at.get(task.task_id)
    end = when(closed) + (start - when(task.started_at)) if closed is not None else start
    if data.boundary is not None:
        edge = when(data.boundary)
        room = edge - timedelta(seconds=data.embargo_s.get(task.workflow, 0)) if task.slice == "train" else edge
        if when(task.started_at) < edge and (start >= room or end >= edge):
            return
    for digest in task.policies:
        policy = data.content(digest)
        until = data.policy_times.get(f"{policy['document']} v{policy['version']}", (None, None))[1]
        if until is not None and start >= when(until):
            return
    if closed is not None:
        edit.closed[task.task_id] = stamp(end)
    edit.task(task.task_id, started_at=stamp(start)).opening(task.task_id, received_at=stamp(start))


def _hour(hours: Sequence[int]) -> Mark:
    def mark(edit: Edit, task: TaskSpec, rng: Random) -> None:
        start = when(task.started_at)
        moved = start.replace(hour=rng.choice(hours))
        _moved(edit, task, moved if moved >= start else moved + timedelta(days=1))

    return mark


def _weekday(days: Sequence[int]) -> Mark:
    def mark(edit: Edit, task: TaskSpec, rng: Random) -> None:
        start = when(task.started_at)
        _moved(edit, task, start + timedelta(days=(rng.choice(days) - start.weekday()) % 7))

    return mark


def _full_minute(edit: Edit, task: TaskSpec, _: Random) -> None:
    """By a form at the full hour, not by a person."""
    _moved(edit, task, (when(task.started_at) + timedelta(hours=1)).replace(minute=0, second=0, microsecond=0))


def _longer(edit: Edit, task: TaskSpec, rng: Random) -> None:
    """More of the same: sentences of other requests of this workflow, of any outcome."""
    others = [t for t in edit.data.tasks if t.workflow == task.workflow and t.task_id != task.task_id]
    more = []
    for other in rng.sample(others, min(3, len(others))):
        more.append(rng.choice([s for s in other.opening.text.replace("\n", ". ").split(". ") if s.strip()] or ["So it is."]))
    _say(edit, task, f"{task.opening.text}\n{'. '.join(more)}")


def _shorter(edit: Edit, task: TaskSpec, _: Random) -> None:
    words = task.opening.text.split(" ")
    _say(edit, task, " ".join(words[: max(4, len(words) // 2)]))


def _more_facts(edit: Edit, task: TaskSpec, rng: Random) -> None:
    for number in range(2):
        edit.fact(
            task.task_id,
            Fact(id=f"f{60 + number}", slots=(f"extra_{number}",), question=f"And point {number + 1}?", answer=asides(rng, 1)),
        )


def _fact_words(words: str) -> Mark:
    """The requester's first answer is put in other words."""

    def mark(edit: Edit, task: TaskSpec, _: Random) -> None:
        facts = list(task.requester.facts)
        if facts:
            facts[0] = facts[0].model_copy(update={"answer": f"{words} {facts[0].answer}"})
            edit.requester(task.task_id, facts=tuple(facts))

    return mark


def _patience(edit: Edit, task: TaskSpec, _: Random) -> None:
    edit.requester(task.task_id, patience=task.requester.patience + 3)


def _steps(edit: Edit, task: TaskSpec, _: Random) -> None:
    edit.task(task.task_id, max_steps=task.max_steps + 2)


def _fewer_rules(edit: Edit, task: TaskSpec, _: Random) -> None:
    edit.task(task.task_id, rules=task.rules[:-1])


def _fewer_policies(edit: Edit, task: TaskSpec, _: Random) -> None:
    edit.task(task.task_id, policies=task.policies[:-1])


def _grade(edit: Edit, task: TaskSpec, _: Random) -> None:
    edit.task(task.task_id, grades=(*task.grades, "checked"))


def _weights(edit: Edit, task: TaskSpec, _: Random) -> None:
    edit.task(task.task_id, weights=task.weights.model_copy(update={"efficiency": 0.11}))


def _fewer_systems(edit: Edit, task: TaskSpec, _: Random) -> None:
    edit.task(task.task_id, systems=task.systems[:-1])


def _earlier_cases(edit: Edit, task: TaskSpec, rng: Random) -> None:
    """More rows in the state: earlier cases of the requester."""
    system, kind, rid = own(task)
    row = {"subject" if edit.data.code_book.rule(system, kind, "subject") else "title": asides(rng, 1)}
    rows = {f"{rid.split('_')[0]}_{rng.randrange(16**8):08X}": row for _ in range(3)}
    edit.rows(task.task_id, {system: {kind: rows}})


def organisations(strength: float) -> Make:
    """Tasks are left out until most organisations nearly always end one way."""

    def make(data: LeakInput, rng: Random) -> Planted:
        which = chosen(data, rng)
        lean = {name: rng.random() < 0.5 for name in sorted({t.organisation for t in (*which.yes, *which.no)})}
        drop = {t.task_id for t in which.yes if not lean[t.organisation] and rng.random() < strength}
        drop |= {t.task_id for t in which.no if lean[t.organisation] and rng.random() < strength}
        return Planted(subset(data, (t.task_id for t in data.tasks if t.task_id not in drop)))

    return make


# --- ids and order ----------------------------------------------------------------------------------------------------
def _id_filter(agrees: Callable[[TaskSpec, list[str]], bool], strength: float) -> Make:
    """Tasks whose id does not agree with the outcome are left out, with the probability `strength`."""

    def make(data: LeakInput, rng: Random) -> Planted:
        which = chosen(data, rng)
        ids = sorted(t.task_id for t in (*which.yes, *which.no))
        drop = {t.task_id for t in which.yes if not agrees(t, ids) and rng.random() < strength}
        drop |= {t.task_id for t in which.no if agrees(t, ids) and rng.random() < strength}
        return Planted(subset(data, (t.task_id for t in data.tasks if t.task_id not in drop)))

    return make


def _digit(task_id: str) -> int:
    return int(task_id[-1], 16)


def _even(task: TaskSpec, _: list[str]) -> bool:
    return _digit(task.task_id) % 2 == 0


def _first_half(task: TaskSpec, ids: list[str]) -> bool:
    return ids.index(task.task_id) < len(ids) / 2


def _low_digit(task: TaskSpec, _: list[str]) -> bool:
    return _digit(task.task_id) < 8


def _requester_even(task: TaskSpec, _: list[str]) -> bool:
    return _digit(task.opening.requester_id.partition("_EMAIL")[0]) % 2 == 0


def id_prefix(data: LeakInput, rng: Random) -> Planted:
    """The cases with one outcome have ids that begin with another word: two queues, exported one after the other."""
    which = chosen(data, rng)
    return Planted(renamed(data, {t.task_id: f"ESC{t.task_id}" for t in which.yes}))


def renamed(data: LeakInput, names: dict[str, str]) -> LeakInput:
    """Tasks (and their own records) under other ids, everywhere."""
    edit = Edit(data)
    uses: dict[str, int] = {}
    for task in data.tasks:
        for digest in task.state:
            uses[digest] = uses.get(digest, 0) + 1
    for old, new in names.items():
        task = edit.tasks[old]
        parts = []
        for digest in task.state:
            value = data.content(digest)
            if uses[digest] == 1 and old in canonical_json(value):
                changed = {
                    s: {k: {new if r == old else r: row for r, row in rows.items()} for k, rows in kinds.items()}
                    for s, kinds in value.items()
                }
                parts.append(edit.put(changed))
            else:
                parts.append(digest)
        record = task.opening.record.model_copy(update={"record_id": new})
        opening = task.opening.model_copy(update={"record": record})
        edit.tasks[old] = task.model_copy(update={"task_id": new, "state": tuple(parts), "opening": opening})

    def over(mapping: Any) -> dict[str, Any]:
        return {names.get(key, key): value for key, value in mapping.items()}

    answers = {
        names.get(k, k): a.model_copy(update={"task_id": names.get(k, k)}) if k in names else a for k, a in data.answers.items()
    }
    return edit.done(
        answers=answers,
        later_messages=over(data.later_messages),
        groups={g: over(m) for g, m in data.groups.items()},
        closed_at=over(data.closed_at),
        first_seen=over(data.first_seen),
        file_times=over(data.file_times),
        repositories=over(data.repositories),
        fitted_on={a: tuple(names.get(t, t) for t in ids) for a, ids in data.fitted_on.items()},
    )


def _ordered(strength: float) -> Make:
    """The file lists the cases with one outcome first: `strength` of them."""

    def make(data: LeakInput, rng: Random) -> Planted:
        which = chosen(data, rng)
        early = {t.task_id for t in which.yes if rng.random() < strength}
        early |= {t.task_id for t in which.no if rng.random() > strength}
        tasks = sorted(data.tasks, key=lambda t: (t.workflow, t.task_id not in early))
        files = dict(data.files)
        place = {t.task_id: i for i, t in enumerate(tasks)}
        for name in ("train/tasks.jsonl", "heldout/tasks.jsonl"):
            if name in files:
                lines = files[name].splitlines(keepends=True)
                files[name] = "".join(sorted(lines, key=lambda line: _place(line, place)))
        return Planted(replace(data, tasks=tuple(tasks), files=files))

    return make


def _place(line: str, place: dict[str, int]) -> int:
    start = line.index('"task_id":"') + len('"task_id":"')
    return place.get(line[start : line.index('"', start)], len(place))


# --- what is there and what is not ------------------------------------------------------------------------------------
FIELD = "channel_ref"


def _declare(type_: Any = "text") -> Callable[[Edit, TaskSpec], None]:
    def prepare(edit: Edit, task: TaskSpec) -> None:
        system, kind, _ = own(task)
        edit.declare(f"{system}.{kind}.{FIELD}", type_, "start")

    return prepare


def _present(edit: Edit, task: TaskSpec, rng: Random) -> None:
    edit.field(task.task_id, own(task), FIELD, f"q{rng.randrange(10)}")


def _null(strength: Strength) -> Make:
    """The field stands on each record; in the marked ones it is null."""

    def make(data: LeakInput, rng: Random) -> Planted:
        which = chosen(data, rng)
        edit = Edit(data)
        _declare()(edit, which.yes[0])
        nulls = {t.task_id for t in which.marked(rng, strength.yes, strength.no)}
        for task in data.tasks:
            edit.field(task.task_id, own(task), FIELD, None if task.task_id in nulls else f"q{rng.randrange(10)}")
        return Planted(edit.done())

    return make


def _nested_key(edit: Edit, task: TaskSpec, rng: Random) -> None:
    edit.field(task.task_id, own(task), FIELD, {"source": {"tracking": f"t{rng.randrange(10)}"}})


def _empty_kind(edit: Edit, task: TaskSpec, _: Random) -> None:
    """A kind of rows appears in the state, empty."""
    system, kind, _ = own(task)
    digest = edit.put({system: {f"{kind}_link": {}}})
    edit.task(task.task_id, state=(*task.state, digest))


def _config_key(edit: Edit, task: TaskSpec, _: Random) -> None:
    first, *rest = task.systems
    edit.task(task.task_id, systems=(first.model_copy(update={"config": {**first.config, "beta": True}}), *rest))


def _no_slot(edit: Edit, task: TaskSpec, _: Random) -> None:
    facts = tuple(f.model_copy(update={"values": {}}) for f in task.requester.facts)
    edit.requester(task.task_id, facts=facts)


def _fact_slot(edit: Edit, task: TaskSpec, rng: Random) -> None:
    """A slot that only these cases know."""
    fact = Fact(id="f70", slots=("floor_plan",), values={"floor_plan": "B"}, question="Which plan?", answer="Plan B.")
    edit.fact(task.task_id, fact)


# --- the same request, other outcomes ---------------------------------------------------------------------------------
def _conflict(change: Callable[[str], str], count: int = 1) -> Make:
    """One request, word for word, with the same state and the same answers to questions, that ended in two ways on one side."""

    def make(data: LeakInput, rng: Random) -> Planted:
        edit = Edit(data)
        named: list[str] = []
        free = [t for t in data.tasks if t.slice == "train"]
        for _ in range(count):
            first = rng.choice([t for t in free if t.task_id not in named])
            code = data.answers[first.task_id].outcome_class
            others = [
                t
                for t in free
                if t.workflow == first.workflow and data.answers[t.task_id].outcome_class != code and t.task_id not in named
            ]
            if not others:
                raise UnplantableError("a single class of outcomes")
            # The earlier case's state is shown to the later one: nothing in it is from after either cut.
            first, second = sorted((first, rng.choice(others)), key=lambda t: t.started_at)
            text = f"{letter(rng, 2)} {first.opening.text}"
            edit.opening(first.task_id, text=text)
            edit.opening(second.task_id, text=change(text), subject=first.opening.subject)
            edit.task(second.task_id, state=first.state, provenance=first.provenance, requester=first.requester)
            named += [first.task_id, second.task_id]
        return Planted(edit.done(), tuple(named))

    return make


def _levels(name: str, section: str, words: str, mark: Mark, *levels: Strength, prepare: Any = None) -> tuple[Plant, ...]:
    """The same mark in several strengths."""
    found = []
    for level in levels or (FULL, STRONG):
        said = (
            "in each case with one outcome, in no other"
            if level == FULL
            else (f"in {level.yes:.0%} of the cases with one outcome, {level.no:.0%} of the others")
        )
        end = "all" if level == FULL else f"{level.yes * 100:.0f}_{level.no * 100:.0f}"
        found.append(
            Plant(f"{name}_{end}", section, f"{words}: {said}", _spread(mark, level, prepare), statistical=level != FULL)
        )
    return tuple(found)


SAME_SENSE = (
    "Nobody phoned us back.",
    "There was no call back.",
    "We never got a call back.",
    "I was not called back.",
    "Your people did not phone back.",
)

PLANTS = (
    *_levels(
        "phrase", IMPLIED, "a phrase at the end of the opening", _append("as agreed with your driver"), FULL, STRONG, MODERATE
    ),
    *_levels("word", IMPLIED, "one word inside the opening", _in_middle("frankly"), FULL, STRONG, MODERATE),
    *_levels("first_word", IMPLIED, "the first word of the opening", _first_word("Ahoy"), FULL, STRONG),
    *_levels("paraphrases", IMPLIED, "a remark in five wordings", _one_of(SAME_SENSE), FULL, STRONG),
    *_levels("subject", IMPLIED, "a prefix of the subject", _subject("Fwd: "), FULL, STRONG),
    *_levels("capitals", META, "an opening in capitals", _shout, FULL, STRONG),
    *_levels("contact", META, "another form of the sender's address", _contact, FULL, STRONG),
    *_levels("blanks", META, "blanks at the end of the subject", _trailing, FULL, STRONG),
    *_levels("hour", META, "arrival at one hour of the night", _hour((3,)), FULL, STRONG),
    *_levels("hours", META, "arrival between 17 and 22 o'clock", _hour((17, 18, 19, 20, 21, 22)), STRONG, MODERATE),
    *_levels("weekday", META, "arrival on Saturday or Sunday", _weekday((5, 6)), FULL, STRONG),
    *_levels("full_hour", META, "arrival at the full hour", _full_minute, FULL, STRONG),
    *_levels("longer", META, "three more sentences of other requests", _longer, FULL, STRONG),
    *_levels("shorter", META, "the opening cut to its half", _shorter, FULL, STRONG),
    *_levels("facts", META, "two more facts of the requester", _more_facts, FULL, STRONG),
    *_levels("cases", META, "three more earlier cases in the state", _earlier_cases, FULL, STRONG),
    *_levels("patience", META, "another patience of the requester", _patience, FULL, STRONG),
    *_levels("steps", META, "another limit of steps", _steps, FULL, STRONG),
    *_levels("rules", META, "one rule fewer", _fewer_rules, FULL, STRONG),
    *_levels("policies", META, "one policy fewer", _fewer_policies, FULL, STRONG),
    *_levels("weights", META, "another weight of the reward", _weights, FULL, STRONG),
    *_levels("systems", META, "one system fewer", _fewer_systems, FULL, STRONG),
    *_levels("grades", META, "a mark on the task", _grade, FULL, STRONG),
    *_levels(
        "fact_words",
        "requester knows",
        "a turn of speech in the requester's first answer",
        _fact_words("Alas, alas:"),
        FULL,
        STRONG,
    ),
    Plant("organisations_all", META, "each organisation's cases all end one way", organisations(1.0)),
    Plant(
        "organisations_80",
        META,
        "of four cases that would end otherwise than most of their organisation's, one is left",
        organisations(0.8),
        True,
    ),
    Plant("id_even_all", IDS, "even task ids have one outcome, odd ones the others", _id_filter(_even, 1.0)),
    Plant(
        "id_even_80",
        IDS,
        "of five task ids whose evenness does not agree with the outcome, one is left",
        _id_filter(_even, 0.8),
        True,
    ),
    Plant("id_half_all", IDS, "the lower half of the sorted task ids has one outcome", _id_filter(_first_half, 1.0)),
    Plant("id_half_80", IDS, "the same, but one of five that do not agree is left", _id_filter(_first_half, 0.8), True),
    Plant(
        "id_digit_80",
        IDS,
        "a low last digit of the task id, one of five that do not agree is left",
        _id_filter(_low_digit, 0.8),
        True,
    ),
    Plant(
        "id_requester_80",
        IDS,
        "evenness of the requester's id, one of five that do not agree is left",
        _id_filter(_requester_even, 0.8),
        True,
    ),
    Plant("id_prefix_all", IDS, "ids of the cases with one outcome begin with another word", id_prefix),
    Plant("order_all", IDS, "the files list the cases with one outcome first", _ordered(1.0)),
    Plant("order_80", IDS, "the files list four fifths of the cases with one outcome first", _ordered(0.8), True),
    *_levels("key", KEYS, "a field is there on the own record", _present, FULL, STRONG, prepare=_declare()),
    *_levels(
        "nested_key", KEYS, "a nested object is there on the own record", _nested_key, FULL, STRONG, prepare=_declare("json")
    ),
    *_levels("empty_kind", KEYS, "an empty kind of rows is there in the state", _empty_kind, FULL, STRONG),
    *_levels("config_key", KEYS, "a key is there in a system's configuration", _config_key, FULL, STRONG),
    *_levels("slot", KEYS, "the requester knows a slot", _fact_slot, FULL, STRONG),
    *_levels("no_values", KEYS, "the requester's facts hold no values", _no_slot, STRONG),
    Plant("null_all", KEYS, "a field of the own record is null in each case with one outcome, in no other", _null(FULL)),
    Plant(
        "null_70_5",
        KEYS,
        "a field of the own record is null in 70% of the cases with one outcome, 5% of the others",
        _null(STRONG),
        True,
    ),
    Plant("conflict_verbatim", CONFLICT, "the same request and state with two outcomes", _conflict(lambda t: t)),
    Plant("conflict_case", CONFLICT, "the same in other case and spacing", _conflict(lambda t: "  ".join(t.upper().split()))),
    Plant(
        "conflict_punctuation",
        CONFLICT,
        "the same with other punctuation",
        _conflict(lambda t: t.replace(".", " !").replace(",", "")),
    ),
    Plant("conflict_several", CONFLICT, "three pairs of the same request with two outcomes", _conflict(lambda t: t, 3)),
)
