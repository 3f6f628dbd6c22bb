"""The people of one thread: its participants by all their short forms, and those whom no table knows by the names used in it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from deid.fold import Words, alnum, digits, fold, spellings, word_set
from deid.names import NICKNAMES, Name, one_edit, parse_name, short_form
from deid.plan import Plan, id_identity
from deid.said import find_answers, is_year
from deid.spans import EXACT, Span
from deid.tokens import Minter, type_name

GAP = re.compile(r"[\s,.;:/()'’\"-]{1,4}")
GREETING = re.compile(
    r"(?i)(?:^|\b)(?:hi|hello|hey|dear|good (?:morning|afternoon|evening)|thanks|thank you|morning|hallo|liebe[rs]?)[\s,]*$"
)
NUMBER = re.compile(r"\d(?:[\d .\-/]*\d)?")
ALONE = re.compile(r"(?<![\w.,/:+$€£-])\d+(?![\w/:-]|[.,]\d)")
"""A number that is no part of a longer one, of a date, a time, a price or a word."""
MIN_TYPO = 4


@dataclass(frozen=True, slots=True)
class Form:
    """One way of writing something in this thread. `text` is what replaces it; `weak` forms are also ordinary words."""

    text: str
    rank: int
    person: int = -1
    """Number of the known person, or -1."""
    weak: bool = False
    line_only: bool = False
    """Counts only where it is alone on its line (initials)."""


@dataclass(slots=True)
class Thread:
    key: str
    scope: str
    plan: Plan
    minter: Minter
    participants: list[int] = field(default_factory=list)
    forms: dict[tuple[str, ...], list[Form]] = field(default_factory=lambda: defaultdict(list))
    heads: dict[str, list[tuple[str, ...]]] = field(default_factory=dict)
    """First word -> the forms that start with it, longest first."""
    numbers: dict[str, str] = field(default_factory=dict)
    """Digits of an id typed in this thread -> token."""
    alike: dict[int, str] = field(default_factory=dict)
    """Figures of a number -> the identity that a number of so many figures is taken for (DeidSpec.alike)."""
    asked: set[str] = field(default_factory=set)
    """Identities of which the thread's texts speak (Plan.secrets): a text that is little else than a number answers with one."""
    unknown: dict[tuple[str, ...], str] = field(default_factory=dict)
    """Folded name that no table knows -> what replaces it."""
    guessed: set[str] = field(default_factory=set)
    """Tokens of unknown persons whom only a model or a cue found."""
    short_only: set[str] = field(default_factory=set)
    """Tokens of unknown persons whose typed fields hold the first name alone."""

    def add(self, words: str, form: Form) -> None:
        key = tuple(words.split())
        if key and form not in self.forms[key]:
            self.forms[key].append(form)
            self.heads.clear()

    def take_part(self, numbers: Iterable[int]) -> None:
        """Adds participants with every short form of their names."""
        for number in numbers:
            if number not in self.participants:
                self.participants.append(number)
                self._person(number)

    def _person(self, number: int) -> None:
        person, common = self.plan.persons[number], self.plan.context.common
        for raw in person.names:
            for spelled in dict.fromkeys([raw, *spellings(raw)] if "," not in raw else [raw]):
                self._name(parse_name(spelled), person.token, number, common)
        for key in person.records:
            for kind, value in self.plan.places.get(key, ()):
                scope = self.plan.scope_of(key[0])
                if kind == "postcode":
                    self.add(fold(value), Form(self.minter.mint(kind, alnum(value), scope), 39))
        for login in person.logins:
            self.add(fold(login), Form(f"{person.token}_LOGIN", 60, number))

    def _name(self, name: Name, token: str, number: int, common: frozenset[str]) -> None:
        def add(words: str, suffix: str, **more: bool) -> None:
            if len(words) < 2:
                return  # an initial alone is no name
            weak = " " not in words and (words in COMMON_NAMES or words in common)
            self.add(words, Form(f"{token}{suffix}", 36 if " " in words else 35, number, weak=weak, **more))

        if not name.last:
            add(name.first, "_FIRST")
            return
        shorts = [name.first, *NICKNAMES.get(name.first, ())]
        for short in shorts:
            add(f"{short} {name.last}", "")
            add(f"{name.last} {short}", "")
            add(short, "_FIRST")
        add(" ".join(name.words), "")
        first_word = name.first.split()[0]
        if first_word != name.first:
            add(first_word, "_FIRST")
            add(f"{first_word} {name.last}", "")
        add(f"{name.first[0]} {name.last}", "")
        add(name.last, "_LAST")
        if " " in name.last:
            add(name.last.split()[-1], "_LAST")
        add(f"{name.first[0]} {name.last[0]}", "_INITIAL", line_only=True)
        add(f"{name.first[0]}{name.last[0]}", "_INITIAL", line_only=True)

    def typed_value(self, value: str, token: str, identity: str) -> None:
        """An id that a field of this thread holds: found in its texts in any form."""
        self.add(fold(value), Form(token, 65))
        number = digits(value)
        if number and number == alnum(value) and identity in self.plan.spec.deid.alike:
            self.alike[len(number)] = identity
        if len(number) >= 4 and number == alnum(value):
            self.numbers[number] = token

    def said(self, identity: str, number: str) -> None:
        """A number that a text calls such a secret: hidden wherever the thread repeats it."""
        if len(number) >= 4:
            self.numbers.setdefault(number, self.minter.mint(type_name(identity), id_identity(number), self.scope))

    def learn(self, names: Iterable[str], *, typed: bool = False) -> None:
        """Gives each new folded name a token that holds within the thread; single names join the longer name that holds them."""
        for words in sorted({tuple(n.split()) for n in names if n}, key=lambda w: (-len(w), w)):
            if words in self.forms or words in self.unknown:
                continue
            name = parse_name(" ".join(words))
            token = self.minter.mint("person", f"thread:{self.key}\0{' '.join(words)}")
            rank = 37 if typed else 33
            if not typed:
                self.guessed.add(token)
            if len(words) == 1:
                self._unknown(words, f"{token}_FIRST", rank)
                if typed:
                    self.short_only.add(token)
                continue
            holder = self._holder(words) if not typed else None
            if holder:
                self._unknown(words, f"{holder}_FIRST {holder}_LAST", rank)
                self._unknown(tuple(name.last.split()), f"{holder}_LAST", rank)
                continue
            self._unknown(words, token, rank)
            self._unknown(tuple(f"{name.last} {name.first}".split()), token, rank)
            self._unknown(tuple(name.first.split()), f"{token}_FIRST", rank)
            self._unknown(tuple(name.last.split()), f"{token}_LAST", rank)

    def _holder(self, words: tuple[str, ...]) -> str | None:
        """The token of a person typed by first name alone whose first name opens this longer name."""
        text = self.unknown.get(words[:1], "")
        return text.removesuffix("_FIRST") if text.endswith("_FIRST") and text.removesuffix("_FIRST") in self.short_only else None

    def _unknown(self, words: tuple[str, ...], text: str, rank: int) -> None:
        if words and words not in self.unknown and words not in self.forms:
            self.unknown[words] = text
            self.add(" ".join(words), Form(text, rank, weak=rank < 37 and len(words) == 1 and words[0] in COMMON_NAMES))

    def name_text(self, value: str) -> str:
        """What replaces a typed name."""
        words = tuple(fold(value).split())
        for form in self.forms.get(words, ()):
            return form.text
        suffix = "" if len(words) > 1 else "_FIRST"
        return self.minter.mint("person", f"thread:{self.key}\0{' '.join(words)}") + suffix

    def find(self, text: str, words: Words, author: int) -> list[Span]:
        """Spans of every form of this thread's people and typed values; `value` is what replaces the span."""
        if not self.heads:
            heads: dict[str, set[tuple[str, ...]]] = defaultdict(set)
            for key in self.forms:
                heads[key[0]].add(key)
            self.heads = {head: sorted(keys, key=lambda k: (-len(k), k)) for head, keys in heads.items()}
        spans: list[Span] = []
        for at, word in enumerate(words.folded):
            for key in self.heads.get(word, ()):
                if words.folded[at : at + len(key)] != key or not _joined(text, words, at, len(key)):
                    continue
                start, end = words.starts[at], words.ends[at + len(key) - 1]
                if form := self._choose(self.forms[key], text, words, at, start, end, author):
                    spans.append(Span(start, end, "known", form.text, form.rank, EXACT))
            if word not in self.heads and (other := self._unlisted(text, words, at, author)):
                spans.append(Span(words.starts[at], words.ends[at], "known", other.text, other.rank, EXACT))
            if pair := self._split_name(text, words, at):
                spans.append(Span(words.starts[at], words.ends[at + 1], "known", pair.text, pair.rank, EXACT))
        if self.numbers:
            for match in NUMBER.finditer(text):
                if token := self.numbers.get(digits(match.group())):
                    spans.append(Span(match.start(), match.end(), "known", token, 65, EXACT))
        for match in ALONE.finditer(text) if self.alike else ():
            identity = self.alike.get(len(match.group()))
            if identity and match.group() not in self.numbers and not is_year(text, *match.span()):
                spans.append(Span(match.start(), match.end(), f"id:{identity}", match.group(), 30, EXACT))
        if self.asked:
            spans += find_answers(text, [s for s in self.plan.secrets if s.identity in self.asked])
        return _full_names(text, spans, self.short_only)

    def _choose(self, forms: list[Form], text: str, words: Words, at: int, start: int, end: int, author: int) -> Form | None:
        line = text[text.rfind("\n", 0, start) + 1 : text.find("\n", end) if "\n" in text[end:] else len(text)]
        before = text[:start][text.rfind("\n", 0, start) + 1 :]
        fitting = []
        for form in forms:
            if form.line_only and fold(line) != fold(text[start:end]):
                continue
            if form.weak and not (_as_name(words, at, before, text[end : end + 1]) or _alone(text, start, end)):
                continue
            fitting.append(form)
        if len(fitting) < 2:
            return fitting[0] if fitting else None
        greeted = bool(GREETING.search(before))
        signed = not greeted and len(fold(line).split()) <= 4 and text[end:].count("\n") <= 4
        pool = [f for f in fitting if (f.person == author) == signed] or fitting
        order = {number: place for place, number in enumerate(self.participants)}
        return min(pool, key=lambda f: (order.get(f.person, 99), f.text))

    def _unlisted(self, text: str, words: Words, at: int, author: int) -> Form | None:
        """A short form that no list has: a member of staff greeted by first name, the author's own short name on a
        line of its own, a typo."""
        word = words.folded[at]
        if number := self._greeted_staff(text, words, at):
            return Form(f"{self.plan.persons[number - 1].token}_FIRST", 35, number - 1)
        if (
            author >= 0
            and len(word) >= 3
            and word not in self.plan.context.common
            and _alone(text, words.starts[at], words.ends[at])
        ):
            person = self.plan.persons[author]
            if any(short_form(word, name.first) or name.first[:3] == word[:3] for name in person.parsed if name.first):
                return Form(f"{person.token}_FIRST", 35, author)
        return self._typo(words, at)

    def _greeted_staff(self, text: str, words: Words, at: int) -> int:
        """1 + the number of the member of staff whom a greeting names, or 0."""
        number = self.plan.staff.get(words.folded[at], -1)
        if number < 0 or self.plan.persons[number].scope != self.scope:
            return 0
        line = text.rfind("\n", 0, words.starts[at]) + 1
        return number + 1 if GREETING.search(text[line : words.starts[at]]) else 0

    def _split_name(self, text: str, words: Words, at: int) -> Form | None:
        """ "OB'rien" for O'Brien: two words with a sign between that together are a participant's name of two words."""
        if at + 1 >= len(words.raw) or words.starts[at + 1] - words.ends[at] != 1 or text[words.ends[at]].isspace():
            return None
        both = words.folded[at] + words.folded[at + 1]
        for key, forms in self.forms.items():
            if (
                len(key) == 2
                and forms[0].person >= 0
                and "".join(key) == both
                and key != (words.folded[at], words.folded[at + 1])
            ):
                return forms[0]
        return None

    def _typo(self, words: Words, at: int) -> Form | None:
        """One edit from a participant's first or last name: a word with a capital, of 4 letters or more, that is no
        ordinary word nor another name."""
        word = words.folded[at]
        context = self.plan.context
        if (
            len(word) < MIN_TYPO
            or not words.raw[at][0].isupper()
            or word in context.common
            or word in context.first_names
            or word in context.vocabulary
        ):
            return None
        for key, forms in sorted(self.forms.items()):
            if len(key) == 1 and len(key[0]) >= MIN_TYPO and forms[0].person >= 0 and one_edit(word, key[0]):
                return forms[0]
        return None


