"""Pieces of the yardstick's journals, and what it measures of differences and outcomes (see _yardstick)."""
# ruff: noqa: E501 - what is given and what is right of it stand on one line

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from rewards.outcome import Comparison, Difference, best, check_outcome, compare, own_changes
from schemas.episode import JournalEntry, RowChange, RowRef, ToolCall
from schemas.errors import GraderError
from schemas.task import Outcome

Measure = tuple[str, Any, Any]
"""(what is measured, what the grader says, what is right)."""
CLOCK = "2025-03-01T09:00:00Z"
REFUSED = "GraderError"


def refusal_of(work: Callable[[], Any]) -> str:
    """REFUSED where `work` raises GraderError, else ""."""
    try:
        work()
    except GraderError:
        return REFUSED
    return ""


def change_of(op: Any, record: str | None, kind: str = "row", before: dict[str, Any] | None = None, **fields: Any) -> RowChange:
    return RowChange(system="s", kind=kind, op=op, record_id=record, fields=fields, before=before or {})


def entry_of(step: int, tool: str, *changes: RowChange, finished: bool = False, **more: Any) -> JournalEntry:
    call = ToolCall(tool=tool, arguments=more.pop("arguments", {}))
    fields: dict[str, Any] = {"ok": True, "result": {"done": True}, "clock": CLOCK, **more}
    return JournalEntry(step=step, call=call, changes=changes, finished=finished, **fields)


def finish_of(step: int = 9, answer: dict[str, Any] | None = None, code: str = "good", about: str = "r1") -> JournalEntry:
    arguments = {"code": code, "about": about, **({} if answer is None else {"answer": answer})}
    return entry_of(step, "resolve", arguments=arguments, finished=True)


def outcome_of(*changes: RowChange, code: str = "good", ignored: tuple[str, ...] = (), **more: Any) -> Outcome:
    return Outcome(kind=more.pop("kind", "difference"), code=code, changes=changes, ignored_fields=ignored, **more)


def difference_of(changes: Sequence[RowChange], ignored: tuple[str, ...] = ()) -> Difference:
    found = Difference(frozenset(ignored))
    for change in changes:
        found.add(change)
    return found


def _told(found: Comparison) -> tuple[list[str], list[str], int, bool, float]:
    """(criteria met, criteria missed, expected fields with a wrong value, right, quality)."""
    met = sorted(name for name, is_met in found.criteria.items() if is_met)
    missed = sorted(found.criteria.keys() - set(met))
    return met, [*missed, *found.collateral], found.wrong, found.right, round(found.quality, 6)


def difference_measures() -> Iterator[Measure]:
    set_a, b = change_of("update", "1", before={"a": 1}, a=2), "b"
    back = change_of("update", "1", before={"a": 2}, a=1)
    made, more = change_of("create", "9", a=1), change_of("update", "9", before={}, b=2)
    gone, gone_made = change_of("delete", "1"), change_of("delete", "9")
    rows: tuple[tuple[str, Sequence[RowChange], Any], ...] = (
        ("an update", [set_a], (1, 0, 0)),
        ("an update taken back", [set_a, back], (0, 0, 0)),
        ("an update of a value that nobody knew", [change_of("update", "1", a=2)], (1, 0, 0)),
        ("two updates of two fields", [set_a, change_of("update", "1", before={b: 1}, b=2)], (2, 0, 0)),
        ("an update of what was made", [made, more], (0, 2, 0)),
        ("a deletion", [gone], (0, 0, 1)),
        ("an update and a deletion", [set_a, gone], (0, 0, 1)),
        ("what was made and deleted", [made, gone_made], (0, 0, 0)),
        ("what was made, changed and deleted", [made, more, gone_made], (0, 0, 0)),
        ("a row made of nothing", [change_of("create", "9", a=None, b="")], (0, 0, 0)),
    )
    for name, changes, right in rows:
        found = difference_of(changes)
        fields = sum(len(row[3]) for row in found.creates())
        yield f"difference of {name}", (len(found.sets()), fields, len(found.deleted)), right
    forked = difference_of([set_a, made])
    other = forked.fork()
    for change in (more, back, gone):
        other.add(change)
    yield (
        "a fork of a difference leaves it alone",
        (len(forked.sets()), len(forked.creates()[0][3]), forked.deleted),
        (1, 1, set()),
    )
    yield "a change without a record is refused", refusal_of(lambda: difference_of([change_of("update", None, a=1)])), REFUSED
    asked = difference_of([made])
    before = len(asked.creates()[0][3])
    asked.add(more)
    yield "what was made is another row once it is changed", (before, len(asked.creates()[0][3])), (1, 2)
    ignored = difference_of([set_a, change_of("create", "9", a=1, b=2)], ("s.row.a",))
    yield "an ignored field is none", (ignored.sets(), len(ignored.creates()[0][3])), ({}, 1)
    opening = RowRef(system="s", kind="row", record_id="1")
    owns = [[c.record_id for c in own_changes(entry_of(0, "x", set_a, made, finished=f), opening)] for f in (False, True)]
    yield "the finish's writes to the opening are the act itself", owns, [["1", "9"], ["9"]]


