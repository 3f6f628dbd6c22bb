"""What a supplier's own texts and tables say about words: its vocabulary, its ordinary words, its first names, its staff."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from deid.fold import fold, fold_word
from deid.names import parse_name
from deid.tables import Records
from deid.words import COMMON

if TYPE_CHECKING:
    from deid.plan import Plan

LETTERS = re.compile(r"[^\W\d_]+")


def declared_values(node: Any) -> Iterator[str]:
    """Every string below a list called "categories", "enum" or "values" in the declarations (any case)."""
    if isinstance(node, dict):
        for name, child in node.items():
            if name.casefold() in ("categories", "enum", "values") and isinstance(child, list):
                yield from (item for item in child if isinstance(item, str))
            else:
                yield from declared_values(child)
    elif isinstance(node, list):
        for child in node:
            yield from declared_values(child)


def find_staff(plan: Plan, records: Records) -> None:
    """Who wrote in at least 2% of the cases (and 5 of them) is staff; their first names, where only one of them has it."""
    cases: dict[int, set[str]] = defaultdict(set)
    messages = records.events.filter(records.events["type"] == "message")
    for actor, record in messages.select("actor_id", "record_id").unique().iter_rows():
        parts = tuple((actor or "").split(":", 2))
        number = plan.person_of.get(parts, -1) if len(parts) == 3 else -1
        if number >= 0:
            cases[number].add(record)
    many = max(5, messages["record_id"].n_unique() // 50)
    named: dict[str, set[int]] = defaultdict(set)
    for number, found in cases.items():
        if len(found) >= many:
            for name in plan.persons[number].parsed:
                named[name.first].add(number)
    plan.staff = {first: next(iter(numbers)) for first, numbers in named.items() if len(numbers) == 1 and first}


def find_words(plan: Plan, records: Records, mentions: set[str]) -> list[str]:
    """Vocabulary, common words and first names: what the supplier's own texts and tables say about words."""
    values = {
        *declared_values(records.declarations),
        *(v for allowed in plan.book.codes.values() for v in allowed),
        *plan.spec.deid.allow,
    }
    low: Counter[str] = Counter()
    high: Counter[str] = Counter()
    for text in sorted(set(records.events["text"].drop_nulls().to_list())):
        for start, word in sentence_words(text):
            if word.islower():
                low[fold_word(word)] += 1
            elif not start:
                high[fold_word(word)] += 1
    names = [n for p in plan.persons for n in p.parsed]
    parts = {w for n in names for w in n.words}
    common = {w for w, count in low.items() if count >= 3 and count >= 2 * high[w] and w not in parts} | (COMMON - parts)
    phrases = {fold(v) for v in values} - {""}
    first = {n.first for n in names} | {
        f for m in mentions if (f := parse_name(m).first).isalpha() and f not in common and len(f) > 2
    }
    plan.values = frozenset(values)
    plan.context = replace(
        plan.context, common=frozenset(common), vocabulary=frozenset(phrases), first_names=frozenset(first - {""})
    )
    return sorted(phrases)


def sentence_words(text: str) -> Iterator[tuple[bool, str]]:
    """Words of letters, each with whether it opens a sentence or a line."""
    for match in LETTERS.finditer(text):
        before = text[: match.start()].rstrip(" \t\"'“„(*>-")
        yield (not before or before[-1] in ".!?:\n"), match.group()
