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


def thread(*texts: str, **fields: object) -> list[str]:
    """What leaves of the messages of a ticket in which records know no PIN; another ticket's hold 9431."""
    made = TINY.Tiny().people().ticket("48000002", pin="9431").ticket(**fields)
    for text in texts:
        made.message("48000001", "50001", text)
    made.write(records_dir("tiny"))
    spec = TINY.make_spec(deid=TINY.make_spec().deid.model_dump() | {"alike": ["pin"], "ner": False})
    run(spec, workers=1, engine="inline", quiet=True)
    table = pl.read_parquet(clean_dir("tiny") / "events" / "*.parquet").filter(pl.col("type") == "message")
    return [str(text) for text in table.sort("event_ts")["text"].to_list()]


def test_a_pin_that_no_record_of_its_thread_holds_is_hidden_as_one_token() -> None:
    first, again, other = thread("My PIN is 7402", "As I said: 7402. Or 7 4 0 2?", "Or maybe it's 3941.")
    token = first.removeprefix("My PIN is ")
    assert re.fullmatch("PIN_[0-9A-F]{8}", token)
    assert again == f"As I said: {token}. Or {token}?"
    assert re.fullmatch(r"Or maybe it's PIN_[0-9A-F]{8}\.", other)
    assert token not in other


def test_a_value_that_a_field_holds_keeps_its_token_where_it_is_said() -> None:
    [said] = thread("My PIN is 7402", about_record="7402")
    assert said.startswith("My PIN is RECORD_")


def test_a_year_is_no_pin() -> None:
    said = left("PIN 9431. It was in 2025, in week 10 of 2025, in March 2025.", alike=["pin"])
    assert len(re.findall(r"PIN_[0-9A-F]{8}", said)) == 1
    assert "in 2025, in week 10 of 2025" in said
