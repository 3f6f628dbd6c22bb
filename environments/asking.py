"""What a free message asks for: its asking clauses, the slots that they name, and how well they fit what was learnt.

Pure functions of the text, without a model library: fitted weights are plain numbers that travel with the task set. The builder
(`tasks/asking.py`) fits them on the same features that are read here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any

from rewards.slips import one_slip

MAX_READ = 1500
"""Characters of a message that the requester reads."""
MAX_CLAUSES = 8
LOOSE = 4
"""Words up to which a clause without any asking word may still ask ("order number")."""
TYPO_LENGTH = 5
"""Letters from which a word with one slip (a letter wrong, missing, doubled, or two swapped) is read as the word meant."""
SPEAKS = 100
"""Thousandths of log-odds from which a word speaks for a slot; on training folds of STAR, F1 is 0.647 at 300, 0.656 at 100."""
GENERAL: Mapping[str, tuple[str, ...]] = {
    "request": (
        "how can i help", "how may i help", "how could i help", "what can i do for you", "what do you need", "how can i assist",
        "how may i assist", "what is this about", "what is it about", "what are you looking for", "what is your request",
    ),
    "consent": (
        "shall i", "should i", "would you like me to", "do you want me to", "can i book", "may i book", "can i go ahead",
        "is that ok", "is that okay", "does that work", "is that all right", "go ahead and book",
    ),
}  # fmt: skip
"""What every requester may be asked whatever the workflow: what they want, and whether they agree."""

_WORD = re.compile(r"[^\W_]+")
_CLAUSE = re.compile(r"[.!?;:\n]+|,?\s+\bbut\b\s+")
_TOKEN = re.compile(r"\b[A-Z]+(?:_[A-Z]+)*_[0-9A-F]{8}\w*")
_NEGATED = re.compile(
    r"\b(?:no need|(?:do ?n[o']?t|does ?n[o']?t|do not|does not|need ?n[o']?t|never|without|please not) ?"
    r"(?:you |have |want |wish )*(?:to )*"
    r"(?:need|tell|telling|send|sending|give|giving|share|sharing|provide|say|write|require|reveal|read|repeat|ask|asking|needed"
    r"|necessary)"
    r"|not (?:asking|needed|necessary|required|interested)|keep (?:it|that|your|the)\b.{0,30}\b(?:secret|to yourself|private))\b"
    r"[^,;]*",
    re.IGNORECASE,
)
_NOT_NEEDED = re.compile(
    r"\b(?:is|are|was|were)(?: not|n't) (?:needed|necessary|required)\b|\bnot (?:needed|required)\b", re.IGNORECASE
)
_ASKING = re.compile(
    r"\b(?:what|which|when|where|who|whom|whose|why|how|may i|can i|could i|might i|can you|could you|would you|will you|can we"
    r"|could we|may we|do you|did you|have you|are you|is it|was it|is there|please|tell|give|send|share|provide|confirm|verify"
    r"|specify|state|repeat|enter|type|spell|need|require|want to know|like to know|wondering|let me know|missing|looking for"
    r"|ask(?:ing)? (?:you )?for)\b",
    re.IGNORECASE,
)
CONFIRMS = re.compile(
    r"\b(?:is (?:it|that|this|your|the)|are you|am i speaking|was it|did you (?:say|mean)|(?:do )?you mean|correct|right|confirm"
    r"|verify|really)\b"
)
_STATED = re.compile(
    r"\b(?:(?:thanks|thank you|thx) for"
    # "may I have your ..." is a request, "I have your ..." a statement
    r"|(?<!\bmay )(?<!\bcan )(?<!\bcould )(?<!\bmight )(?:i|we)(?: have|'ve)?"
    r" (?:noted|received|got|found|have (?:your|the|noted|received))"
    r"|has been|have been|was (?:booked|sent|changed|refunded|cancelled|noted)|is confirmed|please note|for your information)\b",
    re.IGNORECASE,
)


def plain(text: str) -> str:
    """What is read of a message: its first MAX_READ characters, compatibility forms unified (full-width letters, ligatures)."""
    return unicodedata.normalize("NFKC", text[:MAX_READ]).replace("’", "'")[:MAX_READ]


def words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


FILLER = frozenset(
    words(
        "a an and are as be been but can could did do does for from give have hello hi i if in is it kindly know let like may "
        "me my need no of on or our please so tell thank thanks that the them there this to up us very was we what whats which "
        "will with would you your yours also sorry help check able dear shall should ll xtoken"
    )
)
"""Words that say nothing of what is asked for."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause of a message, without what it says need not be told."""

    text: str
    padded: str
    """Its words between blanks."""
    confirms: bool
    """True: it asks whether something that it holds is right."""
    asks: bool
    """False for a statement: naming a slot in it asks for nothing."""
    cued: bool
    """True: a question mark or an asking word says so; a few bare words ask only for what they name."""


def _without_unneeded(piece: str) -> str:
    """The piece without what it says is not needed ("your PIN is not needed"), from the comma before it."""
    while match := _NOT_NEEDED.search(piece):
        piece = piece[: piece.rfind(",", 0, match.start()) + 1] + " " + piece[match.end() :]
    return piece


