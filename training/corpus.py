"""From the training side's trajectories to a vocabulary, warm-start tapes, and how much of the reference is expressible.

Reads `train/` alone. Everything that the tokenizer or the grammar learns is learned here, so nothing fitted sees held-out rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from environments.episode import tools_for
from environments.tool import Tool
from schemas.episode import Observation, Refusal, RefusalKind, ToolCall
from schemas.errors import StageError
from schemas.files import canonical_json, read_models
from schemas.task import Trajectory
from schemas.taskset import TaskSet
from training.chat import WORD, Inexpressible, Memory, render, slot_type
from training.grammar import ASK, ToolGrammar, canonical, sentences, spoken_lists
from training.in_force import PLACE, InForce, Limits, in_force, list_symbols, marks
from training.script import Codec, Script
from training.tape import Tape
from training.tokens import (
    IDENTITY,
    SPECIALS,
    ArgumentRule,
    Vocabulary,
    bin_symbols,
    coded,
    constant_symbol,
    policy_edges,
)

SLOTS = 12
"""Slots of each type (AMOUNT: twice as many)."""
CONSTANTS = 48
"""Constants kept of one argument, most used first."""
EXTRA_FORMS = 48
"""Sentences of reference messages that ask for no known slot, most used first."""
COMMON = 0.1
"""Share of the requests above which a word is common."""
CONSTANT_AFTER = 20
"""A key whose rendering is the same in at least so many observations tells nothing and is left out."""


def read_trajectories(taskset: TaskSet) -> list[Trajectory]:
    """The episodes to imitate. Raises StageError where there are none or the side is not the training side."""
    if taskset.side != "train":
        raise StageError(f"{taskset.folder}: warm starts read the training side alone, not {taskset.side!r}")
    rows = [
        row for row in read_models(taskset.folder / "train" / "trajectories.jsonl", Trajectory) if row.task_id in taskset.tasks
    ]
    if not rows:
        raise StageError(f"{taskset.folder / 'train' / 'trajectories.jsonl'} holds no episode of a training task")
    return rows


def parse_call(text: str) -> ToolCall:
    return ToolCall.model_validate_json(text)


def tools_of(taskset: TaskSet) -> dict[str, Tool]:
    """Every tool that a task of this side offers."""
    return {name: tool for task in taskset.tasks.values() for name, tool in tools_for(taskset, task).items()}


def listed_values(spec: Mapping[str, Any]) -> Sequence[Any]:
    """What an argument's JSON schema lists: an enumeration, or true and false."""
    return spec.get("enum") or ((True, False) if spec.get("type") == "boolean" else ())


class _Census:
    """Counts what the trajectories show; the vocabulary is read off it."""

    def __init__(self, loose: Vocabulary) -> None:
        self.loose = loose
        self.symbols: Counter[str] = Counter()
        self.renderings: dict[str, Counter[tuple[str, ...]]] = {}
        self.types: dict[str, set[str]] = {}
        self.constants: dict[str, Counter[str]] = {}
        self.keys: dict[str, set[str]] = {}
        self.messages: Counter[str] = Counter()
        self.openings: Counter[str] = Counter()

    def observe(self, text: str, memory: Memory, source: str) -> None:
        if read_back(text).kind == "refusal":
            return
        by_path: dict[str, list[str]] = {}
        parts = render(text, memory, self.loose, source)
        if source == "opening":
            self.openings.update(
                {word for _, symbols in parts for s in symbols if s[:2] in ("w:", "v:", "b:") for word in s[2:].split("_")}
            )
        for path, symbols in parts:
            self.symbols.update(symbols)
            by_path.setdefault(path, []).extend(symbols)
        for path, symbols in by_path.items():
            self.renderings.setdefault(path, Counter())[tuple(symbols)] += 1

    def rules(self, rules: InForce) -> None:
        for path, symbols in list_symbols(rules):
            self.renderings.setdefault(path, Counter())[tuple(symbols)] += 1

    def act(self, call: ToolCall, memory: Memory, free: set[str]) -> None:
        for name, value in call.arguments.items():
            key = f"{call.tool}.{name}"
            if isinstance(value, dict):
                self.keys.setdefault(key, set()).update(f"k:{inner}" for inner in value)
            if key not in free or not isinstance(value, str | int):
                continue
            symbol = memory.symbols.get(value)
            if symbol is not None:
                self.types.setdefault(key, set()).add(slot_type(symbol))
            elif not (isinstance(value, str) and IDENTITY.search(value)):
                self.constants.setdefault(key, Counter())[canonical_json(value)] += 1


