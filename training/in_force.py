"""The rules in force as the small model reads them: on which side of a limit a shown value falls.

A language model finds the rules as sentences in its system message (`dialogue.system_text`). The small model, which learns from a
few hundred episodes, is spared the arithmetic: where an observation shows what a number of a rule is about, marks stand behind.

- the value that a table goes by (tier: gold): what the table says for it, and which amounts shown so far are above or within;
- an amount shown after that: above or within what the table said;
- the value of a field under which an act is forbidden (status: packed), in the version in force: whether it is one of those;
- a time: above or within the days that a rule gives it, from it to the episode's now, or from when it was due.

A list of a rule that differs between training tasks (statuses in which nothing is cancelled any more) stands in the opening. What
a rule says never becomes a slot: what an agent may copy, it looks up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from rewards.values import same
from schemas.task import RuleRef, TaskSpec
from training.tokens import Vocabulary, coded

PLACE = "rules"
"""First part of the path of a list that a rule holds."""
ABOVE, WITHIN, TABLE, BARRED, FREE = "above:", "within:", "table:", "barred:", "free:"
"""Beginnings of marks; behind them stands the rule."""
AMOUNT = "@AMOUNT_"
"""Beginning of an amount's slot."""


class Field(NamedTuple):
    """What a rule looks at; the status of an order is not that of a shipment."""

    kind: str
    name: str

    def is_at(self, name: str, kind: str) -> bool:
        """True for a field of this name in a record of `kind`: a kind, the name of a list of its records, or "" (not known)."""
        return name == self.name and kind in ("", self.kind, f"{self.kind}s", f"{self.kind}es", f"{self.kind[:-1]}ies")


@dataclass(frozen=True, slots=True)
class Table:
    """Amounts in minor units by the value of a field."""

    rule: str
    of: Field
    amounts: Mapping[str, int]
    bound: bool
    """True where the amounts are largest ones; False where they are the right ones."""


@dataclass(frozen=True, slots=True)
class Days:
    """Days that may pass from a time to the episode's now, or to a later time of the same record."""

    rule: str
    since: Field
    until: str | None
    days: int


@dataclass(frozen=True, slots=True)
class Bar:
    """Values of a field under which an act is forbidden."""

    rule: str
    of: Field
    values: tuple[str | int | bool, ...]


@dataclass(frozen=True, slots=True)
class InForce:
    """What a task's rules compare."""

    tables: tuple[Table, ...] = ()
    days: tuple[Days, ...] = ()
    bars: tuple[Bar, ...] = ()
    lists: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """(path, texts)."""


@dataclass(slots=True)
class Limits:
    """The rules of one episode and what it has shown of their tables so far."""

    rules: InForce = field(default_factory=InForce)
    bounds: dict[str, int] = field(default_factory=dict)
    """Rule -> the largest amount that its table gives for the value shown last."""

    def of_value(self, key: str, kind: str, value: str, shown: Mapping[str, Any], vocabulary: Vocabulary) -> list[str]:
        """Marks behind a text value of a record of a kind; `shown`: slot -> exact value of all that was shown so far, amounts in
        minor units."""
        out: list[str] = []
        for table in self.rules.tables:
            if not table.of.is_at(key, kind) or value not in table.amounts:
                continue
            limit = table.amounts[value]
            out += [f"{TABLE}{table.rule}", vocabulary.amount(limit)]
            if table.bound:
                self.bounds[table.rule] = limit
                amounts = {slot: amount for slot, amount in shown.items() if slot.startswith(AMOUNT)}
                out += [f"{ABOVE}{table.rule}", *(slot for slot, amount in amounts.items() if amount > limit)]
                out += [f"{WITHIN}{table.rule}", *(slot for slot, amount in amounts.items() if amount <= limit)]
        return out

    def of_code(self, key: str, kind: str, value: str | float) -> list[str]:
        """Marks behind the value of a coded field; letter case counts as the rule has it (it does not)."""
        bars = [bar for bar in self.rules.bars if bar.of.is_at(key, kind)]
        return [f"{BARRED if any(same(value, bad) for bad in bar.values) else FREE}{bar.rule}" for bar in bars]

    def of_amount(self, amount: int) -> list[str]:
        return [f"{ABOVE if amount > limit else WITHIN}{rule}" for rule, limit in self.bounds.items()]

    def of_time(self, key: str, kind: str, at: datetime, now: datetime | None, times: Mapping[str, datetime]) -> list[str]:
        """Marks behind a time; `times`: the record's other times, by key, shown before it."""
        found = {**times, key: at}
        out = []
        for rule in self.rules.days:
            if not (rule.since.is_at(key, kind) or rule.since._replace(name=rule.until or "").is_at(key, kind)):
                continue
            since, until = found.get(rule.since.name), now if rule.until is None else found.get(rule.until)
            if since is not None and until is not None:
                out.append(f"{ABOVE if until - since > timedelta(days=rule.days) else WITHIN}{rule.rule}")
        return out


