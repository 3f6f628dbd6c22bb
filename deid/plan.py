"""What deid knows of a supplier before it rewrites the first row: who is who, every known value and its token, the
words that are plain."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any

from deid.dateforms import YEARS, Years
from deid.dates import shift_text, unmovable
from deid.fold import alnum, digits, fold, spellings
from deid.identity import Person, PersonRecord, RecordKey, link_persons, normalise_email, normalise_phone, phone_regions
from deid.lexicon import Entry, Lexicon
from deid.names import NICKNAMES
from deid.said import Secret, secret_of
from deid.spans import Context
from deid.tables import Records
from deid.tokens import Minter, derive, shift_weeks, type_name
from deid.vocabulary import find_staff, find_words
from deid.words import COMMON
from schemas.records import CodeBook
from schemas.spec import Spec

PERSON_KEYS = ("email", "phone", "login")
MIN_GLOBAL_ID = 5
ANY_RECORD = frozenset({"PERSON", "RECORD"})
"""Identities of a field that may hold the id of a record of any kind."""


@dataclass(slots=True)
class Plan:
    spec: Spec
    book: CodeBook
    minter: Minter
    ref_key: bytes
    shift_days: int
    context: Context = field(default_factory=Context)
    persons: list[Person] = field(default_factory=list)
    person_of: dict[RecordKey, int] = field(default_factory=dict)
    staff: dict[str, int] = field(default_factory=dict)
    """Folded first name -> the one person of that name who answers many cases (greeted without taking part yet)."""
    review: list[tuple[PersonRecord, PersonRecord]] = field(default_factory=list)
    emails: dict[tuple[str, str], str] = field(default_factory=dict)
    """(scope, normalised address) -> token; so are phones, logins and ids written as digits."""
    phones: dict[tuple[str, str], str] = field(default_factory=dict)
    logins: dict[tuple[str, str], str] = field(default_factory=dict)
    id_types: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Raw id -> types that it is known as (record kinds first, those of cases before others)."""
    canonical_org: dict[str, str] = field(default_factory=dict)
    alnum_ids: dict[tuple[str, str], str] = field(default_factory=dict)
    """(type, letters and digits) -> the raw id."""
    digit_ids: dict[tuple[str, str], str] = field(default_factory=dict)
    """(scope, digits) of a known id of 8 digits or more -> token."""
    refs: dict[RecordKey, tuple[RecordKey, ...]] = field(default_factory=dict)
    case_refs: dict[str, tuple[RecordKey, ...]] = field(default_factory=dict)
    """Thread -> records that its rows point to."""
    places: dict[RecordKey, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    """Record -> its (type, value) postcodes and addresses."""
    lexicons: dict[str, Lexicon] = field(default_factory=dict)
    """Scope -> the dictionary of what is known in it ("" where the sources are linked)."""
    values: frozenset[str] = frozenset()
    """Declared values (enumerations, allowed codes), as written: they pass, but for the dates in them."""
    near: date = date(1970, 1, 1)
    """Day of the first event: what a date without a year in a declared value is near to."""
    years: Years = YEARS
    """Two years before the first event to two after the last."""
    secrets: tuple[Secret, ...] = ()
    """Identities whose values are hidden where they are said as such (DeidSpec.alike)."""

    def moved(self, text: str) -> str:
        """A code or a declaration with the dates in it moved, the same wherever it stands."""
        return shift_text(text, self.shift_days, self.near, self.context.date_formats, self.years)

    def unmovable(self, text: str) -> bool:
        """True for a code or a declaration with a date that cannot be moved: it must not leave."""
        return any(True for _ in unmovable(text, self.shift_days, self.near, self.context.date_formats, self.years))

    def scope_of(self, system: str) -> str:
        """What separates the tokens of two sources: empty where the spec's scope links them."""
        return source_of(self.spec, system) if self.spec.tokens.scope == "per_source" else ""

    def id_type(self, value: str, hint: str) -> str:
        """The type under which an id has its token: the hint's where it is known as that or unknown, else what it is known as."""
        types = self.id_types.get(value, ())
        return hint if not types or hint in types else types[0]

    def id_token(self, minter: Minter, value: str, hint: str, system: str) -> str:
        kind = self.id_type(value, type_name(hint))
        return minter.mint(
            kind, id_identity(self.canonical_org.get(value, value) if kind == "ORG" else value), self.scope_of(system)
        )


def id_identity(value: str) -> str:
    return f"id:{' '.join(value.split()).casefold()}"


def source_of(spec: Spec, system: str) -> str:
    """Name of the source that a system's rows come from; the system's own name where no source declares it."""
    for source in spec.sources:
        tables = source.options.get("tables", [])
        if source.options.get("system") == system or any(t.get("system") == system for t in tables if isinstance(t, dict)):
            return source.name
    return spec.sources[0].name if len(spec.sources) == 1 else system


def thread_of(record_id: str, reference: str | None) -> str:
    """Rows of one thread are rewritten together: a case and what was written on its account."""
    return reference or record_id


def build_plan(spec: Spec, records: Records, key: bytes) -> Plan:
    """Deterministic in its inputs; everything known is minted here, in sorted order."""
    scope = "cross_system" if spec.tokens.scope == "cross_system" else spec.supplier
    minter = Minter(derive(key, "tokens"), scope, spec.tokens.epoch)
    weeks = 0 if spec.tokens.dates == "as_recorded" else shift_weeks(key, spec.supplier, spec.tokens.epoch)
    plan = Plan(spec, records.book, minter, derive(key, "references"), 7 * weeks)
    if isinstance(first := records.events["event_ts"].min(), datetime):
        last = records.events["event_ts"].max()
        plan.near = first.date()
        plan.years = first.year - 2, (last.year if isinstance(last, datetime) else first.year) + 2
    facts = _Facts(plan)
    facts.read(records)
    facts.link()
    facts.mint()
    plan.secrets = tuple(facts.secret(identity) for identity in spec.deid.alike)
    find_staff(plan, records)
    phrases = find_words(plan, records, facts.mentions)
    extra = [(phrase, Entry("vocabulary", "")) for phrase in phrases if not phrase.isdigit()]
    for scope in sorted({plan.scope_of(system) for system, _ in facts.fields} | {""}):
        plan.lexicons[scope] = Lexicon([*facts.entries(scope), *extra])
    return plan


class _Facts:
    """One pass over the typed values, then identities, then tokens."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.fields: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for key, rule in plan.book.fields.items():
            system, kind, name = key.split(".", 2)
            self.fields[system, kind][rule.type].append(name)
        self.person_records: dict[RecordKey, PersonRecord] = {}
        self.org_names: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
        self.mentions: set[str] = set()
        self.ids: set[tuple[str, str, str]] = set()
        self.actors: list[str] = []
        self.places: set[tuple[str, str, str]] = set()
        self.loose: dict[str, set[tuple[str, str]]] = {"email": set(), "phone": set(), "login": set()}

    def is_person(self, system: str, kind: str) -> bool:
        types = self.fields[system, kind]
        return bool(types["name"]) and any(types[t] for t in PERSON_KEYS) and not is_org(kind)

    def read(self, records: Records) -> None:
        plan = self.plan
        types: dict[str, dict[str, None]] = defaultdict(dict)
        cases = {
            (s, k)
            for s, k in records.events.filter(records.events["type"] == "message").select("system", "kind").unique().iter_rows()
        }
        keys = sorted(
            {
                *records.events.select("system", "kind", "record_id").unique().iter_rows(),
                *records.records.select("system", "kind", "record_id").iter_rows(),
            }
        )
        for system, kind, record_id in sorted(keys, key=lambda k: ((k[0], k[1]) not in cases, k)):
            types[record_id][type_name(kind)] = None
            self.ids.add((type_name(kind), record_id, plan.scope_of(system)))
        record_types = {type_name(kind) for _, kind, _ in keys}
        refs: dict[RecordKey, dict[RecordKey, None]] = defaultdict(dict)
        case_refs: dict[str, dict[RecordKey, None]] = defaultdict(dict)
        places: dict[RecordKey, dict[tuple[str, str], None]] = defaultdict(dict)
        by_id: dict[str, list[RecordKey]] = defaultdict(list)
        for key in keys:
            by_id[key[2]].append(key)
        self.actors = sorted(a for a in records.events["actor_id"].drop_nulls().unique().to_list() if a.count(":") < 2)
        for row in records.events.select(
            "system", "kind", "record_id", "organisation", "field", "value_json", "reference", "actor_id", "type"
        ).iter_rows():
            system, kind, record_id, organisation, name, value_json, reference, actor, event_type = row
            own = (system, kind, record_id)
            targets: list[str] = [part for part in (actor.rsplit(":", 1)[-1] if actor else None,) if part]
            if self.is_person(system, kind) and own not in self.person_records:
                self.person_records[own] = PersonRecord(own, plan.scope_of(system), organisation or "")
            if event_type == "link" and value_json:
                targets.append(str(json.loads(value_json).get("record_id")))
            rule = plan.book.rule(system, kind, name) if name else None
            if rule and value_json and rule.type in ("id", "name", "email", "phone", "login", "address", "postcode"):
                for value in texts_of(json.loads(value_json)):
                    if rule.type == "id":
                        targets.append(value)
                        identity = type_name(rule.identity or name)
                        if value not in by_id or not (identity in record_types or identity in ANY_RECORD):
                            types[value][identity] = None
                        known = identity if identity in types[value] else next(iter(types[value]))
                        self.ids.add((known, value, plan.scope_of(system)))
                        if is_org(kind) and is_org(rule.identity or ""):
                            low, high = sorted((value, record_id))
                            plan.canonical_org[low] = plan.canonical_org[high] = low
                    else:
                        self._personal(own, rule.type, value)
                        if rule.type in ("address", "postcode"):
                            places[own][rule.type, value] = None
            thread = thread_of(record_id, reference)
            for target in targets:
                for other in by_id.get(target, ()):
                    if other != own:
                        refs[own][other] = None
                        case_refs[thread][other] = None
            if reference:
                case_refs[thread][own] = None
        plan.id_types = {value: tuple(found) for value, found in types.items()}
        plan.refs = {k: tuple(v) for k, v in refs.items()}
        plan.case_refs = {k: tuple(v) for k, v in case_refs.items()}
        plan.places = {k: tuple(v) for k, v in places.items()}

    def _personal(self, own: RecordKey, kind: str, value: str) -> None:
        person = self.person_records.get(own)
        scope = self.plan.scope_of(own[0])
        if kind in ("address", "postcode"):
            self.places.add((kind, fold(value) if kind == "address" else alnum(value), scope))
        elif kind == "name" and is_org(own[1]):
            self.org_names[own[0], own[2]][value] = None
        elif kind == "name" and person is None:
            self.mentions.add(value)
        elif person is not None:
            values = {"name": person.names, "email": person.emails, "phone": person.phones, "login": person.logins}[kind]
            if value not in values:
                values.append(value)
        else:
            self.loose[kind].add((scope, value))

    def link(self) -> None:
        plan = self.plan
        regions = phone_regions(
            [p for r in self.person_records.values() for p in r.phones] + [p for _, p in sorted(self.loose["phone"])]
        )
        plan.context = Context(plan.spec.deid.id_patterns, plan.spec.deid.date_formats, regions, plan.years)
        plan.persons, plan.review = link_persons(list(self.person_records.values()), regions)
        for number, person in enumerate(plan.persons):
            for key in person.records:
                plan.person_of[key] = number
        self._logins()

    def _logins(self) -> None:
        """An actor's bare name is the login of the one person whose e-mail address starts with it."""
        boxes: dict[str, set[int]] = defaultdict(set)
        for number, person in enumerate(self.plan.persons):
            for email in person.emails:
                boxes[email.partition("@")[0]].add(number)
        for actor in self.actors:
            owners = boxes.get(actor.casefold(), set())
            if len(owners) == 1 and self.plan.spec.tokens.scope != "per_source":
                person = self.plan.persons[next(iter(owners))]
                if actor not in person.logins:
                    person.logins.append(actor)

    def mint(self) -> None:
        plan, minter = self.plan, self.plan.minter
        for kind, value, scope in sorted(self.ids):
            identity = plan.canonical_org.get(value, value) if kind == "ORG" else value
            token = minter.mint(kind, id_identity(identity), scope)
            plan.alnum_ids.setdefault((kind, alnum(value)), value)
            if len(digits(value)) >= 8 and digits(value) == alnum(value):
                plan.digit_ids[scope, digits(value)] = token
        known = frozenset(written for _, written in plan.alnum_ids if not written.isdigit())
        plan.context = replace(plan.context, known_ids=known)
        for kind, value, scope in sorted(self.places):
            minter.mint(kind, value, scope)
        for person in plan.persons:
            person.token = minter.mint("person", person.identity, person.scope)
        for book, values, suffix in (
            (plan.emails, "emails", "EMAIL"),
            (plan.phones, "phones", "PHONE"),
            (plan.logins, "logins", "LOGIN"),
        ):
            holders: dict[tuple[str, str], set[str]] = defaultdict(set)
            for person in plan.persons:
                for number, value in enumerate(getattr(person, values), 1):
                    holders[person.scope, value].add(
                        f"{person.token}_{suffix}{number if number > 1 and suffix != 'LOGIN' else ''}"
                    )
            for (scope, value), tokens in sorted(holders.items()):
                book[scope, value] = tokens.pop() if len(tokens) == 1 else minter.mint(values[:-1], value, scope)
        for scope, value in sorted(self.loose["email"]):
            plan.emails.setdefault((scope, normalise_email(value)), minter.mint("email", normalise_email(value), scope))
        for scope, value in sorted(self.loose["phone"]):
            phone = normalise_phone(value, plan.context.regions)
            plan.phones.setdefault((scope, phone), minter.mint("phone", phone, scope))
        for scope, value in sorted(self.loose["login"]):
            plan.logins.setdefault((scope, value), minter.mint("login", value, scope))

    def secret(self, identity: str) -> Secret:
        """How an identity's values are said: under which names, in how many figures."""
        fields = sorted({key.split(".", 2)[2] for key, rule in self.plan.book.fields.items() if rule.identity == identity})
        values = [value for kind, value, _ in self.ids if kind == type_name(identity)]
        return secret_of(identity, fields, [len(v) for v in values if v.isascii() and v.isdigit()])

    def entries(self, only: str) -> Iterator[tuple[str, Entry]]:
        """Phrases of the dictionary of the scope `only`."""
        plan = self.plan
        names: dict[str, set[int]] = defaultdict(set)
        for number, person in enumerate(plan.persons):
            if person.scope != only:
                continue
            for name in person.parsed:
                if name.last:
                    forms = [f"{name.first} {name.last}", f"{name.last} {name.first}", " ".join(name.words)]
                    forms += [f"{nick} {name.last}" for nick in NICKNAMES.get(name.first, ())]
                    for form in forms:
                        names[form].add(number)
            for raw in person.names:
                for form in spellings(raw):
                    if " " in form:
                        names[form].add(number)
        for form, numbers in names.items():
            yield form, Entry("person", ",".join(map(str, sorted(numbers))))
        for mention in sorted(self.mentions):
            if " " in fold(mention) and fold(mention) not in names:
                yield fold(mention), Entry("mention", fold(mention))
        for (scope, email), token in plan.emails.items():
            if scope != only:
                continue
            local, _, domain = email.partition("@")
            yield fold(email), Entry("email", token)
            yield f"{fold(local)} at {fold(domain)}", Entry("email", token)
            yield f"{' dot '.join(fold(local).split())} at {' dot '.join(fold(domain).split())}", Entry("email", token)
        for domain in {email.partition("@")[2] for scope, email in plan.emails if scope == only}:
            if "." in domain:
                yield fold(domain), Entry("domain", plan.minter.mint("domain", domain, only))
        for (scope, login), token in plan.logins.items():
            if scope == only and len(login) >= MIN_GLOBAL_ID and not login.isalpha():
                yield fold(login), Entry("login", token)
        for kind, value, scope in self.ids:
            if scope == only and is_global_id(value):
                token = plan.minter.mint(
                    kind, id_identity(plan.canonical_org.get(value, value) if kind == "ORG" else value), scope
                )
                yield fold(value), Entry("id", token)
        for kind, value, scope in self.places:
            if scope == only and (" " in value if kind == "address" else len(value) >= MIN_GLOBAL_ID):
                yield value, Entry(kind, plan.minter.mint(kind, value, scope))
        for (system, record_id), found in self.org_names.items():
            for written in found if plan.scope_of(system) == only else ():
                token = plan.id_token(plan.minter, record_id, "organisation", system)
                for form in spellings(written):
                    if " " in form or (len(form) >= MIN_GLOBAL_ID and form not in COMMON):
                        yield form, Entry("org", token)


def is_org(kind: str) -> bool:
    return type_name(kind) == "ORG"


def is_global_id(value: str) -> bool:
    """Looked for in every text: ids with a digit and at least 5 letters or digits, of which 6 digits or a letter;
    others only in their thread."""
    plain = alnum(value)
    return len(plain) >= MIN_GLOBAL_ID and any(c.isdigit() for c in plain) and (not plain.isdigit() or len(plain) >= 6)


def texts_of(value: Any) -> list[str]:
    """Strings (and whole numbers as text) of a value or a list of values."""
    if isinstance(value, str):
        return [value] if value.strip() else []
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, int):
        return [str(value)]
    return [text for item in value for text in texts_of(item)] if isinstance(value, list) else []
