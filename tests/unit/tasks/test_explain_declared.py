"""A case of a declared system: each recorded answer is explained by its own row, and so is everything else that is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.files import write_json
from schemas.records import CodeBook, OutcomeCode
from schemas.spec import Spec, load_spec
from schemas.taskset import SideManifest, TaskSet
from tasks.case import Case, Clean, Turn, Write
from tasks.declared import Api
from tasks.declared_case import declared_case
from tasks.explain_values import Value, values
from tasks.requester import Vocabulary
from tasks.shard import Shard, ShardWork

INPUTS = {
    "Name": {"Name": "Name", "Type": "Categorical", "Categories": ["Hyatt Hotel", "Old Town Inn"]},
    "CustomerName": {"Name": "CustomerName", "Type": "ShortString"},
    "RequestType": {"Name": "RequestType", "Type": "RequestType", "Categories": ["Check", "Book"]},
}
SAID = ("hello", "My name is John", "The Old Town Inn please")
ASKED = ("", "What is your name?", "Which hotel?")


def query(number: int, kind: str, message: str) -> list[Write]:
    given = {"Name": "Old Town Inn", "CustomerName": "John", "RequestType": kind}
    answer = {"item": {"APIName": "hotel_book", "Message": message}}
    return [
        Write("apis", "hotel_book", "create", f"D-q{number}", given, 100 + number, 10 * number + 100, f"asked-{number}"),
        Write("apis", "hotel_book", "update", f"D-q{number}", answer, 100 + number, 10 * number + 105, f"answered-{number}"),
    ]


@pytest.fixture
def explained(repo_root: Path, tmp_path: Path) -> dict[str, Value]:
    spec: Spec = load_spec(repo_root / "tasks" / "specs" / "star_v1.toml")
    turns = []
    for number, (question, answer) in enumerate(zip(ASKED, SAID, strict=True)):
        if question:
            turns.append(Turn(2 * number, 2 * number, "desk:agent:W", question, True, False, f"q{number}"))
        turns.append(Turn(2 * number + 1, 2 * number + 1, "desk:user:U", answer, True, True, f"turn-{number}"))
    case = Case("D", "W", 1, 1, None, None, requester="U", requester_source="who", turns=turns)
    case.last = {"task": "hotel_book", "completion": "Complete"}
    case.writes = [*query(1, "Check", "Available"), *query(2, "Book", "Reservation Confirmed")]
    patterns = [p for p in spec.outcomes if p.workflow in (None, "hotel_book")]
    codes = {p.code: OutcomeCode(workflow="hotel_book", outcome_class=p.code, label=p.code) for p in patterns}
    api = Api("hotel_book", INPUTS, True, frozenset({"Name"}))
    work = ShardWork(spec, str(tmp_path), ("D",), {}, {}, {"hotel_book": api}, {})
    write_json(tmp_path / "codebook.json", {})
    record = (spec.select.record_system, spec.select.record_kind)
    clean = Clean(tmp_path, CodeBook(supplier=spec.supplier, fields={}, outcomes=codes), record)
    (tmp_path / "content").mkdir()
    manifest = SideManifest(taskset=spec.name, side="train", tasks=0, files={}, ids={})
    taskset = TaskSet(tmp_path, "train", manifest, {}, {"ask": {}, "tell": {}})
    shard = Shard(work, clean, tmp_path, [], taskset, Vocabulary(spec.requester.slots, {}))
    declared_case(shard, case)
    assert shard.drafts, shard.ledger
    return {v.path: v for v in values(taskset, shard.drafts[0].task)}


def test_every_value_of_a_declared_case_is_explained(explained: dict[str, Value]) -> None:
    assert all(v.explained for v in explained.values())
    assert {path.split("/")[0] for path in explained} >= {"opening", "apis", "requester", "systems"}


def test_a_recorded_answer_rests_on_its_own_row_and_the_question_on_another(explained: dict[str, Value]) -> None:
    assert explained["apis/hotel_book/D-q2/item/Message"].references == ("answered-2",)
    assert explained["apis/hotel_book/D-q2/request/Name"].references == ("asked-2",)
    assert explained["apis/hotel_book/D-q1"].references == ("asked-1",)


def test_a_fact_rests_on_the_turn_that_told_it(explained: dict[str, Value]) -> None:
    told = {v.value: v.references for path, v in explained.items() if path.startswith("requester/f")}
    assert told["My name is John"] == ("turn-1",)
    assert told["The Old Town Inn please"] == ("turn-2",)
    assert explained["opening/text"].references == ("turn-0",)
    assert explained["opening/requester_id"].references == ("who",)
