"""The requester tells what nobody asked for (a later answer stands in the opening already) or knows the outcome: its code, its
label, or what an agent wrote and the requester, by the records, did not."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache, lru_cache, partial

from tasks.leaks._literals import parts_of
from tasks.leaks._plant import with_task
from tasks.leaks._states import KEPT_TASKS
from tasks.leaks._stock import sentences
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import Found, fact_texts, grams, line_of, runs, words

_WORD = re.compile(r"\w+")
SIZE = 6
COMMON = 2
"""A run in the answers of this many cases is a way of speaking."""
FEWEST = 3
"""Words of the shortest answer that, standing whole in the opening, is the later answer and not a word said twice."""
SENTENCE = 4
"""Words of the shortest sentence of an agent's that nobody else would say alike."""
WHOLE = 0.5
"""Share of an answer's own runs from which it stands in the opening already."""


def run(data: LeakInput) -> list[Finding]:
    found = Found("requester_knows")
    coined = [re.escape(code) for code in data.code_book.outcomes if re.search(r"[_\d]|[a-z][A-Z]", code)]
    codes = re.compile(rf"(?<!\w)(?:{'|'.join(sorted(coined))})(?!\w)", re.IGNORECASE) if coined else None
    spread = Counter(g for task in data.tasks for g in {g for f in task.requester.facts for g in grams(f.answer, SIZE)})
    whole = Counter(said for task in data.tasks for said in {_exactly(fact.answer) for fact in task.requester.facts})
    agents = {t.task_id: {s for m in data.later_messages.get(t.task_id, ()) for s in _sentences(m)} for t in data.tasks}
    by_cases = Counter(said for told in agents.values() for said in told)
    for task in data.tasks:
        answer = data.answers.get(task.task_id)
        about = data.code_book.outcomes.get(answer.outcome.code) if answer is not None else None
        label = " ".join(about.label.casefold().split()) if about is not None else ""
        said: set[tuple[str, ...]] | None = None
        asked = [("requester/facts/question", fact.question) for fact in task.requester.facts]
        opened = f"{task.opening.subject} {task.opening.text}".casefold()
        opening = ""
        wrote = cache(partial(line_of, data.requester_turns.get(task.task_id, ())))
        spoken = f" {' '.join(parts_of(answer.outcome.code))} " if answer is not None else ""
        own_lines = {f" {said} " for said in agents[task.task_id] if by_cases[said] < COMMON}
        for path, text in fact_texts(task):
            plain = f" {' '.join(words(text))} "
            if len(spoken.split()) > 1 and spoken in plain and spoken not in wrote():
                found.add(path, "the words of the task's own outcome code, which the requester did not write", [task.task_id])
            if any(line in plain and line not in wrote() for line in own_lines):
                found.add(path, "a sentence of the agent's, which the requester did not write", [task.task_id])
        for path, text in (*fact_texts(task), *asked):
            if codes is not None and codes.search(text):
                found.add(path, "an outcome code", [task.task_id])
            elif len(label.split()) > 1 and label in " ".join(text.casefold().split()):
                found.add(path, "the label of the task's own outcome", [task.task_id])
        for fact in task.requester.facts:
            # People say a few words of theirs again, and all say some alike: early is what stands there whole.
            own = {gram for gram in grams(fact.answer, SIZE) if spread[gram] < COMMON}
            exact = _exactly(fact.answer)
            early = []
            if own:
                if said is None:
                    said = runs([*words(task.opening.subject), *words(task.opening.text)], SIZE)
                if len(said & own) >= WHOLE * len(own):
                    early.append("holds what the requester told only later")
            # All its words have to stand there; most often the longest does not.
            if len(exact.split()) >= FEWEST and whole[exact] < COMMON and max(exact.split(), key=len) in opened:
                opening = opening or f" {_exactly(opened)} "
                if f" {exact} " in opening:
                    early.append("holds an answer that the requester gave only later")
            # Whoever wrote it in two messages, by the records, said it again: nothing was moved into the opening.
            turns = data.requester_turns.get(task.task_id, ()) if early else ()
            if sum(f" {exact} " in f" {_exactly(text)} " for text in turns) <= 1:
                for detail in early:
                    found.add("opening/text", detail, [task.task_id])
            if not (fact.volunteered or fact.question or fact.slots):
                found.add("requester/facts", "no question and no slot says when it is told", [task.task_id])
            if fact.volunteered and fact.question:
                found.add("requester/facts", "an answer to a question is marked as volunteered", [task.task_id])
    return found.findings()


@lru_cache(maxsize=KEPT_TASKS)
def _exactly(text: str) -> str:
    """The words in one case, ids as they stand."""
    return " ".join(_WORD.findall(text.casefold()))


def _sentences(text: str) -> set[str]:
    """An agent's sentences that say something: of SENTENCE words and more, ids as their types."""
    return {" ".join(one) for one in sentences(text) if len(one) >= SENTENCE}


def planted(data: LeakInput) -> LeakInput:
    index = next(i for i, task in enumerate(data.tasks) if task.requester.facts)
    code = data.answers[data.tasks[index].task_id].outcome.code
    facts = data.tasks[index].requester.facts
    told = facts[0].model_copy(update={"answer": f"{facts[0].answer} You will set it to {code}, will you not?"})
    requester = data.tasks[index].requester.model_copy(update={"facts": (told, *facts[1:])})
    return with_task(data, index, lambda task: task.model_copy(update={"requester": requester}))


LEAK = Leak("requester_knows", run, planted)
