"""What a human agent wrote after the cut stands in something shown: a run of six words, a sentence, or nearly one.

A sentence that no agent wrote in another case counts from four words on, and a whole message from six, in the request and in what
configures the tools; it is no leak where the requester wrote it too, by the records. A sentence is nearly there where a short
text is at least 80% like it (88% below twelve words), or where a record holds four fifths of its own words (in any order, over
any fields), own being those that the later messages of few cases have.

Runs that agents write in many cases are house style (a greeting, a closing) and tell nothing, nor does one that only joins two
sentences of that style; those of policies are known anyway.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

from schemas.task import TaskSpec, Trajectory
from tasks.leaks._decode import apart, disguised
from tasks.leaks._plant import with_text
from tasks.leaks._states import Column, Look, Parts, Row, once
from tasks.leaks._stock import PARAGRAPHS, Gram, Stock
from tasks.leaks._stock import sentences as sentences_of
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import (
    MESSAGES,
    SAID,
    Found,
    Texts,
    answers_recorded,
    grams,
    grams_among,
    line_of,
    opened,
    prompt_texts,
    shared_texts,
    words,
)

Place = tuple[str, str, str]
"""Record, path and text of a value."""
SIZE = 6
COMMON = 2
"""A run in the later messages of this many cases, or in this many records of a state, is house style."""
FEWEST = 2
"""Runs that an opening must share: agents say back one run of the request's own ("from A to B and C"), seldom more."""
QUOTED = re.compile(r"last comment in request\b.*|^\s*>.*?$|^on .{4,80} wrote:.*", re.IGNORECASE | re.DOTALL | re.MULTILINE)
"""What a message repeats of somebody else's: merge notices, quoted lines and replies."""
SHORTEST_LINE = 4
"""Words of the shortest sentence that stands in a request whole."""
FEWEST_WORDS = 6
"""Words of the shortest sentence that is compared whole."""
LONG = 12
"""Words of a sentence below which it has to be ALIKE_SHORT: agents say short ones of the request's back in their own words."""
ALIKE, ALIKE_SHORT = 80, 88
"""Likeness, of 100, from which a text holds a sentence."""
RARE = 2
"""Cases whose later messages hold a word, up to which it is a sentence's own."""
FEWEST_OWN, SHARE = 3, 0.8
"""Own words of a sentence, and the share of them in one record, from which the record holds it."""
MAYBE = 0.4
"""Share of a sentence's own words from which a record is read for something like it: slips of the pen spoil the others."""
SHORTEST = 20
"""Characters of the shortest value that can hold SIZE words worth comparing."""


