"""What the requester knows and when it is told: facts from the real follow-up turns (human agent's question -> requester's
answer).

Pure functions of the turns. A fact's slots are told by the typed values in the answer and by the words of the question; a turn
that nobody asked for is marked volunteered; real "don't know" turns are kept apart and never become facts.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from schemas.spec import RequesterOptions
from schemas.task import Fact, RequesterSpec
from tasks.case import Case, Turn

TOKEN = re.compile(r"\b[A-Z]+(?:_[A-Z]+)*_[0-9A-F]{8}(?:_(?:FIRST|LAST|EMAIL\d*|PHONE\d*|LOGIN|INITIAL))?\b")
"""Any pseudonym of the clean records."""
TOKEN_PARTS = re.compile(r"([A-Z]+(?:_[A-Z]+)*)_[0-9A-F]{8}(?:_([A-Z]+)\d*)?")
AMOUNT = re.compile(r"(?<![\w.,])\d{1,6}[.,]\d{2}(?![\w,.]\d)")
DATE = re.compile(
    r"\b\d{4}-\d\d-\d\d\b|\b\d{1,2}\.\d{1,2}\.(?:\d{4})?"
    r"|\b\d{1,2}(?:st|nd|rd|th)? (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\w*(?: \d{4})?\b"
)
DONT_KNOW = re.compile(
    r"\b(?:(?:i )?(?:do ?n[o']?t|don’t) (?:really )?(?:know|remember|recall|have (?:it|that|one|the number))"
    r"|not (?:really )?sure|no idea"
    r"|can ?n[o']?t (?:find|remember|recall)|can’t (?:find|remember|recall)|forgot(?:ten)?"
    r"|could ?n[o']?t (?:find|say)|(?:i )?wouldn['’]?t know)\b",
    re.IGNORECASE,
)
QUOTED = re.compile(r"^\s*(?:>|On .{4,80} wrote:|-{2,} ?Original Message)")
SENTENCES = re.compile(r"[^.!?\n]*\?|[^.!?\n]+(?:[.!]|\n|$)")
MAX_FORM = 240
"""Longest message that becomes a form, in characters."""
MIN_WORDS = 3
FORMS_PER_SLOT = 6
REFERENCE = re.compile(r"\b(?=\w*\d)(?=\w*[^\W\d])\w{6,}\b")
"""A word of letters and digits: what only one case is called."""
PLEASANTRY = re.compile(
    r"^(?:hi|hello|hey|dear|good (?:morning|afternoon|evening))\b.{0,30}[,!]?$"
    r"|\b(?:regards|sincerely|good ?bye|have a (?:nice|great|good)|anything else|cheers)\b"
    r"|^(?:thank you|thanks)(?: and goodbye)?[.!]?$",
    re.IGNORECASE,
)
ASK_CUES = re.compile(
    r"\?|\b(?:please (?:tell|send|give|confirm|let|provide|share|state|name)"
    r"|could you|can you|may i|which|what|i need|we need|let me know)\b",
    re.IGNORECASE,
)


def unquoted(text: str) -> str:
    """The turn's own words: what it quotes of earlier turns is cut."""
    kept = []
    for line in text.splitlines():
        if re.match(r"^\s*(?:On .{4,80} wrote:|-{2,} ?Original Message)", line):
            break
        if not QUOTED.match(line):
            kept.append(line)
    return "\n".join(kept).strip()


def question_of(text: str) -> str:
    """The sentences that ask, in their order; "" where the turn asks nothing."""
    asking = [s.strip() for s in SENTENCES.findall(unquoted(text)) if ASK_CUES.search(s)]
    return " ".join(asking)


def token_slots(token: str, slots: Iterable[str]) -> list[str]:
    """Slots that a pseudonym can fill: its type or role is one of the slot's words ("ADDRESS_…" fills "new_address")."""
    match = TOKEN_PARTS.fullmatch(token)
    if match is None:
        return []
    kinds = {match[2].lower()} if match[2] else set(match[1].lower().split("_"))
    return [slot for slot in slots if kinds & set(slot.split("_"))]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """How values are told in a turn: slots with the words that ask for them, and values by slot that have no token type."""

    slots: Mapping[str, Sequence[str]]
    known: Mapping[str, frozenset[str]]
    """Slot -> values that may be said as they stand (article numbers), each one word."""


