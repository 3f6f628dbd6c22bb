"""Who is the same person across systems: union-find on exact keys; never on a name alone (a false merge is worse than
a split)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from deid.fold import digits, fold
from deid.names import Name, parse_name, same_person_name

RecordKey = tuple[str, str, str]
"""(system, kind, record_id)"""
GMAIL = frozenset({"gmail.com", "googlemail.com"})


def normalise_email(text: str) -> str:
    """Lower case without blanks; plus tags and dots go only where the provider ignores them (Gmail)."""
    local, _, domain = text.strip().strip("<>").casefold().partition("@")
    if domain in GMAIL:
        local, domain = local.split("+", 1)[0].replace(".", ""), "gmail.com"
    return f"{local}@{domain}"


@lru_cache(maxsize=100_000)
def normalise_phone(text: str, regions: tuple[str, ...]) -> str:
    """E.164 where the number is possible in one of `regions` (international form needs none), else "raw:" and its digits."""
    import phonenumbers

    international = text.strip().startswith("+")
    found: list[str] = []
    for region in (None,) if international else regions:
        try:
            number = phonenumbers.parse(text, region)
        except phonenumbers.NumberParseException:
            continue
        form = str(phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164))
        if phonenumbers.is_valid_number(number):
            return form
        if phonenumbers.is_possible_number(number):
            found.append(form)
    return found[0] if found else f"raw:{digits(text)}"


def phone_regions(texts: Iterable[str]) -> tuple[str, ...]:
    """ISO regions of the numbers written with a country code, the commonest first; ("US", "GB", "DE") where there is none."""
    import phonenumbers

    seen: dict[str, int] = defaultdict(int)
    for text in texts:
        if text.strip().startswith("+"):
            try:
                region = phonenumbers.region_code_for_number(phonenumbers.parse(text, None))
            except phonenumbers.NumberParseException:
                continue
            if region:
                seen[region] += 1
    return tuple(sorted(seen, key=lambda r: (-seen[r], r))[:6]) or ("US", "GB", "DE")


@dataclass(slots=True)
class PersonRecord:
    """What one record of one system says about one person; each list in order of first appearance."""

    key: RecordKey
    scope: str
    organisation: str = ""
    names: list[str] = field(default_factory=list)
    emails: list[str] = field(default_factory=list)
    phones: list[str] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Person:
    """One identity: everything that its records say. `identity` is its canonical key."""

    identity: str
    scope: str
    records: list[RecordKey]
    names: list[str]
    emails: list[str]
    """Normalised; the first is _EMAIL, the second _EMAIL2, ..."""
    phones: list[str]
    """Normalised (E.164); the first is _PHONE, the second _PHONE2, ..."""
    logins: list[str]
    token: str = ""

    @property
    def parsed(self) -> list[Name]:
        return [parse_name(name) for name in self.names]


class UnionFind:
    """Disjoint sets; the representative is the smallest member, so that it does not depend on the order of joining."""

    def __init__(self) -> None:
        self.parent: dict[RecordKey, RecordKey] = {}

    def find(self, node: RecordKey) -> RecordKey:
        root = node
        while self.parent.setdefault(root, root) != root:
            root = self.parent[root]
        while self.parent[node] != root:
            self.parent[node], node = root, self.parent[node]
        return root

    def join(self, one: RecordKey, other: RecordKey) -> None:
        low, high = sorted((self.find(one), self.find(other)))
        self.parent[high] = low


def link_persons(
    records: Sequence[PersonRecord], regions: tuple[str, ...]
) -> tuple[list[Person], list[tuple[PersonRecord, PersonRecord]]]:
    """Persons, and the pairs left for a person to review (one name in one organisation, no key in common).

    Keys: normalised e-mail, E.164 phone, login, each within a scope. An e-mail or phone that several records *of one
    kind* carry under
    different names (a shared mailbox, a switchboard) is no key; of a shared number's holders only those of one full
    name are linked. A phone
    links two records only where their names agree.
    """
    ordered = sorted(records, key=lambda r: r.key)
    holders: dict[tuple[str, str, str], list[PersonRecord]] = defaultdict(list)
    for record in ordered:
        for email in dict.fromkeys(map(normalise_email, record.emails)):
            holders["email", record.scope, email].append(record)
        for phone in dict.fromkeys(normalise_phone(p, regions) for p in record.phones):
            if len(digits(phone)) >= 6:
                holders["phone", record.scope, phone].append(record)
        for login in dict.fromkeys(fold(login) for login in record.logins):
            holders["login", record.scope, login].append(record)
    sets = UnionFind()
    for record in ordered:
        sets.find(record.key)
    for (key_kind, _, _), group in sorted(holders.items()):
        shared = _shared(group)
        for number, other in enumerate(group):
            for one in group[:number]:
                if shared:
                    linked = key_kind == "phone" and _same_full_name(one, other)
                else:
                    linked = key_kind != "phone" or _names_agree(one, other)
                if linked:
                    sets.join(one.key, other.key)
    members: dict[RecordKey, list[PersonRecord]] = defaultdict(list)
    for record in ordered:
        members[sets.find(record.key)].append(record)
    persons = [_person(group, regions) for _, group in sorted(members.items())]
    return persons, _to_review(ordered, sets)


def _names_agree(one: PersonRecord, other: PersonRecord) -> bool:
    """True where any name of one fits any of the other, or one has none."""
    if not one.names or not other.names:
        return True
    return any(same_person_name(parse_name(a), parse_name(b)) for a in one.names for b in other.names)


def _same_full_name(one: PersonRecord, other: PersonRecord) -> bool:
    """True where both carry one name written out: with the same number, two people of that name are less likely than one."""
    names = {n.full for n in map(parse_name, one.names) if n.last and len(n.first) > 1}
    return any(parse_name(name).full in names for name in other.names)


def _shared(group: list[PersonRecord]) -> bool:
    by_kind: dict[tuple[str, str], list[PersonRecord]] = defaultdict(list)
    for record in group:
        by_kind[record.key[:2]].append(record)
    return any(not _names_agree(same[0], other) for same in by_kind.values() for other in same[1:])


def _person(group: list[PersonRecord], regions: tuple[str, ...]) -> Person:
    emails = list(dict.fromkeys(normalise_email(e) for r in group for e in r.emails))
    phones = list(dict.fromkeys(normalise_phone(p, regions) for r in group for p in r.phones))
    names = list(dict.fromkeys(n for r in group for n in r.names))
    logins = list(dict.fromkeys(x for r in group for x in r.logins))
    identity = f"email:{min(emails)}" if emails and not _mixed(group) else "record:" + "/".join(group[0].key)
    return Person(identity, group[0].scope, [r.key for r in group], names, emails, phones, logins)


def _mixed(group: list[PersonRecord]) -> bool:
    """A lone record may carry an address that others share: then its record is its identity."""
    return len(group) == 1


def _to_review(records: list[PersonRecord], sets: UnionFind) -> list[tuple[PersonRecord, PersonRecord]]:
    by_name: dict[tuple[str, str, str], list[PersonRecord]] = defaultdict(list)
    for record in records:
        for name in dict.fromkeys(parse_name(n).full for n in record.names):
            if record.organisation and " " in name:
                by_name[record.scope, record.organisation, name].append(record)
    pairs = {}
    for group in by_name.values():
        for other in group[1:]:
            if sets.find(group[0].key) != sets.find(other.key):
                pairs[group[0].key, other.key] = (group[0], other)
    return [pairs[key] for key in sorted(pairs)]
