"""Dates in every kind of field and in every known form move with the times around them; what cannot be moved does not leave."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from deid.dates import shift_text
from deid.run import run
from deid.vault import Vault
from schemas.errors import PrivacyError
from schemas.paths import clean_dir, records_dir, vault_file
from tests import tiny_supplier

ROOT = Path(__file__).resolve().parents[2]
KEY = "0123456789abcdef0123456789abcdef"
DAY = date(2031, 7, 14)
FORMS = ["%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d %B %Y", "%B %d, %Y", "%d-%b-%Y", "%B %Y", "SALE-%Y-%m-%d-A", "v%Y.%m.%d"]
FIELDS = ["product", "labels", "note", "due", "extra value", "extra member", "extra declared"]


TINY = tiny_supplier.load()


def planted(field: str, text: str) -> dict[str, Any]:
    name, _, part = field.partition(" ")
    if part:
        return {name: {text: "x"} if part == "member" else {"printed": {"on": text}}}
    return {name: [text] if name == "labels" else text}


def left(fields: dict[str, Any], message: str = "Thank you.", **more: Any) -> tuple[str, int]:
    """Everything that leaves a supplier with one more order, as text, and the days by which its times moved."""
    made = TINY.Tiny().people().record("orders", "order", "A-104399", "ORG-001", account_id="C-10001", **fields)
    made.ticket().message("48000001", "50001", message).write(records_dir("tiny"))
    run(TINY.make_spec(**more), workers=1, engine="inline", quiet=True)
    out = [str(pl.read_parquet(p).to_dicts()) for p in sorted(clean_dir("tiny").rglob("*.parquet"))]
    out += [p.read_text() for p in sorted(clean_dir("tiny").glob("*.json"))]
    days = Vault(vault_file("tiny"), KEY.encode()).meta["shift_days"]
    return "\n".join(out), int(days)


def deid(**more: Any) -> dict[str, Any]:
    return TINY.make_spec().deid.model_dump() | more


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("field", FIELDS)
def test_a_date_moves_whatever_the_field_and_its_form(field: str, form: str) -> None:
    written = f"Planner {DAY.strftime(form)}"
    out, days = left(planted(field, written), deid=deid(allow=[written] if "declared" in field else []))
    assert DAY.strftime(form) not in out
    assert (DAY + timedelta(days=days)).strftime(form) in out


def test_a_date_in_a_listed_code_moves_in_the_row_and_in_the_code_book() -> None:
    out, days = left({"campaign": "sale of 2031-07-14"})
    assert "2031-07-14" not in out
    assert out.count(f"sale of {DAY + timedelta(days=days)}") == 2


def test_a_date_inside_the_suppliers_vocabulary_moves_in_a_text() -> None:
    out, days = left({}, "Is the Nordkap Calendar 2031-07-14 in stock?", deid=deid(allow=["Nordkap Calendar 2031-07-14"]))
    assert "2031-07-14" not in out
    assert f"Nordkap Calendar {DAY + timedelta(days=days)}" in out


def test_what_is_left_of_a_date_that_another_find_overlaps_moves() -> None:
    """The address takes the year; the day and the month beside it are still a date."""
    out, _ = left({}, "Delivered 14 July 2031 Musterweg 12, 10115 Berlin")
    assert "14 July" not in out


@pytest.mark.parametrize("written", ["07/14/2031", "14/07/2031", "14-07-2031", "7/14/31", "14.07.31"])
@pytest.mark.parametrize("field", FIELDS)
def test_a_date_in_an_undeclared_form_does_not_leave(field: str, written: str) -> None:
    text = f"Planner {written}"
    out, _ = left(planted(field, text), deid=deid(allow=[text] if "declared" in field else []))
    assert written not in out
    assert "does not declare" in out


def test_a_code_book_with_a_date_in_an_undeclared_form_is_not_published(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = TINY.BOOK.codes | {"orders.order.campaign": ["none", "sale of 07/14/2031"]}
    monkeypatch.setattr(TINY, "BOOK", TINY.BOOK.model_copy(update={"codes": codes}))
    with pytest.raises(PrivacyError, match="nothing was published"):
        left({})
    assert not (clean_dir("tiny") / "manifest.json").exists()


@pytest.mark.parametrize("written", ["clause 3.1", "version 1.2.3", "24/7", "10.5.19", "30/60/90", "3-4-2 boxes", "1.500,00"])
def test_figures_that_are_no_date_pass(written: str) -> None:
    assert written in left({"note": f"It says {written} there"})[0]


@pytest.mark.parametrize("unit", [1, 1_000, 1_000_000])
@pytest.mark.parametrize("field", ["batch", "extra"])
def test_a_number_that_reads_as_a_time_does_not_leave(field: str, unit: int) -> None:
    number = int(datetime(2025, 6, 1).timestamp()) * unit
    out, _ = left({field: {"at": number} if field == "extra" else number})
    assert str(number) not in out
    assert "reads as a time" in out
    assert "4711" in left({field: {"at": 4711} if field == "extra" else 4711})[0]


def test_moving_twice_is_moving_by_the_sum() -> None:
    text = "from 2025-03-12 to 14 July 2025, in March 2025"
    once = shift_text(shift_text(text, -7, DAY, ()), -7, DAY, ())
    assert shift_text(text, -14, DAY, ()).split(", in")[0] == once.split(", in")[0]
