"""Does the simulated requester notice what it was asked for? Held-out STAR dialogues, against nearest-question TF-IDF.

    python -m benchmarks.requester --export ../shared/real/star

A pair is one real wizard message (all that the wizard said since the user's last turn) and one slot that this user told after the
opening; it is true if the user's next turn holds the slot's value. All dialogues that are complete, of one task in scope and hold
a query with arguments count, not only certified tasks; those of held-out wizards or of the held-out time are tested on, those of
the training side are fitted on. A bare yes or no is no value here: it does not say what it answers.

Without its own question: the fact is known by its slot, its value and what training dialogues taught; the dialogue under test
taught nothing. Within the task: the facts as the task set holds them, with the questions really asked (among them the very
message), which is what an agent that asks as people did meets. Peer: per message the nearest training message by TF-IDF cosine,
or per slot the nearest one that it was told after, whichever is better on the training side, where its threshold is tuned too.
95% intervals by bootstrap over dialogues. Exit code 1 if the peer is not beaten in F1, or is markedly better in either measure.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from environments.asking import Learnt, learnt_from
from environments.requester import asked, prepare
from schemas.files import read_json
from schemas.paths import clean_dir, taskset_dir
from schemas.spec import Spec, load_spec
from schemas.task import Fact, RequesterSpec
from tasks import declared
from tasks.asking import FOLDS, Asked, Dialogue, best_threshold, fold_of, learn
from tasks.case import Case, open_clean, read_cases
from tasks.requester import TOKEN, Vocabulary, exchanges, requester_of, surface_values
from tasks.telling import BARE, Span, sound_spans

SPEC = Path("tasks/specs/star_v1.toml")
ROUNDS = 1000
MARKEDLY = 0.05
"""By how much the peer may be better in precision or in recall."""
Pair = tuple[bool, bool]
"""(called asked for, told)"""


@dataclass(slots=True)
class Row:
    dialogue: Dialogue
    values: dict[str, str]
    """Slot -> a value that the user told."""
    spec: RequesterSpec
    """The requester as the task set would hold it."""
    held_out: bool


def built(export: str) -> bool:
    """Runs the stages that are missing, as a user would. False where there is no export to run them on."""
    for stage, done in (
        ("ingest", clean_dir("star").parent.parent / "records" / "star"),
        ("deid", clean_dir("star")),
        ("tasks", taskset_dir("star_v1")),
    ):
        if not (done / "manifest.json").exists():
            if not Path(export).is_dir():
                return False
            extra = ["--export", export] if stage == "ingest" else []
            subprocess.run([sys.executable, "-m", stage, "--spec", str(SPEC), *extra], check=True)
    return True


def rows_of(spec: Spec) -> list[Row]:
    clean = open_clean(clean_dir("star"), spec.select)
    apis = declared.apis_of(clean)
    splits = read_json(taskset_dir("star_v1") / "splits.json")
    scope = {workflow.name for workflow in spec.workflows}
    found = []
    for case in read_cases(clean, clean.records()["record_id"].to_list()):
        task = case.last.get("task")
        if case.last.get("completion") != "Complete" or not isinstance(task, str) or task not in scope or case.opening is None:
            continue
        queries = [query for query in declared.queries_of(case) if query.arguments]
        side = side_of(case, task, splits)
        if queries and side and (row := _row(case, queries, apis, spec, held_out=side == "held out")):
            found.append(row)
    return found


def side_of(case: Case, task: str, splits: dict[str, Any]) -> str:
    """ "train", "held out" or "" (between them), as the hold-out of the task set places such a case."""
    if case.opened_us is None or case.closed_us is None:
        return ""
    boundary = splits["boundary_us"]
    if case.last.get("wizard") in splits["groups"] or case.opened_us >= boundary:
        return "held out"
    early = case.closed_us < boundary and case.opened_us < boundary - splits["embargo_us"].get(task, 0)
    return "train" if early else ""


def _row(case: Case, queries: list[declared.Query], apis: dict[str, declared.Api], spec: Spec, *, held_out: bool) -> Row | None:
    values = declared.values_by_slot(queries, apis)
    values = {slot: frozenset(v for v in known if v.casefold() not in BARE) for slot, known in values.items()}
    turns, told = [], {}
    for exchange in exchanges(case):
        spans = []
        for slot, said in surface_values(exchange.answer, values).items():
            start = exchange.answer.find(said)
            spans.append(Span(slot, start, start + len(said)))
            told[slot] = said
        slots = frozenset(span.slot for span in sound_spans(spans, ()))
        if exchange.message:
            turns.append(Asked(exchange.message, slots))
    dialogue = Dialogue(case.record_id, tuple(turns))
    if not turns or not dialogue.slots:
        return None
    inputs = {name for query in queries for name in apis[query.api].inputs}
    words = Vocabulary({slot: said for slot, said in spec.requester.slots.items() if slot in inputs}, {})
    lists = declared.lists_by_slot(queries, apis)
    own = requester_of(case, words, spec.requester, values=declared.values_by_slot(queries, apis), listed=lists)
    return Row(dialogue, {slot: told[slot] for slot in sorted(dialogue.slots)}, own, held_out)


# --- ours ---------------------------------------------------------------------------------------------------------------


def without_own_question(rows: Sequence[Row], learnt: Learnt, spec: Spec) -> tuple[list[list[Pair]], float]:
    """Pairs by dialogue, and microseconds a message."""
    found, spent, messages = [], 0.0, 0
    for row in rows:
        facts = tuple(Fact(id=slot, slots=(slot,), values={slot: value}, answer=value) for slot, value in row.values.items())
        requester = prepare(RequesterSpec(facts=facts, dont_know=()), spec.requester.slots, learnt=learnt)
        pairs = []
        for turn in row.dialogue.turns:
            start = time.process_time()
            called = {fact.id for fact in asked(requester, turn.message)}
            spent, messages = spent + time.process_time() - start, messages + 1
            pairs += [(slot in called, slot in turn.told) for slot in row.values]
        found.append(pairs)
    return found, 1e6 * spent / messages


def within_task(rows: Sequence[Row], learnt: Learnt, spec: Spec) -> list[list[Pair]]:
    found = []
    for row in rows:
        requester = prepare(row.spec, spec.requester.slots, learnt=learnt)
        pairs, told = [], dict[str, None]()
        for turn in row.dialogue.turns:
            facts = asked(requester, turn.message, told)
            told |= dict.fromkeys(fact.id for fact in facts)
            called = {slot for fact in facts for slot in fact.values}
            pairs += [(slot in called, slot in turn.told) for slot in row.values]
        found.append(pairs)
    return found


# --- the peer -----------------------------------------------------------------------------------------------------------


def nearest(fit: Sequence[Row], test: Sequence[Row], per_slot: bool) -> list[list[tuple[float, bool]]]:
    """Likeness of the message to the nearest training message that decides, for each pair, by dialogue."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    known = [(TOKEN.sub("TOKEN", turn.message), turn.told) for row in fit for turn in row.dialogue.turns if turn.told]
    vectors = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    table = vectors.fit_transform([message for message, _ in known])
    slots = sorted({slot for row in test for slot in row.values})
    after = {slot: [at for at, (_, told) in enumerate(known) if slot in told] for slot in slots}
    found = []
    for row in test:
        likeness = (vectors.transform([TOKEN.sub("TOKEN", t.message) for t in row.dialogue.turns]) @ table.T).toarray()
        pairs = []
        for turn, like in zip(row.dialogue.turns, likeness, strict=True):
            best = int(like.argmax())
            for slot in row.values:
                if per_slot:
                    score = float(like[after[slot]].max()) if after[slot] else 0.0
                else:
                    score = float(like[best]) if slot in known[best][1] else 0.0
                pairs.append((score, slot in turn.told))
        found.append(pairs)
    return found


