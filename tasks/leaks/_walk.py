"""What an agent may be shown beside states: texts with their paths, and the words, tokens and instants in them."""

from __future__ import annotations

import marshal
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from schemas.task import TaskSpec, Trajectory
from tasks.leaks._decode import may_wrap, unwrapped, whole_base64
from tasks.leaks._states import KEPT_TASKS, declared_systems, nested, once, recorded, rows_of, tokens_in
from tasks.leaks._times import instant
from tasks.leaks._types import Finding, LeakInput

TOKEN = re.compile(r"[A-Z](?<!\w.)[A-Z]*(?:_[A-Z]+)*_[0-9A-F]{8}(?:_(?:FIRST|LAST|EMAIL\d*|PHONE\d*|LOGIN|INITIAL))?\b")
"""An identity as deid writes it. Its first letter stands first in the pattern, so that the search skips to capitals."""
_ROLE = re.compile(r"_(?:FIRST|LAST|EMAIL\d*|PHONE\d*|LOGIN|INITIAL)$")
_TYPE = re.compile(r"_[0-9A-F]{8}.*")
_WORD = re.compile(r"\w+")
MESSAGES = "messages"
"""Field under which an earlier case holds its public messages."""


def opened(path: str, text: str) -> list[tuple[str, str]]:
    """(path, text) of a text and of every text inside it; keys of JSON inside stand before their values ("key: value")."""
    found = [(path, text)]
    for inner in unwrapped(text):
        if isinstance(inner, str):
            found.append((f"{path}/(inside)", inner))
        else:
            found += [(f"{path}/(inside)", f"{key}: {value}" if key else str(value)) for _, key, value in nested(inner)]
    return found


def named_texts(name: str) -> list[str]:
    """The name of a record, a key or a file, and whatever it wraps: Base64 that is a name as a whole may be short."""
    found = [text for _, text in opened("", name)]
    inside = whole_base64(name)
    return found if inside is None or inside in found else [*found, inside]


def wraps_name(name: str) -> bool:
    """True where a name may stand for another one."""
    return may_wrap(name) or whole_base64(name) is not None


