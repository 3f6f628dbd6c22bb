"""What the requester knows and when it is told: facts from the real follow-up turns (human agent's question -> requester's
answer).

Pure functions of the turns. A turn is taken apart (`tasks.telling`), so that each thing told can be asked for by itself; a fact's
slots are told by the typed values in its words and by the words of the question. A turn that nobody asked for is marked
volunteered; real "don't know" turns are kept apart and never become facts. What is said again is no new fact. A value that the
requester later put right replaces the wrong one; one that was tried first and then given up stays, and the later one follows it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rewards.listed import Listed
from schemas.spec import RequesterOptions
from schemas.task import Fact, RequesterSpec
from tasks.case import Case, Turn
from tasks.completing import completed, told_spans
from tasks.telling import BARE, Span, normal, sound_spans, tellings

TOKEN = re.compile(r"\b[A-Z]+(?:_[A-Z]+)*_[0-9A-F]{8}(?:_(?:FIRST|LAST|EMAIL\d*|PHONE\d*|LOGIN|INITIAL))?\b")
"""Any pseudonym of the clean records."""
TOKEN_PARTS = re.compile(r"([A-Z]+(?:_[A-Z]+)*)_[0-9A-F]{8}(?:_([A-Z]+)\d*)?")
AMOUNT = re.compile(r"(?<![\w.,])\d{1,6}[.,]\d{2}(?![\w,.]\d)")
DATE = re.compile(
    r"\b\d{4}-\d\d-\d\d\b|\b\d{1,2}\.\d{1,2}\.(?:\d{4})?"
    r"|\b\d{1,2}(?:st|nd|rd|th)? (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\w*(?: \d{4})?\b"
)
QUOTED = re.compile(r"^\s*(?:>|On .{4,80} wrote:|-{2,} ?Original Message)")
SENTENCES = re.compile(r"[^.!?\n]*\?|[^.!?\n]+(?:[.!]|\n|$)")
MAX_FORM = 240
"""Longest message that becomes a form, in characters."""
MAX_COMMON = 15
"""Words of the longest "don't know" turn that serves other cases."""
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
    """The sentences that asked."""
    answer: str
    volunteered: bool
    message: str = ""
    """All that the human agent had said since the requester's last turn."""
    at_us: int | None = None


def exchanges(case: Case, decided_us: int | None = None) -> list[Exchange]:
    """Requester turns after the opening and before the case was decided, each with the public agent turns since the requester's
    last one. `decided_us` is the instant of the decision where the case itself does not hold it."""
    found: list[Exchange] = []
    opening = case.opening
    if opening is None:
        return found
    heard: list[str] = []
    spoken_to = False
    for turn in case.turns[case.turns.index(opening) + 1 :]:
        if not turn.public or not turn.text.strip():
            continue
        ends = (case.decided_us, case.closed_us, decided_us)
        if turn.at_us is not None and any(end is not None and turn.at_us >= end for end in ends):
            break  # who answers the decision knows it
        if not turn.by_requester:
            heard.append(turn.text)
            spoken_to = True
            continue
        answer = unquoted(turn.text)
        if answer:
            question = " ".join(q for q in map(question_of, heard) if q)
            message = "\n".join(filter(None, map(unquoted, heard)))
            found.append(Exchange(question, answer, not spoken_to, message, turn.at_us))
        heard, spoken_to = [], False
    return found


Tried = Callable[[str, str, int | None], bool]
"""(slot, value, instant in microseconds) -> whether the records show that the value had been tried by then."""


def never_tried(slot: str, value: str, before_us: int | None) -> bool:
    """For systems whose look-ups are not recorded."""
    return False


