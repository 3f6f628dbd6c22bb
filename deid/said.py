"""Numbers that somebody says as a secret ("my PIN is either 3100 or 3941"), whether or not any record knows them.

Of the identities that the spec calls alike (DeidSpec.alike). A label is the identity's name or the name of a field that holds it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from deid.fold import digits, even, word_set
from deid.spans import Span

MIN_FIGURES, MAX_FIGURES = 3, 19
MAX_WORDS = 8
"""Words between a label and its number."""
NEAR_WORDS = 3
"""From so many words on, a number must have about as many figures as the recorded ones."""
RANK = 64
"""Below a value that a field of the thread holds: one value is one token."""
NUMBER = re.compile(r"(?<![\d$€£])(?<!\d[.,:/])\d+(?:[ .\-]\d+)*(?![\d%€]|[.,:/]\d)")
DATE = re.compile(r"\d{1,2}([.-])\d{1,2}\1(?:19|20)\d\d|(?:19|20)\d\d([.-])\d{1,2}\2\d{1,2}|(?:19|20)\d\d-\d\d")
YEAR = re.compile(r"(?:19|20)\d\d")
SHORT = {"number": r"(?:number|num|no\.?|nr\.?|\#)", "account": r"(?:account|acct\.?)"}
NO_LABEL = word_set("id number value key no name")
IN_YEAR = re.compile(
    r"(?i)\b(?:of|in|since|until|till|by|year|years|week|month|spring|summer|autumn|fall|winter|q[1-4]|during|early|late|mid|end|"
    r"eve|day|christmas|easter|season|edition|model|class)[\s-]+$"
)
COUNTED = re.compile(
    r"(?i)\s?(?:dollars?|euros?|usd|eur|gbp|cents?|bucks|percent|guests?|people|persons?|rooms?|nights?|days?|weeks?|months?|years?|"
    r"hours?|minutes?|times|am|pm|miles?|km|items?|pieces|boxes|digits?|figures?|attempts?)\b"
)
OTHER = word_set(
    """
order ticket invoice item article room flat house street road phone telephone tel mobile zip postcode postal customer size version
page chapter case batch year amount balance price total cost eur usd
"""
)
"""What a number behind such a word is instead."""
BEHIND = re.compile(
    r"(?i)[\s,;:(\"'-]*(?:(?:is|was|as|for|the|my|his|her|our|your|their|a|it's|its|be|should|would|might|could|being|also|are|were|"
    r"right|correct|new|old|wrong|that's|this|both)\b[\s,;:(\"'-]*){0,6}"
    r"|[.!]\s+(?:that|this|it|which)(?:'s|\s+is|\s+was)\s+(?:(?:my|the|our|his|her)\s+)?"
)
CONNECT = re.compile(
    r"(?i)[\s,/;&\"'?.-]*(?:(?:or|and|nor|not|then|maybe|else|no|but|it's|its|is|it|rather|perhaps|possibly|also|either|another|try|"
    r"even|was|could|be|to|sorry|wait|i|mean)\b[\s,/;&\"'?.-]*){0,5}"
)
ANSWER = word_set(
    """