def keys_in(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """(path of its object, key) of every key in a JSON value and in what its texts wrap; list positions are written "*"."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield path, str(name)
            yield from keys_in(inner, f"{path}/{name}" if path else str(name))
    elif isinstance(value, list):
        for inner in value:
            yield from keys_in(inner, f"{path}/*" if path else "*")
    elif isinstance(value, str):
        for inner in unwrapped(value):
            yield from keys_in(inner, f"{path}/(inside)" if path else "(inside)") if not isinstance(inner, str) else ()


@once
def prompt_texts(task: TaskSpec) -> list[tuple[str, str]]:
    """(path, text) of the opening request, and of what is wrapped in it. Who writes is left out where it is an identity's
    pseudonym as a whole: that says nothing, though its digits may read as a time or a number."""
    opening = task.opening
    found = [*opened("opening/subject", opening.subject), *opened("opening/text", opening.text)]
    who = (("opening/requester_name", opening.requester_name), ("opening/contact", opening.contact))
    return found + [one for path, text in who if text and not tokens_in((text,)) for one in opened(path, text)]


@once
def fact_texts(task: TaskSpec) -> list[tuple[str, str]]:
    """(path, text) of what the requester may tell when asked, and of what is wrapped in it."""
    found = [("requester/facts/answer", fact.answer) for fact in task.requester.facts]
    found += [("requester/facts/values", value) for fact in task.requester.facts for value in fact.values.values()]
    found += [("requester/dont_know", text) for text in task.requester.dont_know]
    return [one for path, text in found for one in opened(path, text)]


@once
def question_texts(task: TaskSpec) -> list[tuple[str, str]]:
    """(path, text) of the recorded questions that the requester's facts answer, and of what is wrapped in them."""
    return [one for fact in task.requester.facts for one in opened("requester/facts/question", fact.question)]


SAID = '{"requester"'
"""How an observation begins that is the requester's own words."""


def answers_recorded(data: LeakInput, task: TaskSpec) -> bool:
    """True where the task's tools answer from recorded queries: as the records hold it, later times and ids included, and in
    the words that agents then repeat."""
    systems = declared_systems(task)
    return bool(systems) and any(recorded(row, systems) for d in task.state[-1:] for row in rows_of(data.content, d))


def shown_episodes(data: LeakInput) -> Iterator[tuple[TaskSpec, Trajectory]]:
    """The episodes to imitate with their tasks, without those whose tools answer from recorded queries."""
    tasks = {task.task_id: task for task in data.tasks}
    for episode in data.trajectories:
        task = tasks.get(episode.task_id)
        if task is not None and not answers_recorded(data, task):
            yield task, episode


Texts = list[tuple[str, str]]
"""(path, text)."""


def shared_texts(data: LeakInput, task: TaskSpec, *, skip: frozenset[str] = frozenset()) -> Texts:
    """(path, text) of what many tasks show alike: policies, what configures the tools (names, descriptions, enumerations; not of
    the systems `skip`), the sentences of rules. Tasks that show the same are given the same list, which nobody changes."""
    configs = tuple([config for config in configured(task) if config.system not in skip])
    rules = _rules(task)
    key = (rules, task.policies, configs)
    found = _shared.get(key)
    if found is None:
        if len(_shared) > KEPT_TASKS:
            _shared.clear()
        found = _shared[key] = [one for name, sentence in rules.sentences for one in opened(f"rules/{name}", sentence)]
        digests = [(f"policies/{digest[:12]}", digest) for digest in task.policies]
        for config in configs:
            found += config.texts
            digests += [(f"systems/{config.system}/config", digest) for digest in config.contents]
        for path, digest in digests:
            found += [(f"{path}/{where}", value) for where, _, value in nested(data.content(digest)) if isinstance(value, str)]
    return found


@dataclass(slots=True, eq=False)
class _Rules:
    """The rules of some tasks; those of another task, if they read the same, are the same object."""

    sentences: tuple[tuple[str, str], ...]
    """(id, sentence)."""


@once
def _rules(task: TaskSpec) -> _Rules:
    sentences = tuple([(rule.id, rule.sentence) for rule in task.rules])
    found = _said.get(sentences)
    if found is None:
        if len(_said) > KEPT_TASKS:
            _said.clear()
        found = _said[sentences] = _Rules(sentences)
    return found


_said: dict[tuple[tuple[str, str], ...], _Rules] = {}
_shared: dict[Any, Texts] = {}


@dataclass(slots=True, eq=False)
class Config:
    """What configures a system of some tasks; that of another task, if it is the same, is the same object."""

    system: str
    value: Mapping[str, Any]
    texts: list[tuple[str, str]]
    """(path, text) of every text in it."""
    contents: list[str]
    """Digests of the contents that it names."""


_configs: dict[tuple[str, bytes], Config] = {}


@once
def configured(task: TaskSpec) -> list[Config]:
    """The configuration of each of the task's systems."""
    found = []
    for system in task.systems:
        key = (system.name, marshal.dumps(system.config, 2))
        if key not in _configs:
            if len(_configs) > KEPT_TASKS:
                _configs.clear()
            texts = [(where, value) for where, _, value in nested(system.config) if isinstance(value, str)]
            _configs[key] = Config(
                system.name,
                system.config,
                [(f"systems/{system.name}/config/{where}", value) for where, value in texts if not value.startswith("content:")],
                [value.removeprefix("content:") for _, value in texts if value.startswith("content:")],
            )
        found.append(_configs[key])
    return found


def _type_of(token: re.Match[str]) -> str:
    whole = token[0]
    return whole[:-9] if whole.count("_") == 1 else _TYPE.sub("", whole)


def words(text: str) -> list[str]:
    """Words in one case; a token counts as its type, so that two cases that differ in ids alone read alike."""
    return _words(text)


@lru_cache(maxsize=30_000)
def _words(text: str) -> list[str]:
    """As `words`; several checks ask about the same text, and none changes what it is given."""
    if "_" in text:
        text = TOKEN.sub(_type_of, text)
    return _WORD.findall(text.lower()) if text.isascii() else [word.casefold() for word in _WORD.findall(text)]


def line_of(texts: Iterable[str]) -> str:
    """Texts, one behind the other, as words in one case, with room at both ends."""
    return f" {' '.join(words(' '.join(texts)))} "


def grams(text: str, size: int) -> set[tuple[str, ...]]:
    """Runs of `size` words."""
    return runs(words(text), size)


def grams_among(text: str, size: int, known: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """`grams` that are among the known, without making the others."""
    said = words(text)
    return known.intersection(zip(*[said[i:] for i in range(size)], strict=False))


def runs(said: list[str], size: int) -> set[tuple[str, ...]]:
    """Runs of `size` of the words."""
    return {*zip(*[said[i:] for i in range(size)], strict=False)}


def bare(token: str) -> str:
    """A token without its role: the identity itself."""
    return _ROLE.sub("", token)


def must_instant(text: str, what: str) -> datetime:
    """As `instant`; ValueError where there is none, so that the check reads "could not run"."""
    found = instant(text)
    if found is None:
        raise ValueError(f"{what} is not an ISO 8601 time")
    return found


# --- findings ------------------------------------------------------------------------------------------------------------------


class Found:
    """Collects evidence; the same leak in many tasks is one finding with their ids."""

    def __init__(self, check: str) -> None:
        self.check = check
        self._at: dict[tuple[str, str], dict[str, None]] = {}

    def add(self, path: str, detail: str, task_ids: Iterable[str]) -> None:
        self._at.setdefault((path, detail), {}).update(dict.fromkeys(task_ids))

    def findings(self) -> list[Finding]:
        """Sorted by path and detail; empty = passed."""
        return [
            Finding(self.check, "failed", path, detail, tuple(sorted(ids))) for (path, detail), ids in sorted(self._at.items())
        ]
