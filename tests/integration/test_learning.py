"""From a weak start PPO learns on a small certified set, judged on organisations that it has not seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.ppo_smoke import settings, small_set, smoke


@pytest.mark.parametrize("seed", [1, 2])
def test_ppo_learns_from_a_weak_start_and_keeps_the_rules_better(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECORDGYM_DATA", str(tmp_path / "data"))
    found = smoke(settings(str(small_set(tmp_path / "small")), seed), 200)
    assert found.rises, found.row()
    assert found.halved, found.row()
    assert not found.fallen, found.row()
