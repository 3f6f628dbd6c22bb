"""Texts and fields of a tiny supplier, without the name model where it is not the point."""

from __future__ import annotations

import json
from typing import Any

import pytest

from deid.plan import build_plan
from deid.rewrite import Shard
from deid.tables import Records
from schemas.spec import Spec

KEY = b"0123456789abcdef0123456789abcdef"


class Done:
    """Rewritten rows with look-ups."""

    def __init__(self, spec: Spec, records: Records) -> None:
        self.plan = build_plan(spec, records, KEY)
        self.shard = Shard(self.plan, self.plan.minter.fork())
        self.clean, self.held = self.shard.rewrite_events(records.events.to_dicts())

    def field(self, kind: str, name: str, at: int = 0) -> Any:
        return [json.loads(r["value_json"]) for r in self.clean if r["kind"] == kind and r["field"] == name][at]

    @property
    def texts(self) -> list[str]:
        return [r["text"] for r in self.clean if r["type"] == "message"]


@pytest.fixture
def done(spec_of: Any) -> Any:
    quick = spec_of(deid={"id_patterns": {"order": "A-?\\s?\\d{6}"}, "date_formats": ["%d.%m.%Y"], "ner": False})

    def run(builder: Any, spec: Spec | None = None) -> Done:
        return Done(spec or quick, builder.tables())

    return run


def test_one_person_has_one_token_in_every_system_and_in_text(tiny: Any, done: Any) -> None:
    tiny.ticket().message(
        "48000001", "50001", "Hi, this is Anna. Mail anna.meyer@nordkap.example, phone 030 2312 5001.\n\nRegards\nAnna Meyer"
    )
    result = done(tiny)
    anna = result.field("user", "name")
    assert result.field("account", "holder_name") == anna
    assert result.field("account", "email") == result.field("user", "email") == f"{anna}_EMAIL"
    assert result.field("account", "phone") == f"{anna}_PHONE"
    assert result.texts == [f"Hi, this is {anna}_FIRST. Mail {anna}_EMAIL, phone {anna}_PHONE.\n\nRegards\n{anna}"]


@pytest.mark.parametrize(
    ("written", "suffix"),
    [
        ("ANNA MEYER", ""), ("anna meyer", ""), ("Meyer, Anna", ""), ("A. Meyer", ""), ("Anna", "_FIRST"), ("anna", "_FIRST"),
        ("Annie", "_FIRST"), ("Meyer", "_LAST"), ("Anna Meier", ""), ("Anna Myeer", ""),
    ],
)  # fmt: skip
def test_every_way_of_signing_is_the_same_person(tiny: Any, done: Any, written: str, suffix: str) -> None:
    tiny.ticket().message("48000001", "50001", f"Please help.\n\nRegards\n{written}")
    result = done(tiny)
    assert result.texts == [f"Please help.\n\nRegards\n{result.field('user', 'name')}{suffix}"]


def test_possessives_and_greetings_keep_their_words(tiny: Any, done: Any) -> None:
    tiny.ticket().message("48000001", "50002", "Hello Anna,\nAnna's parcel is here.\n\nUwe")
    result = done(tiny)
    anna, uwe = result.field("user", "name"), result.field("user", "name", 1)
    assert result.texts == [f"Hello {anna}_FIRST,\n{anna}_FIRST's parcel is here.\n\n{uwe}_FIRST"]


def test_a_first_name_in_a_case_of_other_people_is_not_hers(tiny: Any, done: Any) -> None:
    tiny.record("helpdesk", "user", "50003", "ORG-001", name="Bert Kunz", email="bert@nordkap.example")
    tiny.ticket(requester="50003").message("48000001", "50003", "My colleague Anna has it.\n\nBert")
    result = done(tiny)
    assert f"{result.field('user', 'name')}_FIRST" not in result.texts[0]
    assert "Anna" not in result.texts[0]


def test_ids_are_tokens_of_their_kind_in_fields_references_and_texts(tiny: Any, done: Any) -> None:
    tiny.ticket(about_record="A-104327").message("48000001", "50001", "Order A 104327 and again a104327, not A-999999.")
    result = done(tiny)
    order = result.field("ticket", "about_record")
    assert order.startswith("ORDER_")
    assert {r["record_id"] for r in result.clean if r["kind"] == "order"} == {order}
    assert result.texts[0].startswith(f"Order {order} and again {order}, not ORDER_")
    assert result.field("order", "account_id") == next(r["record_id"] for r in result.clean if r["kind"] == "account")
    assert result.field("ticket", "requester_id").startswith("USER_")
    assert {r["organisation"] for r in result.clean if r["organisation"]} == {result.field("organization", "external_id")}


def test_addresses_postcodes_and_organisations_in_text_are_those_of_the_tables(tiny: Any, done: Any) -> None:
    tiny.ticket().message("48000001", "50001", "Postcode 10115, still Lindenweg 12, 10115 Berlin.\nNordkap Fisch")
    result = done(tiny)
    place, code = result.field("account", "billing_address"), result.field("account", "billing_postcode")
    assert result.texts == [f"Postcode {code}, still {place}.\n{result.field('organization', 'external_id')}"]


