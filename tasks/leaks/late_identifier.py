"""An identifier that the records first hold after the cut stands in the opening, the state, a policy or a tool's configuration.

A pseudonym counts in any case and with any separator, and by its digits alone; another id as a whole word.
"""

from __future__ import annotations

import re
from datetime import datetime

from tasks.leaks._plant import with_text
from tasks.leaks._states import After, Leaf, Row, is_stamp, is_token, once
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import TOKEN, Found, Texts, bare, fact_texts, must_instant, prompt_texts, shared_texts

_LOOSE = re.compile(
    r"(?:\b([A-Za-z]+(?:[_\- ][A-Za-z]+)*)[_\-:# ]?)?(?<![0-9A-Fa-f])([0-9A-Fa-f]{8})(?![0-9A-Za-z])(?!-[0-9a-f]{4}-)"
)
_DIGITS = re.compile(r"[0-9A-Fa-f]{8}")
"""What every pseudonym holds."""
FEWEST = 4
"""Characters of the shortest identifier."""
_WORD = re.compile(r"[\w][\w.\-/#]*[\w]")


def run(data: LeakInput) -> list[Finding]:
    found = Found("late_identifier")
    first = {name: must_instant(at, f"first_seen of {name}") for name, at in data.first_seen.items()}
    if not first:
        raise ValueError("nobody says when identifiers were first seen")
    digits: dict[str, tuple[datetime, str]] = {}
    others: dict[str, str] = {}
    for name, at in first.items():
        if is_token(name):
            tail = name[-8:] if _DIGITS.fullmatch(name.rpartition("_")[2]) else bare(name)[-8:]
            # The same digits under another type are another identity: alone they tell only what all of them tell.
            if tail not in digits or at < digits[tail][0]:
                digits[tail] = (at, name)
        elif len(name) > 3:
            others[name.casefold()] = name

    read: dict[str, list[tuple[datetime, str]]] = {}

    def named(text: str) -> list[tuple[datetime, str]]:
        """(first sight, identifier) of each identifier in a text."""
        held = read.get(text)
        if held is None:
            held = read[text] = look(text) if len(text) >= FEWEST else []
        return held

    def look(text: str) -> list[tuple[datetime, str]]:
        at = first.get(text)
        if at is not None and TOKEN.fullmatch(text):
            return [(at, text)]
        if not others and not _DIGITS.search(text):
            return []
        held = [(at, text)] if (at := _seen(first, text)) is not None else []
        for token in TOKEN.findall(text):
            if (at := _seen(first, token)) is not None:
                held.append((at, token))
        for match in _LOOSE.finditer(text):
            if not TOKEN.fullmatch(match[0].strip()) and any(c.isdigit() for c in match[2]) and match[2].upper() in digits:
                exact = _seen(first, re.sub(r"[\- :#]", "_", match[0].strip()).upper())
                held.append((exact, digits[match[2].upper()][1]) if exact is not None else digits[match[2].upper()])
        if others:
            held += [(first[name], name) for word in _WORD.findall(text) if (name := others.get(word.casefold())) is not None]
        return held

    keys: dict[str, list[tuple[datetime, str]]] = {}

    def in_keys(path: str) -> list[tuple[datetime, str]]:
        if path not in keys:
            keys[path] = [one for key in path.split("/") for one in named(key)]
        return keys[path]

    def seen(row: Row) -> list[tuple[datetime, tuple[Leaf | Row, str]]]:
        """(first sight, (where, identifier)) of the identifiers in this row."""
        held: list[tuple[datetime, tuple[Leaf | Row, str]]] = [(at, (row, name)) for at, name in named(row.record_id)]
        for leaf in row.tokens:
            at = first.get(leaf.value)
            held += [(at, (leaf, leaf.value))] if at is not None else [(at, (leaf, name)) for at, name in named(leaf.value)]
        held += [(at, (leaf, name)) for leaf in row.texts for at, name in named(leaf.value)]
        for leaf in row.leaves if others else ():
            value = leaf.value
            if isinstance(value, str):
                held += [(at, (leaf, name)) for at, name in named(value)] if is_stamp(value) else []
            elif value is not None and not isinstance(value, bool) and (other := others.get(str(value))) is not None:
                held.append((first[other], (leaf, other)))
        for leaf in row.nested:
            held += [(at, (leaf, name)) for at, name in in_keys(leaf.inner)]
        return held

    @once
    def shared_names(texts: Texts) -> list[tuple[datetime, str, str]]:
        return [(at, path, name) for path, text in texts for at, name in named(text)]

    states = After(data, seen)
    for task in data.tasks:
        cut = must_instant(task.started_at, f"{task.task_id}.started_at")
        said = [("opening", name) for name in (task.opening.requester_id, task.opening.requester_name, task.opening.contact)]
        said += [("opening", task.opening.record.record_id), *prompt_texts(task)]
        late = {(path, name) for path, text in said for at, name in named(text) if at > cut}
        # The requester may bring up what is new; what is first seen after the case was closed nobody could tell in it.
        closed = data.closed_at.get(task.task_id)
        if closed is not None:
            end = must_instant(closed, f"{task.task_id}.closed_at")
            told = [*fact_texts(task), *(("requester/facts/question", fact.question) for fact in task.requester.facts)]
            late |= {(path, name) for path, text in told for at, name in named(text) if at > end}
        late |= {(path, name) for at, path, name in shared_names(shared_texts(data, task)) if at > cut}
        late |= {(where.path, name) for where, name in states.of(task, cut)}
        for path, name in late:
            found.add(path, f"{_kind(name)} first seen after the cut", [task.task_id])
    return found.findings()


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
