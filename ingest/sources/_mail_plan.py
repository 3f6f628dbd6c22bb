"""The pass over all mails before they are read in parts: which are copies of one another, and which are one conversation.

Every mail is parsed twice, here and in its part: threads go over files, and parts know nothing of one another. What is kept of a
mail in between is some kB (at most 24) of ids, addresses and digests of runs of words, never its text.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from ingest.source import RowFault
from ingest.sources._mail_body import Reading
from ingest.sources._mail_files import Place, content
from ingest.sources._mail_parse import Mail, parsed
from ingest.sources._mail_text import shingles, split_quote
from ingest.sources._mail_threads import By, Letter, quote_is_known, rebuilt


@dataclass(frozen=True, slots=True)
class Planned:
    """What a part must know of one of its mails."""

    place: Place
    thread: str = ""
    """Id of the thread's record; "" for a mail that cannot be read (its part finds out again why)."""
    key: str = ""
    """The same for copies of one mail."""
    chosen: bool = True
    """Of several copies, the one that counts: the first to arrive, then by file and place."""
    number: int = 0
    """Of the mail in its thread by time, from 1."""
    answers: int | None = None
    """Number of the mail that it answers; None where that one is not in the export, or is later by its clock."""
    by: By | None = None
    """What says that it answers a mail; None: nothing does."""
    cut_quote: bool = False
    """Whether what it quotes is of a mail of the thread, and is left out of its text."""
    findings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Seen:
    """A readable mail of the first pass."""

    place: Place
    letter: Letter
    digest: str
    same: tuple[str, ...]
    """Any of these in common with another mail: they are copies."""


def read_mail(place: Place, reading: Reading) -> Mail:
    """The mail at a place, or RowFault."""
    if place.end - place.start > reading.most_bytes:
        limit = f"max_mail_bytes = {reading.most_bytes}"
        raise RowFault("the mail is too large", found=f"{place.end - place.start} bytes", allowed=limit)
    with place.path.open("rb") as handle:
        handle.seek(place.start)
        raw = handle.read(place.end - place.start)
    return parsed(content(raw, place.form), reading)


def letter_of(mail: Mail, *, key: str = "") -> Letter:
    """What threading needs of a mail."""
    if mail.stamp.at is None:
        raise RowFault("no time", field="date", found="none")
    own, quoted, every, attribution = split_quote(mail.full, mail.own, html=mail.html)
    return Letter(
        key=key,
        message_id=mail.message_id or f"made:{mail.digest[:32]}",
        at=mail.stamp.at,
        sent=datetime.fromisoformat(mail.sent) if mail.sent else mail.stamp.at,
        references=mail.references,
        in_reply_to=mail.in_reply_to,
        subject=mail.subject,
        sender=mail.sender[1],
        name=mail.sender[0],
        recipients=frozenset((*mail.to, *mail.cc)),
        list_id=mail.list_id,
        own=shingles(own),
        quoted=shingles(quoted),
        all_quoted=shingles(every),
        attribution=attribution,
    )


def planned(found: Iterable[Place], root: Path, reading: Reading, window: timedelta) -> list[Planned]:
    """One for each place, in their order."""
    seen: list[_Seen] = []
    order = list(found)
    for place in order:
        try:
            mail = read_mail(place, reading)
            letter = letter_of(mail)
        except RowFault:
            continue
        same = [f"content:{mail.digest}"]
        if mail.message_id:
            same.append("\n".join(("id", mail.message_id, mail.sender[1], mail.sent)))
        seen.append(_Seen(place, letter, mail.digest, tuple(same)))
    known = {planned.place: planned for planned in _plan(copies(seen, root), window)}
    return [known.get(place, Planned(place)) for place in order]


def copies(seen: list[_Seen], root: Path) -> list[list[_Seen]]:
    """Copies of one mail together, the chosen one first: those of one Message-ID, sender and Date, and those of equal content."""
    at: dict[str, int] = {}
    above = list(range(len(seen)))

    def top(index: int) -> int:
        while above[index] != index:
            above[index] = above[above[index]]
            index = above[index]
        return index

    for index, one in enumerate(seen):
        for word in one.same:
            above[top(index)] = top(at.setdefault(word, index))
    groups: dict[int, list[_Seen]] = defaultdict(list)
    for index, one in enumerate(seen):
        groups[top(index)].append(one)

    def rank(one: _Seen) -> tuple[object, ...]:
        return (one.letter.at, one.place.path.relative_to(root).as_posix(), one.place.start)

    return sorted((sorted(group, key=rank) for group in groups.values()), key=lambda group: rank(group[0]))


def _plan(groups: list[list[_Seen]], window: timedelta) -> Iterable[Planned]:
    ids: dict[str, str] = {}
    letters: dict[str, Letter] = {}
    reused: set[str] = set()
    for group in groups:
        told, digest = group[0].letter.message_id, min(one.digest for one in group)
        own = told if told not in ids else f"{told}#{digest[:16]}"
        if own != told:
            reused.add(own)
        for one in group:
            ids.setdefault(one.letter.message_id, own)
        letters[own] = replace(group[0].letter, key=own, message_id=own)
    letters = {
        own: replace(
            letter,
            references=tuple(ids.get(i, i) for i in letter.references),
            in_reply_to=tuple(ids.get(i, i) for i in letter.in_reply_to),
        )
        for own, letter in letters.items()
    }
    threads, links = rebuilt(letters.values(), window=window)
    group_of = dict(zip(letters, groups, strict=True))
    for thread in threads:
        name = f"thread-{hashlib.sha256(thread.root.encode('utf-8', 'replace')).hexdigest()[:20]}"
        numbers = {key: number for number, key in enumerate(thread.keys, 1)}
        for key, number in numbers.items():
            link = links.get(key)
            to = numbers.get(link.to) if link and link.to else None
            earlier = [letters[other] for other in thread.keys[: number - 1]]
            notes = ["message_id_reused"] if key in reused else []
            notes += ["answers_a_later_mail"] if to is not None and to > number else []
            notes += [f"link_by_{link.by}"] if link else []
            notes += ["answered_mail_missing"] if link and link.to is None else []
            for index, one in enumerate(group_of[key]):
                yield Planned(
                    place=one.place,
                    thread=name,
                    key=key,
                    chosen=index == 0,
                    number=number,
                    answers=to if to is not None and to < number else None,
                    by=link.by if link else None,
                    cut_quote=quote_is_known(one.letter, earlier, link is not None and link.to is not None),
                    findings=tuple(notes) if index == 0 else (),
                )
