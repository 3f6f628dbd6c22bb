"""The simulated requester at run time: the real requester's facts, each told only when asked for. Deterministic, no model.

A message asks for a fact if a clause of it that asks names one of the fact's slots, is like the question that a human agent
really asked, asks whether a value of the fact is right, or reads as messages did after which requesters told that slot in
training records (`environments.asking`). Where the requester said one thing and later another (a day that was not free), the
later one is told once the earlier was, or for the question that it really answered. One message is answered as one person
answers one message: at most `facts_per_message` facts, new ones first. What the real requester said unasked comes with the first
answers, within the same bound, and never before. Anything else gets a real "don't know" turn (a plain thanks where nothing was
asked). Messages without a new fact, and messages that ask for far more than one answer can hold, use up patience; then the
requester leaves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from environments.asking import (
    FILLER,
    GENERAL,
    MAX_READ,
    NOTHING_LEARNT,
    Clause,
    Learnt,
    Vocabulary,
    clauses,
    default_slot_words,
    features,
    phrases_of,
    vocabulary_of,
    words,
)
from schemas.task import Fact, RequesterSpec

if TYPE_CHECKING:
    from environments.spoken import Speaker

__all__ = ["MAX_READ", "Reply", "Requester", "RequesterRun", "asked", "default_slot_words", "prepare"]

SIMILAR = 0.6
"""Likeness in [0, 1] to the recorded question from which a clause asks the same."""
CROWDED = 3
"""Slots asked for in one message beyond `facts_per_message` from which the message costs patience, whatever it brings."""
LONG_VALUE = 3
"""Letters and digits from which a value in a question ("is it John?") asks for its fact."""
ALMOST = 0.85
"""The same, of all words, for a question with fewer content words than LEAST_WORDS."""
LEAST_WORDS = 2
"""Content words from which a recorded question is told by them alone."""
LEAVING = "I have no more time for this. Goodbye."
THANKS = "Thank you."
GONE = "(The requester has left.)"
NO_TURNS = "I do not know."
"""Said only where neither the task nor any training record of its workflow holds a "don't know" turn."""


def _grams(tokens: Sequence[str]) -> frozenset[str]:
    """Character trigrams of the words, each between blanks."""
    joined = f" {' '.join(tokens)} "
    return frozenset(joined[i : i + 3] for i in range(len(joined) - 2))


def _dice(left: frozenset[str], right: frozenset[str]) -> float:
    """2 |A and B| / (|A| + |B|), in [0, 1]; 0 where either is empty."""
    return 2 * len(left & right) / (len(left) + len(right)) if left and right else 0.0


def _flat(text: str) -> str:
    return "".join(words(text))


def _content(tokens: Sequence[str]) -> list[str]:
    return [word for word in tokens if word not in FILLER]


@dataclass(frozen=True, slots=True)
class Askable:
    """A fact with what asks for it, prepared once."""

    fact: Fact
    phrases: Mapping[str, tuple[str, ...]]
    """Slot -> phrases between blanks; one of them in a clause that asks, asks for the slot."""
    words: frozenset[str]
    """What its recorded question is compared by: its content words, or all of them where they are too few to tell it."""
    grams: frozenset[str]
    whole: bool
    """True: compared by all words."""
    values: tuple[str, ...]
    """Values between blanks that a question may ask to confirm."""
    earlier: Mapping[str, tuple[str, ...]]
    """Slot -> ids of the facts that gave it another value before this one, where this one was asked for. A change of mind that
    nobody asked for comes with what it changes."""
    later: Mapping[str, tuple[str, ...]]
    """Slot -> ids of the facts that give it another value after this one."""


@dataclass(frozen=True, slots=True)
class Requester:
    """The requester of a task, shared by its episodes."""

    spec: RequesterSpec
    askable: tuple[Askable, ...]
    volunteered: tuple[Fact, ...]
    slots: Mapping[str, tuple[str, ...]]
    """Every slot of the task set -> its phrases: how much a message asks for, known or not."""
    vocabulary: Vocabulary
    learnt: Learnt = NOTHING_LEARNT
    dont_know: tuple[str, ...] = ()


def prepare(
    spec: RequesterSpec,
    slots: Mapping[str, Sequence[str]],
    *,
    learnt: Learnt = NOTHING_LEARNT,
    workflow: str = "",
) -> Requester:
    """`slots` gives, for a slot, the words that ask for it; another slot's come from its name."""
    named = {slot: phrases_of(slot, slots) for slot in {*slots, *GENERAL, *(s for f in spec.facts for s in f.slots)}}
    giving: dict[str, list[str]] = {}
    for fact in spec.facts:
        for slot in fact.values:
            giving.setdefault(slot, []).append(fact.id)
    askable = []
    for fact in spec.facts:
        tokens = words(fact.question)
        content = _content(tokens)
        whole = len(set(content)) < LEAST_WORDS
        compared = tokens if whole else content
        places = {slot: giving[slot].index(fact.id) for slot in fact.values}
        askable.append(
            Askable(
                fact,
                {slot: named[slot] for slot in fact.slots},
                frozenset(compared),
                _grams(compared) if compared else frozenset(),
                whole,
                tuple(f" {' '.join(w)} " for v in fact.values.values() if len("".join(w := words(v))) >= LONG_VALUE),
                {slot: tuple(giving[slot][:at]) for slot, at in places.items() if fact.question},
                {slot: tuple(giving[slot][at + 1 :]) for slot, at in places.items()},
            )
        )
    known = frozenset(word for phrases in named.values() for phrase in phrases for word in phrase.split())
    values = [held for fact in spec.facts for value in fact.values.values() if len(held := _flat(value)) > LONG_VALUE]
    pools = (spec.dont_know, learnt.dont_know.get(workflow, ()), learnt.dont_know.get("", ()))
    # A "don't know" turn that happens to hold a value of this requester would tell it.
    unknown = next(filter(None, ([t for t in pool if not any(v in _flat(t) for v in values)] for pool in pools)), [])
    volunteered = tuple(fact for fact in spec.facts if fact.volunteered)
    return Requester(spec, tuple(askable), volunteered, named, vocabulary_of(known), learnt, tuple(unknown))


