"""Leak checks: ids and days written with what looks like our letters, figures and hyphens, in keys, ids and names too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from schemas.plugins import load_plugins
from schemas.task import SystemRef, TaskSpec
from tasks.leaks import Leak, LeakInput, run_check
from tasks.leaks._plant import with_content, with_field, with_task, with_text
from tasks.leaks._walk import must_instant
from tests.unit.tasks.leak_inputs import leak_input, token

LEAKS = load_plugins("tasks.leaks", "LEAK", Leak)
SMALL = leak_input(tasks=8)
FIRST = SMALL.tasks[0]
CUT = must_instant(FIRST.started_at, "cut")
LATER, EARLIER = CUT + timedelta(days=400), CUT - timedelta(days=40)
Write = Callable[[str], str]


def figures_from(zero: int) -> Write:
    return lambda text: text.translate({ord("0") + n: zero + n for n in range(10)})


WRITERS: dict[str, Write] = {
    "Cyrillic": lambda t: t.translate(str.maketrans("aceopxyABCEHKMOPTX", "асеорхуАВСЕНКМОРТХ")),
    "Greek": lambda t: t.translate(str.maketrans("oviABEHIKMNOPTXYZ", "ονιΑΒΕΗΙΚΜΝΟΡΤΧΥΖ")),
    "full width": lambda t: "".join(chr(ord(c) + 0xFEE0) if 33 <= ord(c) < 127 else c for c in t),
    "figures of mathematics": figures_from(0x1D7CE),
    "Arabic figures": figures_from(0x660),
    "Indian figures": figures_from(0x966),
    "Cyrillic for figures": lambda t: t.replace("0", "О").replace("3", "З").replace("6", "б"),
    "soft hyphen": lambda t: f"{t[:4]}\u00ad{t[4:]}",
    "blank of no width": lambda t: f"{t[:4]}\u200b{t[4:]}",
    "turn of direction": lambda t: f"{t[:4]}\u2066{t[4:]}",
    **{f"hyphen {h:x}": lambda t, h=h: t.replace("-", chr(h)) for h in (0x58A, 0x2011, 0x2043, 0x2E17, 0xFE58, 0xFE63)},
}
NAMES = (token("ORDER", "new"), "WO-2024-1077", "INC-000301", "CASE_2024_B")


def failed(check: str, data: LeakInput) -> list[str]:
    findings = run_check(LEAKS[check], data)
    assert "could_not_run" not in {f.verdict for f in findings}
    return [f.path for f in findings if f.verdict == "failed"]


def changed(data: LeakInput, change: Callable[[TaskSpec], dict[str, object]]) -> LeakInput:
    return with_task(data, 0, lambda task: task.model_copy(update=change(task)))


def with_row(data: LeakInput, name: str) -> LeakInput:
    more, digest = with_content(data, {"orders": {"order": {name: {}}}})
    return changed(more, lambda task: {"state": (*task.state, digest)})


def shown(data: LeakInput, text: str) -> Iterator[tuple[str, LeakInput]]:
    """The set with a text in each place that an agent is shown."""
    fact = FIRST.requester.facts[0]
    yield "value", with_field(data, 0, "orders", "order", "note", text)
    yield "sentence", with_field(data, 0, "orders", "order", "note", f"See {text} there.")
    yield "nested key", with_field(data, 0, "orders", "order", "note", {text: 1})
    yield "id of a row", with_row(data, text)
    yield "opening", with_text(data, 0, lambda before: f"{before} See {text}.")
    for part in ("answer", "question"):
        said = fact.model_copy(update={part: f"It is {text}."})
        yield part, changed(data, lambda t, said=said: {"requester": t.requester.model_copy(update={"facts": (said,)})})
    tool = SystemRef(name="desk", plugin="helpdesk", config={"tools": [{"description": f"For example {text}"}]})
    yield "configuration", changed(data, lambda task: {"systems": (*task.systems, tool)})


def named(data: LeakInput, text: str) -> Iterator[tuple[str, LeakInput]]:
    """The set with a text where only ids stand."""
    record = FIRST.opening.record.model_copy(update={"record_id": text})
    yield "record", changed(data, lambda task: {"opening": task.opening.model_copy(update={"record": record})})
    yield "requester", changed(data, lambda task: {"opening": task.opening.model_copy(update={"requester_id": text})})
    rule = FIRST.rules[0].model_copy(update={"sentence": f"As in {text}."})
    yield "rule", changed(data, lambda _: {"rules": (rule,)})


@pytest.mark.parametrize("writer", WRITERS)
def test_a_record_first_seen_after_the_cut_is_known_in_look_alikes_wherever_it_stands(writer: str) -> None:
    for name in NAMES:
        text = WRITERS[writer](name)
        if text == name:
            continue
        late = replace(SMALL, first_seen={**SMALL.first_seen, name: LATER.isoformat()})
        for place, data in (*shown(late, text), *named(late, text)):
            assert failed("late_identifier", data), (text, place)


@pytest.mark.parametrize("writer", WRITERS)
def test_a_record_seen_before_the_cut_is_no_news_in_look_alikes(writer: str) -> None:
    for name in NAMES:
        known = replace(SMALL, first_seen={**SMALL.first_seen, name: EARLIER.isoformat()})
        for place, data in (*shown(known, WRITERS[writer](name)), *named(known, WRITERS[writer](name))):
            assert failed("late_identifier", data) == [], (name, place)


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("form", ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ", "%d.%m.%Y", "%d %B %Y"])
def test_a_day_in_look_alikes_is_found_after_the_cut_and_fine_before_it(writer: str, form: str) -> None:
    late, early = (WRITERS[writer](at.strftime(form)) for at in (LATER, EARLIER))
    if late == LATER.strftime(form):
        return
    for text, found in ((late, True), (early, False)):
        places = {
            **dict(shown(SMALL, text)),
            "time": with_field(SMALL, 0, "orders", "order", "placed_at", text),
            "file": replace(SMALL, file_times={FIRST.task_id: {f"notes/{text}.txt": FIRST.started_at}}),
        }
        for place, data in places.items():
            if place != "question":
                assert bool(failed("late_time", data)) == found, (text, place)


@pytest.mark.parametrize("mark", "\u2013\u2043\u2044\u2215\u00b7\u2219")
def test_an_odd_mark_between_the_figures_of_a_day_is_read_as_ours(mark: str) -> None:
    for at, paths in ((LATER, ["state/orders/order/note/(inside)"]), (EARLIER, [])):
        assert failed("late_time", with_field(SMALL, 0, "orders", "order", "note", f"{at:%d{mark}%m{mark}%Y}")) == paths


def test_words_of_other_alphabets_and_their_figures_say_nothing_late() -> None:
    name = "WO-2024-1077"
    late = replace(SMALL, first_seen={**SMALL.first_seen, name: LATER.isoformat()})
    for text in ("Заказ 2024 забран", "ОЗОН 1077", "طلب ١٠٧٧", f"Größe 12 — {EARLIER:%Y}–{CUT:%Y}", "Ελλάδα 2024"):
        for place, data in (*shown(late, text), *named(late, text)):
            assert failed("late_identifier", data) == [], (text, place)
            assert failed("late_time", data) == [], (text, place)
