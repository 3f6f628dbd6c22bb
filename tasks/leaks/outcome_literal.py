"""An outcome code, or the label of the task's own outcome, stands in something shown before the agent acts.

Codes count however they are spelled (case, separators, camelCase), in values, keys, record ids and file names. A code that is an
ordinary word, and any code spelled as ordinary words, tells only where it is the whole value. Labels are looked for in the code
book's words and, for whole values of a state, in German, French and Spanish by a short glossary of words of decision.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from tasks.leaks._decode import apart, disguised
from tasks.leaks._literals import coined, holder, parts_of, plain, speller
from tasks.leaks._plant import with_text
from tasks.leaks._states import Column, Look, Parts, Row, declared_systems, nested, once
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import Found, Texts, opened, prompt_texts, shared_texts

GLOSSARY = (
    ("grant approv accept allow", "gewähr genehmig bewillig akzeptiert", "accord approuv accept", "concedid aprobad aceptad"),
    ("refus denied deny reject declin", "abgelehnt verweiger zurückgewiesen", "refus rejet", "rechazad denegad"),
    ("refund reimburs", "erstatt rückzahlung", "rembours", "reembols devoluci"),
    ("cancel", "storn abgesagt gekündigt", "annul", "cancelad anulad"),
    ("chang modif updat", "geändert änderung", "modifi chang", "cambiad modificad"),
    ("exchang replac", "umtausch ausgetauscht ersetzt", "échang remplac", "cambi reemplaz"),
    ("restor unlock recover", "wiederhergestellt entsperrt", "rétabl débloqu", "restaurad desbloquead"),
    ("credit", "gutschrift guthaben kulanz", "crédit avoir", "crédito abono"),
    ("order", "bestell auftrag", "command", "pedido orden"),
    ("address", "adress anschrift", "adresse", "dirección direccion"),
    ("access", "zugang zugriff", "accès", "acceso"),
    ("solv resolv", "gelöst erledigt", "résol", "resuelt solucionad"),
    ("clos", "geschlossen abgeschlossen", "clôtur ferm", "cerrad"),
    ("identity identit", "identität", "identité", "identidad"),
)
"""One meaning a row: beginnings of words in English, German, French, Spanish."""
ABROAD = [[tuple(row[tongue].split()) for row in GLOSSARY] for tongue in (1, 2, 3)]
Meanings = tuple[frozenset[int], ...]
CLASS = "class "
LONGEST = 60
"""Characters of the longest value that is a label and not a text."""


def run(data: LeakInput) -> list[Finding]:
    found = Found("outcome_literal")
    codes = sorted(data.code_book.outcomes, key=len, reverse=True)
    if not codes:
        return [Finding("outcome_literal", "not_applicable", detail="the code book has no outcome codes")]
    in_text = coined(codes)
    whole = {plain(code) for code in codes}
    listed = {plain(value) for values in data.code_book.codes.values() for value in values}
    labels = {code: " ".join(about.label.casefold().split()) for code, about in data.code_book.outcomes.items()}
    labels = {code: label for code, label in labels.items() if len(label.split()) > 1}
    single = {plain(about.label) for about in data.code_book.outcomes.values() if len(about.label.split()) == 1} - listed
    spaced = coined(codes, blanks=True)
    foreign = {code: meant for code in codes if (meant := _meanings(code))}
    classes = {plain(about.outcome_class) for about in data.code_book.outcomes.values()} - listed

    may_hold = holder(codes)
    spoken = cache(_spoken)

    @cache
    def said_by(value: str) -> list[str]:
        """ "" for an outcome code, and the labels, classes and codes that tell only the task of that outcome."""
        text = value.casefold()
        short = plain(text) if len(text) < LONGEST else ""
        named = may_hold(value)
        held = [""] if short in whole or (named and in_text is not None and in_text.search(value)) else []
        if short in classes:
            held.append(f"{CLASS}{short}")
        if short in single:
            held.append(f"label {short}")
        if named and spaced is not None:
            held += [f"code {plain(m[1])}" for m in spaced.finditer(value)]
        if " " in text:
            held += [label for label in labels.values() if label in text]
            if short:
                held += [f"abroad {code}" for code in _abroad(text, foreign, spoken)]
        return held

    @cache
    def named(name: str) -> bool:
        """Whether a name (of a field, a record, a path) holds an outcome code."""
        readings = [(name, name)] if name.isascii() else opened(name, name)
        return in_text is not None and any(in_text.search(one) for _, one in readings)

    def named_of(names: list[str]) -> set[str]:
        """Those of the names that hold an outcome code. No code goes over the end of a line: one search for all in ASCII."""
        ours = [name for name in names if name.isascii()]
        whole_ = "\n".join(ours)
        looked = ours if in_text is not None and may_hold(whole_) and in_text.search(whole_) else []
        rest = (name for name in names if not name.isascii()) if len(ours) < len(names) else ()
        return {name for name in (*looked, *rest) if named(name)}

    def told(column: Column) -> Look[tuple[str, str]] | None:
        """(path, "") where an outcome code stands, (path, own label) where it tells only the task of that outcome, (path, class)
        where it tells only the task about that record: elsewhere the word is what a table is looked up for."""
        path, code = column.path, [(column.path, "")] if any(map(named, (*column.fields, column.inner))) else []
        if column.sort == "id" and not code:
            bad = named_of(column.different)
            return (lambda record_id: [(path, "")] if record_id in bad else []) if bad else None
        if column.sort == "text":  # a pseudonym and a stamp are no code
            return lambda text: code + [(path, name) for name in (said_by(text) if len(text) >= 3 else ())]
        return (lambda _: code) if code else None

    def coined_in(column: Column) -> Look[tuple[str, str]] | None:
        """As `told`, for recorded answers: they say in plain words how an act ended, so coined codes only."""
        if in_text is None or column.sort == "id":
            return None
        code = [(column.path, "")]
        return lambda value: code if in_text.search(f"{column.inner} {value}") else []

    @once
    def in_part(part: list[tuple[Row, tuple[str, str]]]) -> set[tuple[str, str, str]]:
        """(path, what is told, record where it tells only the task about that)."""
        return {(path, name, row.record_id if name.startswith(CLASS) else "") for row, (path, name) in part}

    parts, recorded = Parts(data, told), Parts(data, coined_in, declared=True)
    for task in data.tasks:
        answer = data.answers.get(task.task_id)
        own = labels.get(answer.outcome.code) if answer is not None else None
        class_ = f"{CLASS}{plain(answer.outcome_class)}" if answer is not None else ""
        records = (task.opening.record.record_id, answer.outcome.about if answer is not None else None)
        about = data.code_book.outcomes.get(answer.outcome.code) if answer is not None else None
        alone = f"label {plain(about.label)}" if about is not None else ""
        code = f"code {plain(answer.outcome.code)}" if answer is not None else ""
        abroad = f"abroad {answer.outcome.code}" if answer is not None else ""
        own_word = max(own.split(), key=len) if own else ""
        for path, text in prompt_texts(task):
            coded = may_hold(text)
            if (coded and in_text is not None and in_text.search(text)) or plain(text) in whole:
                found.add(path, "an outcome code", [task.task_id])
            elif (
                coded
                and spaced is not None
                and any(f"code {plain(m[1])}" == code and m[1].isupper() for m in spaced.finditer(text))
            ):
                found.add(path, "the code of the task's own outcome, in capitals", [task.task_id])
            elif own and own_word in (low := text.casefold()) and own in " ".join(low.split()):
                found.add(path, "the label of the task's own outcome", [task.task_id])
        called = [("task_id", task.task_id), ("opening/record", task.opening.record.record_id)]
        called += [("requester/facts/slots", slot) for fact in task.requester.facts for slot in (*fact.slots, *fact.values)]
        for path, text in called:
            if named(text):
                found.add(path, "an outcome code", [task.task_id])
        for part in parts.of(task):
            for path, label, record_id in in_part(part):
                if not label:
                    found.add(path, "an outcome code", [task.task_id])
                elif label in (own, abroad, alone, code):
                    found.add(path, "the label of the task's own outcome", [task.task_id])
                elif label == class_ and record_id in records:
                    found.add(path, "the class of the task's own outcome", [task.task_id])
        for part in recorded.of(task) if declared_systems(task) else ():
            for path, _, _ in in_part(part):
                found.add(path, "an outcome code", [task.task_id])
        for name in data.file_times.get(task.task_id, ()):
            if named(name):
                found.add("files", "an outcome code in a file's name", [task.task_id])
    if in_text is not None:
        _descriptions(data, in_text, found)
    _episodes(data, in_text, found)
    return found.findings()


def _descriptions(data: LeakInput, in_text: re.Pattern[str], found: Found) -> None:
    """Texts that configure tools: to list the codes of a workflow is their business, to name one of several is not."""
    codes: dict[str, set[str]] = {}
    for code, about in data.code_book.outcomes.items():
        codes.setdefault(about.workflow, set()).add(plain(code))

    @once
    def by_field(texts: Texts) -> dict[str, set[str]]:
        """Path of a field, or of what lists its values -> the codes that it names."""
        found_: dict[str, set[str]] = {}
        for path, text in texts:
            if path.startswith("systems/") and (said := {plain(m[1]) for m in in_text.finditer(text)}):
                found_.setdefault(re.sub(r"/\*$|/(?:enum|description)\b.*", "", path), set()).update(said)
        return found_

    for task in data.tasks:
        own = codes.get(task.workflow, set())
        for path, named in by_field(shared_texts(data, task)).items():
            if len(own) > 1 and len(named & own) == 1:
                found.add(path, "names one outcome code of the workflow alone", [task.task_id])


def _episodes(data: LeakInput, in_text: re.Pattern[str] | None, found: Found) -> None:
    """An episode's observation may repeat a code that its own earlier actions, or its rules' texts, named; no other. A code
    that is an ordinary word counts beside the JSON of an observation, alone there or in its line."""
    workflows = {task.task_id: task for task in data.tasks}
    spellings: dict[str, list[str]] = {}
    for code in data.code_book.outcomes:
        spellings.setdefault(plain(code), []).append(code)
    may_hold = {code: holder(spelled) for code, spelled in spellings.items()}
    may_spell = {code: speller(spelled) for code, spelled in spellings.items()}

    def held(code: str, text: str) -> bool:
        return code in may_hold and may_hold[code](text)

    def spelt(code: str, text: str) -> bool:
        return code in may_spell and may_spell[code](text)

    def names(code: str, text: str) -> bool:
        return in_text is not None and held(code, text) and any(plain(m[1]) == code for m in in_text.finditer(text))

    def shows(code: str, text: str) -> bool:
        if not disguised(text):
            return held(code, text) and (names(code, text) or _alone(code, apart(text)[1]))
        beside = opened("", apart(text)[1])
        return any(names(code, one) for _, one in opened("", text)) or any(_alone(code, one) for _, one in beside)

    for episode in data.trajectories:
        task = workflows.get(episode.task_id)
        answer = data.answers.get(episode.task_id)
        if task is None or answer is None:
            continue
        own, said = plain(answer.outcome.code), False
        for before, text in zip(("", *episode.actions), episode.observations, strict=False):
            said = said or (spelt(own, before) and any(plain(str(value)) == own for _, _, value in nested(before)))
            said = said or names(own, before)
            if not said and shows(own, text):
                found.add("trajectories/observations", "the task's own outcome code, before an action named it", [task.task_id])


def _alone(code: str, beside: str) -> bool:
    """True where a text, a line of it or a value in it ("key: value") is the code."""
    return any(plain(part) == code for part in (beside, *re.split(r"[\n:;,=]", beside)))


def _meanings(code: str) -> list[int]:
    """Rows of the glossary that the words of a code stand in; [] unless two of them do."""
    rows = [n for part in parts_of(code) for n, (english, *_) in enumerate(GLOSSARY) if part.startswith(tuple(english.split()))]
    return rows if len(rows) > 1 else []


def _abroad(text: str, foreign: dict[str, list[int]], spoken: Callable[[str], Meanings]) -> list[str]:
    """Codes all of whose known words stand in a short text, in one language other than English. `spoken`: as `_spoken`."""
    words = re.findall(r"\w+", text)
    if not 2 <= len(words) <= 6:
        return []
    known = [spoken(word) for word in words]
    held = [frozenset[int]().union(*tongue) for tongue in zip(*known, strict=True)]
    return [code for code, meant in foreign.items() if any(rows.issuperset(meant) for rows in held)] if any(held) else []


def _spoken(word: str) -> Meanings:
    """Rows of the glossary that a word stands in, in each of ABROAD; most words stand in many texts."""
    return tuple([frozenset([n for n, begins in enumerate(rows) if word.startswith(begins)]) for rows in ABROAD])


def planted(data: LeakInput) -> LeakInput:
    code = data.answers[data.tasks[0].task_id].outcome.code
    return with_text(data, 0, lambda text: f"{text} [{code}]")


LEAK = Leak("outcome_literal", run, planted)