def requester_of(
    case: Case,
    words: Vocabulary,
    options: RequesterOptions,
    *,
    values: Mapping[str, frozenset[str]] | None = None,
    listed: Mapping[str, Listed] | None = None,
    decided_us: int | None = None,
    tried: Tried = never_tried,
) -> RequesterSpec:
    """The requester of a case. `values` adds, for a declared system, what each argument was recorded to be: its surface forms
    are found in the turns. `listed`: the list from which an argument chooses; its values are found in whatever words say them.

    A turn after the last thing asked that carries no value (thanks, goodbye) is not a fact.
    """
    facts: list[_Told] = []
    dont_know: list[str] = []
    for exchange in exchanges(case, decided_us):
        made, unknown = _facts_of(exchange, words, values or {}, listed or {}, facts)
        facts += _with_completion(made, exchange, values or {}, listed or {}, facts)
        dont_know += unknown
    facts = _settled(_with_leftovers(facts), tried)
    return RequesterSpec(
        facts=tuple(
            Fact(
                id=f"f{number}",
                slots=tuple(dict.fromkeys([*told.values, *told.asked])),
                values=told.values,
                question=told.question[:1000],
                answer=told.answer[:2000],
                volunteered=told.volunteered,
            )
            for number, told in enumerate(facts, 1)
        ),
        dont_know=tuple(dict.fromkeys(turn[:300] for turn in dont_know)),
        patience=options.patience,
        facts_per_message=options.facts_per_message,
    )


@dataclass(slots=True)
class _Told:
    """A fact in the making."""

    values: dict[str, str]
    asked: list[str]
    """Slots that its question asked for and that it answers in other words."""
    leftover: list[str]
    """Slots that its question asked for and to which the turn gives no value."""
    question: str
    answer: str
    volunteered: bool
    at_us: int | None
    meant: dict[str, str] = field(default_factory=dict)
    """Slot -> the value as a system lists it, where its words are others."""

    def means(self, slot: str) -> str:
        """What two values of a slot are compared by."""
        return normal(self.meant.get(slot, self.values.get(slot, "")))


def _facts_of(
    exchange: Exchange,
    words: Vocabulary,
    values: Mapping[str, frozenset[str]],
    listed: Mapping[str, Listed],
    before: Sequence[_Told],
) -> tuple[list[_Told], list[str]]:
    """What one turn tells, part by part, and its "don't know" turns. Where a turn holds two values of a slot, the one that the
    requester had not told `before` is meant ("the airport, not the hospital")."""
    asked = slots_asked(exchange.question, words.slots)
    found = values_in(exchange.answer, words)
    old = {slot: {t.means(slot) for t in before if slot in t.values} for slot in values}
    plain = {slot: known for slot, known in values.items() if slot not in listed}
    new = {slot: frozenset(v for v in known if normal(v) not in old[slot]) for slot, known in plain.items()}
    said = {**surface_values(exchange.answer, plain), **surface_values(exchange.answer, new)}
    found.update({slot: form for slot, form in said.items() if slot not in found})
    if "delivered" in asked and "delivered" not in found and (date := DATE.search(exchange.answer)):
        found["delivered"] = date[0]
    spans = []
    for slot, value in found.items():
        if value.casefold() in BARE and slot not in asked:
            continue  # "yes" to another question
        start = exchange.answer.find(value)
        spans.append(Span(slot, start, start + len(value)))
    spans += told_spans(exchange.question, exchange.answer, values, listed, words.slots, old)
    meant = {span.slot: span.meant for span in spans if span.meant}
    made: list[_Told] = []
    unknown = []
    for part in tellings(exchange.answer, sound_spans(spans, asked)):
        if part.unknown:
            unknown.append(part.text)
            continue
        question = _asking_for(exchange.question, part.values, words.slots)
        means = {slot: meant[slot] for slot in part.values if slot in meant}
        made.append(_Told(part.values, [], [], question, part.text, exchange.volunteered, exchange.at_us, means))
    # Who does not know what a list is chosen from has not answered it in other words.
    left = [s for s in asked if not any(s in told.values for told in made) and not (unknown and s in listed)]
    if made and not any(told.values for told in made):
        made[0].asked = left
    elif made and not unknown:
        made[0].leftover = left
    return [t for t in made if t.values or t.asked or t.question or t.volunteered], unknown


