"""The requester tells what nobody asked for (a later answer stands in the opening already) or knows the outcome."""

from __future__ import annotations

import re
from collections import Counter

from tasks.leaks._plant import with_task
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import Found, fact_texts, grams

SIZE = 6
COMMON = 2
"""A run in the answers of this many cases is a way of speaking."""
WHOLE = 0.5
"""Share of an answer's own runs from which it stands in the opening already."""


def run(data: LeakInput) -> list[Finding]:
    found = Found("requester_knows")
    coined = [re.escape(code) for code in data.code_book.outcomes if re.search(r"[_\d]|[a-z][A-Z]", code)]
    codes = re.compile(rf"(?<!\w)(?:{'|'.join(sorted(coined))})(?!\w)", re.IGNORECASE) if coined else None
    spread = Counter(g for task in data.tasks for g in {g for f in task.requester.facts for g in grams(f.answer, SIZE)})
    for task in data.tasks:
        answer = data.answers.get(task.task_id)
        about = data.code_book.outcomes.get(answer.outcome.code) if answer is not None else None
        label = " ".join(about.label.casefold().split()) if about is not None else ""
        said = grams(f"{task.opening.subject} {task.opening.text}", SIZE)
        asked = [("requester/facts/question", fact.question) for fact in task.requester.facts]
        for path, text in (*fact_texts(task), *asked):
            if codes is not None and codes.search(text):
                found.add(path, "an outcome code", [task.task_id])
            elif len(label.split()) > 1 and label in " ".join(text.casefold().split()):
                found.add(path, "the label of the task's own outcome", [task.task_id])
        for fact in task.requester.facts:
            # People say a few words of theirs again, and all say some alike: early is what stands there whole.
            own = {gram for gram in grams(fact.answer, SIZE) if spread[gram] < COMMON}
            if own and len(said & own) >= WHOLE * len(own):
                found.add("opening/text", "holds what the requester told only later", [task.task_id])
            if not (fact.volunteered or fact.question or fact.slots):
                found.add("requester/facts", "no question and no slot says when it is told", [task.task_id])
            if fact.volunteered and fact.question:
                found.add("requester/facts", "an answer to a question is marked as volunteered", [task.task_id])
    return found.findings()


def planted(data: LeakInput) -> LeakInput:
    index = next(i for i, task in enumerate(data.tasks) if task.requester.facts)
    code = data.answers[data.tasks[index].task_id].outcome.code
    facts = data.tasks[index].requester.facts
    told = facts[0].model_copy(update={"answer": f"{facts[0].answer} You will set it to {code}, will you not?"})
    requester = data.tasks[index].requester.model_copy(update={"facts": (told, *facts[1:])})
    return with_task(data, index, lambda task: task.model_copy(update={"requester": requester}))


LEAK = Leak("requester_knows", run, planted)
