"""A supplier's declared query interfaces, answered from what was recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from environments.episode import Episode, tools_for
from schemas.episode import RowRef
from schemas.errors import WorldError
from schemas.files import sha256_json
from schemas.task import Opening, RequesterSpec, SystemRef, TaskSpec
from schemas.taskset import SideManifest, TaskSet

DECLARATIONS = [
    {
        "api": "doctor_schedule",
        "description": "Plans a visit.",
        "booking": True,
        "inputs": [
            {"name": "Name", "type": "string", "required": True},
            {"name": "DoctorName", "type": "enum", "enum": ["Dr. Alexis", "Dr. Morgan"]},
            {"name": "Day", "type": "string"},
        ],
    },
    {"api": "bank_balance", "description": "Balance.", "booking": False, "inputs": [{"name": "PIN", "type": "string"}]},
]


def query(kind: str | None, item: Any, **request: Any) -> dict[str, Any]:
    return {"request": request, "request_type": kind, "item": item}


ROWS = {
    "doctor_schedule": {
        "7-q1": query("Check", {"available": False}, Name="Kim", Day="Monday"),
        "7-q2": query("Check", {"available": True}, Name="Kim", Day="Tuesday"),
        "7-q9": query("Check", {"available": "old"}, Name="Kim"),
        "7-q10": query("Check", {"available": "new"}, Name="Kim"),
        "7-q11": query("Book", {"booked": True}, Name="Kim", Day="Tuesday"),
    },
    "bank_balance": {"7-q12": query(None, {"balance": 12}, PIN="11 22")},
}


def episode_of(declarations: Any = DECLARATIONS, rows: Any = ROWS, inline: bool = False) -> Episode:
    contents = {sha256_json(declarations): declarations, sha256_json({"apis": rows}): {"apis": rows}}
    named = declarations if inline else f"content:{sha256_json(declarations)}"
    at = "2020-05-01T10:00:00+02:00"
    record = RowRef(system="desk", kind="dialogue", record_id="7")
    task = TaskSpec(
        task_id="t",
        taskset="star",
        workflow="doctor_schedule",
        started_at=at,
        organisation="w1",
        opening=Opening(
            record=record, requester_id="u", requester_name="u", contact="", subject="", text="I am Kim.", received_at=at
        ),
        systems=(
            SystemRef(name="helpdesk", plugin="helpdesk", config={"codes": ["booked", "unavailable"], "finish": "answer"}),
            SystemRef(name="apis", plugin="declared", config={"declarations": named}),
        ),
        state=(sha256_json({"apis": rows}),),
        requester=RequesterSpec(),
    )
    manifest = SideManifest(taskset="star", side="train", tasks=1, files={}, ids={})
    episode = Episode(TaskSet(Path("nowhere"), "train", manifest, {"t": task}, {}, contents))
    episode.reset("t")
    return episode


def asked(episode: Episode, tool: str, **arguments: Any) -> Any:
    return json.loads(episode.step({"tool": tool, "arguments": arguments}).observation.text)


def test_a_booking_interface_becomes_a_check_and_a_book_and_another_one_tool() -> None:
    tools = tools_for(episode_of().taskset, episode_of().task)
    own = [name for name, tool in tools.items() if tool.system == "apis"]
    assert own == ["doctor_schedule_check", "doctor_schedule_book", "bank_balance"]
    assert tools["doctor_schedule_check"].parameters["properties"]["DoctorName"]["enum"] == ["Dr. Alexis", "Dr. Morgan"]
    assert tools["doctor_schedule_check"].parameters["required"] == ["Name"]


def test_a_recorded_query_gives_its_recorded_item_whatever_its_case_and_blanks() -> None:
    episode = episode_of()
    assert asked(episode, "doctor_schedule_check", Name="kim", Day="TUESDAY") == {"available": True}
    assert asked(episode, "bank_balance", PIN="1122") == {"balance": 12}
    assert [r.record_id for r in episode.journal.entries[0].reads] == ["7-q2"]


def test_what_was_never_recorded_gives_no_record_and_nothing_is_invented() -> None:
    episode = episode_of()
    assert asked(episode, "doctor_schedule_check", Name="Kim", Day="Friday") == {"result": "no_record"}
    assert asked(episode, "doctor_schedule_check", Name="Kim", Day="Tuesday", DoctorName="Dr. Alexis") == {"result": "no_record"}
    assert episode.journal.entries[0].reads == ()


def test_a_check_is_not_answered_with_a_booking_nor_the_other_way() -> None:
    episode = episode_of()
    assert asked(episode, "doctor_schedule_book", Name="Kim", Day="Monday")["result"] == "no_record"
    assert "booked" not in asked(episode, "doctor_schedule_check", Name="Kim", Day="Tuesday")


def test_of_a_query_recorded_twice_the_last_answer_stands() -> None:
    assert asked(episode_of(), "doctor_schedule_check", Name="Kim") == {"available": "new"}


def test_a_booking_always_writes_its_row_even_a_wrong_one() -> None:
    episode = episode_of()
    for day in ("Tuesday", "Friday"):
        asked(episode, "doctor_schedule_book", Name="Kim", Day=day)
    changes = [change for entry in episode.journal.entries for change in entry.changes]
    assert [(c.system, c.kind, c.op, c.fields["Day"]) for c in changes] == [
        ("apis", "doctor_schedule_booking", "create", "Tuesday"),
        ("apis", "doctor_schedule_booking", "create", "Friday"),
    ]


def test_the_answer_form_of_resolve_closes_the_opening_record() -> None:
    episode = episode_of()
    step = episode.step({"tool": "resolve", "arguments": {"code": "booked", "answer": {"balance": 12}}})
    (change,) = episode.journal.entries[0].changes
    assert step.terminated
    assert (change.system, change.kind, change.record_id) == ("desk", "dialogue", "7")
    assert "about" not in episode.tools["resolve"].parameters["properties"]


def test_the_clock_is_utc_whatever_the_zone_of_the_start() -> None:
    episode = episode_of()
    asked(episode, "bank_balance")
    assert episode.journal.entries[0].clock == "2020-05-01T08:00:00Z"


def test_declarations_may_stand_in_the_configuration_itself() -> None:
    assert asked(episode_of(inline=True), "bank_balance", PIN="1122") == {"balance": 12}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"api": "drop table"}, "not a plain name"),
        ({"inputs": [{"name": "a b"}]}, "not a plain name"),
        ({"inputs": [{"name": "a", "type": "enum"}]}, "enum without values"),
        ({"inputs": [{"name": "a", "type": "date"}]}, r"declarations.0.inputs.0.type"),
    ],
)
def test_a_wrong_declaration_is_said(change: dict[str, Any], said: str) -> None:
    wrong = [{**DECLARATIONS[1], **change}]
    with pytest.raises(WorldError, match=said):
        episode_of(wrong)


def test_a_name_that_is_no_content_is_said() -> None:
    episode = episode_of()
    system = SystemRef(name="apis", plugin="declared", config={"declarations": "file:x"})
    with pytest.raises(WorldError, match="content:<digest>"):
        tools_for(episode.taskset, episode.task.model_copy(update={"systems": (episode.task.systems[0], system)}))