def peer(train: Sequence[Row], test: Sequence[Row]) -> tuple[str, list[list[Pair]]]:
    """The better form of the peer on the training side, with its threshold from there, on the held-out side."""
    best: tuple[float, str, bool, int] | None = None
    for name, per_slot in (("nearest message", False), ("nearest message a slot", True)):
        scored = []
        for fold in range(FOLDS):
            inside = [row for row in train if fold_of(row.dialogue.task_id) != fold]
            outside = [row for row in train if fold_of(row.dialogue.task_id) == fold]
            scored += [(1000 * score, told) for pairs in nearest(inside, outside, per_slot) for score, told in pairs]
        limit = best_threshold(scored)
        f1 = measures([[(score >= limit, told) for score, told in scored]])[2]
        if best is None or f1 > best[0]:
            best = (f1, name, per_slot, limit)
    assert best is not None
    _, name, per_slot, limit = best
    tested = nearest(train, test, per_slot)
    return name, [[(1000 * score >= limit, told) for score, told in pairs] for pairs in tested]


# --- measures -----------------------------------------------------------------------------------------------------------


def measures(dialogues: Sequence[Sequence[Pair]]) -> tuple[float, float, float]:
    """(precision, recall, F1) over all pairs, each in [0, 1]."""
    right = sum(called and told for pairs in dialogues for called, told in pairs)
    called = sum(called for pairs in dialogues for called, _ in pairs)
    told = sum(told for pairs in dialogues for _, told in pairs)
    return right / max(1, called), right / max(1, told), 2 * right / max(1, called + told)