def values_in(text: str, words: Vocabulary) -> dict[str, str]:
    """Slot -> the value as written in `text`; the first where several stand there."""
    found: dict[str, str] = {}
    for match in TOKEN.finditer(text):
        for slot in token_slots(match[0], words.slots):
            found.setdefault(slot, match[0])
    spoken = [w for piece in text.split() if (w := piece.strip(".,;:!?()\"'"))]
    for slot, values in words.known.items():
        shapes = {shape(v) for v in values} - {""}
        if hit := next((w for w in spoken if w in values), None) or next((w for w in spoken if shape(w) in shapes), None):
            found.setdefault(slot, hit)
    return found


def shape(code: str) -> str:
    """Runs of letters and digits by their kind ("UPS-2863-GRY" -> "A-9-A"); a single run has none, it may be any word."""
    found = re.sub(r"[A-Z]+", "A", re.sub(r"\d+", "9", code))
    return found if len(found) >= 3 and found != code else ""


def slots_asked(question: str, slots: Mapping[str, Sequence[str]]) -> list[str]:
    """Slots whose words stand in the question."""
    low = f" {' '.join(re.findall(r'[a-z0-9]+', question.lower()))} "
    return [
        slot for slot, words in slots.items() if any(f" {' '.join(re.findall(r'[a-z0-9]+', w.lower()))} " in low for w in words)
    ]


@dataclass(frozen=True, slots=True)
class Exchange:
    """One requester turn after the opening, with what the human agent had said before it."""

    question: str
    answer: str
    volunteered: bool


def exchanges(case: Case) -> list[Exchange]:
    """Requester turns after the opening and before the case was decided, each with the public agent turns since the requester's
    last one."""
    found: list[Exchange] = []
    opening = case.opening
    if opening is None:
        return found
    heard: list[str] = []
    spoken_to = False
    for turn in case.turns[case.turns.index(opening) + 1 :]:
        if not turn.public or not turn.text.strip():
            continue
        if turn.at_us is not None and any(end is not None and turn.at_us >= end for end in (case.decided_us, case.closed_us)):
            break  # who answers the decision knows it
        if not turn.by_requester:
            heard.append(turn.text)
            spoken_to = True
            continue
        answer = unquoted(turn.text)
        if answer:
            question = " ".join(q for q in map(question_of, heard) if q)
            found.append(Exchange(question, answer, volunteered=not spoken_to))
        heard, spoken_to = [], False
    return found


def requester_of(
    case: Case, words: Vocabulary, options: RequesterOptions, *, values: Mapping[str, frozenset[str]] | None = None
) -> RequesterSpec:
    """The requester of a case. `values` adds, for a declared system, what each argument was recorded to be: its surface forms
    are found in the turns.

    A turn after the last thing asked that carries no value (thanks, goodbye) is not a fact.
    """
    facts: list[Fact] = []
    dont_know: list[str] = []
    for exchange in exchanges(case):
        found = values_in(exchange.answer, words)
        if values:
            found.update({slot: form for slot, form in surface_values(exchange.answer, values).items() if slot not in found})
        asked = slots_asked(exchange.question, words.slots)
        if not found and DONT_KNOW.search(exchange.answer):
            dont_know.append(exchange.answer)
            continue
        if "delivered" in asked and "delivered" not in found and (date := DATE.search(exchange.answer)):
            found["delivered"] = date[0]
        slots = tuple(dict.fromkeys([*found, *asked]))
        if not slots and not exchange.question and not exchange.volunteered:
            continue
        facts.append(
            Fact(
                id=f"f{len(facts) + 1}",
                slots=slots,
                values=found,
                question=exchange.question[:1000],
                answer=exchange.answer[:2000],
                volunteered=exchange.volunteered,
            )
        )
    spec = RequesterSpec(facts=tuple(facts), patience=options.patience, facts_per_message=options.facts_per_message)
    return spec.model_copy(update={"dont_know": tuple(dict.fromkeys(d[:300] for d in dont_know))}) if dont_know else spec