def _with_completion(
    made: list[_Told],
    exchange: Exchange,
    values: Mapping[str, frozenset[str]],
    listed: Mapping[str, Listed],
    before: Sequence[_Told],
) -> list[_Told]:
    """The facts of a turn, completed by the listed values that it agrees to (see tasks/completing.py)."""
    if exchange.volunteered:
        return made
    told = frozenset(slot for fact in made for slot in fact.values)
    found = completed(exchange.message, exchange.answer, values, listed, told, exchange.at_us)
    found = {s: v for s, v in found.items() if not any(t.means(s) == normal(v) for t in before if s in t.values)}
    if not found:
        return made
    bare = next((fact for fact in made if not fact.values), None)
    if bare is None:
        bare = _Told({}, [], [], exchange.question or exchange.message, exchange.answer, False, exchange.at_us)
        made = [*made, bare]
    bare.values = dict(found)
    bare.meant = dict(found)
    bare.asked = [slot for slot in bare.asked if slot not in found]
    bare.answer = f"{bare.answer} ({', '.join(found.values())})"
    for fact in made:
        fact.leftover = [slot for slot in fact.leftover if slot not in found]
    return made


def _asking_for(question: str, values: Mapping[str, str], slots: Mapping[str, Sequence[str]]) -> str:
    """The sentences of a question that ask for these slots; all of it where none does."""
    own = {slot: words for slot, words in slots.items() if slot in values}
    asking = [s.strip() for s in SENTENCES.findall(question) if slots_asked(s, own)]
    return " ".join(asking) or question


def _with_leftovers(facts: list[_Told]) -> list[_Told]:
    """A slot asked for that no turn of the case gives a value was answered in other words: the first such answer tells it."""
    valued = {slot for told in facts for slot in (*told.values, *told.asked)}
    for told in facts:
        told.asked += [slot for slot in told.leftover if slot not in valued]
        valued.update(told.leftover)
    return facts


def _settled(facts: list[_Told], tried: Tried) -> list[_Told]:
    """The facts without what is said again, and without values that the requester put right before anybody had used them."""
    kept: list[_Told] = []
    for told in facts:
        again = {slot for slot in told.values if any(o.means(slot) == told.means(slot) for o in kept)}
        if told.values and again == set(told.values) and not told.asked:
            continue
        for slot in again:
            del told.values[slot]
        for slot in told.values:
            for other in kept:
                old = other.meant.get(slot, other.values.get(slot))
                if slot not in other.values or other.means(slot) == told.means(slot) or tried(slot, str(old), told.at_us):
                    continue
                del other.values[slot]  # put right: the later value is what they mean
                told.question = other.question or told.question
                if told.question:
                    told.volunteered = other.volunteered
                other.answer = other.answer if other.values or other.asked else ""
        kept.append(told)
    return [told for told in kept if told.answer]


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


def heard_and_told(case: Case, requester: RequesterSpec) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(what the human agent said, slots whose values the requester's next turn holds), turn by turn."""
    values = [(slot, value) for fact in requester.facts for slot, value in fact.values.items()]
    return tuple(
        (exchange.message, tuple(sorted({slot for slot, value in values if surface(exchange.answer, value)})))
        for exchange in exchanges(case)
        if exchange.message
    )


def common_dont_know(requester: RequesterSpec, slots: Mapping[str, Sequence[str]]) -> list[str]:
    """The requester's "don't know" turns that any case could hold: short, without a pseudonym, number or name, and without the
    words for anything that can be asked for (`slots`): "I don't remember paying the fee" answers one question alone."""
    return [
        turn
        for turn in requester.dont_know
        if len(turn.split()) <= MAX_COMMON
        and not TOKEN.search(turn)
        and not re.search(r"\d|(?<=[^.!?] )(?!I\b)[A-Z]", turn)
        and not slots_asked(turn, slots)
    ]


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
