"""Which mails are one conversation, and what says so: pure functions of letters, whose result does not depend on their order.

After J. Zawinski's "message threading" (https://www.jwz.org/doc/threading.html; RFC 5256 has it as THREAD=REFERENCES), with these
departures. A mail's place comes from its own headers only: what a later mail's References say of two mails that are both there
changes nothing, so that a thread never knows more than its mails did. In-Reply-To wins over the last of References where both
agree that it is an ancestor (RFC 5322, 3.6.4; some programs write References backwards). An In-Reply-To that is somebody's
address is none. Mails are not joined by their subject alone: a reply without headers needs a quote of the earlier mail, or the
same subject between the same people or on the same list, within a time; a forward is never joined so.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Literal

from ingest.sources._mail_subjects import base_subject, former_subject

By = Literal["references", "in_reply_to", "quoted", "subject"]
LEAST_SHARED = 3
"""Runs of words that a quote must have in common with the mail that it is of ..."""
LEAST_SHARE = 0.4
"""... and their least share of the quote's; above SURE a single one is enough."""
SURE = 0.8
LEAST_COMMON = 3
"""Mails of other subjects that hold a run of words before it says nothing."""
OTHER_SHARE = 0.6
OTHER_SHARED = 8
"""What is asked of a quote where the subjects differ."""
MOST_CANDIDATES = 200
"""Earlier mails that one mail is compared with, the latest ones."""
OVERTAKEN = timedelta(hours=12)
"""How much later than its answer a mail may arrive, by servers that fetch in batches; it was sent before it all the same."""
LEAST_NAME = 4
"""Characters of a name that is looked for."""
LEAST_SUBJECT = 3
"""Characters of a subject that can join mails."""


@dataclass(frozen=True, slots=True)
class Letter:
    """What threading knows of a mail."""

    key: str
    """Tells mails apart; orders those of one instant."""
    message_id: str
    at: datetime
    """When it came."""
    sent: datetime
    """When it was sent, as its sender says (else when it came): only to find what it may answer."""
    references: tuple[str, ...]
    in_reply_to: tuple[str, ...]
    subject: str
    sender: str
    name: str
    recipients: frozenset[str]
    list_id: str
    own: array[int]
    """Shingles of the writer's own words."""
    quoted: array[int]
    """Shingles of what is quoted once: words of the mail that is answered."""
    all_quoted: array[int]
    attribution: str
    """The lines before the first quote, which name the writer of what is quoted; in lower case."""


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
    """Links mails whose headers lead to no mail that is there, by quote or by subject."""
    subjects = {letter.key: base_subject(letter.subject) for letter in ordered}
    by_subject, by_sender, by_list = Index(), Index(), Index()
    for letter in ordered:
        by_subject.add(subjects[letter.key][0], letter)
        by_sender.add(letter.sender, letter)
        by_list.add(letter.list_id, letter)
    for letter in ordered:
        base, reply, forward = subjects[letter.key]
        was = former_subject(base)
        link = links.get(letter.key)
        if forward or (link is not None and link.to is not None) or not (reply or was or letter.quoted):
            continue
        same = [o for word in (base, was) if len(word) >= LEAST_SUBJECT for o in by_subject.before(word, letter, window)]
        others = by_list.before(letter.list_id, letter, window)
        others += [other for address in sorted(letter.recipients) for other in by_sender.before(address, letter, window)]
        found = quoted_one(letter, same, others)
        by: By = "quoted"
        if found is None and (reply or was) and link is None:
            found, by = subject_one(letter, same), "subject"
        top = forest.root(letter.message_id)
        if found is not None and (top not in by_id or by_id[top] is letter) and forest.put(top, found.message_id):
            links[letter.key] = Link(found.key, by)


class Index:
    """Letters by a word, in their order of time."""

    def __init__(self) -> None:
        self.letters: dict[str, list[Letter]] = defaultdict(list)

    def add(self, word: str, letter: Letter) -> None:
        if word:
            self.letters[word].append(letter)

    def before(self, word: str, letter: Letter, window: timedelta) -> list[Letter]:
        """The latest mails that `letter` may answer: earlier by arrival, or by what their senders say."""
        found = self.letters.get(word, [])
        end = bisect_right(found, letter.at + OVERTAKEN, key=lambda other: other.at)
        start = max(bisect_left(found, letter.at - window, key=lambda other: other.at), end - MOST_CANDIDATES)
        own = (letter.at, letter.key)
        return [o for o in found[start:end] if ((o.at, o.key) < own or o.sent < letter.sent) and o.key != letter.key]


def boilerplate(quoted: array[int], apart: list[Letter]) -> set[int]:
    """Runs of words of a quote that several mails of other subjects hold: a list's footer, a signature."""
    wanted = set(quoted)
    counted = Counter(run for other in apart for run in wanted.intersection(other.own))
    return {run for run, count in counted.items() if count >= LEAST_COMMON}


def quoted_one(letter: Letter, same: list[Letter], others: list[Letter]) -> Letter | None:
    """The mail whose own words are quoted: one that the quote names as its writer before others, then the largest share, then the
    latest."""
    if not letter.quoted:
        return None
    best: tuple[bool, float, datetime, str] | None = None
    found = None
    known = {other.key for other in same}
    apart = list({other.key: other for other in others if other.key not in known}.values())
    quote = set(letter.quoted) - boilerplate(letter.quoted, apart)
    for other in (*same, *apart):
        count = len(quote.intersection(other.own))
        share = count / len(letter.quoted)
        if other.key in known:
            fits = share >= LEAST_SHARE and (count >= LEAST_SHARED or share >= SURE)
        else:
            fits = share >= OTHER_SHARE and count >= OTHER_SHARED
        if not fits:
            continue
        rank = (attributed(letter, other), share, other.sent, other.key)
        if best is None or rank > best:
            best, found = rank, other
    return found


def attributed(letter: Letter, other: Letter) -> bool:
    """Whether the line before a quote names the other mail's writer."""
    if not letter.attribution:
        return False
    named = len(other.name) >= LEAST_NAME and other.name.casefold() in letter.attribution
    return named or (bool(other.sender) and other.sender in letter.attribution)


def subject_one(letter: Letter, same: list[Letter]) -> Letter | None:
    """The latest mail of the same subject between the same people or on the same list; one whose writer is named goes before."""
    fitting = [other for other in same if _met(letter, other)]
    return max(fitting, key=lambda other: (attributed(letter, other), other.sent, other.key), default=None)


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