def run(data: LeakInput) -> list[Finding]:
    found = Found("resolution_text")
    messages = {
        task.task_id: [QUOTED.sub(" ", text) for text in data.later_messages.get(task.task_id, ())] for task in data.tasks
    }
    in_words = {task_id: [words(text) for text in texts] for task_id, texts in messages.items()}
    # A run ends with its paragraph: a stock sentence with a stock closing behind it is nobody's own.
    later = {
        task_id: {gram for text in texts for part in PARAGRAPHS.split(text) for gram in grams(part, SIZE)}
        for task_id, texts in messages.items()
    }
    spread = Counter(gram for runs in later.values() for gram in runs)
    telling = {gram for gram, tasks in spread.items() if tasks < COMMON}
    public: dict[str, set[Gram]] = {}
    stock = Stock(messages, COMMON)

    def told(column: Column) -> Look[tuple[Gram, str]] | None:
        """Runs of some case's later messages that stand in a value, and the path."""
        if column.sort != "text":
            return None
        path = column.path
        return lambda text: [(gram, path) for gram in grams_among(text, SIZE, telling)] if len(text) >= SHORTEST else []

    @once
    def spread_in(part: list[tuple[Row, tuple[Gram, str]]]) -> dict[Gram, tuple[int, str]]:
        """Run -> (records that hold it, path in the first of them)."""
        held: dict[Gram, tuple[int, str]] = {}
        for (_, gram), path in {(row, gram): path for row, (gram, path) in part}.items():
            records, first = held.get(gram, (0, path))
            held[gram] = (records + 1, first)
        return held

    # What the requester says in an episode is checked where the requester's facts are.
    episodes = {e.task_id: [text for text in e.observations[1:] if not text.startswith(SAID)] for e in data.trajectories}
    imitated = {episode.task_id: episode for episode in data.trajectories}
    shorter = {task_id: {said for text in texts for said in _sentences(text)} for task_id, texts in messages.items()}
    sentences = {task_id: {said for said in own if len(said.split()) >= FEWEST_WORDS} for task_id, own in shorter.items()}
    told_by = Counter(said for own in shorter.values() for said in own)

    @once
    def configured(texts: Texts) -> Texts:
        """What configures the tools, as words in one case."""
        said = ((path, text) for path, text in texts if path.startswith("systems/") and len(text) >= SHORTEST)
        return [(path, f" {' '.join(words(text))} ") for path, text in said]

    of_words = Counter(word for own in sentences.values() for word in {w for said in own for w in said.split()})
    rare = frozenset(word for word, count in of_words.items() if count <= RARE and len(word) > 2)

    def own_words(column: Column) -> Look[tuple[str, str, str]] | None:
        """(rare word, path, text) of a value."""
        path = column.path
        return (lambda text: [(w, path, text) for w in rare.intersection(words(text))]) if column.sort == "text" else None

    @once
    def by_word(part: list[tuple[Row, tuple[str, str, str]]]) -> dict[str, set[Place]]:
        """Rare word -> the places that hold it."""
        held: dict[str, set[Place]] = {}
        for row, (word, path, text) in part:
            held.setdefault(word, set()).add((row.record_id, path, text))
        return held

    asked = [said for said, count in told_by.items() if count >= COMMON]
    near: dict[str, bool] = {}

    def reworded(gram: Gram, own: set[str]) -> bool:
        """True where the run stands only in sentences that differ little from one of house style ("can you" for "could you"):
        agents ask alike for the same thing, in an earlier case too."""
        holding = [said for said in own if f" {' '.join(gram)} " in f" {said} "]
        for said in holding:
            if said not in near:
                near[said] = _near_any(said, asked)
        return bool(holding) and all(near[said] for said in holding)

    bags, parts = Parts(data, own_words), Parts(data, told)
    for task in data.tasks:
        own = later[task.task_id] & telling
        for digest in task.policies if own else ():
            if digest not in public:
                clauses = data.content(digest).get("clauses", ())
                public[digest] = {gram for clause in clauses for gram in grams(str(clause.get("text", "")), SIZE)}
            own -= public[digest]
        held = [(path, grams_among(text, SIZE, own)) for path, text in prompt_texts(task)]
        held += [
            ("trajectories/observations", grams_among(text, SIZE, own)) for text in _may_say(episodes.get(task.task_id, ()), own)
        ]
        paths = {path for path, runs in held if len(runs) >= FEWEST and _kept(stock, task, runs) >= FEWEST}
        earlier = f"state/{task.opening.record.system}/{task.opening.record.kind}/{MESSAGES}"
        for part in map(spread_in, parts.of(task)):
            alone = [gram for gram in own & part.keys() if part[gram][0] < COMMON and not stock.joins(task.task_id, gram)]
            paths |= {
                path
                for gram in alone
                if not (path := part[gram][1]).startswith(f"{earlier}/") or not reworded(gram, shorter[task.task_id])
            }
        lines = [said for said in sentences[task.task_id] if told_by[said] < COMMON]
        # What the requester wrote is read where something is said: seldom.
        wrote = cache(partial(line_of, data.requester_turns.get(task.task_id, ())))
        whole = {f" {said} " for said in shorter[task.task_id] if told_by[said] < COMMON}
        whole |= {f" {' '.join(said)} " for said in in_words[task.task_id] if len(said) >= SIZE}
        if whole:
            texts = [(path, f" {' '.join(words(text))} ") for path, text in prompt_texts(task)]
            texts += configured(shared_texts(data, task))
            paths |= {path for path, text in texts if any(said in text and said not in wrote() for said in whole)}
            episode = imitated.get(task.task_id)
            if episode is not None and _shown(
                episode, whole, wrote, shared_texts(data, task), recorded=answers_recorded(data, task)
            ):
                paths.add("trajectories/observations")
        paths |= _nearly(task, [said for said in shorter[task.task_id] if told_by[said] < COMMON], wrote)
        for bag in bags.of(task) if lines else ():
            paths |= _scattered(by_word(bag), lines, rare, wrote)
        for path in paths:
            found.add(path, f"runs of {SIZE} words from after the cut", [task.task_id])
    return found.findings()


def _may_say(texts: Sequence[str], own: set[Gram]) -> list[str]:
    """The texts in which a run may stand: one of its words is the longest, and stands there in one case."""
    longest = {max(gram, key=len) for gram in own} if texts else set()
    return [text for text in texts if any(map(text.casefold().__contains__, longest))]


