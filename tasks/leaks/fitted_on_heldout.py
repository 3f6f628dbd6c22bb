"""Something fitted that goes with the task set saw held-out tasks: by what it says that it was fitted on, and by what it holds.

A message form that has a run of words which only held-out cases' agents wrote was learned from them, whatever it says.
"""

from __future__ import annotations

from dataclasses import replace

from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import TOKEN, Found, grams, grams_among

SIZE = 6


def run(data: LeakInput) -> list[Finding]:
    if not data.fitted_on and not data.forms and not data.trajectories:
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
            said = {g for text in data.later_messages.get(task.task_id, ()) for g in grams_among(text, SIZE, runs)}
            if task.task_id in held:
                later.update(dict.fromkeys(said, task.task_id))
            else:
                train |= said
        texts = [(kind, text) for kind, by in sorted(data.forms.items()) for _, all_ in sorted(by.items()) for text in all_]
        for kind, text in texts:
            own = grams(text, SIZE)
            if own and own <= later.keys() and not own & train:
                found.add(f"forms/{kind}", "a form in words that only held-out cases hold", [])
    _named(data, held, found)
    for episode in data.trajectories:
        if episode.task_id in held:
            found.add("trajectories", "an episode of a held-out task to imitate", [episode.task_id])
    return found.findings()


def _named(data: LeakInput, held: set[str], found: Found) -> None:
    """Forms name no case, record or person: whoever they name is somebody's."""
    ids = {t.opening.record.record_id for t in data.tasks if t.task_id in held} | {t.opening.requester_id for t in data.tasks}
    ids |= {answer.outcome.about for answer in data.answers.values() if answer.outcome.about} | held
    texts = [(kind, text) for kind, by in sorted(data.forms.items()) for texts in by.values() for text in texts]
    whole = "\n".join([text for _, text in texts])
    ids = {name for name in ids if name in whole}
    for kind, text in texts:
        if TOKEN.search(text) or any(name in text for name in ids):
            found.add(f"forms/{kind}", "a form names a case, a record or a person", [])


def planted(data: LeakInput) -> LeakInput:
    held = next(task.task_id for task in data.tasks if data.held_out(task))
    return replace(data, fitted_on={**data.fitted_on, "forms": (*data.fitted_on.get("forms", ()), held)})


LEAK = Leak("fitted_on_heldout", run, planted)
