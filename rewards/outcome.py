"""The typed outcome: rows touched, fields and amounts compared as multisets, the finishing act's code, record and answer.

The difference is that of the state: writes to one row fold into what they left behind, so how often a value was written does not
count here (each wrong write on the way is a violation of its own step, see score.py). Whatever is touched and not expected is
collateral damage and makes the outcome wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from rewards.values import Normal, normal, same
from schemas.episode import JournalEntry, RowChange, RowRef
from schemas.errors import GraderError
from schemas.task import Outcome

Row = tuple[str, str, str]
"""(system, kind, record_id)."""
_NEVER = object()


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a difference and a finishing act compare with one expected outcome."""

    criteria: dict[str, bool]
    """Criterion -> met: "code", "about", "answer.<field>", "<system>.<kind> <record or #n>[.<field>]"."""
    collateral: tuple[str, ...]
    """What was touched and not expected, one line each, with record ids."""
    wrong: int = 0
    """How many expected fields of rows hold another new value than the expected one."""

    @property
    def right(self) -> bool:
        return all(self.criteria.values()) and not self.collateral

    @property
    def quality(self) -> float:
        """Share of outcome fields right, in [0, 1]; collateral counts as fields wrong."""
        return sum(self.criteria.values()) / (len(self.criteria) + len(self.collateral))


@dataclass(slots=True)
class Difference:
    """The folded changes of a journal: what is different from the base."""

    ignored: frozenset[str]
    created: dict[Row, dict[str, Any]] = field(default_factory=dict)
    updated: dict[Row, dict[str, tuple[Any, Any]]] = field(default_factory=dict)
    """Row -> field -> (value at the start, value now)."""
    deleted: set[Row] = field(default_factory=set)
    _rows: dict[Row, dict[str, Normal]] = field(default_factory=dict)
    """Created row -> its decided fields, worked out once for every state of the row."""

    def add(self, change: RowChange) -> None:
        """Folds one more change in."""
        if change.record_id is None:
            raise GraderError(f"a change of {change.system}.{change.kind} names no record")
        row = (change.system, change.kind, change.record_id)
        self._rows.pop(row, None)
        if change.op == "create":
            self.created[row] = dict(change.fields)
        elif change.op == "delete":
            self.updated.pop(row, None)
            if self.created.pop(row, None) is None:
                self.deleted.add(row)
        elif row in self.created:
            self.created[row].update(change.fields)
        else:
            fields = self.updated.setdefault(row, {})
            for name, value in change.fields.items():
                before = fields[name][0] if name in fields else change.before.get(name, _NEVER)
                fields[name] = (before, value)

    def fork(self) -> Difference:
        """A difference that grows by itself from here on."""
        created = {row: dict(fields) for row, fields in self.created.items()}
        updated = {row: dict(fields) for row, fields in self.updated.items()}
        return Difference(self.ignored, created, updated, set(self.deleted), self._rows.copy())

    def sets(self) -> dict[tuple[str, str, str, str], Normal]:
        """(system, kind, record, field) -> value of each field that is really different now."""
        return {
            (*row, name): normal(now)
            for row, fields in self.updated.items()
            for name, (before, now) in fields.items()
            if f"{row[0]}.{row[1]}.{name}" not in self.ignored and (before is _NEVER or not same(before, now))
        }

    def creates(self) -> list[tuple[str, str, str, dict[str, Normal]]]:
        """(system, kind, record, decided fields) of each row that is new."""
        for row, fields in self.created.items():
            if row not in self._rows:
                self._rows[row] = _decided(row[0], row[1], fields, self.ignored)
        return [(*row, self._rows[row]) for row in self.created]


def _decided(system: str, kind: str, fields: dict[str, Any], ignored: frozenset[str]) -> dict[str, Normal]:
    """The fields of a created row that somebody decided and that are set."""
    found = {name: normal(value) for name, value in fields.items() if f"{system}.{kind}.{name}" not in ignored}
    return {name: value for name, value in found.items() if value != ("none",)}


def own_changes(entry: JournalEntry, opening: RowRef) -> Iterable[RowChange]:
    """The changes of a call that belong to the difference: a finishing act's writes to the opening record are the act itself."""
    for change in entry.changes:
        row = RowRef(system=change.system, kind=change.kind, record_id=change.record_id or "")
        if not (entry.finished and row == opening):
            yield change


def check_outcome(outcome: Outcome) -> None:
    """Raises GraderError for an outcome without a criterion: a refusal too is a positive act with its code."""
    if not outcome.code:
        raise GraderError("an expected outcome has no code: nothing would tell a right finish from a wrong one")
    if outcome.kind == "difference" and outcome.answer:
        raise GraderError("an expected difference holds an answer, which nothing would compare")
    for change in outcome.changes:
        if change.op != "create" and change.record_id is None:
            raise GraderError(f"an expected {change.op} of {change.system}.{change.kind} names no record")
    for other in outcome.alternatives:
        check_outcome(other)


