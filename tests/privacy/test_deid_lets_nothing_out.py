"""Canaries of every type through the whole stage: none leaves in a file, a log or an error; what fails is not published."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from deid.run import review_file, run
from deid.vault import Vault
from pipeline.manifest import read_manifest
from schemas.errors import PrivacyError
from schemas.paths import clean_dir, data_dir, home_dir, records_dir, vault_file
from tests import tiny_supplier

ROOT = Path(__file__).resolve().parents[2]
KEY = "0123456789abcdef0123456789abcdef"
CANARIES = {
    "person": "Zebulon Quackenbush",
    "lower": "xanthippe",
    "email": "canary.bird@coalmine.example",
    "phone": "+49 30 23125077",
    "iban": "DE89 3704 0044 0532 0130 00",
    "card": "4111 1111 1111 1111",
    "ip": "192.168.77.44",
    "url": "https://coalmine.example/canary/77",
    "secret": "tw33ty-b1rd",
    "order": "A-104327",
    "address": "Kanarienweg 77, 10117 Berlin",
    "known": "Anna Meyer",
}
LETTER = """Hello, my name is {lower}. Please ask {person} about order {order}.
Mail {email}, phone {phone}, account {iban}, card {card}.
Login from {ip}, see {url}. My password is {secret} as you know.
Ship to {address}.

