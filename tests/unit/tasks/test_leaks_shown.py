"""Leak checks: what episodes to imitate were shown, who writes the request, and look-alikes of our letters and hyphens."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from schemas.plugins import load_plugins
from schemas.records import OutcomeCode
from schemas.task import SystemRef, Trajectory
from tasks.leaks import Leak, LeakInput, run_check
from tasks.leaks._plant import with_content, with_field, with_task, with_text
from tasks.leaks._walk import must_instant
from tests.unit.tasks.leak_inputs import leak_input, token

LEAKS = load_plugins("tasks.leaks", "LEAK", Leak)
SMALL = leak_input(tasks=40)
FIRST = SMALL.tasks[0]
CUT = must_instant(FIRST.started_at, "cut")
LATER = CUT + timedelta(days=3)
CODE = SMALL.answers[FIRST.task_id].outcome.code
SHOWN = ["trajectories/observations"]
READ = '{"order_id":"ORDER_1","status":"shipped"}'
LINE = "We wrote it all off today."


def failed(check: str, data: LeakInput) -> list[str]:
    """Paths that fail."""
    findings = run_check(LEAKS[check], data)
    assert "could_not_run" not in {f.verdict for f in findings}
    return [f.path for f in findings if f.verdict == "failed"]


def episode(*observations: str, actions: tuple[str, ...] = (), data: LeakInput = SMALL) -> LeakInput:
    """The set in which an episode of the first task was shown this after its opening."""
    acts = (*actions, *(['{"tool":"read"}'] * (len(observations) - len(actions))))
    shown = Trajectory(task_id=FIRST.task_id, agent="reference", observations=('{"ticket":"x"}', *observations), actions=acts)
    return replace(data, trajectories=(shown,))


def opening(change: dict[str, str], data: LeakInput = SMALL) -> LeakInput:
    return with_task(data, 0, lambda t: t.model_copy(update={"opening": t.opening.model_copy(update=change)}))


def recorded(data: LeakInput) -> LeakInput:
    """The set in which the first task's tools answer from recorded queries."""
    changed, digest = with_content(data, {"desk": {"query": {"q1": {"request": {"id": "4"}, "request_type": "x", "item": {}}}}})
    system = SystemRef(name="desk", plugin="declared", config={"system": "desk"})
    return with_task(changed, 0, lambda t: t.model_copy(update={"state": (*t.state, digest), "systems": (system,)}))


def uuid7() -> str:
    digits = f"{int(LATER.timestamp() * 1000):012x}"
    return f"{digits[:8]}-{digits[8:]}-7a4c-8f00-0123456789ab"


MARKS = [f"{LATER:%Y-%m-%dT%H:%M:%SZ}", str(int(LATER.timestamp() * 1000)), uuid7(), f"{LATER:%Y\u2013%m\u2013%d}"]


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("form", ["{read} {mark}", "{mark} {read}", "{read}\n[{mark}]", "{read}{read} {mark}", "[info] {mark}"])
def test_a_time_that_stands_beside_the_json_of_an_observation_is_found(form: str, mark: str) -> None:
    assert failed("late_time", episode(form.format(read=READ, mark=mark))) == SHOWN


def test_planned_times_inside_the_json_of_an_observation_and_times_before_the_cut_beside_it_are_fine() -> None:
    planned = json.dumps({"promised_at": f"{LATER:%Y-%m-%dT%H:%M:%SZ}", "note": "Größe"}, ensure_ascii=False)
    earlier = f"{CUT - timedelta(days=3):%Y-%m-%dT%H:%M:%SZ}"
    for shown in (f"{planned} {earlier}", planned, planned[:-9], f"ok {planned}"):
        assert failed("late_time", episode(shown)) == []
    assert failed("late_time", episode(json.dumps({"note": {"at": int(LATER.timestamp())}}))) == SHOWN


def test_a_pseudonym_in_an_observation_says_no_time_though_its_digits_read_as_one() -> None:
    name = f"PERSON_{LATER:%Y%m%d}"
    shown = json.dumps({"by": name, "mail": f"{name}_EMAIL"})
    data = replace(SMALL, first_seen={**SMALL.first_seen, name: (CUT - timedelta(days=1)).isoformat()})
    assert failed("late_time", episode(shown, data=data)) == []
    assert failed("late_time", episode(shown)) == SHOWN


