"""An outcome code, or the label of the task's own outcome, stands in the opening or the state."""

from __future__ import annotations

import re

from tasks.leaks._plant import with_text
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import Found, Parts, Row, prompt_texts


def run(data: LeakInput) -> list[Finding]:
    found = Found("outcome_literal")
    codes = sorted(data.code_book.outcomes, key=len, reverse=True)
    if not codes:
        return [Finding("outcome_literal", "not_applicable", detail="the code book has no outcome codes")]
    # A code that is a plain word ("found") also stands in ordinary sentences: it tells only where it is the whole value.
    coined = [re.escape(code) for code in codes if re.search(r"[_\d]|[a-z][A-Z]", code)]
    in_text = re.compile(rf"(?<![\w])(?:{'|'.join(coined)})(?![\w])", re.IGNORECASE) if coined else None
    plain = {code.casefold() for code in codes}
    labels = {code: " ".join(about.label.casefold().split()) for code, about in data.code_book.outcomes.items()}
    labels = {code: label for code, label in labels.items() if len(label.split()) > 1}

    def told(row: Row) -> dict[tuple[str, str], None]:
        """(path, "") where an outcome code stands, (path, label) where the label of some outcome does."""
        held: dict[tuple[str, str], None] = {}
        for leaf in row.leaves:
            if not isinstance(leaf.value, str):
                continue
            text = leaf.value.casefold()
            if text.strip() in plain or (in_text is not None and in_text.search(leaf.value)):
                held[leaf.path, ""] = None
            if " " in text:
                held.update({(leaf.path, label): None for label in labels.values() if label in text})
        return held

    parts = Parts(data, told)
    for task in data.tasks:
        answer = data.answers.get(task.task_id)
        own = labels.get(answer.outcome.code) if answer is not None else None
        for path, text in prompt_texts(task):
            if in_text is not None and in_text.search(text):
                found.add(path, "an outcome code", [task.task_id])
            elif own and own in " ".join(text.casefold().split()):
                found.add(path, "the label of the task's own outcome", [task.task_id])
        for part in parts.of(task):
            for path, label in part:
                if not label:
                    found.add(path, "an outcome code", [task.task_id])
                elif label == own:
                    found.add(path, "the label of the task's own outcome", [task.task_id])
    return found.findings()


def planted(data: LeakInput) -> LeakInput:
    code = data.answers[data.tasks[0].task_id].outcome.code
    return with_text(data, 0, lambda text: f"{text} [{code}]")


LEAK = Leak("outcome_literal", run, planted)