Regards
{known}"""


TINY = tiny_supplier.load()


def supplier(**more: Any) -> tuple[Any, Any]:
    made = TINY.Tiny().people().ticket().message("48000001", "50001", LETTER.format(**CANARIES))
    made.message("48000001", "50002", "Thank you, I looked it up for you.").write(records_dir("tiny"))
    return made, TINY.make_spec(**more)


def everything(folder: Path) -> str:
    """All bytes below a folder as text: tables decoded, and the raw bytes too."""
    parts = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        parts.append(path.as_posix())
        parts.append(path.read_bytes().decode("latin-1"))
        if path.suffix == ".parquet":
            parts.append(str(pl.read_parquet(path).to_dicts()))
    return "\n".join(parts)


def test_no_canary_of_any_type_leaves_and_the_vault_gives_them_back(capfd: pytest.CaptureFixture[str]) -> None:
    made, spec = supplier()
    manifest, ran = run(spec, workers=1, engine="inline")
    assert ran
    out, log = everything(clean_dir("tiny")), "".join(capfd.readouterr())
    for kind, canary in CANARIES.items():
        assert canary.casefold() not in out.casefold(), kind
        assert canary.casefold() not in log.casefold(), kind
        assert canary.encode() not in vault_file("tiny").read_bytes(), kind
    assert manifest.counts["rows_in"] == len(made.rows) == manifest.counts["rows_out"] + manifest.counts["rows_quarantined"]
    originals = {o for found in Vault(vault_file("tiny"), KEY.encode()).tokens().values() for o in found}
    assert {c for k, c in CANARIES.items() if k != "secret"} <= originals
    assert CANARIES["secret"] not in originals
    for path in (vault_file("tiny"), review_file("tiny")):
        assert path.stat().st_mode & 0o777 == 0o600
        assert not path.resolve().is_relative_to(data_dir().resolve())


def test_a_second_run_is_a_no_op_and_a_lost_vault_is_made_again_with_the_same_bytes() -> None:
    _, spec = supplier()
    first, _ = run(spec, workers=1, engine="inline", quiet=True)
    vault = vault_file("tiny").read_bytes()
    assert run(spec, workers=1, engine="inline", quiet=True) == (first, False)
    vault_file("tiny").unlink()
    again, ran = run(spec, workers=1, engine="inline", quiet=True)
    assert ran
    assert again.files == first.files
    assert vault_file("tiny").read_bytes() == vault


def test_another_key_gives_other_tokens_and_nothing_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    _, spec = supplier()
    first, _ = run(spec, workers=1, engine="inline", quiet=True)
    monkeypatch.setenv("RECORDGYM_TOKEN_KEY", "another key of 16 bytes or more")
    second, ran = run(spec, workers=1, engine="inline", quiet=True)
    assert ran
    assert first.files["events/part-0000.parquet"] != second.files["events/part-0000.parquet"]
    with pytest.raises(PrivacyError, match="another key"):
        Vault(vault_file("tiny"), KEY.encode())


@pytest.mark.parametrize("detector", ["email", "phone", "iban"])
def test_with_a_detector_off_the_gate_holds_the_rows_back(detector: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from deid.spans import Detector
    from schemas.plugins import load_plugins

    left_on = {n: d for n, d in load_plugins("deid.detectors", "DETECTOR", Detector).items() if n != detector}
    monkeypatch.setattr("deid.text.load_plugins", lambda *a: left_on)
    made, spec = supplier()
    counts = run(spec, workers=1, engine="inline", quiet=True)[0].counts
    assert not any(c in everything(clean_dir("tiny")) for c in CANARIES.values())
    assert counts["rows_quarantined"] > 0
    assert counts["rows_in"] == len(made.rows) == counts["rows_out"] + counts["rows_quarantined"]


def test_where_the_gate_holds_back_many_rows_nothing_is_published(monkeypatch: pytest.MonkeyPatch) -> None:
    from deid import gate
    from deid.spans import Detector
    from schemas.plugins import load_plugins

    left_on = {n: d for n, d in load_plugins("deid.detectors", "DETECTOR", Detector).items() if n != "email"}
    monkeypatch.setattr("deid.text.load_plugins", lambda *a: left_on)
    monkeypatch.setattr(gate, "MAX_ROWS", 0)
    _, spec = supplier()
    with pytest.raises(PrivacyError, match="nothing was published") as error:
        run(spec, workers=1, engine="inline", quiet=True)
    assert not any(c in str(error.value) for c in CANARIES.values())
    assert not (clean_dir("tiny") / "manifest.json").exists()
    left = everything(clean_dir("tiny"))
    assert not any(c in left for c in CANARIES.values())


ODD = ["call 030, 23125001", "call +49_30_23125001", "ticket 48 000 001", "card 4111.1111.1111.1111"]


def test_an_odd_row_goes_to_quarantine_and_the_rest_is_published() -> None:
    made = TINY.Tiny().people().ticket()
    for text in [*ODD, "card 4111111111111111", "Thank you."]:
        made.message("48000001", "50001", text)
    made.write(records_dir("tiny"))
    counts = run(TINY.make_spec(), workers=1, engine="inline", quiet=True)[0].counts
    held = pl.read_parquet(clean_dir("tiny") / "quarantine.parquet")
    assert counts["rows_quarantined"] == held.height == len(ODD)
    assert counts["rows_in"] == len(made.rows) == counts["rows_out"] + counts["rows_quarantined"]
    assert set(held["field"]) == {"helpdesk.ticket.text"}
    assert all("leak scan" in reason for reason in held["reason"])
    places = {Vault(vault_file("tiny"), KEY.encode()).place(at) for at in held["source_pos"]}
    assert places == {("helpdesk.ndjson", f"line:{r['seq']}") for r in made.rows if r["text"] in ODD}
    texts = pl.read_parquet(clean_dir("tiny") / "events" / "*.parquet")["text"].drop_nulls().to_list()
    assert "Thank you." in texts
    assert len(texts) == 2


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ("Hi \uff21\uff4e\uff4e\uff41 \uff2d\uff45\uff59\uff45\uff52", "Hi PERSON_#"),
        ("Hi Ann\u0430 Meyer", "Hi PERSON_#"),
        ("account \u0421-10001", "account ACCOUNT_#"),
        ("orderA-104327ok", "order ORDER_# ok"),
        ("to anna.meyer%40nordkap.example", "to PERSON_#_EMAIL"),
        ("to anna.meyer&#64;nordkap.example", "to PERSON_#_EMAIL"),
        ("to anna.meyer@nordkap[.]example", "to PERSON_#_EMAIL"),
        ("from 192.168.77[.]44", "from IP_#"),
        ("passwd=hunter2, pw hunter2, my code word is hunter2", "passwd=[SECRET], pw [SECRET], my code word is [SECRET]"),
        ("I will bring 9 guests in spring 2025", "I will bring 9 guests in spring 2025"),
    ],
)
def test_known_values_in_another_dress_are_found(written: str, left: str) -> None:
    TINY.Tiny().people().ticket().message("48000001", "50001", written).write(records_dir("tiny"))
    run(TINY.make_spec(), workers=1, engine="inline", quiet=True)
    [said] = pl.read_parquet(clean_dir("tiny") / "events" / "*.parquet")["text"].drop_nulls().to_list()
    assert re.sub(r"_[0-9A-F]{8}", "_#", said) == left


def test_an_unexpected_error_does_not_quote_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    from deid import rewrite

    def broken(self: Any, row: Any, ask: Any) -> Any:
        raise ValueError(row["text"])

    monkeypatch.setattr(rewrite.Shard, "_event", broken)
    _, spec = supplier()
    with pytest.raises(PrivacyError, match="ValueError at") as error:
        run(spec, workers=1, engine="inline", quiet=True)
    assert not any(c in str(error.value) for c in CANARIES.values())
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__


def test_a_vault_that_cannot_be_written_publishes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _, spec = supplier()
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("RECORDGYM_HOME", str(blocked))
    with pytest.raises(PrivacyError, match="nothing was published"):
        run(spec, workers=1, engine="inline", quiet=True)
    assert not (clean_dir("tiny") / "manifest.json").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [({"deid": {"language": "fi"}}, "model for en only"), ({"tokens": {"key_env": "NO_SUCH_KEY"}}, "export NO_SUCH_KEY")],
)
def test_what_cannot_be_promised_stops_before_anything_is_written(more: dict[str, Any], message: str) -> None:
    _, spec = supplier(**more)
    with pytest.raises(PrivacyError, match=message):
        run(spec, workers=1, engine="inline", quiet=True)
    assert not clean_dir("tiny").exists()


def test_keys_inside_the_data_folder_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    _, spec = supplier()
    monkeypatch.setenv("RECORDGYM_HOME", str(data_dir() / "home"))
    with pytest.raises(PrivacyError, match="outside"):
        run(spec, workers=1, engine="inline", quiet=True)


TOML = """
name = "tiny_v1"
supplier = "tiny"
export = "nowhere"
[[sources]]
name = "helpdesk"
format = "zendesk"
zone = "UTC"
[tokens]
scope = "per_supplier"
agreement = { who = "a", when = "2025-01-01", purpose = "test" }
[deid]
ner = false
[select]
record_system = "helpdesk"
record_kind = "ticket"
[[systems]]
name = "helpdesk"
plugin = "helpdesk"
[[workflows]]
name = "refund"
"""


def command(*arguments: str, key: str | None = KEY) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "RECORDGYM_DATA": str(data_dir()), "RECORDGYM_HOME": str(home_dir()), "PYTHONPATH": str(ROOT)}
    environment.pop("RECORDGYM_TOKEN_KEY", None)
    if key:
        environment["RECORDGYM_TOKEN_KEY"] = key
    line = [sys.executable, "-m", "deid", *arguments]
    return subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_the_command_works_resolves_and_fails_in_one_line(tmp_path: Path) -> None:
    spec = tmp_path / "tiny.toml"
    spec.write_text(TOML)
    missing = command("--spec", str(spec))
    assert (missing.returncode, missing.stderr.count("\n")) == (2, 1)
    supplier()
    keyless = command("--spec", str(spec), key=None)
    assert keyless.returncode == 2
    assert "export RECORDGYM_TOKEN_KEY" in keyless.stderr
    assert not clean_dir("tiny").exists()
    done = command("--spec", str(spec), "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert not any(c in done.stdout + done.stderr for c in CANARIES.values())
    table = pl.read_parquet(clean_dir("tiny") / "events" / "part-0000.parquet").filter(pl.col("kind") == "user")
    name = table.filter(pl.col("field") == "email")["value_json"].to_list()[0].strip('"')
    assert set(command("resolve", "--spec", str(spec), name).stdout.casefold().split()) == {"anna.meyer@nordkap.example"}
    assert command("resolve", "--spec", str(spec), table["source_pos"][0]).stdout.startswith("helpdesk.ndjson:line:")
    for asked, key in ((name, None), (name, "another key of 16 bytes or more"), ("PERSON_00000000", KEY)):
        refused = command("resolve", "--spec", str(spec), asked, key=key)
        assert (refused.returncode, refused.stdout) == (2, "")
    assert read_manifest(clean_dir("tiny")).stage == "deid"
