from __future__ import annotations

import random

from deid.identity import PersonRecord, link_persons, normalise_email, normalise_phone, phone_regions

DE = ("DE",)


def record(kind: str, number: int, name: str, email: str = "", phone: str = "", organisation: str = "O") -> PersonRecord:
    found = PersonRecord(("s", kind, str(number)), "", organisation, [name])
    found.emails += [email] if email else []
    found.phones += [phone] if phone else []
    return found


def groups(records: list[PersonRecord]) -> set[frozenset[str]]:
    return {frozenset("/".join(key[1:]) for key in person.records) for person in link_persons(records, DE)[0]}


def test_keys_are_normalised_before_they_are_compared() -> None:
    assert normalise_email(" Anna.Meyer@Firma.example ") == "anna.meyer@firma.example"
    assert normalise_email("a.nna+shop@googlemail.com") == "anna@gmail.com"
    assert normalise_phone("030 2312-5001", DE) == normalise_phone("+49 (30) 23125001", DE) == "+493023125001"
    assert phone_regions(["+49 30 23125001", "+49 30 23125002", "+1 212 555 0100", "030 1"])[0] == "DE"


def test_one_mail_or_one_phone_with_one_name_links_systems() -> None:
    records = [
        record("user", 1, "Anna Meyer", "anna@x.example", "+493023125001"),
        record("account", 1, "A. Meyer", "ANNA@x.example"),
        record("user", 2, "Annie Meyer", "private@y.example", "030 23125001"),
    ]
    assert groups(records) == {frozenset({"user/1", "account/1", "user/2"})}


def test_a_name_alone_never_links_and_is_left_to_review() -> None:
    records = [record("user", 1, "Anna Meyer", "a@x.example"), record("account", 1, "Anna Meyer", "b@x.example")]
    persons, review = link_persons(records, DE)
    assert len(persons) == 2
    assert [(a.key[2], b.key[2]) for a, b in review] == [("1", "1")]


def test_a_shared_mailbox_or_switchboard_is_no_key() -> None:
    mailbox = [record("user", 1, "Anna Meyer", "info@x.example"), record("user", 2, "Bert Kunz", "info@x.example")]
    assert len(groups(mailbox)) == 2
    switchboard = [
        record("user", 1, "Anna Meyer", "", "+493023125001"),
        record("user", 2, "Bert Kunz", "", "+493023125001"),
        record("account", 1, "Bert Kunz", "", "+493023125001"),
    ]
    assert groups(switchboard) == {frozenset({"user/1"}), frozenset({"user/2", "account/1"})}


def test_identities_do_not_depend_on_the_order_of_records() -> None:
    records = [record("user", n, f"Name{n % 5} Last{n % 5}", f"m{n % 7}@x.example", f"+4930231250{n % 5:02d}") for n in range(20)]
    first = [(p.identity, p.records) for p in link_persons(records, DE)[0]]
    for seed in range(5):
        random.Random(seed).shuffle(records)
        assert [(p.identity, p.records) for p in link_persons(records, DE)[0]] == first