@pytest.mark.parametrize("name", [token("ORDER", "new"), "WO-2024/77"])
def test_an_identifier_that_comes_later_is_found_in_an_observation_unless_the_requester_brings_it(name: str) -> None:
    data = replace(SMALL, first_seen={**SMALL.first_seen, name: LATER.isoformat()})
    shown = json.dumps({"note": f"as before\n{name}"})
    for text in (shown, f"{READ} {name}", json.dumps({name: 1})):
        assert failed("late_identifier", episode(text, data=data)) == SHOWN
    said = json.dumps({"requester": f"It is {name}."}, separators=(",", ":"))
    assert failed("late_identifier", episode(said, shown, data=data)) == []
    assert failed("late_identifier", episode(shown, said, data=data)) == SHOWN
    assert failed("late_identifier", episode(shown, data=recorded(data))) == []
    known = replace(data, first_seen={**data.first_seen, name: (CUT - timedelta(days=1)).isoformat()})
    assert failed("late_identifier", episode(shown, data=known)) == []
    assert failed("late_identifier", episode(f"{READ} {token('REFUND', 'made')}", data=data)) == []


@pytest.mark.parametrize("only", [True, False])
def test_a_code_of_one_word_beside_the_json_of_an_observation_is_found_unless_an_action_named_it(only: bool) -> None:
    answer = SMALL.answers[FIRST.task_id]
    plain = answer.model_copy(update={"outcome": answer.outcome.model_copy(update={"code": "granted"})})
    about = OutcomeCode(workflow=FIRST.workflow, outcome_class="grant", label="x")
    book = SMALL.code_book.model_copy(update={"outcomes": {**({} if only else SMALL.code_book.outcomes), "granted": about}})
    data = replace(SMALL, answers={**SMALL.answers, FIRST.task_id: plain}, code_book=book)
    for beside in ("granted", "Granted", "result: granted", "gr\u0430nted"):
        assert failed("outcome_literal", episode(f"{READ} {beside}", data=data)) == SHOWN
    resolve = ('{"tool":"resolve","arguments":{"code":"granted"}}',)
    assert failed("outcome_literal", episode(f"{READ} granted", data=data, actions=resolve)) == []
    assert failed("outcome_literal", episode('{"status":"granted"}', f"{READ} access is granted later", data=data)) == []


def answered(text: str) -> LeakInput:
    return replace(SMALL, later_messages={**SMALL.later_messages, FIRST.task_id: (text,)})


def test_a_whole_sentence_of_an_agents_is_found_in_an_observation_unless_the_episode_or_a_policy_said_it() -> None:
    data = answered(f"Hello again. {LINE} Bye now.")
    for shown in (f"{READ} {LINE}", json.dumps({"note": f"Hm.\n{LINE}"})):
        assert failed("resolution_text", episode(shown, data=data)) == SHOWN
    assert failed("resolution_text", episode(json.dumps({"requester": LINE}, separators=(",", ":")), data=data)) == []
    reply = (json.dumps({"tool": "reply", "arguments": {"text": LINE}}),)
    assert failed("resolution_text", episode(f"{READ} {LINE}", data=data, actions=reply)) == []
    wrote = replace(data, requester_turns={FIRST.task_id: (LINE,)})
    assert failed("resolution_text", episode(f"{READ} {LINE}", data=wrote)) == []
    # What a tool answers by the records the agent may repeat.
    answer = json.dumps({"message": LINE})
    assert failed("resolution_text", episode(answer, data=recorded(data))) == []
    assert failed("resolution_text", episode(answer, data=data)) == SHOWN
    assert failed("resolution_text", episode(f"{READ} {LINE}", data=recorded(data))) == SHOWN
    ruled, digest = with_content(data, {"document": "d", "version": 1, "clauses": [{"clause": "1", "text": LINE}]})
    ruled = with_task(ruled, 0, lambda t: t.model_copy(update={"policies": (*t.policies, digest)}))
    assert failed("resolution_text", episode(f"{READ} {LINE}", data=ruled)) == []


