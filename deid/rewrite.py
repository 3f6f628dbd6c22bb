"""Rows and fields: each value by its rule in the code book; what no rule explains goes to quarantine."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from deid.dates import reads_as_time, shift_value
from deid.fold import alnum, fold
from deid.identity import RecordKey, normalise_email, normalise_phone
from deid.names import parse_name
from deid.plan import Plan, is_global_id, is_org, texts_of, thread_of
from deid.text import UNDECLARED_DATE, Outcome, Request, TextRewriter
from deid.thread import Thread
from deid.tokens import Minter, base_of, reference
from schemas.events import QUARANTINE_COLUMNS
from schemas.files import canonical_json
from schemas.records import FieldRule

Row = dict[str, Any]
EPOCH = date(1970, 1, 1)
HOPS = 3


class NotUnderstoodError(Exception):
    """A value that no rule explains: its row goes to quarantine. The message holds no text of the row."""


@dataclass(slots=True)
class Shard:
    """Rewrites the rows of whole threads. `vault` collects (token, original); `refs` (reference, file, position)."""

    plan: Plan
    minter: Minter
    threads: dict[str, Thread] = field(default_factory=dict)
    vault: set[tuple[str, str]] = field(default_factory=set)
    local: set[tuple[str, str, str]] = field(default_factory=set)
    """(case, token, original) of what is looked for in the rows of its own case only: finds of a model, ids that are
    ordinary words."""
    refs: dict[str, tuple[str, str]] = field(default_factory=dict)

    def rewrite_events(self, rows: list[Row]) -> tuple[list[Row], list[Row]]:
        """(clean rows, quarantined rows). Rows must hold every row of each of their threads."""
        by_thread: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            by_thread[self.thread_key(row)].append(row)
        for key, members in sorted(by_thread.items()):
            self.threads[key] = self._open(key, members)
        asked: dict[Request, None] = {}

        def ask(request: Request) -> str:
            asked[request] = None
            return ""

        for row in rows:
            try:
                self._event(row, ask)
            except NotUnderstoodError:
                continue
        answers = TextRewriter(self.plan).rewrite(asked, self.threads)
        clean, quarantined = [], []
        for row in rows:
            try:
                clean.append(self._event(row, lambda request: self._answer(request, answers[request])))
            except NotUnderstoodError as error:
                quarantined.append(self._quarantined(row, str(error)))
        return clean, quarantined

    def _answer(self, request: Request, outcome: Outcome) -> str:
        if outcome.failure:
            raise NotUnderstoodError(outcome.failure)
        thread = self.threads[request.thread]
        for token, original in outcome.originals:
            self.note(token, original, thread if base_of(token) in thread.guessed else None)
        return outcome.text

    def thread_key(self, row: Row) -> str:
        return f"{self.plan.scope_of(row['system'])}\0{thread_of(row['record_id'], row['reference'])}"

    def _open(self, key: str, rows: list[Row]) -> Thread:
        plan = self.plan
        thread = Thread(key, plan.scope_of(rows[0]["system"]), plan, self.minter)
        own = sorted({(r["system"], r["kind"], r["record_id"]) for r in rows})
        thread.take_part(self._people(own, thread_of(rows[0]["record_id"], rows[0]["reference"]), thread.scope))
        names: dict[str, None] = {}
        for row in rows:
            rule = self._rule(row)
            if rule is None or row["value_json"] is None or rule.type not in ("id", "name", "json"):
                continue
            value = json.loads(row["value_json"])
            if rule.type == "json":
                found = [(k, v) for k, v in value.items() if isinstance(v, str)] if isinstance(value, dict) else []
                for name, text in found:
                    nested = plan.book.rule(row["system"], row["kind"], name)
                    if nested and nested.type == "name" and text not in plan.values:
                        names[fold(text)] = None
            elif rule.type == "id":
                for text in texts_of(value):
                    thread.typed_value(text, self._id(text, rule, row["system"]), rule.identity or "")
            elif (row["system"], row["kind"], row["record_id"]) not in plan.person_of and not is_org(row["kind"]):
                for text in texts_of(value):
                    names[fold(text)] = None
        thread.learn([n for n in names if " " not in n or n not in plan.context.vocabulary], typed=True)
        return thread

    def _people(self, own: list[RecordKey], thread: str, scope: str) -> list[int]:
        """Persons whom the thread's records point to, nearest first."""
        plan = self.plan
        found: dict[int, None] = {}
        front: list[RecordKey] = [*own, *plan.case_refs.get(thread, ())]
        seen = set(front)
        for _ in range(HOPS):
            following: list[RecordKey] = []
            for key in front:
                number = plan.person_of.get(key)
                if number is not None and plan.persons[number].scope == scope:
                    found[number] = None
                if number is None or key in own:
                    following += [other for other in plan.refs.get(key, ()) if other not in seen]
                    seen.update(following)
            front = following
        return list(found)

    def _rule(self, row: Row) -> FieldRule | None:
        return self.plan.book.rule(row["system"], row["kind"], row["field"]) if row["field"] else None

    def _event(self, row: Row, ask: Callable[[Request], str]) -> Row:
        new = dict(row)
        system, kind = row["system"], row["kind"]
        new["record_id"] = self.note(self.plan.id_token(self.minter, row["record_id"], kind, system), row["record_id"])
        new["organisation"] = self.organisation(row["organisation"], system)
        new["actor_id"] = self._actor(row["actor_id"], system)
        if row["reference"]:
            new["reference"] = self.note(self.plan.id_token(self.minter, row["reference"], "case", system), row["reference"])
        new["source_file"], new["source_pos"] = "vault", self.ref(row["source_file"], row["source_pos"])
        new["ts_text"] = new["ts_zone"] = None
        near = near_of(row)
        thread = self.threads[self.thread_key(row)]
        author = self._author(row)
        if row["text"] is not None:
            new["text"] = ask(Request(thread.key, author, near, row["text"])) if row["text"].strip() else row["text"]
        if row["type"] == "link" and row["value_json"]:
            new["value_json"] = canonical_json(self._link(json.loads(row["value_json"])))
        elif row["field"] is not None:
            rule = self._rule(row)
            if rule is None:
                raise NotUnderstoodError("unknown field")
            if row["value_json"] is not None:
                value = self._value(
                    json.loads(row["value_json"]), rule, row, thread, lambda t: ask(Request(thread.key, author, near, t))
                )
                new["value_json"] = canonical_json(value)
        elif row["value_json"] is not None and row["type"] != "link":
            raise NotUnderstoodError("value without a field")
        for column in ("event_ts", "recorded_ts"):
            if row[column] is not None:
                new[column] = row[column] + timedelta(days=self.plan.shift_days)
        return new

    def _value(self, value: Any, rule: FieldRule, row: Row, thread: Thread, text: Callable[[str], str]) -> Any:
        """One value by its rule; lists item by item. Raises NotUnderstoodError for a value that is not of the rule's type."""
        if value is None:
            return None
        if rule.type == "json":
            return self._walk(value, row, thread, text)
        if isinstance(value, list):
            return [self._value(item, rule, row, thread, text) for item in value]
        if isinstance(value, dict):
            raise NotUnderstoodError(f"an object in a field of type {rule.type}")
        if rule.type == "code":
            allowed = self.plan.book.codes.get(f"{row['system']}.{row['kind']}.{row['field']}")
            if allowed is not None and isinstance(value, str) and value not in allowed:
                raise NotUnderstoodError("code outside the code book")
            return self._code(value, row)
        if rule.type in ("money", "int", "number", "bool"):
            if isinstance(value, str) and value.strip() and not _is_number(value):
                return text(value)
            return value if rule.type == "money" else self._number(value, row)
        if rule.type in ("text", "tags"):
            return text(value) if isinstance(value, str) and value.strip() else value
        if rule.type in ("time", "date"):
            if isinstance(value, (int, float)):
                raise NotUnderstoodError("a number in a field of times")
            return shift_value(value, self.plan.shift_days, self.plan.context.date_formats) or text(value)
        if isinstance(value, (bool, float)):
            raise NotUnderstoodError(f"a {type(value).__name__} in a field of type {rule.type}")
        return self._identifier(str(value), rule, row, thread) if str(value).strip() else value

    def _code(self, value: Any, row: Row) -> Any:
        """A code passes, but a date in it moves: a product or a campaign may be named after a day."""
        if not isinstance(value, str):
            return self._number(value, row)
        if self.plan.unmovable(value):
            raise NotUnderstoodError(UNDECLARED_DATE)
        return self.plan.moved(value)

    def _number(self, value: Any, row: Row) -> Any:
        """A number passes unless it reads as a time: that belongs into a field of times, which are moved."""
        number = float(value) if isinstance(value, str) and value.strip() else value
        if isinstance(number, (int, float)) and not isinstance(number, bool) and reads_as_time(number, near_of(row)):
            raise NotUnderstoodError("a number that reads as a time, in a field of no times")
        return value

    def _identifier(self, value: str, rule: FieldRule, row: Row, thread: Thread) -> str:
        plan, scope = self.plan, self.plan.scope_of(row["system"])
        number = plan.person_of.get((row["system"], row["kind"], row["record_id"]))
        if rule.type == "id":
            return self.note(self._id(value, rule, row["system"]), value, None if is_global_id(value) else thread)
        if rule.type == "name" and is_org(row["kind"]):
            return self.note(plan.id_token(self.minter, row["record_id"], "organisation", row["system"]), value)
        if rule.type == "name":
            if number is None:
                return self.note(thread.name_text(value), value)
            single = not parse_name(value).last
            return self.note(plan.persons[number].token + ("_FIRST" if single else ""), value)
        if rule.type == "email":
            email = normalise_email(value)
            return self.note(plan.emails.get((scope, email)) or self.minter.mint("email", email, scope), value)
        if rule.type == "phone":
            phone = normalise_phone(value, plan.context.regions)
            return self.note(plan.phones.get((scope, phone)) or self.minter.mint("phone", phone, scope), value)
        if rule.type == "login":
            return self.note(plan.logins.get((scope, value)) or self.minter.mint("login", value, scope), value)
        return self.note(self.minter.mint(rule.type, fold(value) if rule.type == "address" else alnum(value), scope), value)

    def _id(self, value: str, rule: FieldRule, system: str) -> str:
        return self.plan.id_token(self.minter, value, rule.identity or "id", system)

    def _walk(self, value: Any, row: Row, thread: Thread, text: Callable[[str], str]) -> Any:
        """JSON inside a field: members that the code book names follow their rule, other strings are free text,
        declared values pass."""
        if isinstance(value, dict):
            new = {}
            for name, item in value.items():
                nested = self.plan.book.rule(row["system"], row["kind"], name)
                plain = isinstance(item, str) and item in self.plan.values
                known = nested is not None and nested.type != "json" and not plain
                new[self._code(name, row)] = (
                    self._value(item, nested, row, thread, text) if known and nested else self._walk(item, row, thread, text)
                )
            return new
        if isinstance(value, list):
            return [self._walk(item, row, thread, text) for item in value]
        if isinstance(value, str) and value.strip() and value not in self.plan.values:
            return text(value)
        return self._code(value, row)

    def _link(self, value: Any) -> Any:
        if not isinstance(value, dict) or set(value) != {"system", "kind", "record_id"}:
            raise NotUnderstoodError("a link to something else than a record")
        return value | {
            "record_id": self.note(
                self.plan.id_token(self.minter, value["record_id"], value["kind"], value["system"]), value["record_id"]
            )
        }

    def organisation(self, value: str | None, system: str) -> str | None:
        if not value:
            return value
        types = self.plan.id_types.get(value, ())
        return self.note(
            self.plan.id_token(self.minter, value, "organisation" if "ORG" in types or not types else types[0], system), value
        )

    def _actor(self, value: str | None, system: str) -> str | None:
        """ "system:kind:id" keeps its first parts; any other actor is one token."""
        if not value:
            return value
        if value.count(":") >= 2:
            where, kind, actor = value.split(":", 2)
            return f"{where}:{kind}:{self.note(self.plan.id_token(self.minter, actor, kind, where), actor)}"
        token = self.plan.logins.get((self.plan.scope_of(system), value))
        return self.note(token or self.plan.id_token(self.minter, value, "actor", system), value)

    def _author(self, row: Row) -> int:
        """Number of the known person who acted, or -1."""
        actor = (row["actor_id"] or "").split(":", 2)
        return self.plan.person_of.get((actor[0], actor[1], actor[2]), -1) if len(actor) == 3 else -1

    def note(self, token: str, original: str, thread: Thread | None = None) -> str:
        """Remembers what a token stands for; with `thread`, that the leak scan looks for it in that case only."""
        self.vault.add((token, original))
        if thread is not None:
            case = self.plan.id_token(self.minter, thread.key.split("\0", 1)[1], "case", "")
            self.local.add((case, token, original))
        return token

    def ref(self, file: str | None, position: str | None) -> str | None:
        if file is None and position is None:
            return None
        key = reference(self.plan.ref_key, file or "", position or "")
        self.refs[key] = (file or "", position or "")
        return key

    def _quarantined(self, row: Row, reason: str) -> Row:
        found = dict.fromkeys(QUARANTINE_COLUMNS)
        where = f"{row['system']}.{row['kind']}"
        return found | {
            "source": row["system"],
            "source_file": "vault",
            "source_pos": self.ref(row["source_file"], row["source_pos"]),
            "field": f"{where}.{row['field']}" if row["field"] else f"{where}.text",
            "reason": f"deid: {reason}",
        }


def near_of(row: Row) -> date:
    """The day that dates without a year are near to."""
    at = row["event_ts"] or row["recorded_ts"]
    return at.date() if at else EPOCH


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
