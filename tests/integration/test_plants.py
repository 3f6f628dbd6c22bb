"""Leaks of every kind, planted by somebody who had not read the checks, are found; what is not is listed here with the reason.

The benchmark (`python -m benchmarks.plants`) runs all seeds, sizes and strengths, and counts false alarms; here each kind that
must be found each time is planted once, and a few of those that tell by probability.
"""

from __future__ import annotations

import pytest

from tests.plants import SECTIONS, Plant, catalogue
from tests.plants._judge import Clean, clean, judge, plant_into
from tests.plants.suppliers import facilities, trackers

MISSED: dict[str, str] = {}
"""Kind -> why it is not found. Strict: a kind that is found by now fails the test until it is taken from here."""
COSTLY = ("full_hour_all", "shorter_all", "cases_all", "patience_all", "steps_all", "policies_all", "systems_all")
"""Found, and like others that are planted here: the benchmark alone plants them."""
ALWAYS = [p for p in catalogue().values() if not p.statistical and p.name not in COSTLY]
STRENGTHS = ("first_word_70_5", "key_70_5", "null_70_5")
"""Marks that tell by probability, one of each sort."""
SAMPLED = [catalogue()[name] for name in STRENGTHS]
EVERY = 12
"""Each twelfth kind is planted twice to see that it comes out the same."""


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Clean]:
    folder = tmp_path_factory.mktemp("repositories")
    return {"facilities": clean(facilities.make(1, 260)), "trackers": clean(trackers.make(1, 220, folder))}


def _cases(plants: list[Plant]) -> list[object]:
    return [
        pytest.param(p, id=p.name, marks=pytest.mark.xfail(reason=MISSED[p.name], strict=True) if p.name in MISSED else ())
        for p in plants
    ]


@pytest.mark.parametrize("plant", _cases([*ALWAYS, *SAMPLED]))
def test_a_planted_leak_is_found(plant: Plant, sets: dict[str, Clean]) -> None:
    judged = next((j for before in sets.values() if (j := judge(before, plant, 1, own_only=False)) is not None), None)
    assert judged is not None, f"no clean set has a place for {plant.words}"
    assert judged.verdict != "missed", plant.words


def test_the_catalogue_has_plants_of_every_kind_of_leak() -> None:
    kinds = catalogue()
    assert {p.section for p in kinds.values()} == set(SECTIONS)
    assert sum(not p.statistical for p in kinds.values()) >= 40
    assert set(MISSED) <= set(kinds)


@pytest.mark.parametrize("plant", [pytest.param(p, id=p.name) for p in list(catalogue().values())[::EVERY]])
def test_planting_changes_a_copy_and_is_the_same_for_the_same_seed(plant: Plant, sets: dict[str, Clean]) -> None:
    for before in sets.values():
        tasks, answers = before.data.tasks, dict(before.data.answers)
        planted, again = plant_into(before, plant, 3), plant_into(before, plant, 3)
        if planted is not None:
            assert again is not None
            assert (planted.tasks, planted.where) == (again.tasks, again.where)
            assert planted.data.tasks == again.data.tasks
        assert before.data.tasks == tasks
        assert dict(before.data.answers) == answers
