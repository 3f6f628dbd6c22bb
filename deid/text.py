"""Free text of a shard: detect, resolve, replace. Works on all texts at once, because a model wants batches."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date

from deid.dateforms import find_dates, unclear, undeclared
from deid.dates import shift_match, shift_text, unmovable
from deid.fold import Words, alnum, digits, even, fold, words_of
from deid.names import one_edit, parse_name
from deid.plan import Plan, id_identity
from deid.said import find_said
from deid.spans import GUESS, Detector, Span, resolve
from deid.thread import Thread
from deid.tokens import type_name
from deid.words import ENGLISH, OTHER_LANGUAGES
from schemas.plugins import load_plugins

SECRET = "[SECRET]"
UNDECLARED_DATE = "a date in a form that deid.date_formats does not declare"
SHOWN = ("date", "vocabulary")
"""Kinds of spans whose words stay."""
MAX_ACRONYM = 5
UNREADABLE = re.compile("[\ufffd\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
NAME_WORD = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Request:
    """A text to rewrite. `author`: number of the known person who wrote it, or -1. `near` dates what has no year."""

    thread: str
    author: int
    near: date
    text: str


@dataclass(slots=True)
class Outcome:
    """The new text, or why there is none; with what each replacement stood for."""

    text: str = ""
    failure: str = ""
    originals: list[tuple[str, str]] = field(default_factory=list)
    """(token, original) for the vault."""


@dataclass(slots=True)
class _Work:
    request: Request
    words: Words
    spans: list[Span]
    guesses: list[Span] = field(default_factory=list)


def failure_of(text: str, language: str) -> str:
    """Why a text may not be read: "undecodable text", "unsupported language", or ""."""
    if UNREADABLE.search(text):
        return "undecodable text"
    text = even(text)
    letters = [c for c in text if c.isalpha()]
    if len(letters) >= 8 and sum(c < "\u0250" for c in letters) < 0.7 * len(letters):
        return f"unsupported language (this version reads {language})"
    words = re.findall(r"[^\W\d_]+", text.casefold())
    if len(words) >= 8:
        english = sum(w in ENGLISH for w in words)
        other = max(sum(w in known for w in words) for known in OTHER_LANGUAGES.values())
        if other > 2 * english and other >= 0.15 * len(words):
            return f"unsupported language (this version reads {language})"
    return ""


class TextRewriter:
    """Rewrites requests of many threads; detectors run once on each distinct text."""

    def __init__(self, plan: Plan, detectors: dict[str, Detector] | None = None) -> None:
        self.plan = plan
        found = detectors if detectors is not None else load_plugins("deid.detectors", "DETECTOR", Detector)
        self.exact = [d for d in found.values() if d.tier != GUESS]
        self.guessing = [d for d in found.values() if d.tier == GUESS and (plan.spec.deid.ner or d.name != "person")]

    def rewrite(self, requests: Iterable[Request], threads: dict[str, Thread]) -> dict[Request, Outcome]:
        outcomes: dict[Request, Outcome] = {}
        by_thread: dict[str, list[_Work]] = defaultdict(list)
        structure: dict[tuple[str, str], list[Span] | str] = {}
        for request in sorted(requests, key=lambda r: (r.thread, r.near, r.author, r.text)):
            if failure := failure_of(request.text, self.plan.spec.deid.language):
                outcomes[request] = Outcome(failure=failure)
                continue
            at = (threads[request.thread].scope, request.text)
            if at not in structure:
                structure[at] = self._structure(*at)
            spans = structure[at]
            if isinstance(spans, str):
                outcomes[request] = Outcome(failure=spans)
                continue
            by_thread[request.thread].append(_Work(request, words_of(request.text), spans))
        for key, works in sorted(by_thread.items()):
            self._participants(threads[key], works)
        self._guess(by_thread, threads, outcomes)
        for key, works in sorted(by_thread.items()):
            thread = threads[key]
            thread.learn(name for work in works for name in self._new_names(thread, work))
            for work in works:
                if work.request not in outcomes:
                    outcomes[work.request] = self._render(thread, work)
        return outcomes

    def _structure(self, scope: str, text: str) -> list[Span] | str:
        spans = self.plan.lexicons[scope].find(text) if scope in self.plan.lexicons else []
        for detector in self.exact:
            if not detector.gate(text):
                continue
            try:
                spans.extend(detector.find([text], self.plan.context)[0])
            except Exception:  # a detector that cannot judge a text must not let it pass; its message may quote the text
                return f"detector {detector.name} failed"
        return spans + find_said(text, self.plan.secrets) if self.plan.secrets else spans

    def _participants(self, thread: Thread, works: list[_Work]) -> None:
        """Whoever a text of the thread names beyond doubt (address, phone, full name) takes part in it, and so may be
        named shortly."""
        plan = self.plan
        owner = {p.token: n for n, p in enumerate(plan.persons)}
        for work in works:
            for secret in plan.secrets:
                if secret.label.search(work.request.text):
                    thread.asked.add(secret.identity)
                for span in work.spans:
                    if span.kind == f"id:{secret.identity}":
                        thread.said(secret.identity, digits(even(span.value)))
            for span in work.spans:
                if span.kind in ("email", "phone", "login", "id"):
                    token = self._known(thread, span)
                    number = owner.get(token[: token.find("_", 7)] if token.count("_") > 1 else "", -1)
                    if number >= 0:
                        thread.take_part([number])
                elif span.kind == "person" and span.value and "," not in span.value:
                    thread.take_part([int(span.value)])

    def _known(self, thread: Thread, span: Span) -> str:
        """The token that a span of a known kind stands for, or ""."""
        if span.kind == "email" and "@" in span.value:
            return self.plan.emails.get((thread.scope, span.value), "")
        if span.kind == "phone":
            return self.plan.phones.get((thread.scope, span.value), "")
        return span.value if span.kind in ("email", "login", "id") else ""

    def _guess(self, by_thread: dict[str, list[_Work]], threads: dict[str, Thread], outcomes: dict[Request, Outcome]) -> None:
        lines: dict[str, list[tuple[_Work, int]]] = defaultdict(list)
        wholes: dict[str, list[tuple[_Work, int]]] = defaultdict(list)
        for key, works in sorted(by_thread.items()):
            thread = threads[key]
            for work in works:
                known = thread.find(work.request.text, work.words, work.request.author)
                covered = resolve([s for s in work.spans if s.tier != GUESS] + known)
                asked = [(start, line) for start, line in _lines(work.request.text) if self._open_question(line, start, covered)]
                for start, line in asked:
                    lines[line].append((work, start))
                if asked:
                    wholes[work.request.text].append((work, 0))
        for detector in self.guessing:
            units = wholes if detector.whole else lines
            todo = [unit for unit in sorted(units) if detector.gate(unit)]
            try:
                found = detector.find(todo, self.plan.context)
            except Exception:  # see _structure
                for unit in todo:
                    for work, _ in units[unit]:
                        outcomes[work.request] = Outcome(failure=f"detector {detector.name} failed")
                continue
            for unit, spans in zip(todo, found, strict=True):
                for work, start in units[unit]:
                    work.guesses.extend(Span(start + s.start, start + s.end, "person", "", s.rank, GUESS) for s in spans)

    def _open_question(self, line: str, start: int, covered: list[Span]) -> bool:
        """True if a word of the line that no span explains might be a name."""
        context = self.plan.context
        for match in re.finditer(r"[^\W\d_]+", line):
            low = match.group().casefold()
            if low in context.common and low not in context.first_names:
                continue
            if not any(s.start <= start + match.start() < s.end for s in covered):
                return True
        return False

    def _new_names(self, thread: Thread, work: _Work) -> list[str]:
        """Folded names that the guesses leave after everything known is taken out; and known full names whose bearer
        is not clear."""
        text = work.request.text
        known = thread.find(text, work.words, work.request.author)
        names = [span.value for span in work.spans if span.kind == "mention" and span.value not in self.plan.context.vocabulary]
        names += [fold(text[s.start : s.end]) for s in work.spans if s.kind == "person" and self._bearer(thread, s) < 0]
        for span in resolve([s for s in work.spans if s.kind != "mention"] + known + work.guesses):
            if span.kind == "person" and span.tier == GUESS and not self._label(text, span):
                names.append(self._name_in(text[span.start : span.end]))
        for span in work.guesses:
            inside = [k for k in known if span.start <= k.start and k.end <= span.end]
            if inside and (name := self._other_person(thread, text[span.start : span.end])):
                names.append(name)
        return [name for name in names if name]

    def _label(self, text: str, span: Span) -> bool:
        """True for a piece of an article number ("FAN-3309-GRY"), an acronym ("RSVP"), and a word that names the
        number after it ("Batch 37")."""
        before, after = text[: span.start], text[span.end :]
        written = text[span.start : span.end]
        word = fold(written)
        glued = re.search(r"[\w-]*$", before), re.match(r"[\w-]*", after)
        if any(c.isdigit() for g in glued if g for c in g.group()):
            return True
        if word in self.plan.context.first_names:
            return False
        if written.isalpha() and written.isupper() and len(written) <= MAX_ACRONYM and not text.isupper():
            return True
        return (" " not in word or written.isupper()) and bool(re.match(r"\s+(?:no\.?\s*)?\d", after))

    def _other_person(self, thread: Thread, text: str) -> str:
        """ "Anna Schulz" where Anna Meyer takes part: the folded name, if its last word is neither common nor a
        participant's; else ""."""
        words = words_of(text)
        if len(words.raw) < 2 or not all(w[0].isupper() for w in words.raw):
            return ""
        last, context = words.folded[-1], self.plan.context
        theirs = {part for n in thread.participants for name in self.plan.persons[n].parsed for part in name.words}
        if len(last) < 3 or last in context.common or last in theirs or any(one_edit(last, part) for part in theirs):
            return ""
        return self._name_in(text)

    def _name_in(self, text: str) -> str:
        """The folded name in a guessed span: its words that are not common ones; "" where a name is not left."""
        context = self.plan.context
        words = [w for w in fold(text).split() if NAME_WORD.search(w)]
        while words and (words[0] in context.common or len(words[0]) < 2):
            words.pop(0)
        while words and (words[-1] in context.common or len(words[-1]) < 2):
            words.pop()
        name = parse_name(" ".join(words))
        return "" if not words or " ".join(words) in context.vocabulary else " ".join(name.words)

    def _bearer(self, thread: Thread, span: Span) -> int:
        """Number of the known person whom a full name means: the only bearer, or the only one who takes part; else -1."""
        numbers = [int(n) for n in span.value.split(",") if n]
        if len(numbers) == 1:
            return numbers[0]
        here = [n for n in numbers if n in thread.participants]
        return here[0] if len(here) == 1 else -1

    def _render(self, thread: Thread, work: _Work) -> Outcome:
        request, plan = work.request, self.plan
        text = request.text
        spans = [s for s in work.spans if s.kind != "mention" and not (s.kind == "person" and self._bearer(thread, s) < 0)]
        found = find_dates(text, plan.context.date_formats, plan.years)
        dates = {(start, end): match for start, end, match in found}
        pieces, at, originals = [], 0, []
        chosen = resolve(spans + thread.find(text, work.words, request.author))
        lost = dates.keys() - {(s.start, s.end) for s in chosen if s.kind == "date"}
        left = unclear(text, found, plan.years) if plan.shift_days else undeclared(text, found, plan.years)
        if any(not self._hidden(thread, text, start, end, chosen) for start, end in left):
            return Outcome(failure=UNDECLARED_DATE)

        def kept(start: int, end: int) -> str | None:
            """Characters that stay; where a date lost to a span that overlaps it, what is left of it moves too, or is None."""
            piece = text[start:end]
            if not plan.shift_days or not any(a < end and start < b for a, b in lost):
                return piece
            given = plan.shift_days, request.near, plan.context.date_formats, plan.years
            return None if any(unmovable(piece, *given)) else shift_text(piece, *given)

        for span in [*chosen, Span(len(text), len(text), "end")]:
            original = text[span.start : span.end]
            new: str | None = original
            if span.kind == "date" and plan.shift_days:
                new = shift_match(dates[span.start, span.end], plan.shift_days, request.near)
            elif span.kind in ("vocabulary", "end"):
                new = kept(span.start, span.end)
            elif span.kind != "date":
                new = self._replacement(thread, span, original)
                if new and new not in (SECRET, original):
                    originals.append((new, original))
            before = kept(at, span.start)
            if new is None or before is None:
                return Outcome(failure=UNDECLARED_DATE)
            if span.kind not in SHOWN and span.kind != "end":
                new = _set_apart(text, span, new)
            pieces += [before, new]
            at = span.end
        return Outcome("".join(pieces), "", originals)

    def _hidden(self, thread: Thread, text: str, start: int, end: int, chosen: list[Span]) -> bool:
        """True if one token takes the place of a whole find. What only looks like a telephone number may be the date itself."""
        for span in chosen:
            if span.kind not in SHOWN and span.start <= start and end <= span.end:
                longer = len(digits(text[span.start : span.end])) >= len(digits(text[start:end])) + 3
                return span.kind != "phone" or longer or bool(self._known(thread, span))
        return False

    def _replacement(self, thread: Thread, span: Span, original: str) -> str:
        plan, scope = self.plan, thread.scope

        def mint(kind: str, value: str) -> str:
            return thread.minter.mint(kind, value, scope)

        if span.kind == "secret":
            return SECRET
        if span.kind == "person":
            return plan.persons[self._bearer(thread, span)].token
        if span.kind in ("email", "phone") and (token := self._known(thread, span)):
            return token
        if span.kind == "phone":
            return plan.digit_ids.get((scope, digits(original))) or mint("phone", span.value)
        if span.kind.startswith("id:"):
            kind = type_name(span.kind.removeprefix("id:"))
            return mint(kind, id_identity(plan.alnum_ids.get((kind, alnum(original)), alnum(original))))
        if span.kind in ("known", "id", "login", "org", "domain") or span.value.startswith(("ADDRESS_", "POSTCODE_")):
            return span.value
        return mint(span.kind, span.value)


def _set_apart(text: str, span: Span, token: str) -> str:
    """A token is a word of its own, also in the place of what was glued to another ("orderA-104327ok")."""
    before, after = text[span.start - 1 : span.start], text[span.end : span.end + 1]
    return f"{' ' if before.isalnum() else ''}{token}{' ' if after.isalnum() else ''}"


def _lines(text: str) -> list[tuple[int, str]]:
    lines, at = [], 0
    for line in text.split("\n"):
        if line.strip():
            lines.append((at, line))
        at += len(line) + 1
    return lines
