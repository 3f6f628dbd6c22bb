from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from deid.tokens import TOKEN, Minter, base_of, load_key, reference, shift_weeks, type_name
from schemas.errors import PrivacyError
from schemas.paths import key_file

CONTRACT = re.compile(r"\b[A-Z]+(?:_[A-Z]+)*_[0-9A-F]{8}(?:_(?:FIRST|LAST|EMAIL\d*|PHONE\d*|LOGIN|INITIAL))?\b")


def test_one_identity_has_one_token_and_another_key_scope_or_epoch_another() -> None:
    token = Minter(b"k" * 32, "s", 1).mint("order", "id:a-1")
    assert token == Minter(b"k" * 32, "s", 1).mint("order", "id:a-1")
    assert CONTRACT.fullmatch(token)
    assert token.startswith("ORDER_")
    others = [Minter(b"x" * 32, "s", 1), Minter(b"k" * 32, "t", 1), Minter(b"k" * 32, "s", 2)]
    assert token not in {m.mint("order", "id:a-1") for m in others}


def test_two_identities_never_share_a_token() -> None:
    minter = Minter(b"k" * 32, "s", 1)
    token = minter.mint("order", "id:a-1")
    again = Minter(b"k" * 32, "s", 1)
    again.owners[token] = ("ORDER", "\0someone else")
    assert again.mint("order", "id:a-1") != token
    fork = again.fork()
    assert fork.mint("order", "id:a-1") == again.mint("order", "id:a-1")
    assert not fork.owners


def test_type_names_are_letters_whatever_the_kind_is_called() -> None:
    assert [type_name(n) for n in ("organization", "ride_book", "TicketForm2", "x.y")] == [
        "ORG",
        "RIDE_BOOK",
        "TICKET_FORM",
        "X_Y",
    ]
    assert base_of("PERSON_9F3A21BC_EMAIL2") == base_of("PERSON_9F3A21BC") == "PERSON_9F3A21BC"
    assert TOKEN.fullmatch("PERSON_9F3A21BC_EMAIL2")


def test_the_shift_is_whole_weeks_into_the_past_and_belongs_to_key_and_supplier() -> None:
    weeks = {shift_weeks(bytes([n]) * 32, "s", 1) for n in range(40)}
    assert all(-104 <= w <= -1 for w in weeks)
    assert len(weeks) > 10
    assert shift_weeks(b"k" * 32, "s", 1) == shift_weeks(b"k" * 32, "s", 1)


def test_references_say_nothing_of_the_place() -> None:
    ref = reference(b"k" * 32, "tickets.ndjson", "line:17")
    assert re.fullmatch(r"R[0-9a-f]{16}", ref)
    assert ref != reference(b"k" * 32, "tickets.ndjson", "line:18")


def test_without_a_key_the_variable_is_named(spec: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RECORDGYM_TOKEN_KEY")
    with pytest.raises(PrivacyError, match="export RECORDGYM_TOKEN_KEY"):
        load_key(spec, create=True)
    monkeypatch.setenv("RECORDGYM_TOKEN_KEY", "short")
    with pytest.raises(PrivacyError, match="has 5 bytes, allowed are 16 or more"):
        load_key(spec, create=True)


def test_the_sample_makes_its_key_once_and_says_where(
    spec_of: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("RECORDGYM_TOKEN_KEY")
    sample = spec_of(sample=True)
    with pytest.raises(PrivacyError, match="neither"):
        load_key(sample, create=False)
    key = load_key(sample, create=True)
    path: Path = key_file("tiny")
    assert str(path) in capsys.readouterr().err
    assert path.stat().st_mode & 0o777 == 0o600
    assert load_key(sample, create=True) == key
    assert capsys.readouterr().err == ""
