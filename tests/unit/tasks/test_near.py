"""Clusters of near-duplicates: a chain joins, a short opening never does, and the name does not depend on the order."""

from __future__ import annotations

from tasks.near import clusters, pairs

ONE = "my order has not come yet and it was promised for the third of may please look into it today"
TWO = ONE.replace("today", "now")
OTHER = "somebody has locked my account and i cannot read any of the bills that you have sent to me"


def test_requests_that_read_the_same_share_a_cluster_named_by_the_smallest_id() -> None:
    texts = {"c": ONE, "b": TWO, "a": OTHER}
    assert clusters(texts) == {"a": "a", "b": "b", "c": "b"}
    assert clusters(dict(sorted(texts.items()))) == clusters(texts)


def test_a_chain_of_pairs_is_one_cluster() -> None:
    words = f"{ONE} {OTHER}".split()
    texts = {str(i): " ".join([*(f"w{n}" for n in range(i)), *words[i:]]) for i in range(6)}
    assert not list(pairs([("0", texts["0"])], [("5", texts["5"])]))
    assert set(clusters(texts).values()) == {"0"}


def test_a_short_opening_stands_alone() -> None:
    assert clusters({"a": "please help me", "b": "please help me"}) == {"a": "a", "b": "b"}