a actually again ah alright also am and be been believe but can correct could did do does either else fairly for go got guess
have here hello hi hmm hold honestly i im in is it its know let lets m maybe me mean mine my new no nope not number of oh ok okay
on one or perhaps please positive pretty probably quite re recall remember right s see should so sorry sure swear t thank thanks
that thats the then there they think this to try uh uhm um ve was well were what with would wrong yeah yep yes you don dont isn
isnt might must
"""
)
"""Words of which an answer may consist beside its number."""


@dataclass(frozen=True, slots=True)
class Secret:
    """An identity whose values are secrets. `figures`: how many figures the recorded ones have."""

    identity: str
    label: re.Pattern[str]
    figures: frozenset[int] = frozenset()

    def may_have(self, figures: int) -> bool:
        return not self.figures or min(self.figures) - 1 <= figures <= max(self.figures) + 1


def secret_of(identity: str, fields: Iterable[str], figures: Iterable[int]) -> Secret:
    """`fields`: names of the fields that hold the identity ("AccountNumber" is said as "account number"). `figures`: of each
    recorded value; what fewer than one in twenty have is a slip."""
    sizes = Counter(n for n in figures if n >= MIN_FIGURES)
    labels: dict[str, None] = {}
    for name in (identity, *fields):
        words = [w.casefold() for w in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]
        if set(words) - NO_LABEL:
            labels[r"[\s_-]?".join(SHORT.get(w, re.escape(w)) for w in words)] = None
    label = "|".join(sorted(labels, key=lambda p: (-len(p), p)))
    return Secret(
        identity,
        re.compile(rf"(?i)(?<![a-z])(?:{label or '(?!)'})(?:'?s)?(?![a-z])"),
        frozenset(n for n, count in sizes.items() if 20 * count >= sizes.total()),
    )


def find_said(text: str, secrets: Sequence[Secret]) -> list[Span]:
    """Spans of kind "id:<identity>": each number nearest to a label that stands before it, or behind it, within a few words."""
    text = even(text)
    labels = [(m.start(), m.end(), s) for s in secrets for m in s.label.finditer(text)]
    if not labels:
        return []
    ends = {end for _, end, _ in labels}
    numbers = [m for m in NUMBER.finditer(text) if not DATE.fullmatch(m.group()) and _apart(text, m.start(), ends)]
    owner = {n: found for n, match in enumerate(numbers) if (found := _owner(text, match, labels))}
    for order in (range(1, len(numbers)), range(len(numbers) - 2, -1, -1)):
        for n in order:  # "7402 or 3941": what is joined to a secret is one
            beside = n - 1 if order.step > 0 else n + 1
            first, last = sorted((n, beside))
            joined = n not in owner and beside in owner and _like(text, numbers[n], numbers[beside], owner[beside])
            if joined and CONNECT.fullmatch(text, numbers[first].end(), numbers[last].start()):
                owner[n] = owner[beside]
    return [span for n, secret in sorted(owner.items()) for span in _values(numbers[n], secret)]


def find_answers(text: str, secrets: Sequence[Secret]) -> list[Span]:
    """Spans of the numbers of a sentence that says little else ("it's 7402, sorry"): an answer where the secret was asked for."""
    text, spans = even(text), []
    for sentence in re.finditer(r"(?:[^.!?\n]|[.](?=\w))+", text):
        if not any(c.isdigit() for c in sentence.group()):
            continue
        if not set(re.findall(r"[^\W\d_]+", sentence.group().casefold())) <= ANSWER:
            continue
        for match in NUMBER.finditer(text, sentence.start(), sentence.end()):
            for secret in () if DATE.fullmatch(match.group()) else secrets:
                found = _values(match, secret)
                plain = not text[match.end() : match.end() + 1].isalpha() and not is_year(text, *match.span())
                if plain and found and all(len(s.value) in (secret.figures or range(4, 9)) for s in found):
                    spans += found
                    break
    return spans


def is_year(text: str, start: int, end: int) -> bool:
    """True for the number of a year by the word before it ("in 2025", "week 10 of 2025")."""
    return bool(YEAR.fullmatch(text[start:end]) and IN_YEAR.search(text[max(0, start - 24) : start]))


def _owner(text: str, number: re.Match[str], labels: list[tuple[int, int, Secret]]) -> Secret | None:
    """The secret whose label is nearest to a number, of those near enough."""
    if COUNTED.match(text, number.end()):
        return None
    near: list[tuple[int, Secret]] = []
    for start, end, secret in labels:
        if end <= number.start():
            gap = text[end : number.start()]
            words = [w.casefold() for w in re.findall(r"[^\W\d_]+", gap)]
            figures = len(digits(number.group()))
            named = bool({"digits", "figures", "numbers"} & {*words})
            enough = MIN_FIGURES <= figures <= 2 * MAX_FIGURES or (figures == 2 and named)
            enough = enough and (named or len(words) < NEAR_WORDS or secret.may_have(figures))
            year = is_year(text, number.start(), number.end()) and words != ["of"]
            if enough and not year and len(words) <= MAX_WORDS and not OTHER & {*words[-3:]} and not _figures(gap):
                near.append((len(gap), secret))
        elif start >= number.end() and _behind(text, number, start):
            near.append((start - number.end(), secret))
    return min(near, key=lambda n: n[0])[1] if near else None


def _behind(text: str, number: re.Match[str], label: int) -> bool:
    """Whether a label that starts at `label` is said of the number before it ("3100 is my PIN")."""
    enough = len(digits(number.group())) >= MIN_FIGURES and not is_year(text, *number.span())
    return enough and bool(BEHIND.fullmatch(text, number.end(), label))


def _apart(text: str, start: int, ends: set[int]) -> bool:
    """False for figures at the end of a word that is no label ("PIN9431" is one)."""
    return start == 0 or start in ends or not text[start - 1].isalpha()


def _figures(gap: str) -> bool:
    """True if another number stands between; a date or a day does not count."""
    return any(c.isdigit() for c in re.sub(r"\b\d{1,2}\b", "", DATE.sub("", gap)))


def _like(text: str, number: re.Match[str], other: re.Match[str], secret: Secret) -> bool:
    """Whether a number beside a secret may be one too: about as many figures, and no count or year of its own."""
    one, two = len(digits(number.group())), len(digits(other.group()))
    alike = abs(one - two) <= 1 or one in secret.figures
    return one >= MIN_FIGURES and alike and not COUNTED.match(text, number.end()) and not is_year(text, *number.span())


def _values(number: re.Match[str], secret: Secret) -> list[Span]:
    """One value ("77-02", "7 7 0 2"), or several that only a blank parts ("7402 3941")."""
    kind, whole = f"id:{secret.identity}", digits(number.group())
    groups = list(re.finditer(r"\d+", number.group()))
    sizes = [len(g.group()) for g in groups]
    several = len(groups) > 1 and len(whole) not in secret.figures
    if several and all(n in secret.figures if secret.figures else n > MIN_FIGURES for n in sizes):
        at = number.start()
        return [Span(at + g.start(), at + g.end(), kind, g.group(), RANK) for g in groups]
    return [Span(number.start(), number.end(), kind, whole, RANK)] if len(whole) <= MAX_FIGURES else []