@dataclass(frozen=True, slots=True)
class _Read:
    """A clause as it is compared with the facts."""

    clause: Clause
    words: frozenset[str]
    grams: frozenset[str]
    all_words: frozenset[str]
    all_grams: frozenset[str]
    features: frozenset[str]


def _read(requester: Requester, text: str) -> tuple[_Read, ...]:
    return _read_with(requester.vocabulary, bool(requester.learnt.weights), text)


@lru_cache(maxsize=128)
def _read_with(vocabulary: Vocabulary, learnt: bool, text: str) -> tuple[_Read, ...]:
    """The clauses of a message; kept for a while, since who presses a requester repeats himself."""
    found = []
    for clause in clauses(text, vocabulary):
        tokens = clause.padded.split()
        content = _content(tokens)
        telling = features(clause.text) if learnt and clause.cued else frozenset[str]()
        grams = _grams(content) if content else frozenset[str]()
        found.append(_Read(clause, frozenset(content), grams, frozenset(tokens), _grams(tokens), telling))
    return tuple(found)


def _strength(
    requester: Requester, entry: Askable, read: _Read, like: float, told: Mapping[str, None]
) -> tuple[int, float] | None:
    """(0 = asked for by name or by its question, 1 = by one like its question that names something else, 2 = by what was learnt;
    how strongly) or None. `like`: the clause's likeness to the question that was really asked for the fact."""
    if like >= ALMOST or (not entry.whole and like >= SIMILAR and not _names_another(requester, entry, read)):
        return 0, like
    if not read.clause.asks:
        return None
    open_slots = [slot for slot in entry.fact.slots if _in_turn(entry, slot, told)]
    named = max((len(p) for slot in open_slots for p in entry.phrases[slot] if p in read.clause.padded), default=0)
    if named:
        return 0, named + like
    if read.clause.confirms and any(value in read.clause.padded for value in entry.values):
        return 0, like
    if not entry.whole and like >= SIMILAR:
        return 1, like
    score = max((requester.learnt.score(slot, read.features) for slot in open_slots), default=float("-inf"))
    return (2, score) if score >= 0 else None


def _likeness(entry: Askable, read: _Read) -> float:
    """How like the clause is to the question that was really asked for the fact, in [0, 1]."""
    if entry.whole:
        return max(_dice(read.all_words, entry.words), _dice(read.all_grams, entry.grams))
    if len(read.all_words) < LEAST_WORDS:  # "number" alone is half of "order number?" and asks for neither
        return 0.0
    return max(_dice(read.words, entry.words), _dice(read.grams, entry.grams))


def _names_another(requester: Requester, entry: Askable, read: _Read) -> bool:
    """True if the clause names a slot that another fact tells, and none of this one's: "At what venue would you like your party?"
    is near to "On what day would you like your party?", and yet asks for the venue."""
    if not read.clause.asks or any(p in read.clause.padded for phrases in entry.phrases.values() for p in phrases):
        return False
    return any(p in read.clause.padded for other in requester.askable for phrases in other.phrases.values() for p in phrases)


def _in_turn(entry: Askable, slot: str, told: Mapping[str, None]) -> bool:
    """True if asking for the slot brings this fact now: earlier values of it were told, and no later one was."""
    return all(fact in told for fact in entry.earlier.get(slot, ())) and not any(f in told for f in entry.later.get(slot, ()))


