"""Of two numbers that somebody says, the records know one: it must not be the only one that is hidden."""

from __future__ import annotations

import re

import polars as pl
import pytest

from deid.run import run
from schemas.paths import clean_dir, records_dir
from tests import tiny_supplier

TINY = tiny_supplier.load()


def left(text: str, **deid: object) -> str:
    """What leaves of a message in a ticket whose records hold the PIN 9431."""
    made = TINY.Tiny().people().ticket(pin="9431").message("48000001", "50001", text)
    made.write(records_dir("tiny"))
    run(TINY.make_spec(deid=TINY.make_spec().deid.model_dump() | deid), workers=1, engine="inline", quiet=True)
    [said] = pl.read_parquet(clean_dir("tiny") / "events" / "*.parquet").filter(pl.col("type") == "message")["text"].to_list()
    return str(said)


def test_both_become_tokens_of_one_kind() -> None:
    said = left("My PIN is 7702 or 9431.", alike=["pin"])
    assert re.fullmatch(r"My PIN is PIN_[0-9A-F]{8} or PIN_[0-9A-F]{8}\.", said)
    assert len(set(re.findall(r"PIN_[0-9A-F]{8}", said))) == 2


@pytest.mark.parametrize("text", ["It was 12.50 EUR.", "At 09:30, in room 12.", "About 77021 of them.", "In 7702/1.", "v7702x"])
def test_what_is_no_such_number_stays(text: str) -> None:
    assert left(text, alike=["pin"]) == text


def test_nothing_is_taken_for_one_where_the_spec_does_not_say_so() -> None:
    assert "7702" in left("My PIN is 7702 or 9431.")
