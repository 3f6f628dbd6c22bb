"""Drafts of whole exports: the small one, the synthetic supplier's, and the real incident log."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from ingest.draft.command import main
from ingest.draft.profile import profile
from ingest.run import ingest
from samples.acme.__main__ import EXPORT, make
from samples.publish import make_sample
from samples.settings import Settings
from schemas.files import read_json

Spec = dict[str, Any]


def drafted(export: Path, out: Path) -> tuple[Spec, Spec, dict[str, dict[str, Any]]]:
    """Spec, code book and guesses by their place."""
    assert main([str(export), "--out", str(out), "--quiet"]) == 0
    spec = tomllib.loads(out.read_text(encoding="utf-8"))
    return spec, read_json(out.with_name(f"{out.stem}.codebook.json")), {one["at"]: one for one in spec["guesses"]}


def source(spec: Spec, name: str) -> Spec:
    return next(one for one in spec["sources"] if one["name"] == name)


def all_confirmed(out: Path) -> Path:
    out.write_text(out.read_text(encoding="utf-8").replace("confirmed = false", "confirmed = true"), encoding="utf-8")
    return out


def test_the_small_export_is_drafted_as_its_own_spec_says_and_its_confirmed_draft_is_read(tmp_path: Path) -> None:
    make(tmp_path / "acme")
    spec, book, _ = drafted(tmp_path / "acme", tmp_path / "mine.toml")
    written = tomllib.loads((EXPORT.parent / "acme_v1.toml").read_text(encoding="utf-8"))
    assert source(spec, "helpdesk")["options"] == source(written, "helpdesk")["options"]
    ours, theirs = source(spec, "shop"), source(written, "shop")
    assert ours["options"]["history"] == {"suffix": "_history", **theirs["options"]["history"]}
    assert (ours["format"], ours["time_format"], ours["options"]["url"]) == (
        "sql",
        theirs["time_format"],
        theirs["options"]["url"],
    )
    table, wanted = ours["options"]["tables"][0], theirs["options"]["tables"][0]
    assert {key: table[key] for key in ("table", "system", "kind", "key", "organisation")} == {
        key: wanted[key] for key in ("table", "system", "kind", "key", "organisation")
    }
    assert spec["select"] == written["select"]
    assert spec["policies"]["path"] == written["policies"]["path"]
    assert {system["name"] for system in spec["systems"]} == {"helpdesk", "orders"}
    truth = read_json(EXPORT / "codebook.json")
    assert {name: book["fields"][name]["type"] for name in truth["fields"] if name in book["fields"]} == {
        name: rule["type"] for name, rule in truth["fields"].items() if name in book["fields"]
    }
    assert truth["fields"].keys() - book["fields"].keys() == {"orders.order.organisation"}  # it goes by its column's name
    assert {name: one["outcome_class"] for name, one in book["outcomes"].items()} == {
        name: one["outcome_class"] for name, one in truth["outcomes"].items()
    }
    assert book["codes"]["orders.order.status"] == ["cancelled", "placed", "shipped"]
    manifest, _, _ = ingest(all_confirmed(tmp_path / "mine.toml"), tmp_path / "acme", workers=1, quiet=True)
    assert (manifest.counts["rows_in"], manifest.counts["rows_quarantined"]) == (103, 0)


def test_a_dump_without_its_database_is_drafted_too_and_says_what_is_to_be_done(tmp_path: Path) -> None:
    shutil.copy(EXPORT / "shop.sql", tmp_path / "shop.sql")
    spec, _, guesses = drafted(tmp_path, tmp_path / "mine.toml")
    assert source(spec, "shop")["options"]["history"]["key"] == "order_no"
    assert "sources.shop.options.tables.orders.key" in guesses
    assert "# missing: shop.sql is a dump: load it into shop.sqlite" in (tmp_path / "mine.toml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def supplier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("supplier")
    make_sample(Settings(tickets=300), folder / "export", folder / "truth")
    (folder / "export" / "codebook.json").unlink()
    return folder


def test_the_suppliers_systems_keys_links_and_outcome_are_found_without_its_spec(supplier: Path, tmp_path: Path) -> None:
    spec, book, guesses = drafted(supplier / "export", tmp_path / "mine.toml")
    written = tomllib.loads((Path(__file__).parents[2] / "tasks/specs/helpdesk_v1.toml").read_text(encoding="utf-8"))
    assert {one["format"] for one in spec["sources"]} == {"sql", "zendesk"}
    assert source(spec, "helpdesk")["options"] == source(written, "helpdesk")["options"]
    ours, theirs = source(spec, "orders")["options"], source(written, "orders")["options"]
    assert ours["history"] == theirs["history"]
    assert {table["table"]: table["key"] for table in ours["tables"]} == {
        table["table"]: table["key"] for table in theirs["tables"]
    }
    accounts = next(table for table in ours["tables"] if table["table"] == "accounts")
    assert accounts["organisation"] == "organisation_no"
    assert next(table for table in ours["tables"] if table["table"] == "orders")["parent"] == {
        "column": "account_no",
        "table": "accounts",
    }
    assert {workflow["name"] for workflow in spec["workflows"]} >= {workflow["name"] for workflow in written["workflows"]}
    assert book["outcomes"]["refund_granted"]["workflow"] == "refund"
    assert book["outcomes"]["order_cancelled"] == {"workflow": "cancel", "outcome_class": "grant", "label": "order cancelled"}
    fields = book["fields"]
    assert fields["accounts.account.holder_name"]["type"] == "name"
    assert fields["accounts.account.email"]["type"] == "email"
    assert fields["accounts.account.billing_postcode"]["type"] == "postcode"
    assert fields["orders.order.promised_at"] == {"type": "time", "known_at": "history", "planned_future": True}
    assert fields["helpdesk.ticket.resolution_code"]["known_at"] == "post_hoc"
    assert fields["helpdesk.metric.solved_at"]["known_at"] == "post_hoc"
    assert fields["helpdesk.ticket.about_record"]["type"] == "id"
    assert "set in" in guesses["sources.helpdesk.options.custom_fields.9002"]["evidence"]
    head = (tmp_path / "mine.toml").read_text(encoding="utf-8").partition("\nname = ")[0]
    assert "# link orders.account_no -> accounts.account_no: " in head
    assert "# link orders_history.ticket_ref -> tickets.id: " in head
    assert "#   missing: no code book of the supplier" in head


def test_the_suppliers_confirmed_draft_is_read(supplier: Path, tmp_path: Path) -> None:
    drafted(supplier / "export", tmp_path / "mine.toml")
    manifest, _, _ = ingest(all_confirmed(tmp_path / "mine.toml"), supplier / "export", workers=1, quiet=True)
    assert manifest.counts["rows_quarantined"] < 0.01 * manifest.counts["rows_in"]


@pytest.fixture(scope="module")
def incident_log(real_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    log = real_dir / "uci_incident_log" / "incident_event_log.csv.gz"
    if not log.is_file():
        pytest.skip("the UCI incident log is not beside the repository (shared/real/uci_incident_log)")
    folder = tmp_path_factory.mktemp("uci")
    shutil.copy(log, folder / log.name)
    return folder


def test_the_incident_log_is_drafted_day_first_by_its_counter_with_all_four_back_filled_columns(
    incident_log: Path, tmp_path: Path
) -> None:
    _, book, guesses = drafted(incident_log, tmp_path / "uci.toml")
    at, fields = "tables.incident_event_log", "code_book.fields.incident_event_log.record"
    assert guesses[f"{at}.record"]["says"] == "number"
    assert guesses[f"{at}.order"]["says"] == "sys_mod_count"
    assert guesses[f"{at}.time"]["says"] == "sys_updated_at"
    assert guesses[f"{at}.null_words"]["says"] == "?"
    times = ("opened_at", "sys_created_at", "sys_updated_at", "resolved_at", "closed_at")
    for column in times:
        assert guesses[f"{at}.time_format.{column}"]["says"] == "%d/%m/%Y %H:%M"
        assert "can only be day before month, none the other way" in guesses[f"{at}.time_format.{column}"]["evidence"]
    for column in ("resolved_at", "closed_at"):
        assert guesses[f"{fields}.{column}"]["evidence"].startswith("BACK-FILLED by evidence: in ")
    for column in ("closed_code", "resolved_by"):
        assert guesses[f"{fields}.{column}"]["evidence"].startswith("SUSPECT of being back-filled: ")
    hidden = {name.rsplit(".", 1)[1] for name, rule in book["fields"].items() if rule["known_at"] == "post_hoc"}
    assert hidden == {"resolved_at", "closed_at", "closed_code", "resolved_by"}
    assert book["fields"]["incident_event_log.record.incident_state"]["known_at"] == "history"


def test_the_incident_logs_outcome_is_its_closing_code_and_no_task_has_a_requester(incident_log: Path) -> None:
    found = profile(incident_log, quiet=True)
    assert (found.outcomes[0].column, found.outcomes[0].records) == ("closed_code", 24_811)
    assert not any(opening.words for opening in found.openings)
