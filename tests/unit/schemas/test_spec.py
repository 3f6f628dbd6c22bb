from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel, ConfigDict

from schemas.errors import SpecError
from schemas.records import CodeBook, KnownAt
from schemas.spec import Spec, check_options, load_spec

ROOT = Path(__file__).resolve().parents[3]
GOOD = """
name = "acme_v1"
supplier = "acme"
export = "exports/acme"

[[sources]]
name = "desk"
format = "zendesk"
zone = "UTC"

[select]
record_system = "helpdesk"
record_kind = "ticket"

[[systems]]
name = "helpdesk"
plugin = "helpdesk"

[[workflows]]
name = "refund"
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "acme.toml"
    path.write_text(text, encoding="utf-8")
    return path


def faults(folder: Path, text: str) -> list[str]:
    with pytest.raises(SpecError) as caught:
        load_spec(write(folder, text))
    return caught.value.faults


def test_a_small_spec_loads_with_the_documented_defaults(tmp_path: Path) -> None:
    spec = load_spec(write(tmp_path, GOOD))
    assert spec.tokens.scope == "per_source"
    assert spec.tokens.key_env == "RECORDGYM_TOKEN_KEY"
    assert not spec.sample


@pytest.mark.parametrize("path", sorted((ROOT / "tasks" / "specs").glob("*.toml")), ids=lambda path: path.name)
def test_every_shipped_spec_loads_and_is_named_like_its_file(path: Path) -> None:
    assert load_spec(path).name == path.stem


def test_one_bad_spec_reports_all_its_faults_at_once_with_dotted_paths(tmp_path: Path) -> None:
    text = (
        GOOD.replace('zone = "UTC"', 'zone = "Europe/Berlln"\nzome = "UTC"')
        .replace('record_kind = "ticket"\n', "")
        .replace('name = "refund"', 'name = "refund"\noutcome = "guess"')
        + '\n[[workflows]]\nname = "refund"\n'
        + '\n[[rules]]\nid = "r"\nrule = "limit"\nworkflows = ["refnd"]\n'
        + '\n[tokens]\nscope = "cross_system"\n'
    )
    found = faults(tmp_path, text)
    paths = {fault.split(":", 1)[0] for fault in found}
    assert paths == {
        "sources.0.zone",
        "sources.0.zome",
        "select.record_kind",
        "workflows.0.outcome",
        "workflows",
        "rules.0.workflows",
        "tokens.agreement",
    }


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("[holdout]\nshare_of_groups = 1.5", "holdout.share_of_groups"),
        ("[holdout]\nshare_of_time = -1", "holdout.share_of_time"),
        ("[holdout]\nembargo_percentile = 2.0", "holdout.embargo_percentile"),
        ("[holdout]\nembargo_percentile = 0", "holdout.embargo_percentile"),
        ("[holdout]\nmin_per_slice = -1", "holdout.min_per_slice"),
        ('[[systems]]\nname = "shop"\nplugin = "ordrs"', "systems.1.plugin"),
        ('[requester.slots]\norder_id = ["order number", ""]', "requester.slots.order_id.1"),
        ('[requester.slots]\norder_id = [" - "]', "requester.slots.order_id.0"),
    ],
)
def test_a_number_out_of_its_range_an_unknown_system_or_an_empty_phrase_is_a_fault(tmp_path: Path, line: str, place: str) -> None:
    found = faults(tmp_path, f"{GOOD}\n{line}\n")
    assert [fault.partition(": ")[0] for fault in found] == [place]


@pytest.mark.parametrize(
    ("waived", "fault"),
    [
        (
            '{ requester = "the same workers" }',
            "holdout.waived: Value error, a reason alone signs nothing; give each group reason",
        ),
        (
            '{ requester = { reason = "r", signed_by = "A" } }',
            "holdout.waived.requester.expires: is missing (Last day on which it holds, YYYY-MM-DD)",
        ),
        ('{ requester = { reason = "r", signed_by = " ", expires = "2030-01-01" } }', "holdout.waived.requester.signed_by: "),
        ('{ requester = { reason = "r", signed_by = "A", expires = "soon" } }', "holdout.waived.requester.expires: "),
    ],
)
def test_a_group_crosses_the_hold_out_only_by_signature_and_until_a_day(tmp_path: Path, waived: str, fault: str) -> None:
    found = faults(tmp_path, GOOD + f"\n[holdout]\nwaived = {waived}\n")
    assert [one.startswith(fault) for one in found] == [True], found


@pytest.mark.parametrize("line", ["triviality_p = 1.5", "min_requester_turns = -1"])
def test_what_selects_records_is_in_its_range(tmp_path: Path, line: str) -> None:
    found = faults(tmp_path, GOOD.replace("[select]", f"[select]\n{line}"))
    assert [fault.partition(": ")[0] for fault in found] == [f"select.{line.split(maxsplit=1)[0]}"]


def test_the_ends_of_a_range_are_in_it(tmp_path: Path) -> None:
    held = load_spec(write(tmp_path, GOOD + "\n[holdout]\nshare_of_groups = 0\nshare_of_time = 1\nembargo_percentile = 1\n"))
    assert (held.holdout.share_of_groups, held.holdout.share_of_time, held.holdout.embargo_percentile) == (0, 1, 1)


def test_faults_do_not_repeat_values_that_may_be_secret(tmp_path: Path) -> None:
    text = GOOD + '\n[tokens]\nkey_env = 17\nscope = "hunter2-hunter2"\n'
    assert "hunter2" not in "; ".join(faults(tmp_path, text))


@pytest.mark.parametrize("value", ['"x"', "3", "[1, 2]", "{ a = 1 }"])
@pytest.mark.parametrize("table", ["sources", "systems", "workflows", "rules", "tokens", "policies"])
def test_a_table_of_another_shape_is_a_fault_and_not_a_crash(tmp_path: Path, table: str, value: str) -> None:
    kept = [part for part in GOOD.split("\n\n") if not part.startswith(f"[[{table}]]")]
    found = faults(tmp_path, f"{table} = {value}\n" + "\n\n".join(kept))
    assert any(fault.startswith(table) for fault in found)


def test_dates_that_are_not_moved_need_an_agreement(tmp_path: Path) -> None:
    kept = '\n[tokens]\ndates = "as_recorded"\n'
    assert faults(tmp_path, GOOD + kept)[0].startswith("tokens.agreement: dates that are not moved")
    signed = kept + 'agreement = { who = "A. Person", when = "2026-01-01", purpose = "a role play" }\n'
    assert load_spec(write(tmp_path, GOOD + signed)).tokens.dates == "as_recorded"


def test_a_missing_spec_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"nowhere\.toml: no such file"):
        load_spec(tmp_path / "nowhere.toml")


def test_a_folder_given_as_spec_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot be read"):
        load_spec(tmp_path)


@pytest.mark.parametrize("raw", [b"name = ", b"\xff\xfe\x00"])
def test_a_spec_that_is_not_toml_says_so(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "acme.toml"
    path.write_bytes(raw)
    with pytest.raises(SpecError, match="not TOML"):
        load_spec(path)


def test_a_scope_that_links_sources_needs_an_agreement(tmp_path: Path) -> None:
    scope = '\n[tokens]\nscope = "per_supplier"\n'
    assert faults(tmp_path, GOOD + scope)[0].startswith("tokens.agreement")
    signed = scope + 'agreement = { who = "A. Person", when = "2026-01-01", purpose = "links accounts to tickets" }\n'
    assert load_spec(write(tmp_path, GOOD + signed)).tokens.agreement is not None


def test_options_of_a_plugin_are_checked_below_their_own_path() -> None:
    class Options(BaseModel):
        model_config = ConfigDict(extra="forbid")
        limit: int

    with pytest.raises(SpecError) as caught:
        check_options(Options, {"limt": 3}, "acme.toml", "systems.0.config")
    assert [fault.split(":")[0] for fault in caught.value.faults] == ["systems.0.config.limit", "systems.0.config.limt"]


@pytest.mark.parametrize(
    ("good", "bad", "path"),
    [
        ('supplier = "acme"', 'supplier = "../../evil"', "supplier"),
        ('name = "acme_v1"', 'name = "a/b"', "name"),
        ('supplier = "acme"', 'supplier = "acme"\nmax_steps = -1', "max_steps"),
    ],
)
def test_names_that_hide_a_path_and_impossible_numbers_are_faults(tmp_path: Path, good: str, bad: str, path: str) -> None:
    assert [fault.split(":", 1)[0] for fault in faults(tmp_path, GOOD.replace(good, bad, 1))] == [path]


def test_a_field_that_is_missing_says_where_and_what_belongs_there(tmp_path: Path) -> None:
    text = GOOD.replace('supplier = "acme"\n', "").replace('zone = "UTC"\n', "")
    told = faults(tmp_path, text)
    assert any(one.startswith("supplier: is missing (Whose records they are") for one in told)
    assert any(one.startswith("sources.0.zone: is missing (IANA zone of times that carry none") for one in told)
    assert "Field required" not in str(told)


def test_the_export_may_be_named_at_each_run_alone(tmp_path: Path) -> None:
    assert load_spec(write(tmp_path, GOOD.replace('export = "exports/acme"\n', ""))).export == ""


def _undescribed(schema: dict[str, Any], name: str) -> list[str]:
    """Fields of the model and of those that it holds of which nothing is said; one that says what its own type says is not
    described twice."""
    own = schema.get("$defs", {})
    return [
        f"{model}.{field}"
        for model, one in {name: schema, **own}.items()
        for field, said in one.get("properties", {}).items()
        if not said.get("description") and not own.get(said.get("$ref", "").rpartition("/")[2], {}).get("description")
    ]


@pytest.mark.parametrize("model", [Spec, CodeBook], ids=lambda model: model.__name__)
def test_each_field_that_a_supplier_writes_is_described_in_its_type(model: type[BaseModel]) -> None:
    assert _undescribed(model.model_json_schema(), model.__name__) == []


def test_each_time_at_which_a_field_can_be_known_is_described() -> None:
    words = CodeBook.model_json_schema()["$defs"]["FieldRule"]["properties"]["known_at"]["description"]
    for name in get_args(KnownAt):
        assert f"{name}: " in words, name
