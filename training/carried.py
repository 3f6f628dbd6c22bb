"""Can the vocabulary of a run be carried to other tasks? What a policy would have to write there must be in it; what it only
reads may be missing and is counted.

To be written: tools, arguments, listed values, questions for a fact, kinds of values that arguments take. Without one of them a
task cannot be solved however long is trained. Only read: words (an unknown one is left out, or seen as "said before", as in any
episode), fields of records (one symbol for all unknown ones) and the numbers of new policies (they fall inside a bin).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from environments.tool import Tool
from schemas.task import Trajectory
from schemas.taskset import TaskSet
from training.chat import Memory, render
from training.corpus import build_vocabulary, listed_values, parse_call, tools_of
from training.grammar import canonical
from training.tokens import SPECIALS, Vocabulary, constant_symbol


@dataclass(frozen=True, slots=True)
class Carried:
    """What the new tasks show that an old vocabulary does not hold."""

    unwritable: tuple[str, ...]
    """Names of what could not be written; anything here forbids to go on."""
    words: int
    """Different words of texts that are unknown."""
    word_share: float
    """Of all words of the texts, in [0, 1]."""
    fields: tuple[str, ...]
    """Keys of records that are unknown."""
    numbers: int
    """Days and amounts of policies that are no edge of a bin."""

    def line(self) -> str:
        """One line for the operator."""
        said = f"{self.words} words of the new set are unknown and left out ({self.word_share:.1%} of what its texts say)"
        if self.fields:
            said += f", {len(self.fields)} fields read as the unknown symbol ({', '.join(self.fields[:3])})"
        return said + (f", {self.numbers} numbers of its policies fall inside a bin" if self.numbers else "")


def carried(old: Vocabulary, taskset: TaskSet, rows: Sequence[Trajectory]) -> Carried:
    """Compares a vocabulary with what `rows`, the reference episodes of `taskset`, would need."""
    needed = build_vocabulary(taskset, rows, min_count=1)
    shown = _shown(old, rows)
    said = {symbol: count for symbol, count in shown.items() if symbol.startswith("w:")}
    unknown = {symbol: count for symbol, count in said.items() if symbol not in old}
    edges = {*needed.day_edges} - {*old.day_edges}, {*needed.amount_edges} - {*old.amount_edges}
    return Carried(
        unwritable=tuple(dict.fromkeys(_unwritable(old, needed, tools_of(taskset)))),
        words=len(unknown),
        word_share=sum(unknown.values()) / max(1, sum(said.values())),
        fields=tuple(sorted(symbol[2:] for symbol in shown if symbol.startswith("k:") and symbol not in old)),
        numbers=sum(map(len, edges)),
    )


def _unwritable(old: Vocabulary, needed: Vocabulary, tools: dict[str, Tool]) -> list[str]:
    out = []
    for name, tool in sorted(tools.items()):
        if f"T:{name}" not in old:
            out.append(f"tool {name}")
            continue
        for argument, spec in tool.parameters.get("properties", {}).items():
            place = f"{name}.{argument}"
            out += [f"value {value!r} of {place}" for value in listed_values(spec) if constant_symbol(value) not in old]
            if (rule := needed.arguments.get(place)) is None:
                continue
            if place not in old.arguments:
                out.append(f"argument {place}")
            out += [f"kind of value {kind} of {place}" for kind in rule.types if kind not in old.slots]
    asked = sorted({form.split(":")[1] for form in needed.forms if form == canonical(form)})
    single = [fact for fact in asked if "+" not in fact and not fact.startswith("said")]
    return out + [f"question for {fact}" for fact in single if f"f:{fact}:0" not in old]


def _shown(old: Vocabulary, rows: Sequence[Trajectory]) -> Counter[str]:
    """Every symbol that the episodes show, all words kept, with its count."""
    loose = Vocabulary(SPECIALS, old.day_edges, old.amount_edges, {}, {}, {})
    counts: Counter[str] = Counter()
    for row in rows:
        memory, source = Memory(), "opening"
        for text, action in zip(row.observations, (*row.actions, None), strict=True):
            for _, symbols in render(text, memory, loose, source):
                counts.update(symbols)
            source = parse_call(action).tool if action is not None else source
    return counts