def build_vocabulary(taskset: TaskSet, trajectories: Sequence[Trajectory], *, min_count: int = 5) -> Vocabulary:
    """The symbols that the training side needs: words seen at least `min_count` times, every key, tool, enum value and bin."""
    tools = tools_of(taskset)
    texts = [c.text for task in taskset.tasks.values() for policy in taskset.policies(task) for c in policy.clauses]
    day_edges, amount_edges = policy_edges(texts)
    census = _Census(Vocabulary(SPECIALS, day_edges, amount_edges, {}, {}, {}, by_kind=True))
    free = {f"{n}.{a}" for n, t in tools.items() for a, spec in t.parameters.get("properties", {}).items() if "enum" not in spec}
    for trajectory in trajectories:
        rules = in_force(taskset.tasks[trajectory.task_id])
        memory = Memory(limits=Limits(rules))
        census.rules(rules)
        source = "opening"
        for text, action in zip(trajectory.observations, (*trajectory.actions, None), strict=True):
            census.observe(text, memory, source)
            if action is not None:
                call = parse_call(action)
                source = call.tool
                if call.tool == ASK and isinstance(call.arguments.get("text"), str):
                    census.messages[call.arguments["text"]] += 1
                else:
                    census.act(call, memory, free)
    arguments = {key: _rule(census, key) for key in sorted({*census.types, *census.constants, *census.keys})}
    types = {slot_type(s) for s in census.symbols if s.startswith("@")} | {t for rule in arguments.values() for t in rule.types}
    slots = {kind: 2 * SLOTS if kind == "AMOUNT" else SLOTS for kind in sorted(types)}
    forms = _forms(taskset, census.messages)
    enums = {
        constant_symbol(value)
        for tool in tools.values()
        for spec in tool.parameters.get("properties", {}).values()
        for value in listed_values(spec)
    }
    bare = Vocabulary(SPECIALS, day_edges, amount_edges, slots, arguments, forms)
    grammar = ToolGrammar({name: tool.parameters for name, tool in tools.items()}, bare)
    constants = enums | {c for parameters in grammar.tools.values() for p in parameters for c in p.constants}
    constant = {
        path for path, seen in census.renderings.items() if len(seen) == 1 and seen.total() >= CONSTANT_AFTER and path.count("/")
    }
    ruled = {path: seen for path, seen in census.renderings.items() if path.startswith(f"{PLACE}/") and path not in constant}
    structure = {
        *(symbol for seen in ruled.values() for symbols in seen for symbol in symbols),
        *(mark for task in taskset.tasks.values() for mark in marks(in_force(task))),
        *bin_symbols(day_edges, amount_edges),
        *(f"@{kind}_{n}" for kind, size in slots.items() for n in range(1, size + 1)),
        *(f"T:{name}" for name in tools),
        *(f"r:{kind.value}" for kind in RefusalKind),
        *constants,
        *(form for form in forms if form == canonical(form)),
        "o:text",
        "o:refusal",
        *(s for s in census.symbols if s.startswith("k:")),
        *(key for rule in arguments.values() for key in rule.keys),
        *(s for s, count in _as_read(census.symbols, min_count).items() if count >= min_count),
        *(coded(value, governed=governed) for value in ("true", "false", "null") for governed in (False, True)),
    }
    return Vocabulary(
        symbols=(*SPECIALS, *sorted(structure - set(SPECIALS))),
        day_edges=day_edges,
        amount_edges=amount_edges,
        slots=slots,
        arguments=arguments,
        forms=forms,
        constant_paths=frozenset(constant),
        common=frozenset(word for word, count in census.openings.items() if count > COMMON * len(trajectories)),
        ordered=True,
        by_kind=True,
        named=frozenset(constant_symbol(v) for t in tools.values() for listed in spoken_lists(t.parameters) for v in listed),
    )


def _as_read(symbols: Mapping[str, int], min_count: int) -> Counter[str]:
    """How often each word and each value of a coded field will be read: a value too rare for a symbol is read as its words."""
    found = Counter({s: count for s, count in symbols.items() if s.startswith(("w:", "v:", "b:"))})
    for symbol in [s for s, count in found.items() if s.startswith(("v:", "b:")) and count < min_count]:
        for word in WORD.findall(symbol[2:]):
            found[f"w:{word}"] += found[symbol]
    return found