def intervals(count: int, figures: Callable[[Sequence[int]], Sequence[float]], seed: int) -> list[tuple[float, float]]:
    """95% intervals of each figure when dialogues are drawn again with replacement."""
    rng = random.Random(seed)
    drawn = [figures([rng.randrange(count) for _ in range(count)]) for _ in range(ROUNDS)]
    found = []
    for column in zip(*drawn, strict=True):
        ordered = sorted(column)
        found.append((ordered[round(0.025 * ROUNDS)], ordered[round(0.975 * ROUNDS) - 1]))
    return found


def main(export: str) -> int:
    if not built(export):
        print(f"could not run: star_v1 is not built, and {export} holds no export; name it with --export", file=sys.stderr)
        return 2
    spec = load_spec(SPEC)
    rows = rows_of(spec)
    train, test = [r for r in rows if not r.held_out], [r for r in rows if r.held_out]
    start = time.process_time()
    learnt = learnt_from(learn([row.dialogue for row in train], spec.requester.slots, {}))
    fitting = time.process_time() - start
    ours, speed = without_own_question(test, learnt, spec)
    bare, _ = without_own_question(test, Learnt(), spec)
    name, theirs = peer(train, test)
    task = within_task(test, learnt, spec)
    pairs = sum(map(len, ours))
    print(f"{len(train)} training and {len(test)} held-out dialogues, {pairs} pairs, {sum(t for p in ours for _, t in p)} told")
    print(f"fitted in {fitting:.1f} CPU s; {speed:.0f} us a message, target < 1000{'' if speed < 1000 else '   MISS'}")
    print(f"{'':<44}{'precision':>24}{'recall':>24}{'F1':>24}")
    counted = {}
    for label, found in (
        ("ours, without the dialogue's own questions", ours),
        (f"TF-IDF, {name}", theirs),
        ("the spec's words alone", bare),
        ("ours, within the task", task),
    ):
        counts = [(sum(c and t for c, t in p), sum(c for c, _ in p), sum(t for _, t in p)) for p in found]
        counted[label] = counts
        spread = intervals(len(counts), lambda at, counts=counts: _of(counts, at), spec.seed)  # type: ignore[misc]
        cells = "".join(f"{f'{v:.3f} [{a:.3f}, {b:.3f}]':>24}" for v, (a, b) in zip(measures(found), spread, strict=True))
        print(f"{label:<44}{cells}")
    first, second = list(counted.values())[:2]
    apart = intervals(len(first), lambda at: [a - b for a, b in zip(_of(first, at), _of(second, at), strict=True)], spec.seed)
    print(
        "ours minus TF-IDF, 95% interval: "
        + ", ".join(f"{n} [{a:+.3f}, {b:+.3f}]" for n, (a, b) in zip(("precision", "recall", "F1"), apart, strict=True))
    )
    mine, other = measures(ours), measures(theirs)
    print(
        "ours / TF-IDF: "
        + ", ".join(f"{n} {a / b:.2f}x" for n, a, b in zip(("precision", "recall", "F1"), mine, other, strict=True))
    )
    won = mine[2] > other[2] and mine[0] > other[0] - MARKEDLY and mine[1] > other[1] - MARKEDLY
    print("better than TF-IDF" if won else "NOT better than TF-IDF   MISS")
    return 0 if won and speed < 1000 else 1


def _of(counts: Sequence[tuple[int, int, int]], drawn: Sequence[int]) -> tuple[float, float, float]:
    right = sum(counts[at][0] for at in drawn)
    called = sum(counts[at][1] for at in drawn)
    told = sum(counts[at][2] for at in drawn)
    return right / max(1, called), right / max(1, told), 2 * right / max(1, called + told)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--export", default=os.environ.get("EXPORT", "../shared/real/star"), help="folder of the STAR archives")
    sys.exit(main(parser.parse_args().export))
