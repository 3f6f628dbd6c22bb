"""Mailboxes as they come: what lies in them is read, repeated or in quarantine, and the threads do not depend on the files."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ingest.run import ingest
from ingest.sources import mail as source
from ingest.sources._mail_files import found_files, places
from schemas.errors import SourceError
from schemas.events import EVENT_COLUMNS

FIXTURE = Path(__file__).resolve().parents[1] / "fixtures" / "mail"
CANARY = "Zanzibar Quux"
HEAD = f"Received: by mx.supplier.example; Wed, 5 Mar 2025 09:00:00 +0000\nFrom: {CANARY} <z@quux.example>\nTo: a@b.example\n"
BOOK = json.loads((FIXTURE / "export" / "codebook.json").read_text(encoding="utf-8"))


@pytest.fixture
def box(tmp_path: Path) -> tuple[Path, Path]:
    """(spec, export) of the fixture, which may be spoilt; any share of mails may be unreadable."""
    shutil.copytree(FIXTURE, tmp_path / "fixture")
    spec = tmp_path / "fixture" / "spec.toml"
    text = spec.read_text(encoding="utf-8").replace("max_quarantined_share = 0.8", "max_quarantined_share = 1.0")
    spec.write_text(text, encoding="utf-8")
    return spec, tmp_path / "fixture" / "export"


def run(spec: Path, export: Path, **how: Any) -> tuple[Path, dict[str, int]]:
    manifest, _, out = ingest(spec, export, quiet=True, **{"engine": "inline", **how})
    counts = manifest.counts
    assert counts["rows_in"] == counts["rows_out"] + counts["rows_quarantined"] + counts["rows_repeated"]
    return out, counts


def told(out: Path) -> list[tuple[Any, ...]]:
    """What is known of the threads, without the places."""
    events = pl.read_parquet(out / "events" / "mail.parquet").select(list(EVENT_COLUMNS)).drop("source_file", "source_pos", "seq")
    return sorted(events.rows(), key=repr)


def findings(out: Path) -> Any:
    return json.loads((out / "findings.json").read_text(encoding="utf-8"))


def test_threads_do_not_depend_on_how_mails_lie_in_files(box: tuple[Path, Path]) -> None:
    spec, export = box
    before = told(run(spec, export)[0])
    mails = [
        path.read_bytes()[place.start : place.end]
        for path, form in found_files(export / "mails", "auto", ("dovecot*",), frozenset()).files
        for place in places(path, form)
    ]
    shutil.rmtree(export / "mails")
    (export / "mails" / "deep" / "er").mkdir(parents=True)
    for number, mail in enumerate(reversed(mails)):
        (export / "mails" / ("deep/er" if number % 2 else "deep") / f"{number:03}").write_bytes(mail)
    assert told(run(spec, export)[0]) == before


def test_threads_do_not_depend_on_parts_and_workers(box: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    spec, export = box
    before = told(run(spec, export)[0])
    monkeypatch.setattr(source, "PART", 2)
    (export / "mails" / "more.eml").write_text(HEAD + "Subject: so that all is read again\n\nHello\n", encoding="utf-8")
    one = told(run(spec, export)[0])
    assert len(one) > len(before)
    (export / "mails" / "more.eml").unlink()
    assert told(run(spec, export, engine="pool", workers=2)[0]) == before


@pytest.mark.parametrize(
    ("mail", "reason"),
    [
        (b"", None),
        (b"\x00" * 4_000, "no mail: it does not begin with a header"),
        (f'{{"text": "{CANARY}"}}'.encode(), "no mail: it does not begin with a header"),
        (
            f"From: {CANARY} <z@quux.example>\nSubject: {CANARY}\n\n{CANARY}".encode(),
            "no time: neither a Received nor a Date header",
        ),
        (f"From: z@quux.example\nDate: {CANARY}\n\n".encode(), "the Date header tells no time"),
        (HEAD.encode() + b"Content-Type: text/plain; charset=utf-8\n\n\xff\x81\x8d", "bytes are no text"),
        (HEAD.encode() + b"\n" + b"x" * 2_000_000, "the text is too long"),
        (
            HEAD.encode() + b"".join(b"Content-Type: multipart/mixed; boundary=%d\n\n--%d\n" % (i, i) for i in range(90)),
            "nested too deep",
        ),
        (HEAD.encode() + b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\nx\n" * 3_000, "too many parts"),
    ],
    ids=range(9),
)
def test_a_mail_that_cannot_be_understood_goes_to_quarantine_alone(
    box: tuple[Path, Path], mail: bytes, reason: str | None
) -> None:
    spec, export = box
    before, counts = run(spec, export)
    known, passed = told(before), findings(before)["dropped"].get("mail.file.empty", 0)
    (export / "mails" / "odd.eml").write_bytes(mail)
    out, more = run(spec, export)
    assert told(out) == known
    rows = pl.read_parquet(out / "quarantine.parquet").filter(pl.col("source_file") == "mails/odd.eml").to_dicts()
    if reason is None:
        assert (rows, more["rows_in"], findings(out)["dropped"]["mail.file.empty"]) == ([], counts["rows_in"], passed + 1)
        return
    (row,) = rows
    assert reason in row["reason"]
    assert row["source_pos"] == f"bytes:0-{len(mail)}"
    everything = json.dumps(rows) + (out / "findings.json").read_text(encoding="utf-8")
    assert "Zanzibar" not in everything
    assert "quux" not in everything


def test_a_message_id_that_two_mails_share_makes_neither_vanish(box: tuple[Path, Path]) -> None:
    spec, export = box
    counts = run(spec, export)[1]
    text = (
        HEAD.replace(CANARY, "Kim")
        + "Date: Wed, 5 Mar 2025 08:00:00 +0000\nMessage-ID: <m1@kunde.example>\nSubject: Other\n\nOther"
    )
    (export / "mails" / "reused.eml").write_text(text, encoding="utf-8")
    out, more = run(spec, export)
    assert (more["rows_out"], more["records"]) == (counts["rows_out"] + 1, counts["records"] + 1)
    assert findings(out)["findings"]["message_id_reused:mail"] == 1


def test_where_a_mail_was_filed_and_how_it_was_marked_is_told_by_nothing(box: tuple[Path, Path]) -> None:
    spec, export = box
    folder = export / "mails" / "Refused claims" / "cur"
    folder.mkdir(parents=True)
    (folder.parent / "new").mkdir()
    (folder / "1.host:2,RS").write_text(
        HEAD + "X-Keywords: escalated\nStatus: RO\nBcc: chief@b.example\nSubject: claim\n\nHello\n", encoding="utf-8"
    )
    out, _ = run(spec, export)
    shown = repr(told(out))
    assert not any(word in shown for word in ("Refused claims", "escalated", "chief@", "RO"))
    dropped = findings(out)["dropped"]
    assert dropped["mail.thread.flags"] == dropped["mail.thread.status"] == dropped["mail.thread.bcc"] == 1


def test_a_folder_of_unreadable_files_stops_the_run_and_one_of_them_does_not(box: tuple[Path, Path]) -> None:
    spec, export = box
    spec.write_text(spec.read_text(encoding="utf-8").replace("= 1.0", "= 0.5"), encoding="utf-8")
    run(spec, export)
    for number in range(6):
        (export / "mails" / "single" / f"{number}.html").write_text("<p>no mail</p>", encoding="utf-8")
    with pytest.raises(SourceError, match=r"8 of 12 rows cannot be read"):
        run(spec, export)


def test_a_folder_without_mails_is_one_clear_line(box: tuple[Path, Path]) -> None:
    spec, export = box
    shutil.rmtree(export / "mails")
    with pytest.raises(SourceError, match="missing"):
        run(spec, export)
    (export / "mails").mkdir()
    with pytest.raises(SourceError, match="holds no file of mails"):
        run(spec, export)


# --- real mails --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(real_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int], Path]:
    """(records, counts, export) of the public mails."""
    archives = sorted((real_dir / "emails").glob("*.tar.gz"))
    if not archives:
        pytest.skip("the public mails are not beside this clone (../shared/real/emails)")
    folder = tmp_path_factory.mktemp("real_mails")
    export = folder / "export"
    for archive in archives:
        with tarfile.open(archive) as tar:
            tar.extractall(export / "mails" / archive.name.removesuffix(".tar.gz"), filter="data")
    (export / "codebook.json").write_text(json.dumps(BOOK), encoding="utf-8")
    spec = folder / "spec.toml"
    spec.write_text((FIXTURE / "spec.toml").read_text(encoding="utf-8").replace("= 0.8", "= 1.0"), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECORDGYM_DATA", str(folder / "data"))
        out, counts = run(spec, export)
    return out, counts, export


def test_every_real_mail_is_read_or_in_quarantine_with_its_reason(real: tuple[Path, dict[str, int], Path]) -> None:
    out, counts, export = real
    quarantine = pl.read_parquet(out / "quarantine.parquet")
    files = [path for path in export.rglob("*") if path.is_file() and path.name != "codebook.json"]
    seen = {name.removeprefix("mail:") for name in findings(out)["files"]}
    passed = sum(count for name, count in findings(out)["dropped"].items() if name.startswith("mail.file."))
    assert len(seen) + passed == len(files)
    mails = sum(path.suffix == ".txt" for path in (export / "mails" / "mailing_list_2002").rglob("*"))
    assert mails == 600
    bad = quarantine.filter(~pl.col("source_file").str.ends_with(".json"))
    assert not bad["source_file"].str.ends_with(".txt").any(), "every mail of the list is read"
    assert quarantine["reason"].null_count() == 0
    assert counts["rows_quarantined"] == quarantine.height
    # What is left out of the list's archive are the 600 JSON files, which hold the same mails once more.
    assert quarantine.height - bad.height == 600


def test_each_real_json_file_holds_a_mail_that_is_read_from_the_file_beside_it(real: tuple[Path, dict[str, int], Path]) -> None:
    _, _, export = real
    for path in sorted((export / "mails" / "mailing_list_2002").rglob("*.json")):
        beside = path.with_suffix(".txt").read_bytes().decode("utf-8", "replace")
        text = json.loads(path.read_text(encoding="utf-8"))["text"]
        assert text.encode("ascii", "ignore").split()[:40] == beside.encode("ascii", "ignore").split()[:40], path.name


def test_real_replies_without_headers_are_found_again(real: tuple[Path, dict[str, int], Path]) -> None:
    from benchmarks.mail_threads import letters_of, measured

    figures = measured(*letters_of(real[2] / "mails" / "mailing_list_2002"))
    assert figures.known_pairs == 235
    assert figures.pair_recall >= 0.80
    assert figures.pair_precision >= 0.80
    assert figures.found_in_thread >= 0.95
    assert figures.other_subject <= 0.10


def test_real_mails_give_no_order_task_because_they_tell_no_outcome(real: tuple[Path, dict[str, int], Path]) -> None:
    records = pl.read_parquet(real[0] / "records.parquet")
    assert records.height == records["outcome_code"].null_count() == records["closed_ts"].null_count() > 0
    assert records["opening_seq"].null_count() == records["opened_ts"].null_count() == 0
