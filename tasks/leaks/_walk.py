"""Walks over what an agent may be shown: leaves with their paths, words, tokens and times in text."""

from __future__ import annotations

import marshal
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, NamedTuple, TypeVar

from schemas.task import TaskSpec
from tasks.leaks._decode import may_wrap, unwrapped
from tasks.leaks._times import instant
from tasks.leaks._types import Finding, LeakInput

TOKEN = re.compile(r"\b[A-Z]+(?:_[A-Z]+)*_[0-9A-F]{8}(?:_(?:FIRST|LAST|EMAIL\d*|PHONE\d*|LOGIN|INITIAL))?\b")
"""An identity as deid writes it."""
_ROLE = re.compile(r"_(?:FIRST|LAST|EMAIL\d*|PHONE\d*|LOGIN|INITIAL)$")
_TYPE = re.compile(r"_[0-9A-F]{8}.*")
_WORD = re.compile(r"\w+")
MESSAGES = "messages"
"""Field under which an earlier case holds its public messages."""
KEPT_ROWS = 400_000
"""Rows whose leaves are kept. States of one organisation share most rows, so each is walked once, not once a task."""
KEPT_TASKS = 20_000
"""Tasks whose texts are kept: each is opened once, not once a check."""


class Leaf(NamedTuple):
    """One scalar that can be shown."""

    system: str
    kind: str
    record_id: str
    field: str
    """Top field of the row."""
    inner: str
    """Path below the field ("" at the top), e.g. "messages/0/text"."""
    key: str
    """Name nearest to the value: the field, or the nested key."""
    value: Any

    @property
    def path(self) -> str:
        """Without the record's id, so that one leak in many records is one finding."""
        return f"state/{self.system}/{self.kind}/{self.field}" + (f"/{self.inner}" if self.inner else "")


def nested(value: Any, path: str = "", key: str = "") -> Iterator[tuple[str, str, Any]]:
    """(path below, nearest key, scalar) of every scalar in a JSON value; list positions are written "*"."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from nested(inner, f"{path}/{name}" if path else str(name), str(name))
    elif isinstance(value, list):
        for inner in value:
            yield from nested(inner, f"{path}/*" if path else "*", key)
    else:
        yield path, key, value
        if isinstance(value, str):
            for inner in unwrapped(value):
                yield from (
                    nested(inner, f"{path}/(inside)" if path else "(inside)", key)
                    if not isinstance(inner, str)
                    else [(f"{path}/(inside)" if path else "(inside)", key, inner)]
                )


@dataclass(slots=True, eq=False)
class Row:
    """One record as some state holds it; the same row of another state is the same object."""

    system: str
    kind: str
    record_id: str
    leaves: tuple[Leaf, ...]
    fields: tuple[str, ...] = ()
    """Names of the row's fields, those that hold an empty list or object too."""

    @property
    def path(self) -> str:
        """Without the record's id, as of its leaves."""
        return f"state/{self.system}/{self.kind}"


_rows: dict[tuple[str, str], dict[bytes, Row]] = {}
"""(system, kind) -> id and values -> the row."""
_parts: dict[str, tuple[Row, ...]] = {}
"""Digest -> its rows: a digest names its value, so neither ever goes stale."""


def rows_of(content: Callable[[str], Any], digest: str) -> tuple[Row, ...]:
    """The rows of one part of a state."""
    found = _parts.get(digest)
    if found is None:
        if sum(map(len, _rows.values())) > KEPT_ROWS:
            _rows.clear()
            _parts.clear()
        whole: list[Row] = []
        for system, kinds in content(digest).items():
            for kind, rows in kinds.items():
                kept = _rows.setdefault((system, kind), {})
                for item in rows.items():
                    key = marshal.dumps(item, 2)
                    row = kept.get(key)
                    if row is None:
                        row = kept[key] = _row(system, kind, *item)
                    whole.append(row)
        found = _parts[digest] = tuple(whole)
    return found


_HOLDERS = (dict, list)


