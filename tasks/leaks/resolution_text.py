"""A run of six words that a human agent wrote after the cut stands in the opening or the state.

Runs that agents write in many cases are house style (a greeting, a closing) and tell nothing; those of policies are known anyway.
"""

from __future__ import annotations

import re
from collections import Counter

from tasks.leaks._plant import with_text
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import Found, Parts, Row, grams, prompt_texts

Gram = tuple[str, ...]
SIZE = 6
COMMON = 2
"""A run in the later messages of this many cases, or in this many records of a state, is house style."""
FEWEST = 2
"""Runs that an opening must share: agents say back one run of the request's own ("from A to B and C"), seldom more."""
QUOTED = re.compile(r"last comment in request\b.*|^\s*>.*?$|^on .{4,80} wrote:.*", re.IGNORECASE | re.DOTALL | re.MULTILINE)
"""What a message repeats of somebody else's: merge notices, quoted lines and replies."""
SHORTEST = 20
"""Characters of the shortest value that can hold SIZE words worth comparing."""


def run(data: LeakInput) -> list[Finding]:
    found = Found("resolution_text")
    later = {
        task.task_id: {gram for text in data.later_messages.get(task.task_id, ()) for gram in grams(QUOTED.sub(" ", text), SIZE)}
        for task in data.tasks
    }
    spread = Counter(gram for runs in later.values() for gram in runs)
    telling = {gram for gram, tasks in spread.items() if tasks < COMMON}
    public: dict[str, set[Gram]] = {}

    def told(row: Row) -> dict[Gram, tuple[int, str]]:
        """Runs of some case's later messages that stand in this row -> (records that hold it, path)."""
        texts = [(leaf.path, leaf.value) for leaf in row.leaves if isinstance(leaf.value, str) and len(leaf.value) >= SHORTEST]
        return {gram: (1, path) for path, text in texts for gram in grams(text, SIZE) & telling}

    # What the requester says in an episode is checked where the requester's facts are.
    episodes = {
        e.task_id: [text for text in e.observations[1:] if not text.startswith('{"requester"')] for e in data.trajectories
    }
    parts = Parts(data, told, lambda first, other: (first[0] + other[0], first[1]))
    for task in data.tasks:
        own = later[task.task_id] & telling
        for digest in task.policies if own else ():
            if digest not in public:
                clauses = data.content(digest).get("clauses", ())
                public[digest] = {gram for clause in clauses for gram in grams(str(clause.get("text", "")), SIZE)}
            own -= public[digest]
        paths = {path for path, text in prompt_texts(task) if len(grams(text, SIZE) & own) >= FEWEST}
        for part in parts.of(task):
            paths |= {part[gram][1] for gram in own & part.keys() if part[gram][0] < COMMON}
        for text in episodes.get(task.task_id, ()):
            if len(grams(text, SIZE) & own) >= FEWEST:
                paths.add("trajectories/observations")
        for path in paths:
            found.add(path, f"runs of {SIZE} words from after the cut", [task.task_id])
    return found.findings()


def planted(data: LeakInput) -> LeakInput:
    index = next(i for i, t in enumerate(data.tasks) if any(len(grams(m, SIZE)) for m in data.later_messages.get(t.task_id, ())))
    message = max(data.later_messages[data.tasks[index].task_id], key=len)
    return with_text(data, index, lambda text: f"{text}\n{message}")


LEAK = Leak("resolution_text", run, planted)
