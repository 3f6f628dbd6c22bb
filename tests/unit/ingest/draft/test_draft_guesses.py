"""Guesses are confirmed one by one; nothing is built before, and a new draft keeps every answer."""

from __future__ import annotations

import io
import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.draft.command import main
from ingest.draft.toml_text import toml
from samples.acme.__main__ import make
from schemas.errors import SpecError
from schemas.guesses import GuessSpec
from schemas.spec import load_spec


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small export and a draft of it."""
    folder = tmp_path_factory.mktemp("acme")
    make(folder / "export")
    assert main([str(folder / "export"), "--out", str(folder / "mine.toml"), "--quiet"]) == 0
    return folder


@pytest.fixture
def folder(once: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(once, tmp_path / "acme"))


def again(folder: Path, *more: str) -> dict[str, Any]:
    assert main([str(folder / "export"), "--out", str(folder / "mine.toml"), "--quiet", *more]) == 0
    return spec_of(folder)


def spec_of(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "mine.toml").read_text(encoding="utf-8"))


def edit(folder: Path, old: str, new: str) -> None:
    file = folder / "mine.toml"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def confirmed(spec: dict[str, Any]) -> set[str]:
    return {guess["at"] for guess in spec["guesses"] if guess["confirmed"]}


def confirm(folder: Path, at: str) -> None:
    file = folder / "mine.toml"
    head, here, tail = file.read_text(encoding="utf-8").partition(f'at = "{at}"\n')
    assert here
    file.write_text(head + here + tail.replace("confirmed = false", "confirmed = true", 1), encoding="utf-8")


def test_every_guess_carries_its_evidence_and_is_not_confirmed(folder: Path) -> None:
    guesses = [GuessSpec.model_validate(guess) for guess in spec_of(folder)["guesses"]]
    assert len(guesses) > 20
    assert all(guess.evidence for guess in guesses)
    assert not any(guess.confirmed for guess in guesses)
    assert len({guess.at for guess in guesses}) == len(guesses)


def test_a_spec_with_open_guesses_stops_with_one_error_that_lists_them(folder: Path) -> None:
    confirm(folder, "sources.shop.zone")
    with pytest.raises(SpecError) as caught:
        load_spec(folder / "mine.toml")
    assert len(caught.value.faults) == 1
    message = caught.value.faults[0]
    total = len(spec_of(folder)["guesses"])
    assert message.startswith(f"guesses: {total - 1} of {total} are not confirmed (")
    assert "sources.helpdesk.zone" in message
    assert "sources.shop.zone" not in message
    assert "code_book.fields.orders.order.status" in message


def test_a_spec_whose_guesses_are_all_confirmed_loads(folder: Path) -> None:
    edit(folder, "confirmed = false", "confirmed = true")
    assert [source.name for source in load_spec(folder / "mine.toml").sources] == ["shop", "helpdesk"]


def test_a_new_draft_keeps_confirmed_answers_and_what_was_added_and_drafts_the_rest_anew(folder: Path) -> None:
    edit(folder, 'zone = "UTC"\ntime_format', 'zone = "Europe/Berlin"\ntime_format')
    confirm(folder, "sources.shop.zone")
    edit(folder, 'zone = "UTC"\n\n[deid]', 'zone = "Asia/Tokyo"\n\n[deid]')  # not confirmed: drafted anew
    edit(folder, 'name = "mine"', 'name = "mine"\nseed = 7')
    edit(folder, "[[workflows]]", '[[workflows]]\nname = "cancel"\n\n[[workflows]]')
    book = json.loads((folder / "mine.codebook.json").read_text(encoding="utf-8"))
    book["fields"]["orders.order.total_minor"]["known_at"] = "static"
    (folder / "mine.codebook.json").write_text(json.dumps(book), encoding="utf-8")
    confirm(folder, "code_book.fields.orders.order.total_minor")
    spec = again(folder)
    assert next(one for one in spec["sources"] if one["name"] == "shop")["zone"] == "Europe/Berlin"
    assert spec["policies"]["zone"] == "UTC"
    assert spec["seed"] == 7
    assert [one["name"] for one in spec["workflows"]] == ["cancel", "request"]
    kept = json.loads((folder / "mine.codebook.json").read_text(encoding="utf-8"))
    assert kept["fields"]["orders.order.total_minor"] == {"type": "money", "known_at": "static"}
    assert confirmed(spec) == {"sources.shop.zone", "code_book.fields.orders.order.total_minor"}


def test_a_new_draft_of_the_same_export_is_the_same_file(folder: Path) -> None:
    before = (folder / "mine.toml").read_bytes(), (folder / "mine.codebook.json").read_bytes()
    again(folder)
    assert ((folder / "mine.toml").read_bytes(), (folder / "mine.codebook.json").read_bytes()) == before


def test_asking_takes_yes_another_value_and_later(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    order = [guess["at"] for guess in spec_of(folder)["guesses"]]
    assert order[:3] == ["sources.shop.format", "sources.shop.zone", "sources.shop.time_format"]
    rule = order.index("code_book.fields.orders.order.status")
    answers = ["y", "e", "Europe/Berlin", "what?", "s", *["s"] * (rule - 3)]
    answers += ["e", "no JSON", "e", '{"type": "code", "known_at": "post_hoc"}', "q"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(answers) + "\n"))
    spec = again(folder, "--ask")
    assert confirmed(spec) == {"sources.shop.format", "sources.shop.zone", "code_book.fields.orders.order.status"}
    assert next(one for one in spec["sources"] if one["name"] == "shop")["zone"] == "Europe/Berlin"
    book = json.loads((folder / "mine.codebook.json").read_text(encoding="utf-8"))
    assert book["fields"]["orders.order.status"] == {"type": "code", "known_at": "post_hoc"}
    said = capsys.readouterr().out
    assert "not understood" in said
    assert "that is not JSON" in said
    assert said.strip().endswith("guesses, 30 not confirmed")


def test_the_end_of_the_answers_keeps_what_was_answered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert confirmed(again(folder, "--ask")) == {"sources.shop.format"}


def test_a_spec_that_is_no_draft_is_not_written_over(folder: Path) -> None:
    (folder / "mine.toml").write_text('name = "mine"\n', encoding="utf-8")
    with pytest.raises(SpecError, match="is no draft"):
        main([str(folder / "export"), "--out", str(folder / "mine.toml"), "--quiet"])
    assert (folder / "mine.toml").read_text(encoding="utf-8") == 'name = "mine"\n'


VALUES = st.recursive(
    st.booleans() | st.integers(-(2**60), 2**60) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=12), VALUES, max_size=6), st.lists(st.text(), max_size=3))
def test_what_is_written_as_toml_is_read_back(spec: dict[str, Any], comments: list[str]) -> None:
    assert tomllib.loads(toml(spec, comments)) == spec
