"""Which mails are one conversation, and what says so: pure functions of letters, whose result does not depend on their order.

After J. Zawinski's "message threading" (https://www.jwz.org/doc/threading.html; RFC 5256 has it as THREAD=REFERENCES), with these
departures. A mail's place comes from its own headers only: what a later mail's References say of two mails that are both there
changes nothing, so that a thread never knows more than its mails did. In-Reply-To wins over the last of References where both
agree that it is an ancestor (RFC 5322, 3.6.4; some programs write References backwards). An In-Reply-To that is somebody's
address is none. Mails are not joined by their subject alone: a reply without headers needs a quote of the earlier mail, or the
same subject between the same people or on the same list, within a time; a forward is never joined so.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Literal

By = Literal["references", "in_reply_to", "quoted", "subject"]
REPLY = re.compile(
    r"\s*(?:re|aw|antw|antwort|sv|vs|odp|ref|rif|res|ynt|rép|回复|答复)\s*(?:\[\d+\]|\(\d+\)|\^\d+)?\s*[:：]\s*", re.IGNORECASE
)
FORWARD = re.compile(r"\s*(?:fwd?|wg|tr|vb|vl|rv|enc|i|doorst|转发)\s*(?:\[\d+\])?\s*[:：]\s*|\s*\[fwd?:\s*", re.IGNORECASE)
TAG = re.compile(r"\s*\[[^\]\d]{1,40}\]\s*")
"""A list's name before the subject. With a figure in it it may be a case's number, which tells cases apart, and stays."""
TRAILER = re.compile(r"\s*\(fwd\)\s*$", re.IGNORECASE)
LEAST_SHARED = 3
"""Runs of words that a quote must have in common with the mail that it is of ..."""
LEAST_SHARE = 0.4
"""... and their least share of the quote's; above SURE a single one is enough."""
SURE = 0.8
OTHER_SUBJECT = 0.6
"""The share that is asked of a quote where the subjects differ."""
MOST_CANDIDATES = 200
"""Earlier mails that one mail is compared with, the latest ones."""
LEAST_SUBJECT = 3
"""Characters of a subject that can join mails."""


@dataclass(frozen=True, slots=True)
class Letter:
    """What threading knows of a mail."""

    key: str
    """Tells mails apart; orders those of one instant."""
    message_id: str
    at: datetime
    references: tuple[str, ...]
    in_reply_to: tuple[str, ...]
    subject: str
    sender: str
    recipients: frozenset[str]
    list_id: str
    own: array[int]
    """Shingles of the writer's own words."""
    quoted: array[int]
    """Shingles of what is quoted once: words of the mail that is answered."""
    all_quoted: array[int]


@dataclass(frozen=True, slots=True)
class Link:
    """A mail answers another; `to` is None where that one is not in the export."""

    to: str | None
    by: By


@dataclass(frozen=True, slots=True)
class Thread:
    """Mails of one conversation."""

    root: str
    """The root's message id, whether or not that mail is in the export."""
    keys: tuple[str, ...]
    """By time."""


def base_subject(subject: str) -> tuple[str, bool, bool]:
    """(subject without marks of replies and lists, whether it is a reply's, whether a forward's).

    "Re: Fwd: X" is a reply to the forward, whose base is "fwd: x": it does not meet the mails about X.
    """
    text = subject
    reply = False
    while True:
        if match := REPLY.match(text):
            reply, text = True, text[match.end() :]
        elif match := TAG.match(text):
            text = text[match.end() :]
        else:
            break
    forward = bool(match := FORWARD.match(text)) or bool(TRAILER.search(text))
    while match := FORWARD.match(text):
        text = text[match.end() :]
    text = " ".join(TRAILER.sub("", text).casefold().split())
    return (f"fwd: {text}" if forward else text), reply, forward and not reply


class Forest:
    """Containers of JWZ: message ids, each below at most one other. Ids of mails that are not there are containers as well."""

    def __init__(self) -> None:
        self.above: dict[str, str] = {}
        self._up: dict[str, str] = {}
        """Shortcuts upwards: only roots get a place, so that they stay true."""

    def root(self, node: str) -> str:
        top = node
        while top in self._up:
            top = self._up[top]
        while node != top:
            self._up[node], node = top, self._up[node]
        return top

    def put(self, node: str, below: str) -> bool:
        """`node` below another one, unless it has its place, or would come to stand above itself."""
        if node in self.above or self.root(below) == node:
            return False
        self.above[node] = self._up[node] = below
        return True


def rebuilt(letters: Iterable[Letter], *, window: timedelta) -> tuple[list[Thread], dict[str, Link]]:
    """The threads (by their first mail's time), and the link of each mail that answers one (key -> link).

    `letters` are distinct mails with distinct message ids. `window`: how long after a mail a reply without headers may come.
    """
    ordered = sorted(letters, key=lambda letter: (letter.at, letter.key))
    by_id = {letter.message_id: letter for letter in ordered}
    people = {address for letter in ordered for address in (letter.sender, *letter.recipients)}
    forest, links = Forest(), dict[str, Link]()
    for letter in ordered:
        parent, by, chain = told_parent(letter, people)
        for upper, lower in pairwise(chain):
            if lower not in by_id:
                forest.put(lower, upper)
        if parent is not None and forest.put(letter.message_id, parent):
            links[letter.key] = Link(None, by)
    for letter in ordered:
        if letter.key in links:
            links[letter.key] = Link(_present(letter, forest, by_id), links[letter.key].by)
    _link_by_words(ordered, forest, by_id, links, window)
    groups: dict[str, list[Letter]] = defaultdict(list)
    for letter in ordered:
        groups[forest.root(letter.message_id)].append(letter)
    return [Thread(root, tuple(letter.key for letter in group)) for root, group in groups.items()], links