@pytest.mark.parametrize("part", ["requester_name", "contact"])
def test_who_writes_may_not_say_a_time_a_code_or_an_agents_sentence(part: str) -> None:
    path = [f"opening/{part}"]
    assert failed("late_time", opening({part: f"Anna ({LATER:%Y-%m-%d %H:%M})"})) == path
    assert failed("late_time", opening({part: f"Anna ({CUT - timedelta(days=9):%Y-%m-%d %H:%M})"})) == []
    assert failed("outcome_literal", opening({part: f"Anna {CODE}"})) == path
    assert failed("resolution_text", opening({part: f"Anna. {LINE}"}, answered(f"{LINE} Bye."))) == path


def test_a_pseudonym_says_no_time_though_its_digits_read_as_one() -> None:
    named = f"PERSON_{LATER:%Y%m%d}"
    assert failed("late_time", opening({"requester_name": named, "contact": f"{named}_EMAIL2"})) == []
    assert failed("late_time", opening({"requester_name": f"{named} {LATER:%Y%m%d}"})) == ["opening/requester_name"]


@pytest.mark.parametrize("hyphen", "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\uff0d")
def test_a_typographic_hyphen_joins_a_date_or_an_id_like_our_own(hyphen: str) -> None:
    stamped = f"{LATER:%Y-%m-%d %H:%M}".replace("-", hyphen)
    assert failed("late_time", with_text(SMALL, 0, lambda text: f"{text} ({stamped})")) == ["opening/text/(inside)"]
    assert failed("late_time", with_field(SMALL, 0, "orders", "order", "status", stamped)) == [
        "state/orders/order/status/(inside)"
    ]
    data = replace(SMALL, first_seen={**SMALL.first_seen, "WO-2024-77": LATER.isoformat()})
    written = f"See WO{hyphen}2024{hyphen}77."
    assert failed("late_identifier", with_text(data, 0, lambda text: f"{text} {written}")) == ["opening/text/(inside)"]


def test_a_dash_between_two_times_of_day_is_no_zone() -> None:
    span = f"{CUT - timedelta(hours=2):%Y-%m-%d %H:%M}\u2013{CUT + timedelta(hours=2):%H:%M}"
    assert failed("late_time", with_field(SMALL, 0, "orders", "order", "status", span)) == []


SAME = str.maketrans("aceopxyABCEHKMOPTX", "асеорхуАВСЕНКМОРТХ")
GREEK = str.maketrans("oviABEHIKMNOPTXYZ", "ονιΑΒΕΗΙΚΜΝΟΡΤΧΥΖ")


def accented(text: str) -> str:
    return "".join(f"{c}\u0301" if c in "aeiouAEIOU" else c for c in text)


def test_a_code_in_letters_that_look_like_ours_is_found_in_names_too() -> None:
    code = CODE.translate(SAME)
    files = replace(SMALL, file_times={FIRST.task_id: {f"notes/{code}.txt": FIRST.started_at}})
    assert failed("outcome_literal", files) == ["files"]
    assert failed("outcome_literal", with_field(SMALL, 0, "orders", "order", "status", {code: 1}))
    assert failed("outcome_literal", with_field(SMALL, 0, "orders", "order", code, 1))


@pytest.mark.parametrize("write", [lambda t: t.translate(SAME), lambda t: t.translate(GREEK), accented])
def test_letters_that_look_like_ours_are_read_as_ours(write: Callable[[str], str]) -> None:
    name = token("ORDER", "new")
    line = "The parcel was left with your neighbour at number nine, who signed for it."
    data = replace(answered(line), first_seen={**SMALL.first_seen, name: LATER.isoformat()})

    def shown(text: str) -> Any:
        return with_text(data, 0, lambda before: f"{before} {text}"), with_field(data, 0, "orders", "order", "status", text)

    label = data.code_book.outcomes[CODE].label
    for check, text in (
        ("outcome_literal", CODE),
        ("outcome_literal", label),
        ("late_identifier", name),
        ("resolution_text", line),
    ):
        assert write(text) != text
        for planted in shown(write(text)):
            assert failed(check, planted)
    own = "Größe und Farbe passen, Ελλάδα, привет"
    for planted in shown(own):
        for check in ("outcome_literal", "late_identifier", "resolution_text", "late_time"):
            assert failed(check, planted) == []
