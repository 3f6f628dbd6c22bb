"""A run of six words that a human agent wrote after the cut stands in the opening or the state.

Runs that agents write in many cases are house style (a greeting, a closing) and tell nothing; those of policies are known anyway.
"""

from __future__ import annotations

from collections import Counter

from tasks.leaks._plant import with_text
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import Found, grams, prompt_texts, state_leaves

SIZE = 6
COMMON = 3
"""A run in the later messages of this many cases is house style."""
SHORTEST = 20
"""Characters of the shortest value that can hold SIZE words worth comparing."""


def run(data: LeakInput) -> list[Finding]:
    found = Found("resolution_text")
    later = {
        task.task_id: {gram for text in data.later_messages.get(task.task_id, ()) for gram in grams(text, SIZE)}
        for task in data.tasks
    }
    spread = Counter(gram for runs in later.values() for gram in runs)
    public: dict[str, set[tuple[str, ...]]] = {}
    for task in data.tasks:
        telling = {gram for gram in later[task.task_id] if spread[gram] < COMMON}
        if not telling:
            continue
        for digest in task.policies:
            if digest not in public:
                clauses = data.content(digest).get("clauses", ())
                public[digest] = {gram for clause in clauses for gram in grams(str(clause.get("text", "")), SIZE)}
            telling -= public[digest]
        texts = prompt_texts(task)
        texts += [(leaf.path, leaf.value) for leaf in state_leaves(data, task) if isinstance(leaf.value, str)]
        for path, text in texts:
            if len(text) >= SHORTEST and (shared := grams(text, SIZE) & telling):
                found.add(path, f"runs of {SIZE} words from after the cut", [task.task_id])
                telling -= shared
    return found.findings()


def planted(data: LeakInput) -> LeakInput:
    index = next(i for i, t in enumerate(data.tasks) if any(len(grams(m, SIZE)) for m in data.later_messages.get(t.task_id, ())))
    message = max(data.later_messages[data.tasks[index].task_id], key=len)
    return with_text(data, index, lambda text: f"{text}\n{message}")


LEAK = Leak("resolution_text", run, planted)
