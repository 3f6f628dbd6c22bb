"""Merged customers: one key for all that are joined, whatever the order in which the merges are told."""

from __future__ import annotations

from itertools import permutations

from tasks.merged import members, one_key


def test_a_chain_of_merges_has_one_key_in_any_order() -> None:
    pairs = [("c", "b"), ("d", "c"), ("b", "a"), ("y", "x")]
    for told in permutations(pairs):
        assert one_key(told) == {"a": "a", "b": "a", "c": "a", "d": "a", "x": "x", "y": "x"}


def test_a_case_of_a_merged_customer_reads_the_records_of_all_of_them() -> None:
    groups = {"a": "a", "b": "a"}
    assert members(groups, ["b", "z"]) >= {"a", "b", "z"}
    assert members(groups, ["z"]) == {"z"}
