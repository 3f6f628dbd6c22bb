"""An identifier that the records first hold after the cut stands in the opening, the state, a policy, a tool's configuration or
what an episode to imitate was shown.

A pseudonym counts in any case and with any separator, and by its digits alone; another id as a whole word.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache

from tasks.leaks._dated import Dated, after, dated
from tasks.leaks._decode import apart, disguised
from tasks.leaks._plant import with_text
from tasks.leaks._states import TEXTS, Column, nested, once, tokens_in
from tasks.leaks._times import instant
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import (
    SAID,
    TOKEN,
    Config,
    Found,
    Texts,
    bare,
    configured,
    fact_texts,
    keys_in,
    must_instant,
    named_texts,
    prompt_texts,
    question_texts,
    shared_texts,
    shown_episodes,
    wraps_name,
)

_LOOSE = re.compile(
    r"(?:\b([A-Za-z]+(?:[_\- ][A-Za-z]+)*)[_\-:# ]?)?(?<![0-9A-Fa-f])([0-9A-Fa-f]{8})(?![0-9A-Za-z])(?!-[0-9a-f]{4}-)"
)
_BETWEEN = re.compile(r"[_\- ]")
_FIGURES = frozenset("0123456789ABCDEF")
_HEX = bytes(ord("h") if byte in b"0123456789ABCDEFabcdef" else ord(" ") for byte in range(256))
_RUN = re.compile(b"hhhhhhhhh*")
"""Eight hexadecimal figures and more, in bytes translated by `_HEX`; the pattern begins with what it cannot do without."""
FEWEST = 4
"""Characters of the shortest identifier."""
_WORD = re.compile(r"[\w][\w.\-/#]*[\w]")


def run(data: LeakInput) -> list[Finding]:
    found = Found("late_identifier")
    read_at = cache(instant)  # many are first seen in one record
    first = {name: read_at(at) or must_instant(at, f"first_seen of {name}") for name, at in data.first_seen.items()}
    if not first:
        raise ValueError("nobody says when identifiers were first seen")
    digits: dict[str, tuple[datetime, str]] = {}
    others: dict[str, str] = {}
    tokens: dict[str, datetime] = {}
    latest: dict[bytes, datetime] = {}
    pseudonyms = tokens_in(first)
    for name, at in first.items():
        if name in pseudonyms:
            tokens[name] = at
            tail = name[-8:] if name[-9] == "_" and _FIGURES.issuperset(name[-8:]) else bare(name)[-8:]
            # The same digits under another type are another identity: alone they tell only what all of them tell.
            raw = tail.encode()
            if tail not in digits:
                digits[tail], latest[raw] = (at, name), at
            elif at < digits[tail][0]:
                digits[tail] = (at, name)
            elif at > latest[raw]:
                latest[raw] = at
        elif len(name) > 3:
            others[name.casefold()] = name

    read: dict[str, list[tuple[datetime, str]]] = {}
    never = datetime.min.replace(tzinfo=UTC)
    bounds: dict[str, datetime] = {}

    def bound(text: str) -> datetime:
        """No earlier than the first sight of any identifier in a text: told faster than which they are."""
        at = bounds.get(text)
        if at is None:
            seen_ = [latest[one] for one in _alone(text) if one in latest]
            at = bounds[text] = datetime.max.replace(tzinfo=UTC) if others else max(seen_, default=never)
        return at

    def bound_of_name(name: str) -> datetime:
        return bound(name) if not wraps_name(name) else datetime.max.replace(tzinfo=UTC)

    def named(text: str) -> list[tuple[datetime, str]]:
        """(first sight, identifier) of each identifier in a text."""
        at = tokens.get(text)
        if at is not None:
            return [(at, text)]
        held = read.get(text)
        if held is None:
            held = read[text] = look(text) if len(text) >= FEWEST else []
        return held

    def look(text: str) -> list[tuple[datetime, str]]:
        if not others and not _alone(text):
            return []
        held = [(at, text)] if (at := _seen(first, text)) is not None else []
        for token in TOKEN.findall(text):
            if (at := _seen(first, token)) is not None:
                held.append((at, token))
        for match in _LOOSE.finditer(text):
            if match[2].upper() not in digits or match[0].strip() in tokens:
                continue
            if not TOKEN.fullmatch(match[0].strip()) and any(c.isdigit() for c in match[2]):
                held.append(_typed(first, match) or digits[match[2].upper()])
        if others:
            held += [(first[name], name) for word in _WORD.findall(text) if (name := others.get(word.casefold())) is not None]
        return held

    def called(name: str) -> list[tuple[datetime, str]]:
        """As `named`, of a key or an id: what it wraps stands in no place of its own."""
        if name in tokens or not wraps_name(name):
            return named(name)
        return [one for text in named_texts(name) for one in named(text)]

    seconds = {name: at.timestamp() for name, at in tokens.items()}

    def seen(column: Column) -> Dated[tuple[str, str]] | None:
        """(first sight, (path, identifier)) of the identifiers in a value, and in the keys above it."""
        path = column.path
        above = [(at, (path, name)) for key in column.inner.split("/") for at, name in called(key)]
        if column.sort in ("id", "token", "text") or (others and column.sort in TEXTS):
            look_at, latest_of = (called, bound_of_name) if column.sort == "id" else (named, bound)

            def of(text: str) -> list[tuple[datetime, tuple[str, str]]]:
                return above + [(at, (path, name)) for at, name in look_at(text)]

            if above or others:
                return dated(column.different, of)
            # Nearly all are pseudonyms, whose first sight is known.
            known = {text: seconds[text] for text in column.different if text in seconds}
            rest = {text: at for text in column.different if text not in known and (at := latest_of(text)) > never}
            return Dated({**known, **{text: at.timestamp() for text, at in rest.items()}}, of)
        if others and column.sort in ("int", "float"):
            return dated(
                column.different, lambda value: above + [(first[o], (path, o)) for o in [others.get(str(value))] if o is not None]
            )
        return dated(column.different, lambda _: above) if above else None

    @once
    def shared_names(texts: Texts) -> list[tuple[datetime, str, str]]:
        return [(at, path, name) for path, text in texts for at, name in named(text)]

    @once
    def key_names(config: Config) -> list[tuple[datetime, str, str]]:
        values = (config.value, *map(data.content, config.contents))
        keys = [(where, key) for value in values for where, key in keys_in(value)]
        return [(at, f"systems/{config.system}/config/{where}", name) for where, key in keys for at, name in called(key)]

    cuts = [must_instant(task.started_at, f"{task.task_id}.started_at") for task in data.tasks]
    for task, cut, in_state in zip(data.tasks, cuts, after(data, cuts, seen), strict=True):
        who = (task.opening.requester_id, task.opening.requester_name, task.opening.contact, task.opening.record.record_id)
        said = [("opening", one) for name in who for one in ((name,) if name in tokens else named_texts(name))]
        said += prompt_texts(task)
        late = {*in_state, *((path, name) for path, text in said if bound(text) > cut for at, name in named(text) if at > cut)}
        # The requester may bring up what is new; what is first seen after the case was closed nobody could tell in it.
        closed = data.closed_at.get(task.task_id)
        if closed is not None:
            end = must_instant(closed, f"{task.task_id}.closed_at")
            told = [*fact_texts(task), *question_texts(task)]
            late |= {(path, name) for path, text in told if bound(text) > end for at, name in named(text) if at > end}
        late |= {(path, name) for at, path, name in shared_names(shared_texts(data, task)) if at > cut}
        late |= {(path, name) for config in configured(task) for at, path, name in key_names(config) if at > cut}
        for path, name in late:
            found.add(path, f"{_kind(name)} first seen after the cut", [task.task_id])
    _episodes(data, bound, named, found)
    return found.findings()


def _episodes(
    data: LeakInput, bound: Callable[[str], datetime], named: Callable[[str], list[tuple[datetime, str]]], found: Found
) -> None:
    """What the episodes to imitate were shown, the requester's words apart: who says something new may see it come back. An id
    that the episode itself made has no first sight."""
    for task, episode in shown_episodes(data):
        cut = must_instant(task.started_at, f"{task.task_id}.started_at")
        spoken: set[str] = set()
        for text in episode.observations:
            if bound(text) <= cut and not disguised(text):
                continue
            values, beside = apart(text)
            places = [*(one for value in values for one in nested(value)), *nested(beside)]
            said = {one for path, key, value in places for one in (*path.split("/"), key, str(value))}
            late = {name for one in said for at, name in named(one) if at > cut}
            if text.startswith(SAID):
                spoken |= late
                continue
            for name in late - spoken:
                found.add("trajectories/observations", f"{_kind(name)} first seen after the cut", [task.task_id])


def _alone(text: str) -> list[bytes]:
    """The digits that pseudonyms in a text may have, in capitals: eight, and none on either side."""
    raw = text.encode("utf-8", "surrogatepass")
    runs = [run.span() for run in _RUN.finditer(raw.translate(_HEX))]
    return [raw[start:end].upper() for start, end in runs if end - start == 8]


def _typed(first: dict[str, datetime], match: re.Match[str]) -> tuple[datetime, str] | None:
    """(first sight, identifier) of the one whose type is the last words before the figures ("has to do with issue_0a1b2c3d"): the
    longest type that is known with them."""
    words = _BETWEEN.split(match[1]) if match[1] else []
    names = ("_".join([*words[start:], match[2]]).upper() for start in range(len(words)))
    return next(((at, name) for name in names if (at := _seen(first, name)) is not None), None)


def _seen(first: dict[str, datetime], name: str) -> datetime | None:
    """When an identifier, or the identity that it is a role of, was first seen."""
    return first.get(name) or first.get(bare(name))


def _kind(name: str) -> str:
    """The type of a token ("ORDER_1A2B3C4D" -> "ORDER"); an id that is no token is not repeated."""
    return name.split("_", maxsplit=1)[0] if TOKEN.fullmatch(name) else "an identifier"


def planted(data: LeakInput) -> LeakInput:
    index = min(range(len(data.tasks)), key=lambda i: data.tasks[i].started_at)
    cut = data.tasks[index].started_at
    name = max(data.first_seen, key=lambda n: data.first_seen[n])
    if data.first_seen[name] <= cut:
        raise ValueError("no identifier is first seen after this cut")
    return with_text(data, index, lambda text: f"{text} See {name}.")


LEAK = Leak("late_identifier", run, planted)