def _row(system: str, kind: str, record_id: str, row: dict[str, Any]) -> Row:
    leaves = []
    for name, value in row.items():
        if may_wrap(value) if isinstance(value, str) else isinstance(value, _HOLDERS):
            leaves += [Leaf(system, kind, record_id, name, inner, key or name, scalar) for inner, key, scalar in nested(value)]
        else:
            leaves.append(Leaf(system, kind, record_id, name, "", name, value))
    return Row(system, kind, record_id, tuple(leaves), tuple(row))


T = TypeVar("T")


def once_a_task(make: Callable[[TaskSpec], T]) -> Callable[[TaskSpec], T]:
    """`make`, asked once for each task: what it says depends on the task alone, and many checks ask."""
    kept: dict[int, tuple[TaskSpec, T]] = {}

    def of(task: TaskSpec) -> T:
        held = kept.get(id(task))
        if held is None:  # a kept task is alive, so that no other has its id
            if len(kept) >= KEPT_TASKS:
                kept.clear()
            held = kept[id(task)] = (task, make(task))
        return held[1]

    return of


@once_a_task
def declared_systems(task: TaskSpec) -> frozenset[str]:
    """Systems that answer from recorded queries: their recorded answers are what the tools give, later times included."""
    return frozenset(system.name for system in task.systems if system.plugin == "declared") | frozenset(
        str(system.config["system"]) for system in task.systems if system.plugin == "declared" and "system" in system.config
    )


def state_leaves(data: LeakInput, task: TaskSpec) -> Iterator[Leaf]:
    """Every scalar of the task's state, without declared systems. For a few tasks; over all of them use `Parts`."""
    skipped = declared_systems(task)
    for digest in task.state:
        for row in rows_of(data.content, digest):
            if not recorded(row, skipped):
                yield from row.leaves


RECORDED = frozenset(("request", "request_type", "item"))
"""Fields of a recorded query of a declared system: what its tools answer, times and ids after the cut included."""


def recorded(row: Row, skipped: frozenset[str]) -> bool:
    """True for a recorded query of one of the systems `skipped`; their other rows are rows like any."""
    return row.system in skipped and bool(row.fields) and RECORDED.issuperset(row.fields)


K = TypeVar("K")
V = TypeVar("V")


class Parts(Generic[K, V]):
    """What a check needs to know of states: `make` is asked once for each different row, `join` once for each part of a state."""

    def __init__(
        self,
        data: LeakInput,
        make: Callable[[Row], dict[K, V]],
        join: Callable[[V, V], V] = lambda first, _: first,
        *,
        declared: bool = False,
    ) -> None:
        """`make`: what a row holds that matters, most often nothing; `join`: of two values under one key, the one to keep;
        `declared`: look at the recorded answers of declared systems too."""
        self._data, self._make, self._join, self._declared = data, make, join, declared
        self._of_row: dict[Row, dict[K, V]] = {}
        self._of_part: dict[tuple[str, frozenset[str]], dict[K, V]] = {}

    def of(self, task: TaskSpec) -> Iterator[dict[K, V]]:
        """One dictionary for each part of the task's state."""
        skipped = frozenset() if self._declared else declared_systems(task)
        for digest in task.state:
            key = (digest, skipped)
            if key not in self._of_part:
                self._of_part[key] = self._joined(shown_rows(self._data, digest, skipped))
            yield self._of_part[key]

    def _joined(self, rows: Sequence[Row]) -> dict[K, V]:
        known = self._of_row
        for row in rows:
            if row not in known:
                known[row] = self._make(row)
        whole: dict[K, V] = {}
        for held in [held for row in rows if (held := known[row])]:
            for key, value in held.items():
                whole[key] = self._join(whole[key], value) if key in whole else value
        return whole


def shown_rows(data: LeakInput, digest: str, skipped: frozenset[str]) -> Sequence[Row]:
    """The rows of one part of a state, without the recorded queries of the systems `skipped`."""
    rows = rows_of(data.content, digest)
    return [row for row in rows if not recorded(row, skipped)] if skipped else rows


_NEVER = datetime.min.replace(tzinfo=UTC)


