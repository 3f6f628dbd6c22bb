"""What only the grader may know (answers, bounds, required steps) stands in a file, a content or a text that agents are shown.

A key of JSON counts by its name; in a text, quotes or none, only a name that no sentence holds ("gold_label: 3").
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from functools import cache
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from schemas.task import TaskSpec
from tasks.leaks._decode import unwrapped
from tasks.leaks._grader_keys import KEYS, assigned, assigned_in, is_key, keys_of_json, may_name, quoted
from tasks.leaks._literals import coined, holder, plain
from tasks.leaks._plant import with_content, with_task
from tasks.leaks._states import Column, Look, Parts, once
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import Config, Found, Texts, configured, fact_texts, prompt_texts, shared_texts, shown_episodes

SETTINGS = ("weights", "grades", "max_steps", "slice", "world", "canary")
"""Fields of a task that say how it is run, not what it is about."""
LISTS = ("splits.json", "manifest.json", "stage.json")
_TASK_ID = '"task_id"'
_ROW_OF = re.compile(rf'{_TASK_ID}\s*:\s*"([^"]+)"')
_AMOUNT = re.compile(r"\d[\d.,' ]*\d")
Told = tuple[set[str], list[str], bool]
"""Of a field of a row: the keys of the grader's, those that no task has, whether it is a setting with an outcome code."""
RECENT = 8
"""Different values of a field of the rows that are remembered: of most fields there are few, and long ones."""
TASKS, LISTED = "tasks.jsonl", "splits.json"
"""Ends of the names of files that an agent's side may read."""


def run(data: LeakInput) -> list[Finding]:
    found = Found("grader_constants")
    shown = {name.rsplit(".", 1)[1] for name, rule in data.code_book.fields.items() if rule.known_at not in ("post_hoc", "never")}
    keys = {plain(key) for key in KEYS} - {plain(name) for name in shown}
    workflows: dict[str, set[str]] = {}
    for code, about in data.code_book.outcomes.items():
        workflows.setdefault(about.workflow, set()).add(code)

    def telling(column: Column) -> Look[str] | None:
        """The keys of the grader's among the names of fields, in the path below one, and in a text."""
        names = [name for path in (*column.fields, column.inner) for name in path.split("/") if is_key(name, keys)]
        # Of most columns one look at all their texts together tells that none is named.
        if column.sort == "text" and may_name("\n".join(column.different).encode("utf-8", "surrogatepass")):
            return lambda text: [*names, *assigned(text, keys)]
        return (lambda _: names) if names else None

    @once
    def ruled(texts: Texts) -> list[tuple[str, str]]:
        return assigned_in([(path, text) for path, text in texts if path.startswith("rules/")], keys)

    parts = Parts(data, telling)
    held: dict[str, set[str]] = {}
    orders: dict[tuple[str, str], Counter[tuple[str, ...]]] = {}
    listing: list[tuple[str, str, str, tuple[str, ...]]] = []
    configs: dict[Config, tuple[list[str], list[str], list[str]]] = {}
    of_workflow: dict[tuple[Config, str], tuple[str, ...]] = {}
    for task in data.tasks:
        digests = list(task.policies)
        for system in configured(task):
            if system not in configs:
                pairs = list(_pairs(system.value))
                texts = [v for _, v in pairs if isinstance(v, str)]
                said = {*(key for key, _ in pairs), *(key for text in texts for key in (*quoted(text), *assigned(text, keys)))}
                configs[system] = (
                    list(system.contents),
                    sorted(key for key in said if is_key(key, keys)),
                    [v for v in texts if v in data.code_book.outcomes],
                )
            contents, names, listed = configs[system]
            digests += contents
            for name in names:
                found.add(f"systems/{system.system}/config/{name}", "a key of the grader's", [task.task_id])
            shown_codes = of_workflow.get((system, task.workflow))
            if shown_codes is None:
                shown_codes = tuple(v for v in listed if v in workflows.get(task.workflow, ()))
                of_workflow[system, task.workflow] = shown_codes
            own = set(shown_codes)
            orders.setdefault((task.workflow, system.system), Counter())[shown_codes] += 1
            listing.append((task.task_id, task.workflow, system.system, shown_codes))
            # A tool that lists every code tells nothing; one that lists the right one alone does.
            if len(own) == 1 and len(workflows[task.workflow]) > 1:
                found.add(f"systems/{system.system}/config", "lists one outcome code of the workflow alone", [task.task_id])
        for name in {name for part in parts.of(task) for _, name in part}:
            found.add(f"content/{name}", "a key of the grader's", [task.task_id])
        said_ = assigned_in([*prompt_texts(task), *fact_texts(task)], keys)
        for path, name in (*said_, *ruled(shared_texts(data, task))):
            found.add(f"{path}/{name}", "a key of the grader's", [task.task_id])
        for digest in digests:
            if digest not in held:
                pairs = list(_pairs(data.content(digest)))
                texts = [v for _, v in pairs if isinstance(v, str)]
                said = {*(key for key, _ in pairs), *(key for text in texts for key in (*quoted(text), *assigned(text, keys)))}
                held[digest] = {key for key in said if is_key(key, keys)}
            for name in held[digest]:
                found.add(f"content/{name}", "a key of the grader's", [task.task_id])
    usual = {place: counted.most_common(1)[0][0] for place, counted in orders.items()}
    for task_id, workflow, name, codes in listing:
        # All tasks of a workflow list its codes alike: an order, or a choice, of a task's own may tell which is right.
        if codes != usual[workflow, name]:
            found.add(f"systems/{name}/config", "lists the workflow's codes unlike its other tasks", [task_id])
    for file, text in sorted(data.files.items()):
        if file.endswith(LISTED):
            for name in keys_of_json(text, keys):
                found.add(f"{file}/{name}", "a key of the grader's", [])
    for task, episode in shown_episodes(data):
        for _, name in dict.fromkeys(assigned_in([("", text) for text in episode.observations], keys)):
            found.add(f"trajectories/observations/{name}", "a key of the grader's", [task.task_id])
    _rows(data, keys, found)
    _amounts(data, found)
    return found.findings()