def _shown(episode: Trajectory, lines: set[str], wrote: Callable[[], str], shared: Texts, *, recorded: bool) -> bool:
    """True where an observation says one of the lines and neither the requester (who `wrote` by the records), nor an earlier
    action, nor a policy does: a tool may say the agent's words of the episode again, and a policy is known anyway. Of recorded
    answers (`recorded`), which agents repeat, counts what stands beside them."""
    longest = {max(line.split(), key=len) for line in lines}
    for place, observation in enumerate(episode.observations[1:], 1):
        text = apart(observation)[1] if recorded else observation
        low = text.lower()
        if observation.startswith(SAID) or not (disguised(text) or any(word in low for word in longest)):
            continue
        shown = _line(_inside(text))
        if held := [line for line in lines if line in shown and line not in wrote()]:
            public = [said for path, said in shared if path.startswith(("policies/", "rules/"))]
            known = _line("\n".join([*public, *map(_inside, episode.actions[:place])]))
            if any(line not in known for line in held):
                return True
    return False


def _inside(text: str) -> str:
    """A text and all that stands inside it."""
    return "\n".join(one for _, one in opened("", text))


def _line(text: str) -> str:
    """A text as words in one case, with room at both ends."""
    return f" {' '.join(words(text))} "


def _kept(stock: Stock, task: TaskSpec, runs: set[Gram]) -> int:
    """Runs that do not only join stock sentences."""
    return sum(not stock.joins(task.task_id, gram) for gram in runs)


def _near_any(said: str, style: list[str]) -> bool:
    """True where one of the sentences is like it as a whole."""
    from rapidfuzz import fuzz, process

    alike = ALIKE if len(said.split()) >= LONG else ALIKE_SHORT
    return process.extractOne(said, style, scorer=fuzz.ratio, score_cutoff=alike) is not None


def grams_of(said: list[str]) -> set[Gram]:
    return {tuple(said[i : i + SIZE]) for i in range(len(said) - SIZE + 1)}


def _sentences(text: str) -> set[str]:
    """A message's sentences of SHORTEST_LINE words and more, as words in one case."""
    return {" ".join(said) for said in sentences_of(text) if len(said) >= SHORTEST_LINE}


def _nearly(task: TaskSpec, lines: list[str], wrote: Callable[[], str]) -> set[str]:
    """Paths of short texts that are like a sentence which nothing is like that the requester wrote. The requester's later turns
    are not among them: people say each other's words again, and what a turn may not tell of the outcome is another check's."""
    from rapidfuzz import fuzz

    found = set()
    for path, text in prompt_texts(task):
        plain = " ".join(words(text))
        for said in lines:
            alike = ALIKE if len(said.split()) >= LONG else ALIKE_SHORT
            if (
                len(plain) >= alike / 100 * len(said)
                and fuzz.partial_ratio(said, plain, score_cutoff=alike)
                and not fuzz.partial_ratio(said, wrote(), score_cutoff=alike)
            ):
                found.add(path)
    return found


def _scattered(part: Mapping[str, set[Place]], lines: list[str], rare: frozenset[str], wrote: Callable[[], str]) -> set[str]:
    """Paths of a record that holds most of a sentence's own words, or many of them in something like the sentence."""
    found = set()
    for said in lines:
        own = rare.intersection(said.split())
        if len(own) < FEWEST_OWN:
            continue
        hits: dict[str, set[str]] = {}
        where: dict[str, dict[str, str]] = {}
        for word in own:
            for record_id, path, text in part.get(word, ()):
                hits.setdefault(record_id, set()).add(word)
                where.setdefault(record_id, {})[path] = text
        for record_id, held in hits.items():
            texts = where[record_id]
            if len(held) >= SHARE * len(own) or (len(held) >= MAYBE * len(own) and _like(said, texts, wrote)):
                found.add(min(texts))
    return found


def _like(said: str, texts: Mapping[str, str], wrote: Callable[[], str]) -> bool:
    """True where texts, one behind the other, hold something like a sentence which nothing is like that the requester wrote."""
    from rapidfuzz import fuzz

    alike = ALIKE if len(said.split()) >= LONG else ALIKE_SHORT
    whole = " ".join(words(" ".join(texts[path] for path in sorted(texts))))
    return (
        len(whole) >= alike / 100 * len(said)
        and fuzz.partial_ratio(said, whole, score_cutoff=alike) > 0
        and not fuzz.partial_ratio(said, wrote(), score_cutoff=alike)
    )


def planted(data: LeakInput) -> LeakInput:
    index = next(i for i, t in enumerate(data.tasks) if any(len(grams(m, SIZE)) for m in data.later_messages.get(t.task_id, ())))
    message = max(data.later_messages[data.tasks[index].task_id], key=len)
    return with_text(data, index, lambda text: f"{text}\n{message}")


LEAK = Leak("resolution_text", run, planted)