def asked(requester: Requester, text: str, told: Mapping[str, None] | None = None) -> list[Fact]:
    """The facts that a message asks for, in the order in which it asks for them; what was only learnt to go with it comes last.
    `told` holds the ids of the facts told so far."""
    return _asked(requester, _read(requester, text), told or {})


def _asked(requester: Requester, read: Sequence[_Read], told: Mapping[str, None]) -> list[Fact]:
    found: list[tuple[int, int, float, int, Askable]] = []
    known: set[int] = set()
    """Clauses that are like a question which this requester was really asked."""
    for number, entry in enumerate(requester.askable):
        if entry.later and all(any(fact in told for fact in later) for later in entry.later.values()):
            continue  # all that it says has been replaced since
        for at, one in enumerate(read):
            like = _likeness(entry, one)
            strength = _strength(requester, entry, one, like, told)
            if strength is not None:
                found.append((strength[0], at, -strength[1], number, entry))
                if strength[0] == 0 and like >= SIMILAR:
                    known.add(at)
    hits: dict[str, tuple[int, int, float, int, Fact]] = {}
    for level, at, strong, number, entry in sorted(found, key=lambda hit: (hit[0], hit[2], hit[1])):
        # What this requester told after a question is known: what others told after such words adds nothing to it.
        if level < 2 or at not in known:
            hits.setdefault(entry.fact.id, (level, at, strong, number, entry.fact))
    return [hit[4] for hit in sorted(hits.values(), key=lambda hit: hit[:4])]


def slots_named(requester: Requester, text: str) -> int:
    """Slots that a message asks for by name, whether this requester knows them or not."""
    return _slots_named(requester, _read(requester, text))


def _slots_named(requester: Requester, read: Sequence[_Read]) -> int:
    """Distinct phrases found, so that one that serves several slots ("your name") counts once."""
    return _named_in(tuple(requester.slots.values()), tuple(one.clause.padded for one in read if one.clause.asks))


@lru_cache(maxsize=128)
def _named_in(slots: tuple[tuple[str, ...], ...], asking: tuple[str, ...]) -> int:
    hit: set[str] = set()
    for phrases in slots if asking else ():
        found = [p for padded in asking for p in phrases if p in padded]
        if found:
            hit.add(max(found, key=lambda phrase: (len(phrase), phrase)))
    return len(hit)


@dataclass(frozen=True, slots=True)
class Reply:
    """`told` holds the ids of facts told in this answer, new or again; `left` ends the episode."""

    text: str
    told: tuple[str, ...]
    left: bool


@dataclass(slots=True)
class RequesterRun:
    """What the requester of one episode has told and how patient they still are."""

    requester: Requester
    seed: int
    told: dict[str, None] = field(default_factory=dict)
    messages: int = 0
    fruitless: int = 0
    """Messages so far that brought no new fact, or asked for far too much."""
    left: bool = False
    speaker: Speaker | None = None
    """Phrases the chosen facts anew, where the episode was asked to speak; None = the recorded words."""

    def fork(self) -> RequesterRun:
        return RequesterRun(self.requester, self.seed, self.told.copy(), self.messages, self.fruitless, self.left, self.speaker)

    def answer(self, text: str) -> Reply:
        """The requester's answer to one message. Costs well under a millisecond where no model speaks."""
        if self.left:
            return Reply(GONE, (), True)
        spec = self.requester.spec
        self.messages += 1
        read = _read(self.requester, text)
        wanted = _asked(self.requester, read, self.told)
        new = [fact for fact in wanted if fact.id not in self.told]
        again = [fact for fact in wanted if fact.id in self.told]
        unasked = [fact for fact in self.requester.volunteered if fact.id not in self.told and fact not in new]
        chosen = (new + unasked + again)[: spec.facts_per_message]
        fresh = [fact for fact in chosen if fact.id not in self.told]
        self.told.update(dict.fromkeys(fact.id for fact in fresh))
        crowded = _slots_named(self.requester, read) >= spec.facts_per_message + CROWDED
        if not fresh or crowded:
            self.fruitless += 1
            if self.fruitless >= spec.patience:
                self.left = True
                self.told = {fact: None for fact in self.told if fact not in {f.id for f in fresh}}
                return Reply(LEAVING, (), True)
        said = list(dict.fromkeys(fact.answer for fact in chosen))
        if not wanted:
            said.insert(0, self._nothing(read))
        recorded = " ".join(said)
        if self.speaker is not None and chosen and wanted:
            recorded = self.speaker.say(text, chosen, recorded, spec.facts)
        return Reply(recorded, tuple(fact.id for fact in chosen), False)

    def _nothing(self, read: Sequence[_Read]) -> str:
        """A real "don't know" turn for a question, thanks for a statement."""
        if not any(one.clause.asks for one in read):
            return THANKS
        turns = self.requester.dont_know
        return turns[(self.seed + self.messages) % len(turns)] if turns else NO_TURNS