def _rows(data: LeakInput, keys: set[str], found: Found) -> None:
    """Rows of tasks, as written and in memory: no key of the grader's, none beyond those of a task, no outcome code where no text
    or tool is described. Files of the training side hold no held-out task; lists and manifests of either side no outcome code."""
    import msgspec

    in_text = coined(data.code_book.outcomes)
    may_hold = holder(data.code_book.outcomes)
    held = {task.task_id for task in data.tasks if data.held_out(task)}
    for file, text in sorted(data.files.items()):
        if file.startswith("train/"):
            # A row is of the task that it names; a duplicate's name in a list of clusters is no row.
            named = held.intersection(_rows_of(text))
            if named:
                found.add(file, "rows of held-out tasks on the training side", sorted(named))
        if file.endswith(LISTS) and in_text is not None and may_hold(text) and in_text.search(text):
            found.add(file, "an outcome code in a list of tasks", [])

    @cache
    def coded(value: str) -> bool:
        return in_text is not None and in_text.search(value) is not None

    recent: defaultdict[str, deque[tuple[bytes, Told]]] = defaultdict(lambda: deque(maxlen=RECENT))

    def told(row: dict[str, bytes]) -> dict[str, Told]:
        """Of each field of a row."""
        # Most tasks have the same rules and settings: what a field holds alike is looked at once.
        known = {key: next((said for before, said in recent[key] if before == raw), None) for key, raw in row.items()}
        new = [key for key, said in known.items() if said is None]
        may_tell = may_name(b",".join([b'"%b":%b' % (key.encode(), row[key]) for key in new]))
        for key in new:
            raw = row[key]
            named = keys_of_json(f'"{key}":{raw.decode()}', keys) if may_tell else set[str]()
            found_ = named, _beyond(key, raw), key in SETTINGS and coded(raw.decode())
            recent[key].appendleft((raw, found_))
            known[key] = found_
        return {key: said for key, said in known.items() if said is not None}

    decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
    for file, text in sorted(data.files.items()):
        for line in text.encode().split(b"\n") if file.endswith(TASKS) else ():
            row = {key: bytes(raw) for key, raw in decoder.decode(line).items()} if line.strip() else {}
            looked = [(key, *said) for key, said in told(row).items()]
            # A row that is longer than its fields names one of them twice.
            twice = len(line) > sum([len(key) + len(raw) + 4 for key, raw in row.items()]) + 1
            for name in keys_of_json(line.decode(), keys) if twice else set[str]().union(*[names for _, names, _, _ in looked]):
                found.add(f"{file}/{name}", "a key of the grader's", [])
            task_id = [str(json.loads(row["task_id"]))] if "task_id" in row else []
            for key, _, beyond, has_code in looked:
                for place in beyond:
                    found.add(f"{file}/{place}", "a key that no task has", task_id)
                if has_code:
                    found.add(f"{file}/{key}", "an outcome code among the settings of a task", task_id)
    in_settings: dict[str, list[str]] = {}
    for task in data.tasks:
        settings = [getattr(task, key) for key in SETTINGS]
        # Nearly all tasks have the same: what reads alike, the fields of a model one by one, is looked at once.
        alike = repr([vars(value) if isinstance(value, BaseModel) else value for value in settings])
        if alike not in in_settings:
            in_settings[alike] = [key for key, value in zip(SETTINGS, settings, strict=True) if coded(repr(value))]
        for key in in_settings[alike]:
            found.add(f"task/{key}", "an outcome code among the settings of a task", [task.task_id])