def clauses(text: str, vocabulary: Vocabulary | None = None) -> list[Clause]:
    """The clauses of a message in their order, at most MAX_CLAUSES."""
    found: list[Clause] = []
    read = plain(text)
    at = 0
    for end in [*_CLAUSE.finditer(read), None]:
        stop = end.start() if end is not None else len(read)
        mark = end[0] if end is not None else ""
        piece = _NEGATED.sub(" ", _without_unneeded(read[at:stop]))
        at = end.end() if end is not None else stop
        tokens = words(piece)
        if not tokens:
            continue
        if vocabulary is not None:
            tokens = [vocabulary.meant(word) for word in tokens]
        question = "?" in mark
        meant = " ".join(tokens)
        cued = question or (_STATED.search(piece) is None and _ASKING.search(meant) is not None)
        asks = cued or (_STATED.search(piece) is None and len(tokens) <= LOOSE)
        confirms = asks and CONFIRMS.search(meant) is not None
        found.append(Clause(piece + ("?" if question else ""), f" {meant} ", confirms, asks, cued))
        if len(found) == MAX_CLAUSES:
            break
    return found


@dataclass(slots=True, eq=False)
class Vocabulary:
    """Words that ask for something; a word with one slip is read as one of them."""

    known: frozenset[str]
    _by_letter: dict[str, list[str]] = field(default_factory=dict)
    _read: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for word in sorted(self.known):
            if len(word) >= TYPO_LENGTH:
                self._by_letter.setdefault(word[0], []).append(word)

    def meant(self, word: str) -> str:
        """The known word that `word` is but for one slip, else `word`. The first letter must be right."""
        if len(word) < TYPO_LENGTH - 1 or word in self.known or len(word) > 40:
            return word
        found = self._read.get(word)
        if found is None:
            found = next((known for known in self._by_letter.get(word[0], ()) if _is_slip(word, known)), word)
            if len(self._read) < 10_000:  # a bound on memory; what is not kept is worked out again
                self._read[word] = found
        return found


@lru_cache(maxsize=64)
def vocabulary_of(known: frozenset[str]) -> Vocabulary:
    """The one vocabulary of these words: most tasks of a set share theirs, and what it has read."""
    return Vocabulary(known)


def _is_slip(said: str, known: str) -> bool:
    """True if `said` is `known` but for one slip; a plural is another word."""
    return one_slip(said, known) and said not in (f"{known}s", known[:-1] if known.endswith("s") else "")


def features(clause: str) -> frozenset[str]:
    """Words, pairs and triples of a clause; numbers and pseudonyms by their kind. ("?" marks a question.)"""
    tokens = ["#" if word.isdigit() else word for word in words(_TOKEN.sub(" xtoken ", clause))]
    padded = ["^", *tokens, "$"]
    found = set(tokens)
    found.update(map(" ".join, pairwise(padded)))
    found.update(map(" ".join, zip(tokens, tokens[1:], tokens[2:], strict=False)))
    if clause.rstrip().endswith("?"):
        found.add("?")
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class Learnt:
    """What training records taught about asking. Content of the task set: {"bias", "weights", "threshold", "fitted_on",
    "dont_know"}."""

    bias: Mapping[str, int] = field(default_factory=dict)
    """Slot -> log-odds without any feature, in thousandths (whole numbers: a sum is the same in any order)."""
    weights: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Slot -> feature -> log-odds, in thousandths."""
    threshold: int = 0
    """Log-odds in thousandths from which a clause asks for the slot."""
    fitted_on: tuple[str, ...] = ()
    """Ids of the tasks that it was fitted on: training side only."""
    dont_know: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Workflow -> real "don't know" turns of training records, without anybody's names or ids."""

    def score(self, slot: str, found: Collection[str]) -> float:
        """By how much (thousandths of log-odds) a clause with these features is above the threshold for asking for the slot.

        -inf for a slot never learnt, and where no word of the clause speaks for it: what is likely anyway is not yet asked for.
        """
        weights = self.weights.get(slot)
        if weights is None or not any(
            weights.get(name, 0) >= SPEAKS for name in found if name[0].isalpha() and " " not in name and name not in FILLER
        ):
            return float("-inf")
        return self.bias[slot] + sum(weights[name] for name in found if name in weights) - self.threshold


NOTHING_LEARNT = Learnt()


def learnt_from(content: Mapping[str, Any] | None) -> Learnt:
    """The stored JSON as an object; None is nothing learnt."""
    if not content:
        return NOTHING_LEARNT
    return Learnt(
        bias=content["bias"],
        weights=content["weights"],
        threshold=content["threshold"],
        fitted_on=tuple(content["fitted_on"]),
        dont_know={workflow: tuple(turns) for workflow, turns in content["dont_know"].items()},
    )


@lru_cache(maxsize=2000)
def default_slot_words(slot: str) -> tuple[str, ...]:
    """Words that ask for a slot for which the spec gives none, from its name: "order_id" -> "order id", "order number", ...;
    "CarModel" -> "car model"."""
    text = " ".join(words(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", slot).replace("_", " ")))
    if text.endswith(" id"):
        stem = text[:-3]
        return (text, f"{stem} number", f"{stem} no", f"which {stem}")
    return (text,)


def phrases_of(slot: str, slots: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Phrases that ask for the slot, normalised and between blanks: the spec's, the general ones, or by its name."""
    given = slots.get(slot) or GENERAL.get(slot) or default_slot_words(slot)
    found = dict.fromkeys(f" {' '.join(words(phrase))} " for phrase in given)
    return tuple(phrase for phrase in found if phrase.strip())