def test_dates_move_alike_in_columns_fields_and_texts(tiny: Any, done: Any) -> None:
    tiny.ticket().message("48000001", "50001", "Placed on 01.03.2025, i.e. March 1.")
    result = done(tiny)
    days = result.plan.shift_days
    assert days % 7 == 0
    before = {r["seq"]: r["event_ts"] for r in tiny.rows}
    assert {(r["event_ts"] - before[r["seq"]]).days for r in result.clean} == {days}
    placed = result.field("order", "placed_at")
    year, month, day = placed[:10].split("-")
    assert f"{day}.{month}.{year}" in result.texts[0]


def test_an_unknown_person_is_one_token_within_a_case_and_another_in_the_next(tiny: Any, done: Any) -> None:
    tiny.ticket().message("48000001", "50001", "My name is piotr nowak. Ask for Piotr.").message(
        "48000001", "50002", "Hello Mr Nowak"
    )
    tiny.ticket("48000002").message("48000002", "50001", "my name is piotr nowak")
    one, two, three = done(tiny).texts
    token = one.split()[3].rstrip(".")
    assert token.startswith("PERSON_")
    assert one == f"My name is {token}. Ask for {token}_FIRST."
    assert two == f"Hello Mr {token}_LAST"
    assert token not in three


def test_secrets_are_redacted_and_never_kept(tiny: Any, done: Any) -> None:
    tiny.ticket().message("48000001", "50001", "my password is hunter2! please reset")
    result = done(tiny)
    assert "[SECRET]" in result.texts[0]
    assert not any("hunter2" in original for _, original in result.shard.vault)


def test_json_is_walked_and_numbers_stay(tiny: Any, done: Any) -> None:
    extra = {"note": "for Anna Meyer", "account_id": "C-10001", "n": 3, "deep": [{"mail": "anna.meyer@nordkap.example"}]}
    tiny.record("orders", "order", "A-104328", "ORG-001", account_id="C-10001", extra=extra)
    result = done(tiny)
    anna, new = result.field("user", "name"), result.field("order", "extra")
    assert new == {
        "note": f"for {anna}",
        "account_id": result.field("order", "account_id"),
        "n": 3,
        "deep": [{"mail": f"{anna}_EMAIL"}],
    }
    assert result.field("order", "total_minor") == 12990


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"field": "shoe_size", "value_json": '"43"'}, "unknown field"),
        ({"field": "status", "value_json": '"Resolvd"'}, "code outside the code book"),
        ({"field": "subject", "value_json": '"broken \ufffd text"'}, "undecodable text"),
        ({"type": "message", "text": "Ich habe die Ware noch nicht erhalten und bitte um eine Antwort"}, "unsupported language"),
        ({"type": "message", "text": "Где мой заказ, я жду его уже две недели"}, "unsupported language"),
        ({"field": "requester_id", "value_json": '{"id": 5}'}, "an object in a field of type id"),
    ],
)  # fmt: skip
def test_what_is_not_understood_goes_to_quarantine_without_its_text(
    tiny: Any, done: Any, more: dict[str, Any], reason: str
) -> None:
    tiny.ticket().row("helpdesk", "ticket", "48000001", **more)
    result = done(tiny)
    assert len(result.held) == 1
    assert reason in result.held[0]["reason"]
    assert result.held[0]["found"] is None
    assert len(result.clean) + 1 == len(tiny.rows)


def test_a_failed_detector_holds_the_row_back(tiny: Any, spec: Spec, monkeypatch: pytest.MonkeyPatch) -> None:
    from deid.spans import Detector

    def broken(texts: Any, context: Any) -> Any:
        raise RuntimeError("quotes the text")

    monkeypatch.setattr("deid.text.load_plugins", lambda *a: {"odd": Detector("odd", "odd", 1, broken)})
    tiny.ticket().message("48000001", "50001", "Hello there")
    result = Done(spec, tiny.tables())
    assert [h["reason"] for h in result.held] == ["deid: detector odd failed"]


def test_per_source_tokens_do_not_link_systems(tiny: Any, done: Any, spec_of: Any) -> None:
    tiny.ticket().message("48000001", "50001", "Regards\nAnna Meyer")
    result = done(tiny, spec_of(tokens={"scope": "per_source"}, deid={"ner": False}))
    assert result.field("user", "name") != result.field("account", "holder_name")
    assert result.field("user", "email") != result.field("account", "email")
    assert result.texts[0].endswith(result.field("user", "name"))


def test_the_result_does_not_depend_on_the_order_of_rows(tiny: Any, done: Any) -> None:
    tiny.ticket().message("48000001", "50001", "I am Anna Meyer, my name is piotr.")
    first = done(tiny)
    tiny.rows.reverse()
    second = done(tiny)
    assert sorted(first.clean, key=lambda r: r["seq"]) == sorted(second.clean, key=lambda r: r["seq"])