def normal(text: object) -> str:
    """Letters and digits only, small: how a person's words and a typed value are compared."""
    return re.sub(r"[^a-z0-9]", "", str(text).lower())


def surface(text: str, value: object) -> str | None:
    """The words of `text` that say `value` (letters, digits and order agree; spacing, case and marks may differ), or None."""
    wanted = normal(value)
    if not wanted:
        return None
    letters = [(at, ch) for at, ch in enumerate(text) if ch.isascii() and ch.isalnum()]
    flat = "".join(ch.lower() for _, ch in letters)
    start = flat.find(wanted)
    first: str | None = None
    while start >= 0:
        left, right = letters[start][0], letters[start + len(wanted) - 1][0]
        said = text[left : right + 1]
        before = text[left - 1] if left else " "
        after = text[right + 1] if right + 1 < len(text) else " "
        if not before.isalnum() and not after.isalnum():
            return said
        first = first or said
        start = flat.find(wanted, start + 1)
    return first if first is not None and len(wanted) > 2 else None


def surface_values(text: str, values: Mapping[str, frozenset[str]]) -> dict[str, str]:
    """Slot -> the words of `text` that say one of the slot's values; the longest where several do."""
    found = {}
    for slot in sorted(values):
        said = [form for value in sorted(values[slot]) if (form := surface(text, value))]
        if said:
            found[slot] = max(said, key=lambda s: (len(s), s))
    return found


def message_forms(
    spoken: Iterable[tuple[str, str, RequesterSpec]], slots: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, list[str]]]:
    """Question forms by slot and closing forms by code, from (closing words, code, requester) of TRAINING records only, most
    used first.

    A form is a sentence that at least two cases hold, without anybody's pseudonym or a reference: another belongs to its case.
    """
    ask: dict[str, Counter[str]] = defaultdict(Counter)
    tell: dict[str, Counter[str]] = defaultdict(Counter)
    for last, code, requester in spoken:
        for fact in requester.facts:
            for slot, form in _asking(fact, slots):
                ask[slot][form] += 1
        tell[code].update(dict.fromkeys(sentences(last), 1))
    return {"ask": _most_used(ask), "tell": _most_used(tell)}


def _asking(fact: Fact, slots: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """(slot, question) for each slot that a sentence of the recorded question asks for; all of it where no word tells which."""
    found = [(slot, text) for text in sentences(fact.question) for slot in slots_asked(text, slots) if slot in fact.slots]
    whole = " ".join(sentences(fact.question))
    if not found and whole and len(fact.slots) == 1:
        return [(fact.slots[0], whole)]
    return found


def sentences(text: str) -> list[str]:
    """The sentences of a message that any case could hold: no pseudonym, no reference, neither greeting nor farewell."""
    kept = []
    for line in text.splitlines():
        for found in SENTENCES.findall(line):
            sentence = found.strip()
            common = not any(pattern.search(sentence) for pattern in (TOKEN, REFERENCE, PLEASANTRY))
            if common and len(sentence.split()) >= MIN_WORDS and len(sentence) <= MAX_FORM:
                kept.append(sentence)
    return kept


def message_turn_texts(case: Case) -> list[str]:
    """What human agents wrote in the case, public and internal."""
    return [t.text for t in case.turns if not t.by_requester and t.text.strip()]


def closing(turns: Sequence[Turn]) -> str:
    """The human agent's last public words that ask nothing."""
    said = [unquoted(t.text) for t in turns if t.public and not t.by_requester]
    said = [t for t in said if "?" not in t and sentences(t)]
    return said[-1] if said else ""


def _most_used(counts: Mapping[str, Counter[str]]) -> dict[str, list[str]]:
    return {
        key: [text for text, _ in common[:FORMS_PER_SLOT]]
        for key, counter in sorted(counts.items())
        if (common := sorted(((t, n) for t, n in counter.items() if n > 1), key=lambda kv: (-kv[1], kv[0])))
    }
