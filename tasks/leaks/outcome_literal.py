"""An outcome code, or the label of the task's own outcome, stands in the opening or the state."""

from __future__ import annotations

import re

from tasks.leaks._plant import with_text
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import Found, prompt_texts, state_leaves


def run(data: LeakInput) -> list[Finding]:
    found = Found("outcome_literal")
    codes = sorted(data.code_book.outcomes, key=len, reverse=True)
    if not codes:
        return [Finding("outcome_literal", "not_applicable", detail="the code book has no outcome codes")]
    # A code that is a plain word ("found") also stands in ordinary sentences: it tells only where it is the whole value.
    coined = [re.escape(code) for code in codes if re.search(r"[_\d]|[a-z][A-Z]", code)]
    in_text = re.compile(rf"(?<![\w])(?:{'|'.join(coined)})(?![\w])", re.IGNORECASE) if coined else None
    plain = {code.casefold() for code in codes}
    for task in data.tasks:
        answer = data.answers.get(task.task_id)
        about = data.code_book.outcomes.get(answer.outcome.code) if answer is not None else None
        label = " ".join(about.label.casefold().split()) if about is not None else ""
        label = label if len(label.split()) > 1 else ""
        for path, text in prompt_texts(task):
            if in_text is not None and in_text.search(text):
                found.add(path, "an outcome code", [task.task_id])
            elif label and label in " ".join(text.casefold().split()):
                found.add(path, "the label of the task's own outcome", [task.task_id])
        for leaf in state_leaves(data, task):
            if not isinstance(leaf.value, str):
                continue
            if leaf.value.strip().casefold() in plain or (in_text is not None and in_text.search(leaf.value)):
                found.add(leaf.path, "an outcome code", [task.task_id])
            elif label and len(leaf.value) >= len(label) and label in leaf.value.casefold():
                found.add(leaf.path, "the label of the task's own outcome", [task.task_id])
    return found.findings()


def planted(data: LeakInput) -> LeakInput:
    code = data.answers[data.tasks[0].task_id].outcome.code
    return with_text(data, 0, lambda text: f"{text} [{code}]")


LEAK = Leak("outcome_literal", run, planted)