def _rows_of(text: str) -> Iterator[str]:
    """Ids of the tasks whose rows stand in a file, which is long: looked at where a row names its task."""
    at = text.find(_TASK_ID)
    while at >= 0:
        if (match := _ROW_OF.match(text, at)) is not None:
            yield match[1]
        at = text.find(_TASK_ID, at + 1)


def _amounts(data: LeakInput, found: Found) -> None:
    """Message forms hold no number that only held-out answers hold."""
    if not data.forms:
        return
    numbers: dict[bool, set[str]] = {False: set(), True: set()}
    for task in data.tasks:
        answer = data.answers.get(task.task_id)
        if answer is not None:
            calls = [step.call.arguments for step in answer.reference]
            values = [v for _, v in _plain_pairs([calls, answer.outcome.answer, [c.fields for c in answer.outcome.changes]])]
            numbers[data.held_out(task)] |= {str(v) for v in values if isinstance(v, int) and not isinstance(v, bool) and v > 99}
    telling = numbers[True] - numbers[False]
    for kind, by in sorted(data.forms.items()):
        for text in (text for texts in by.values() for text in texts):
            if telling & {re.sub(r"\D", "", m[0]) for m in _AMOUNT.finditer(text)}:
                found.add(f"forms/{kind}", "a number that only held-out answers hold", [])


_FIELDS = frozenset(TaskSpec.model_fields)


@cache
def _adapter(key: str) -> TypeAdapter[Any]:
    return TypeAdapter(TaskSpec.model_fields[key].rebuild_annotation())


def _beyond(key: str, raw: bytes) -> list[str]:
    """Keys of a field of a row, at any depth, that the type of a task does not know."""
    if key not in _FIELDS:
        return [key]
    try:
        if b"{" in raw:
            _adapter(key).validate_json(raw)
    except ValidationError as error:
        places = [(key, *fault["loc"]) for fault in error.errors() if fault["type"] == "extra_forbidden"]
        return sorted({"/".join("*" if isinstance(step, int) else step for step in place) for place in places})
    return []


def _pairs(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """(nearest key, scalar or container) of everything in a JSON value, and in what its texts wrap."""
    for name, inner in _plain_pairs(value, key):
        yield name, inner
        for inside in unwrapped(inner) if isinstance(inner, str) else ():
            yield from _pairs(inside, name)


def _plain_pairs(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """(nearest key, scalar or container) of everything in a JSON value."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield str(name), None
            yield from _plain_pairs(inner, str(name))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _plain_pairs(inner, key)
    else:
        yield key, value


def planted(data: LeakInput) -> LeakInput:
    task = data.tasks[0]
    part = {**data.content(task.state[-1]), "hints": {"case": {task.task_id: {"required_by": ["rule"]}}}}
    data, digest = with_content(data, part)
    return with_task(data, 0, lambda t: t.model_copy(update={"state": (*t.state[:-1], digest)}))


LEAK = Leak("grader_constants", run, planted)
