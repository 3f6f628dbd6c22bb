"""An error of a worker reaches the process that waits for it, with its message."""

from __future__ import annotations

import pickle

from environments.agents import UnseenValue


def test_an_unseen_value_comes_back_as_it_went() -> None:
    sent = UnseenValue("plan_check", "Name", "North")
    got = pickle.loads(pickle.dumps(sent))
    assert (str(got), got.tool, got.argument, got.value) == (str(sent), "plan_check", "Name", "North")