def in_force(task: TaskSpec) -> InForce:
    """What the rules of a task compare, in their order. A rule that compares nothing of this kind gives nothing."""
    tables, days, bars, lists = [], [], [], []
    for rule in task.rules:
        given = rule.parameters
        name = f"{rule.document or rule.id} {rule.clause or ''} {rule.rule} {given.get('tool', '')}"
        if isinstance(given.get("by"), dict):
            tables += [
                Table(name, last(given["by"]), value, key != "amounts")
                for key, value in sorted(given.items())
                if key != "by" and is_amounts(value)
            ]
        if is_number(given.get("days")):
            if isinstance(given.get("since"), dict):
                days.append(Days(name, last(given["since"]), None, given["days"]))
            elif isinstance(given.get("due"), dict) and isinstance(given.get("came"), dict):
                days.append(Days(name, last(given["due"]), last(given["came"]).name, given["days"]))
            elif isinstance(given.get("rows"), dict) and isinstance(given["rows"].get("time"), str):
                rows = given["rows"]
                days.append(Days(name, Field(str(rows.get("kind", "")), rows["time"]), None, given["days"]))
        if isinstance(given.get("state"), dict) and isinstance(given.get("values"), list):
            bars.append(Bar(name, last(given["state"]), tuple(given["values"])))
        lists += [(f"{PLACE}/{name}/{path}", texts) for path, texts in _lists(rule)]
    return InForce(tuple(tables), tuple(days), tuple(bars), tuple(lists))


def last(lookup: Mapping[str, Any]) -> Field:
    """The field in which a look-up ends."""
    inner = lookup.get("then")
    return last(inner) if isinstance(inner, dict) else Field(str(lookup.get("kind", "")), str(lookup.get("field", "")))


def is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_amounts(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and all(map(is_number, value.values()))


def _lists(rule: RuleRef) -> Iterator[tuple[str, tuple[str, ...]]]:
    for key, value in sorted(rule.parameters.items()):
        if isinstance(value, list) and value and all(isinstance(inner, str) for inner in value):
            yield key, tuple(sorted(value))


def list_symbols(rules: InForce) -> list[tuple[str, list[str]]]:
    """(path, symbols) of each list."""
    return [(path, [f"k:{path}", *map(coded, texts)]) for path, texts in rules.lists]


def varying(rules: InForce, vocabulary: Vocabulary) -> list[str]:
    """The lists that differed between training tasks; nothing for a vocabulary that knows none."""
    shown = [symbols for path, symbols in list_symbols(rules) if path not in vocabulary.constant_paths]
    return [vocabulary.known(symbol) for symbols in shown if symbols[0] in vocabulary for symbol in symbols]


def marks(rules: InForce) -> set[str]:
    """Every mark that an episode under these rules may hold."""
    compared = [*(d.rule for d in rules.days), *(t.rule for t in rules.tables if t.bound)]
    found = {f"{side}{rule}" for rule in compared for side in (ABOVE, WITHIN)} | {f"{TABLE}{t.rule}" for t in rules.tables}
    return found | {f"{side}{bar.rule}" for bar in rules.bars for side in (BARRED, FREE)}


def is_mark(symbol: str) -> bool:
    return symbol.startswith((ABOVE, WITHIN, TABLE, BARRED, FREE))