COMMON_NAMES = word_set(
    """
mark will bill may june april august rose grace hope faith joy dawn summer frank rich dick jack rob drew chase guy art ray
sue pat pam max miles page penny olive ruby ivy iris heather holly amber crystal melody harmony young long short black white
brown green king price stone wood field hill ford day love best good little rich wolf lang klein gross kurz stark jung lieb
roth star major case marks bond chance lane park parker baker cook miller carter hunter fisher singer porter banks bush berry
cherry rain storm snow winter sommer herbst in so an on do le la al de da di bo jo jay dot dom ton tom
"""
)
"""Folded names that are also words: as a name they need a capital inside a sentence, a greeting or a line of their own."""


def _as_name(words: Words, at: int, before: str, after: str) -> bool:
    raw = words.raw[at]
    if not raw[0].isupper():
        return False
    opens = not before.strip(" \t\"'“>*-") or before.rstrip()[-1:] in ".!?:"
    return not opens or bool(GREETING.search(before)) or after in ("", ",", "\n")


def _alone(text: str, start: int, end: int) -> bool:
    """True if nothing but punctuation shares the line."""
    line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    rest = text[line_start:start] + text[end : line_end if line_end >= 0 else len(text)]
    return not any(c.isalnum() for c in rest)


def _joined(text: str, words: Words, at: int, count: int) -> bool:
    return all(GAP.fullmatch(text[words.ends[n] : words.starts[n + 1]]) for n in range(at, at + count - 1))


def _full_names(text: str, spans: list[Span], short_only: set[str]) -> list[Span]:
    """First and last name of one person side by side are the full name."""
    joined = list(spans)
    by_start: dict[int, list[Span]] = defaultdict(list)
    for span in spans:
        by_start[span.start].append(span)
    for span in spans:
        for gap in (1, 2):
            for other in by_start.get(span.end + gap, ()):
                one, two = span.value.rpartition("_"), other.value.rpartition("_")
                gap_text = text[span.end : other.start]
                one_person = one[0] == two[0] and one[0] not in short_only and {one[2], two[2]} == {"FIRST", "LAST"}
                if one_person and GAP.fullmatch(gap_text) and "\n" not in gap_text:
                    joined.append(Span(span.start, other.end, "known", one[0], 36, EXACT))
    return joined
