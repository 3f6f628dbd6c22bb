"""Values against the code book: nothing is cast that could lose or invent something."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from ingest.source import RowFault
from ingest.sources.sql import native
from ingest.sources.star import argument_value
from ingest.values import checked, shown_code
from schemas.records import CodeBook, FieldRule

TYPES = ["code", "text", "money", "int", "number", "bool", "time", "date", "id", "email", "tags", "json"]
BOOK = CodeBook(
    supplier="s",
    fields={f"a.b.{kind}": FieldRule.model_validate({"type": kind, "identity": "x" if kind == "id" else None}) for kind in TYPES},
    codes={"a.b.code": ["open", "closed"]},
)


@pytest.mark.parametrize(
    ("field", "value", "kept"),
    [
        ("code", "open", "open"),
        ("money", 25000, 25000),
        ("number", 2.5, 2.5),
        ("bool", False, False),
        ("date", "2025-03-01", "2025-03-01"),
        ("id", 3610001, "3610001"),
        ("tags", ["a", "b"], ["a", "b"]),
        ("json", {"a": [1]}, {"a": [1]}),
        *[(kind, None, None) for kind in TYPES],
    ],
)
def test_fitting_values_pass(field: str, value: Any, kept: Any) -> None:
    assert checked(BOOK, ("a", "b"), field, value) == kept


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("code", "opne"),
        ("text", 3),
        ("money", 25000.5),
        ("money", 25000.0),
        ("money", True),
        ("money", "25000"),
        ("int", "3"),
        ("number", float("nan")),
        ("number", True),
        ("bool", 1),
        ("bool", "true"),
        ("date", "1.3.2025"),
        ("date", "2025-02-30"),
        ("id", ""),
        ("id", 1.0),
        ("tags", "a,b"),
        ("tags", [1]),
        ("unknown", "x"),
    ],
)
def test_other_values_are_faults_that_name_the_field(field: str, value: Any) -> None:
    with pytest.raises(RowFault) as caught:
        checked(BOOK, ("a", "b"), field, value)
    assert caught.value.field == f"a.b.{field}"


@pytest.mark.parametrize(
    "value", ["anna@x.example", "Anna", "Anna Vogel", "+49 30 123456", "A-100001 is late", "4111111111111111"]
)
def test_what_may_be_personal_is_never_shown(value: str) -> None:
    assert shown_code(value, ["open", "solved", "closed"]) == "text"


def test_a_misspelt_code_is_shown_as_it_was_found() -> None:
    assert shown_code("Resolvd", ["open", "solved", "closed"]) == "'Resolvd'"


@pytest.mark.parametrize(
    ("kind", "raw", "written", "value"),
    [
        ("money", "25000", True, 25000),
        ("money", "25000.5", True, "25000.5"),
        ("money", "025", True, "025"),
        ("money", "25000", False, "25000"),
        ("money", Decimal("25000"), False, 25000),
        ("money", Decimal("25000.00"), False, Decimal("25000.00")),
        ("bool", 1, False, True),
        ("bool", "0", True, False),
        ("bool", 2, False, 2),
        ("bool", "yes", True, "yes"),
        ("bool", True, False, True),
        ("number", "2.50", True, 2.5),
        ("text", "0", True, "0"),
    ],
)
def test_a_drivers_value_is_read_only_where_nothing_is_lost(kind: str, raw: Any, written: bool, value: Any) -> None:
    found = native(kind, raw, written)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("raw", "value", "plain"),
    [
        ('"West Bay"', "West Bay", True),
        ("5", 5, True),
        ("0314", "0314", True),
        ("True", True, True),
        ("null", None, True),
        ('api.is_equal_to("Yes")', "Yes", True),
        ('api.is_equal_to(["Yes"])', "Yes", True),
        ('api.is_one_of(["Yes"])', "Yes", True),
        ('api.is_one_of(["Yes","No"])', 'api.is_one_of(["Yes","No"])', False),
        ("api.is_at_most(10)", "api.is_at_most(10)", False),
        ("api.is_equal_to()", "api.is_equal_to()", False),
        ('" padded "', "padded", True),
        ('"un"even"', 'un"even', True),
    ],
)
def test_star_arguments_lose_quotes_and_equality_and_nothing_else(raw: str, value: Any, plain: bool) -> None:
    assert argument_value(raw) == (value, plain)