def compare(outcome: Outcome, difference: Difference, finish: JournalEntry | None) -> Comparison:
    """Compares with `outcome` itself (not its alternatives). Without a finishing act its criteria are not met."""
    arguments = finish.call.arguments if finish is not None else {}
    criteria = {"code": finish is not None and same(arguments.get("code"), outcome.code)}
    if outcome.about is not None:
        criteria["about"] = finish is not None and same(arguments.get("about"), outcome.about)
    collateral: list[str] = []
    if outcome.kind == "answer":
        given = arguments.get("answer")
        given = given if isinstance(given, dict) else {}
        for name, value in outcome.answer.items():
            criteria[f"answer.{name}"] = finish is not None and same(given.get(name), value)
        extra = [name for name in given if name not in outcome.answer and given[name] is not None]
        collateral += [f"answer field {name} is not asked for" for name in extra]
    wrong = _compare_sets(outcome, difference, criteria, collateral)
    _compare_creates(outcome, difference, criteria, collateral)
    return Comparison(criteria, tuple(collateral), wrong)


def best(outcome: Outcome, difference: Difference, finish: JournalEntry | None) -> Comparison:
    """The comparison with the expected outcome or with the alternative that fits best (the first of equals)."""
    found = compare(outcome, difference, finish)
    for other in outcome.alternatives:
        if found.right:
            break
        candidate = compare(other, difference, finish)
        if (candidate.right, candidate.quality) > (found.right, found.quality):
            found = candidate
    return found


def _compare_sets(outcome: Outcome, difference: Difference, criteria: dict[str, bool], collateral: list[str]) -> int:
    """Adds to `criteria` and `collateral`; returns how many expected fields hold another new value."""
    wrong = 0
    actual = difference.sets()
    deleted = set(difference.deleted)
    for change in outcome.changes:
        if change.op == "create":
            continue
        row = (change.system, change.kind, change.record_id or "")
        if change.op == "delete":
            criteria[f"{row[0]}.{row[1]} {row[2]} deleted"] = row in deleted
            deleted.discard(row)
            continue
        for name, value in change.fields.items():
            if f"{row[0]}.{row[1]}.{name}" not in difference.ignored:
                now = actual.pop((*row, name), None)
                met = criteria[f"{row[0]}.{row[1]} {row[2]}.{name}"] = now == normal(value)
                wrong += now is not None and not met
    collateral += [f"{system}.{kind} {record}.{name} was changed" for system, kind, record, name in sorted(actual)]
    collateral += [f"{system}.{kind} {record} was deleted" for system, kind, record in sorted(deleted)]
    return wrong


def _compare_creates(outcome: Outcome, difference: Difference, criteria: dict[str, bool], collateral: list[str]) -> None:
    actual = difference.creates()
    numbers: Counter[str] = Counter()
    wanted = []
    for change in outcome.changes:
        if change.op == "create":
            kind = f"{change.system}.{change.kind}"
            numbers[kind] += 1
            decided = _decided(change.system, change.kind, change.fields, difference.ignored)
            wanted.append((f"{kind} #{numbers[kind]}", kind, decided))
    # Exact pairs first, so that a half-right row never takes the place of a right one; then the pair with most fields in common.
    open_wanted = []
    for label, kind, fields in wanted:
        match = next((i for i, a in enumerate(actual) if f"{a[0]}.{a[1]}" == kind and a[3] == fields), None)
        if match is None:
            open_wanted.append((label, kind, fields))
            continue
        actual.pop(match)
        criteria[label] = True
        criteria.update({f"{label}.{name}": True for name in sorted(fields)})
    for label, kind, fields in open_wanted:
        candidates = [i for i, a in enumerate(actual) if f"{a[0]}.{a[1]}" == kind]
        if not candidates:
            criteria[label] = False
            criteria.update({f"{label}.{name}": False for name in sorted(fields)})
            continue
        chosen = max(candidates, key=lambda i: (sum(actual[i][3].get(n) == v for n, v in fields.items()), -i))
        found = actual.pop(chosen)
        criteria[label] = True
        criteria.update({f"{label}.{name}": found[3].get(name) == value for name, value in sorted(fields.items())})
        collateral += [f"{kind} {found[2]}.{name} was set" for name in sorted(found[3].keys() - fields.keys())]
    collateral += [f"{system}.{kind} {record} was created" for system, kind, record, _ in actual]
