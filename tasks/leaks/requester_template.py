"""The requester of a held-out task speaks the script of a training task: who learned that script knows the other's answers.

House phrases are no leak: what several training scripts say, however they are put together, tells nothing of one of them. So only
runs of words that few training scripts hold are compared, and a script too short to have enough of them is exempt.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

from schemas.task import Fact, TaskSpec
from tasks.leaks._plant import some
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import Found, grams

SIZE = 3
COMMON = 3
"""A run in this many training scripts is house phrasing."""
FEWEST = 8
"""Runs of its own from which a script can be told from others."""
ALIKE = 0.8
"""Jaccard likeness of the runs that are a script's own."""
Gram = tuple[str, ...]


def run(data: LeakInput) -> list[Finding]:
    found = Found("requester_template")
    scripts = {task.task_id: _script(task) for task in data.tasks}
    train = [task for task in data.tasks if not data.held_out(task)]
    spread = Counter(gram for task in train for gram in scripts[task.task_id])
    own = {task.task_id: {g for g in scripts[task.task_id] if spread[g] < COMMON} for task in train}
    holders: dict[Gram, list[str]] = defaultdict(list)
    for task in train:
        for gram in own[task.task_id]:
            holders[gram].append(task.task_id)
    for task in data.tasks:
        if not data.held_out(task):
            continue
        mine = {g for g in scripts[task.task_id] if spread[g] < COMMON}
        shared = Counter(other for gram in mine for other in holders.get(gram, ()))
        for other, count in shared.items():
            if len(own[other]) >= FEWEST and len(mine) >= FEWEST and count >= ALIKE * (len(mine) + len(own[other]) - count):
                found.add("requester/facts", "the script of a training task", [task.task_id])
                break
    return found.findings()


def _script(task: TaskSpec) -> set[Gram]:
    """Runs of words of the requester's turns; no run crosses from one turn to the next."""
    texts = [fact.answer for fact in task.requester.facts] + list(task.requester.dont_know)
    return {gram for text in texts for gram in grams(text, SIZE)}


def planted(data: LeakInput) -> LeakInput:
    def speaking(task: TaskSpec, text: str) -> TaskSpec:
        fact = Fact(id="f9", slots=("what_happened",), question="What happened?", answer=text)
        facts = (*task.requester.facts, fact)
        return task.model_copy(update={"requester": task.requester.model_copy(update={"facts": facts})})

    text = "Well, the courier rang at my neighbour's door first and then left the parcel behind the old garden shed in the rain."
    tasks = list(data.tasks)
    for index in (some(data, held_out=True), some(data, held_out=False)):
        tasks[index] = speaking(tasks[index], text)
    return replace(data, tasks=tuple(tasks))


LEAK = Leak("requester_template", run, planted)