def _rule(census: _Census, key: str) -> ArgumentRule:
    constants = [text for text, _ in sorted(census.constants.get(key, Counter()).items(), key=lambda item: (-item[1], item[0]))]
    keys = tuple(sorted(census.keys.get(key, ())))
    return ArgumentRule(tuple(sorted(census.types.get(key, ()))), tuple(constants[:CONSTANTS]), keys)


def _forms(taskset: TaskSet, messages: Counter[str]) -> dict[str, str]:
    """Form symbol "f:<what it asks>:<i>" -> sentence, from the task set's forms and the reference messages, most used first.

    What a sentence asks are the slots whose words it holds; one that holds none has a meaning of its own.
    """
    words: dict[str, tuple[str, ...]] = {}
    for task in taskset.tasks.values():
        for system in task.systems:
            words |= {slot: tuple(texts) for slot, texts in system.config.get("slots", {}).items()}
    used: Counter[str] = Counter()
    for text, count in messages.items():
        used.update(dict.fromkeys(sentences(text), count))
    for texts in taskset.forms.get("ask", {}).values():
        used.update({sentence: 0 for text in texts for sentence in sentences(text)})
    forms: dict[str, str] = {}
    sizes: Counter[str] = Counter()
    for sentence, count in sorted(used.items(), key=lambda item: (-item[1], item[0])):
        asked = sorted(slot for slot, phrases in words.items() if any(p in sentence.lower() for p in phrases))
        meaning = "+".join(asked) or f"said{sizes['said']}"
        if not asked:
            if count == 0 or sizes["said"] >= EXTRA_FORMS:
                continue
            sizes["said"] += 1
        forms[f"f:{meaning}:{sizes[meaning]}"] = sentence
        sizes[meaning] += 1
    return dict(sorted(forms.items()))


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the reference the grammar can write."""

    steps: int
    expressible: int
    reasons: dict[str, int]
    """Why the others are not, with their counts."""
    cut: int = 0
    """Episodes that are longer than the context."""

    @property
    def share(self) -> float:
        """In [0, 1]; 1 where there are no steps."""
        return self.expressible / self.steps if self.steps else 1.0


def warm_tapes(taskset: TaskSet, trajectories: Iterable[Trajectory], codec: Codec, context: int) -> tuple[list[Tape], Coverage]:
    """The reference episodes as tapes, and the coverage of their steps.

    An episode stops before its first inexpressible step: what came before it is still imitated.
    """
    tapes: list[Tape] = []
    steps, expressible, cut = 0, 0, 0
    reasons: Counter[str] = Counter()
    for trajectory in trajectories:
        script = codec.open(taskset, trajectory.task_id, None)
        tape, whole = Tape(trajectory.task_id), True
        tape.read(script.read(read_back(trajectory.observations[0]), "opening"), -1)
        for turn, (action, after) in enumerate(zip(trajectory.actions, trajectory.observations[1:], strict=True)):
            steps += 1
            call = parse_call(action)
            try:
                ids = script.spell(script.symbols(call))
            except Inexpressible as error:
                reasons[str(error)] += 1
                whole = False
                ids = []
            else:
                expressible += 1
            if whole and len(tape.ids) + len(ids) + len(script.cue) > context:
                cut += 1
                whole = False
            if whole:
                tape.read(script.cue, turn - 1)
                _write(tape, ids, script, turn)
                if turn + 1 < len(trajectory.actions):
                    tape.read(script.read(read_back(after), call.tool), turn)
            else:
                script.read(read_back(after), call.tool)  # what it shows may be needed by the later steps that are counted
        tape.ids, tape.kinds, tape.turns = tape.ids[:context], tape.kinds[:context], tape.turns[:context]
        if any(tape.actions()):
            tapes.append(tape)
    return tapes, Coverage(steps, expressible, dict(sorted(reasons.items())), cut)


def read_back(text: str) -> Observation:
    """The observation of which a trajectory holds the text: refusals are told by their own two fields."""
    try:
        refusal = Refusal.from_text(text)
    except ValueError:
        return Observation(kind="result", text=text)
    return Observation(kind="refusal", text=text, refusal=refusal)


def _write(tape: Tape, ids: Sequence[int], script: Script, turn: int) -> None:
    for index, token in enumerate(ids):
        legal = script.legal(ids[:index])
        if legal is not None and token not in legal:
            raise AssertionError(f"token {token} is written but not legal after {list(ids[:index])}")
        if legal is not None and len(legal) == 1:
            tape.force(token, turn)
        else:
            tape.choose(token, turn, legal, 0.0)
    script.decode(ids)
