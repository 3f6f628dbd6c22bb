"""Something fitted that goes with the task set saw held-out tasks: by what it says that it was fitted on, and by what it holds.

A message form that has a run of words which only held-out cases' agents wrote was learned from them, whatever it says.
"""

from __future__ import annotations

from dataclasses import replace

from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import Found, grams

SIZE = 6


def run(data: LeakInput) -> list[Finding]:
    if not data.fitted_on and not data.forms:
        return [Finding("fitted_on_heldout", "not_applicable", detail="nothing fitted goes with the task set")]
    found = Found("fitted_on_heldout")
    held = {task.task_id for task in data.tasks if data.held_out(task)}
    for name, ids in sorted(data.fitted_on.items()):
        if seen := held & set(ids):
            # The artefact is to be fitted anew: dropping the tasks would not unlearn them.
            found.add(f"fitted/{name}", f"saw {len(seen)} held-out tasks ({', '.join(sorted(seen)[:3])})", [])
    runs = {tuple(gram) for by in data.forms.values() for texts in by.values() for text in texts for gram in grams(text, SIZE)}
    if runs:
        train: set[tuple[str, ...]] = set()
        later: dict[tuple[str, ...], str] = {}
        for task in data.tasks:
            said = {g for text in data.later_messages.get(task.task_id, ()) for g in grams(text, SIZE)} & runs
            if task.task_id in held:
                later.update(dict.fromkeys(said, task.task_id))
            else:
                train |= said
        texts = [(kind, text) for kind, by in sorted(data.forms.items()) for _, all_ in sorted(by.items()) for text in all_]
        for kind, text in texts:
            own = grams(text, SIZE)
            if own and own <= later.keys() and not own & train:
                found.add(f"forms/{kind}", "a form in words that only held-out cases hold", [])
    return found.findings()


def planted(data: LeakInput) -> LeakInput:
    held = next(task.task_id for task in data.tasks if data.held_out(task))
    return replace(data, fitted_on={**data.fitted_on, "forms": (*data.fitted_on.get("forms", ()), held)})


LEAK = Leak("fitted_on_heldout", run, planted)
