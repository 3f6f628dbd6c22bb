"""Leak checks: which identifier is meant by the figures of a text, where several have the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tasks.leaks import LeakInput, run_check
from tasks.leaks._plant import with_text
from tasks.leaks.late_identifier import LEAK
from tests.unit.tasks.leak_inputs import leak_input

SMALL = leak_input(tasks=40)


def verdicts(data: LeakInput) -> set[str]:
    return {finding.verdict for finding in run_check(LEAK, data)}


@pytest.mark.parametrize(("first_of_ours", "verdict"), [("2026-01-01T00:00:00Z", "failed"), ("2020-01-01T00:00:00Z", "passed")])
@pytest.mark.parametrize("said", ["it has to do with {}.", "order-no {}", "{}"])
def test_the_type_of_an_identifier_is_the_words_before_it_and_not_what_else_has_its_figures(
    said: str, first_of_ours: str, verdict: str
) -> None:
    ours, other = "REFUND_D2947CF8", "ORDER_D2947CF8"
    seen = {**SMALL.first_seen, ours: first_of_ours, other: "2020-01-01T00:00:00Z"}
    text = said.format(ours.lower())
    assert verdicts(with_text(replace(SMALL, first_seen=seen), 0, lambda t: f"{t} {text}")) == {verdict}
