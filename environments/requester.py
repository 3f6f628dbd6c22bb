"""The simulated requester at run time: the real requester's facts, each told only when asked for. Deterministic, no model.

A message asks for a fact if it names one of the fact's slots (by the words that ask for it) or is like the question that a human
agent really asked. One message is answered as one person answers one message: at most `facts_per_message` facts, new ones first.
What the real requester said unasked comes with the first answers, within the same bound, and never before. Anything else gets a
real "don't know" turn (a plain thanks where nothing was asked). Messages without a new fact use up patience; then the requester
leaves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from schemas.task import Fact, RequesterSpec

SIMILAR = 0.6
"""Likeness in [0, 1] to the recorded question from which a sentence asks the same."""
MAX_READ = 1500
"""Characters of a message that the requester reads."""
MAX_SENTENCES = 8
LEAVING = "I have no more time for this. Goodbye."
THANKS = "Thank you."
GONE = "(The requester has left.)"

_WORD = re.compile(r"[^\W_]+")
_SENTENCE = re.compile(r"[.?!;\n]+")
_FILLER = frozenset(
    _WORD.findall(
        "a an and are as be been but can could did do does for from give have hello hi i if in is it kindly know let like may me "
        "my need no of on or our please so tell thank thanks that the them there this to up us very was we what whats which will "
        "with would you your yours also sorry help check able dear shall should ll"
    )
)
_ASKING = re.compile(
    r"\?|\b(what|which|when|where|who|whose|why|how|please|tell|give|send|confirm|provide|share|need|can you|could you|do you|"
    r"is it|are you|did you)\b",
    re.IGNORECASE,
)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _grams(words: Sequence[str]) -> frozenset[str]:
    """Character trigrams of the words, each between blanks."""
    joined = f" {' '.join(words)} "
    return frozenset(joined[i : i + 3] for i in range(len(joined) - 2))


def _dice(left: frozenset[str], right: frozenset[str]) -> float:
    """2 |A and B| / (|A| + |B|), in [0, 1]; 0 where either is empty."""
    return 2 * len(left & right) / (len(left) + len(right)) if left and right else 0.0


def default_slot_words(slot: str) -> tuple[str, ...]:
    """Words that ask for a slot for which the spec gives none: from its name ("order_id" -> "order id", "order number", ...)."""
    plain = " ".join(_words(slot.replace("_", " ")))
    if plain.endswith(" id"):
        stem = plain[:-3]
        return (plain, f"{stem} number", f"{stem} no", f"which {stem}")
    return (plain,)


@dataclass(frozen=True, slots=True)
class Askable:
    """A fact with what asks for it, prepared once."""

    fact: Fact
    phrases: tuple[str, ...]
    """Normalised phrases between blanks; one of them in the message asks for the fact."""
    words: frozenset[str]
    grams: frozenset[str]


@dataclass(frozen=True, slots=True)
class Requester:
    """The requester of a task, shared by its episodes."""

    spec: RequesterSpec
    askable: tuple[Askable, ...]
    volunteered: tuple[Fact, ...]


def prepare(spec: RequesterSpec, slots: Mapping[str, Sequence[str]]) -> Requester:
    """`slots` gives, for a slot, the words that ask for it; another slot's come from its name."""
    askable = []
    for fact in spec.facts:
        phrases = dict.fromkeys(
            f" {' '.join(_words(phrase))} "
            for slot in fact.slots
            for phrase in (slots.get(slot) or default_slot_words(slot))
        )  # fmt: skip
        content = [word for word in _words(fact.question) if word not in _FILLER]
        askable.append(
            Askable(fact, tuple(p for p in phrases if p.strip()), frozenset(content), _grams(content) if content else frozenset())
        )
    return Requester(spec, tuple(askable), tuple(fact for fact in spec.facts if fact.volunteered))


def asked(requester: Requester, text: str) -> list[Fact]:
    """The facts that a message asks for, in the order in which it asks for them."""
    sentences = [s for s in _SENTENCE.split(text[:MAX_READ]) if s.strip()][:MAX_SENTENCES]
    hits: list[tuple[int, float, int, Fact]] = []
    read = []
    for sentence in sentences:
        tokens = _words(sentence)
        content = [word for word in tokens if word not in _FILLER]
        read.append((f" {' '.join(tokens)} ", frozenset(content), _grams(content) if content else frozenset()))
    for number, entry in enumerate(requester.askable):
        best: tuple[int, float] | None = None
        for at, (padded, words, grams) in enumerate(read):
            named = max((len(p) for p in entry.phrases if p in padded), default=0)
            like = max(_dice(words, entry.words), _dice(grams, entry.grams)) if entry.words else 0.0
            if named or like >= SIMILAR:
                strength = named + like
                if best is None or strength > best[1]:
                    best = (at, strength)
        if best is not None:
            hits.append((best[0], -best[1], number, entry.fact))
    return [hit[3] for hit in sorted(hits, key=lambda hit: hit[:3])]


@dataclass(frozen=True, slots=True)
class Reply:
    """`told` holds the ids of facts told in this answer, new or again; `left` ends the episode."""

    text: str
    told: tuple[str, ...]
    left: bool


class RequesterRun:
    """What the requester of one episode has told and how patient they still are."""

    __slots__ = ("fruitless", "left", "messages", "requester", "seed", "told")

    def __init__(self, requester: Requester, seed: int) -> None:
        self.requester, self.seed = requester, seed
        self.told: dict[str, None] = {}
        self.messages = 0
        self.fruitless = 0
        """Messages so far that brought no new fact."""
        self.left = False

    def fork(self) -> RequesterRun:
        other = RequesterRun(self.requester, self.seed)
        other.told = self.told.copy()
        other.messages, other.fruitless, other.left = self.messages, self.fruitless, self.left
        return other

    def answer(self, text: str) -> Reply:
        """The requester's answer to one message. Costs well under a millisecond."""
        if self.left:
            return Reply(GONE, (), True)
        spec = self.requester.spec
        self.messages += 1
        wanted = asked(self.requester, text)
        new = [fact for fact in wanted if fact.id not in self.told]
        again = [fact for fact in wanted if fact.id in self.told]
        unasked = [fact for fact in self.requester.volunteered if fact.id not in self.told and fact not in new]
        chosen = (new + unasked + again)[: spec.facts_per_message]
        fresh = [fact for fact in chosen if fact.id not in self.told]
        self.told.update(dict.fromkeys(fact.id for fact in fresh))
        if not fresh:
            self.fruitless += 1
            if self.fruitless >= spec.patience:
                self.left = True
                return Reply(LEAVING, (), True)
        said = list(dict.fromkeys(fact.answer for fact in chosen))
        if not wanted:
            said.insert(0, self._nothing(text))
        return Reply(" ".join(said), tuple(fact.id for fact in chosen), False)

    def _nothing(self, text: str) -> str:
        """A real "don't know" turn for a question, thanks for a statement."""
        if not _ASKING.search(text[:MAX_READ]):
            return THANKS
        turns = self.requester.spec.dont_know
        return turns[(self.seed + self.messages) % len(turns)] if turns else "I do not know."
