"""A record that belongs to nobody is in no state: the look-up says so, and the build names the field of the spec to set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from environments.episode import Episode
from schemas.episode import Refusal, RefusalKind, ToolCall
from schemas.spec import Spec, load_spec
from schemas.taskset import TaskSet, open_taskset
from tasks.absent import absent_kinds, in_words
from tasks.derive import Deriver, Underivable
from tasks.refused import why_refused
from tests.taskset_factory import build_taskset


@pytest.fixture(scope="module")
def spec(repo_root: Path) -> Spec:
    return load_spec(repo_root / "tasks" / "specs" / "helpdesk_v1.toml")


def records(*rows: tuple[str, str, str | None]) -> pl.DataFrame:
    told = [{"system": s, "kind": k, "record_id": f"R{n}", "organisation": o} for n, (s, k, o) in enumerate(rows)]
    return pl.DataFrame(told, schema=dict.fromkeys(("system", "kind", "record_id", "organisation"), pl.String))


TICKETS: list[tuple[str, str, str | None]] = [("helpdesk", "ticket", "ORG_1"), ("helpdesk", "ticket", "ORG_2")]


def test_a_kind_that_says_nowhere_whose_it_is_names_the_option_of_its_table(spec: Spec) -> None:
    table = records(*TICKETS, ("orders", "order", None), ("orders", "order", None), ("accounts", "account", "ORG_2"))
    assert [in_words(one) for one in absent_kinds(spec, table, {})] == [
        "orders.order: none of its 2 records is in any task's state: none says whose it is; set "
        "sources.orders.options.tables.orders.organisation (or .parent)"
    ]


def test_organisations_that_never_ask_are_told_from_none(spec: Spec) -> None:
    table = records(*TICKETS, ("orders", "order", "ORG_8"), ("orders", "order", "ORG_9"))
    (found,) = absent_kinds(spec, table, {})
    assert found["why"] == "they belong to 2 organisations, none of which is that of a helpdesk.ticket"
    assert absent_kinds(spec, table, {"ORG_8": "ORG_1", "ORG_1": "ORG_1"}) == [], "merged with one that asks"
    (nobody,) = absent_kinds(spec, records(("helpdesk", "ticket", None), ("orders", "order", "ORG_1")), {})
    assert nobody["why"] == "no helpdesk.ticket has an organisation"


def test_records_of_another_format_and_of_systems_that_no_task_has_are_told_apart(spec: Spec) -> None:
    (users,) = absent_kinds(spec, records(*TICKETS, ("helpdesk", "user", None), ("warehouse", "shelf", None)), {})
    assert in_words(users) == "helpdesk.user: none of its 1 records is in any task's state: none says whose it is"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> TaskSet:
    return open_taskset(build_taskset(tmp_path_factory.mktemp("absent")), "train")


def test_a_demanded_look_up_that_finds_nothing_says_how_many_the_state_holds(small: TaskSet) -> None:
    """The state of the episode, without its orders: what a record that belongs to nobody comes to."""
    task = small.tasks["small-late_grant"]
    empty: dict[str, Any] = {**small.state(task), "orders": {"order": {}, "line": {}}}

    class Emptied(TaskSet):
        def state(self, task: Any) -> Any:
            return empty

    taskset = Emptied(small.folder, small.side, small.manifest, small.tasks, small.forms)
    episode = Episode(taskset)
    episode.reset(task.task_id)
    deriver = Deriver(episode, task.requester.facts, task.rules, empty)
    with pytest.raises(Underivable) as missing:
        deriver.require(ToolCall(tool="create_refund", arguments={"order_id": "ORDER_00000000", "reason": "late_delivery"}))
    assert "get_order refused: no such order; the state holds 0 orders.order" in str(missing.value)
    assert "ORDER_00000000" not in str(missing.value)


def test_another_refusal_is_told_as_what_it_is(small: TaskSet) -> None:
    episode = Episode(small)
    episode.reset(next(iter(small.tasks)))
    tools = episode.tools
    said = why_refused(tools["get_order"], "order_id", Refusal(kind=RefusalKind.bad_arguments, message="x ORDER_1"), {})
    assert said == "get_order refused: an argument does not fit"
    assert why_refused(tools["get_order"], "order_id", None, {}) == "does not give what the rule demands"
    gone = Refusal(kind=RefusalKind.not_found, message="no ORDER_1")
    said = why_refused(tools["list_payments"], "order_id", gone, {}, tools.values())
    assert said == "list_payments refused: no such order; the state holds 0 orders.order", "the kind's own system"