def outcome_measures() -> Iterator[Measure]:
    set_a, made = change_of("update", "1", before={"a": 1}, a=2), change_of("create", None, a=1, b=2)
    first, second = change_of("create", "8", a=1, b=2), change_of("create", "9", a=1, b=3)
    want = outcome_of(set_a, about="r1")
    rows: tuple[tuple[str, Outcome, Sequence[RowChange], JournalEntry | None, Any], ...] = (
        ("right", want, [set_a], finish_of(), (["about", "code", "s.row 1.a"], [], 0, True, 1.0)),
        ("not finished", want, [set_a], None, (["s.row 1.a"], ["about", "code"], 0, False, 0.333333)),
        ("another code", want, [set_a], finish_of(code="good_x"), (["about", "s.row 1.a"], ["code"], 0, False, 0.666667)),
        ("another record", want, [set_a], finish_of(about="r2"), (["code", "s.row 1.a"], ["about"], 0, False, 0.666667)),
        ("nothing done", want, [], finish_of(), (["about", "code"], ["s.row 1.a"], 0, False, 0.666667)),
        ("another value", want, [change_of("update", "1", before={"a": 1}, a=3)], finish_of(),
         (["about", "code"], ["s.row 1.a"], 1, False, 0.666667)),
        ("one field too many", want, [set_a, change_of("update", "1", before={"b": 1}, b=2)], finish_of(),
         (["about", "code", "s.row 1.a"], ["s.row 1.b was changed"], 0, False, 0.75)),
        ("another kind", want, [change_of("update", "1", "other", before={"a": 1}, a=2)], finish_of(),
         (["about", "code"], ["s.row 1.a", "s.other 1.a was changed"], 0, False, 0.5)),
        ("a deletion asked for", outcome_of(change_of("delete", "1")), [change_of("delete", "1")], finish_of(),
         (["code", "s.row 1 deleted"], [], 0, True, 1.0)),
        ("a deletion asked for, with what the row held", outcome_of(change_of("delete", "1", a=1)), [change_of("delete", "1")], finish_of(),
         (["code", "s.row 1 deleted"], [], 0, True, 1.0)),
        ("a deletion not made", outcome_of(change_of("delete", "1"), set_a.model_copy(update={"record_id": "2"})),
         [change_of("update", "2", before={"a": 1}, a=2)], finish_of(),
         (["code", "s.row 2.a"], ["s.row 1 deleted"], 0, False, 0.666667)),
        ("a deletion that nobody asked for", want, [set_a, change_of("delete", "2")], finish_of(),
         (["about", "code", "s.row 1.a"], ["s.row 2 was deleted"], 0, False, 0.75)),
        ("a row made", outcome_of(made), [first], finish_of(), (["code", "s.row #1", "s.row #1.a", "s.row #1.b"], [], 0, True, 1.0)),
        ("a row not made", outcome_of(made), [], finish_of(), (["code"], ["s.row #1", "s.row #1.a", "s.row #1.b"], 0, False, 0.25)),
        ("a row made half right", outcome_of(made), [second], finish_of(),
         (["code", "s.row #1", "s.row #1.a"], ["s.row #1.b"], 0, False, 0.75)),
        ("a row made twice", outcome_of(made), [first, change_of("create", "9", a=1, b=2)], finish_of(),
         (["code", "s.row #1", "s.row #1.a", "s.row #1.b"], ["s.row 9 was created"], 0, False, 0.8)),
        ("the right row beside a half right one", outcome_of(made), [second, first], finish_of(),
         (["code", "s.row #1", "s.row #1.a", "s.row #1.b"], ["s.row 9 was created"], 0, False, 0.8)),
        ("two rows asked for, one half right", outcome_of(made, made), [change_of("create", "7", a=5, b=5), second, first], finish_of(),
         (["code", "s.row #1", "s.row #1.a", "s.row #1.b", "s.row #2", "s.row #2.a"], ["s.row #2.b", "s.row 7 was created"],
          0, False, 0.75)),
        ("a field that nobody asked for", outcome_of(made), [change_of("create", "8", a=1, b=2, c=3)], finish_of(),
         (["code", "s.row #1", "s.row #1.a", "s.row #1.b"], ["s.row 8.c was set"], 0, False, 0.8)),
        ("rows of another kind", outcome_of(made), [change_of("create", "8", "other", a=1, b=2)], finish_of(),
         (["code"], ["s.row #1", "s.row #1.a", "s.row #1.b", "s.other 8 was created"], 0, False, 0.2)),
        ("a row with another text", outcome_of(change_of("create", None, a="x")), [change_of("create", "8", a="y")], finish_of(),
         (["code", "s.row #1"], ["s.row #1.a"], 0, False, 0.666667)),
        ("an ignored field", outcome_of(made, ignored=("s.row.b",)), [second], finish_of(),
         (["code", "s.row #1", "s.row #1.a"], [], 0, True, 1.0)),
        ("an ignored update", outcome_of(set_a, ignored=("s.row.a",)), [], finish_of(), (["code"], [], 0, True, 1.0)),
        ("a typed answer", outcome_of(kind="answer", answer={"n": 5}), [], finish_of(answer={"n": "5", "x": None}),
         (["answer.n", "code"], [], 0, True, 1.0)),
        ("true for one", outcome_of(kind="answer", answer={"n": 1}), [], finish_of(answer={"n": True}),
         (["code"], ["answer.n"], 0, False, 0.5)),
        ("no typed answer", outcome_of(kind="answer", answer={"n": 5}), [], finish_of(), (["code"], ["answer.n"], 0, False, 0.5)),
        ("more than was asked for", outcome_of(kind="answer", answer={"n": 5}), [], finish_of(answer={"n": 5, "m": 0}),
         (["answer.n", "code"], ["answer field m is not asked for"], 0, False, 0.666667)),
        ("a typed answer and no finish", outcome_of(kind="answer", answer={"n": None}), [], None,
         ([], ["answer.n", "code"], 0, False, 0.0)),
    )  # fmt: skip
    for name, outcome, changes, finish, right in rows:
        yield f"outcome: {name}", _told(compare(outcome, difference_of(changes, outcome.ignored_fields), finish)), right
    other = outcome_of(change_of("update", "2", before={"a": 1}, a=2), code="fine")
    either = outcome_of(set_a, alternatives=(other, outcome_of(code="good")))
    picks: tuple[tuple[str, Sequence[RowChange], str, Any], ...] = (
        ("the outcome itself", [set_a], "good", (["code", "s.row 1.a"], [], 0, True, 1.0)),
        ("an alternative", [change_of("update", "2", before={"a": 1}, a=2)], "fine", (["code", "s.row 2.a"], [], 0, True, 1.0)),
        ("the last alternative", [], "good", (["code"], [], 0, True, 1.0)),
        ("the first of equals", [], "none", ([], ["code", "s.row 1.a"], 0, False, 0.0)),
        ("the nearest", [], "fine", (["code"], ["s.row 2.a"], 0, False, 0.5)),
        ("no alternative that is not nearer", [set_a], "fine", (["s.row 1.a"], ["code"], 0, False, 0.5)),
    )
    for name, changes, code, right in picks:
        yield f"best: {name}", _told(best(either, difference_of(changes), finish_of(code=code))), right
    unfit = (
        outcome_of(code=""), outcome_of(answer={"n": 1}), outcome_of(change_of("update", None, a=1)), outcome_of(change_of("delete", None)),
        outcome_of(alternatives=(outcome_of(code=""),)),
    )  # fmt: skip
    fit = (
        outcome_of(),
        outcome_of(change_of("create", None, a=1)),
        outcome_of(kind="answer", answer={"n": 1}),
        outcome_of(set_a),
    )
    for number, outcome in enumerate((*unfit, *fit)):
        yield (
            f"an outcome is checked ({number})",
            refusal_of(partial(check_outcome, outcome)),
            REFUSED if outcome in unfit else "",
        )
