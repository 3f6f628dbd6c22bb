"""A format is offered where the project reads it, and only there."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from ingest.draft import compose as composing
from ingest.draft.compose import Draft, compose
from ingest.draft.offer import Offer
from ingest.draft.profile import profile
from schemas.plugins import load_plugins, plugin_names


def drafted(export: Path, monkeypatch: pytest.MonkeyPatch, formats: list[str]) -> Draft:
    """The draft in a project that reads these formats."""
    monkeypatch.setattr(composing, "plugin_names", lambda of: formats if of == "ingest.sources" else plugin_names(of))
    return compose(profile(export, quiet=True), "mine")


def mails(folder: Path) -> None:
    for number in range(6):
        text = f"From: c{number}@client{number}.example\nTo: help@acme.example\nSubject: hi\nDate: x\n\nbody\n"
        (folder / "box").mkdir(exist_ok=True)
        (folder / "box" / f"{number}.eml").write_text(text, encoding="utf-8")


def test_every_offer_exports_its_one_object() -> None:
    assert set(load_plugins("ingest.draft.offers", "OFFER", Offer)) == set(plugin_names("ingest.draft.offers"))


def test_mail_is_offered_where_the_project_reads_it_and_says_that_it_holds_no_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mails(tmp_path)
    draft = drafted(tmp_path, monkeypatch, ["mail", "sql"])
    options = {"own_domains": ["acme.example"]}
    assert draft.spec["sources"] == [{"name": "mail", "format": "mail", "path": "box", "zone": "UTC", "options": options}]
    assert "mail.thread.subject" in draft.book["fields"]
    assert any(line.startswith("missing: mails hold no outcome") for line in draft.findings)
    assert not any("client" in guess.evidence for guess in draft.guesses)


def test_a_format_that_the_project_does_not_read_is_named_and_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mails(tmp_path)
    draft = drafted(tmp_path, monkeypatch, ["sql"])
    assert draft.spec["sources"] == []
    told = "no source format here drafts eml (there are sql); load it into a database, or add a format"
    assert f"not read: box/0.eml and 5 more: {told}" in draft.findings


def test_archives_of_star_dialogues_are_told_by_what_is_in_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tarfile.open(tmp_path / "dialogues.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("dialogues/1.json")
        member.size = 2
        archive.addfile(member, io.BytesIO(b"{}"))
    draft = drafted(tmp_path, monkeypatch, ["star"])
    assert [source["format"] for source in draft.spec["sources"]] == ["star"]
    assert "missing: the archive with apis/ (format star needs it)" in draft.findings