class After(Generic[V]):
    """What lies after the cut in states, where each row says of what it holds from when it is: once for each different row, and
    of a part that holds nothing so late no row is looked at again."""

    def __init__(self, data: LeakInput, make: Callable[[Row], list[tuple[datetime, V]]]) -> None:
        """`make`: (instant in UTC, what is of it) of everything in a row."""
        self._data, self._make = data, make
        self._of_row: dict[Row, list[tuple[datetime, V]]] = {}
        self._latest: dict[Row, datetime] = {}
        self._of_part: dict[tuple[str, frozenset[str]], datetime] = {}

    def of(self, task: TaskSpec, cut: datetime) -> Iterator[V]:
        """Everything in the task's state that is of an instant after the cut."""
        skipped = declared_systems(task)
        for digest in task.state:
            latest = self._of_part.get((digest, skipped))
            if latest is None:
                latest = self._of_part[digest, skipped] = self._read(shown_rows(self._data, digest, skipped))
            if latest > cut:
                for row in shown_rows(self._data, digest, skipped):
                    if self._latest[row] > cut:
                        yield from (what for at, what in self._of_row[row] if at > cut)

    def _read(self, rows: Sequence[Row]) -> datetime:
        for row in rows:
            if row not in self._latest:
                held = self._of_row[row] = self._make(row)
                self._latest[row] = max((at for at, _ in held), default=_NEVER)
        return max([self._latest[row] for row in rows], default=_NEVER)


def opened(path: str, text: str) -> list[tuple[str, str]]:
    """(path, text) of a text and of every text inside it; keys of JSON inside stand before their values ("key: value")."""
    found = [(path, text)]
    for inner in unwrapped(text):
        if isinstance(inner, str):
            found.append((f"{path}/(inside)", inner))
        else:
            found += [(f"{path}/(inside)", f"{key}: {value}" if key else str(value)) for _, key, value in nested(inner)]
    return found


@once_a_task
def prompt_texts(task: TaskSpec) -> list[tuple[str, str]]:
    """(path, text) of the opening request, and of what is wrapped in it."""
    return [*opened("opening/subject", task.opening.subject), *opened("opening/text", task.opening.text)]


@once_a_task
def fact_texts(task: TaskSpec) -> list[tuple[str, str]]:
    """(path, text) of what the requester may tell when asked, and of what is wrapped in it."""
    found = [("requester/facts/answer", fact.answer) for fact in task.requester.facts]
    found += [("requester/facts/values", value) for fact in task.requester.facts for value in fact.values.values()]
    found += [("requester/dont_know", text) for text in task.requester.dont_know]
    return [one for path, text in found for one in opened(path, text)]


def shared_texts(data: LeakInput, task: TaskSpec, *, skip: frozenset[str] = frozenset()) -> list[tuple[str, str]]:
    """(path, text) of what many tasks show alike: policies, what configures the tools (names, descriptions, enumerations; not of
    the systems `skip`), the sentences of rules. Each content is walked once."""
    found = [(f"rules/{rule.id}", rule.sentence) for rule in task.rules]
    digests = [(f"policies/{digest[:12]}", digest) for digest in task.policies]
    for config in configured(task):
        if config.system not in skip:
            found += config.texts
            digests += [(f"systems/{config.system}/config", digest) for digest in config.contents]
    for path, digest in digests:
        held = _shared.get((path, digest))
        if held is None:
            if len(_shared) > KEPT_TASKS:
                _shared.clear()
            held = _shared[path, digest] = [
                (f"{path}/{where}", value) for where, _, value in nested(data.content(digest)) if isinstance(value, str)
            ]
        found += held
    return found


_shared: dict[tuple[str, str], list[tuple[str, str]]] = {}


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


@once_a_task
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


def words(text: str) -> list[str]:
    """Words in one case; a token counts as its type, so that two cases that differ in ids alone read alike."""
    return [word.casefold() for word in _WORD.findall(TOKEN.sub(lambda m: _TYPE.sub("", m[0]), text))]


def grams(text: str, size: int) -> set[tuple[str, ...]]:
    """Runs of `size` words."""
    found = words(text)
    return {tuple(found[i : i + size]) for i in range(len(found) - size + 1)}


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