def told_parent(letter: Letter, people: set[str]) -> tuple[str | None, By, tuple[str, ...]]:
    """(id of the mail that the headers say is answered, which header says it, ids from the root to it)."""
    references = tuple(i for i in dict.fromkeys(letter.references) if i != letter.message_id)
    answered = [i for i in letter.in_reply_to if i != letter.message_id and i.casefold() not in people]
    if references:
        parent = answered[0] if len(answered) == 1 and answered[0] in references else references[-1]
        return parent, "references", (*(i for i in references if i != parent), parent)
    if answered:
        return answered[0], "in_reply_to", (answered[0],)
    return None, "in_reply_to", ()


def _present(letter: Letter, forest: Forest, by_id: dict[str, Letter]) -> str | None:
    """The key of the nearest ancestor that is in the export."""
    node = letter.message_id
    while node in forest.above:
        node = forest.above[node]
        if node in by_id:
            return by_id[node].key
    return None


def _link_by_words(
    ordered: list[Letter], forest: Forest, by_id: dict[str, Letter], links: dict[str, Link], window: timedelta
) -> None:
    """Links mails whose headers lead to no mail that is there, by quote or by subject; to earlier mails only."""
    subjects = {letter.key: base_subject(letter.subject) for letter in ordered}
    by_subject, by_sender = _Index(), _Index()
    for letter in ordered:
        base, reply, forward = subjects[letter.key]
        link = links.get(letter.key)
        if not forward and (link is None or link.to is None) and (reply or letter.quoted):
            since = letter.at - window
            same = by_subject.latest(base, since) if len(base) >= LEAST_SUBJECT else []
            others = [other for address in sorted(letter.recipients) for other in by_sender.latest(address, since)]
            found = quoted_one(letter, same, others)
            by: By = "quoted"
            if found is None and reply and link is None:
                found, by = subject_one(letter, same), "subject"
            top = forest.root(letter.message_id)
            if found is not None and (top not in by_id or by_id[top] is letter) and forest.put(top, found.message_id):
                links[letter.key] = Link(found.key, by)
        by_subject.add(base, letter)
        for address in {letter.sender} - {""}:
            by_sender.add(address, letter)


class _Index:
    """Letters by a word, in their order of time."""

    def __init__(self) -> None:
        self.letters: dict[str, list[Letter]] = defaultdict(list)

    def add(self, word: str, letter: Letter) -> None:
        self.letters[word].append(letter)

    def latest(self, word: str, since: datetime) -> list[Letter]:
        found = self.letters.get(word, [])
        start = max(bisect_left(found, since, key=lambda letter: letter.at), len(found) - MOST_CANDIDATES)
        return found[start:]


def shared(left: array[int], right: array[int]) -> int:
    """How many runs of words two texts have in common."""
    return len(set(left).intersection(right))


def quoted_one(letter: Letter, same: list[Letter], others: list[Letter]) -> Letter | None:
    """The earlier mail whose own words are quoted: the largest share, of equal ones the latest."""
    if not letter.quoted:
        return None
    best: tuple[float, datetime, str] | None = None
    found = None
    known = {other.key for other in same}
    for other, least in (*((o, LEAST_SHARE) for o in same), *((o, OTHER_SUBJECT) for o in others if o.key not in known)):
        count = shared(letter.quoted, other.own)
        share = count / len(letter.quoted)
        if share < least or (count < LEAST_SHARED and share < SURE):
            continue
        if best is None or (share, other.at, other.key) > best:
            best, found = (share, other.at, other.key), other
    return found


def subject_one(letter: Letter, same: list[Letter]) -> Letter | None:
    """The latest earlier mail of the same subject between the same people, or on the same list."""
    fitting = [other for other in same if _met(letter, other)]
    return fitting[-1] if fitting else None


def _met(letter: Letter, other: Letter) -> bool:
    if letter.list_id and letter.list_id == other.list_id:
        return True
    if letter.sender and letter.sender == other.sender:
        return bool(letter.recipients & other.recipients)
    return other.sender in letter.recipients or letter.sender in other.recipients


def quote_is_known(letter: Letter, earlier: Iterable[Letter], linked: bool) -> bool:
    """Whether what a mail quotes is told by `earlier` mails of its thread: half of its runs of words. Of a quote too short to
    have any, whether the mail answers one that is there."""
    if not letter.all_quoted:
        return linked
    known: set[int] = set()
    for other in earlier:
        known.update(other.own)
        known.update(other.all_quoted)
    return len(known.intersection(letter.all_quoted)) >= len(letter.all_quoted) / 2
