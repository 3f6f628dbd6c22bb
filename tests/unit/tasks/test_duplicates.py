"""Near-duplicates and their clusters: chains, short texts, long texts, and the same answer as comparing every pair."""

from __future__ import annotations

import random

from tasks.duplicates import Reading, alike, components, reading_of, similarity

WORDS = [f"{a}{b}" for a in ("kettle", "lamp", "desk", "shelf", "parcel", "courier") for b in ("", "s", "box", "set", "part")]


def text(chance: random.Random, size: int) -> str:
    return " ".join(chance.choice(WORDS) for _ in range(size))


def read(texts: dict[str, str]) -> dict[str, Reading]:
    return {name: reading_of(t) for name, t in texts.items()}


def changed(text: str, places: set[int]) -> str:
    return " ".join("altogether" if i in places else word for i, word in enumerate(text.split()))


def test_a_chain_is_one_cluster_though_its_ends_are_unlike() -> None:
    words = text(random.Random(1), 40)
    chain = read(
        {
            "a": words,
            "b": changed(words, {0, 1, 2}),
            "c": changed(words, {0, 1, 2, 37, 38, 39}),
            "d": changed(words, set(range(20))),
        }
    )
    assert alike(chain["a"], chain["b"])
    assert alike(chain["b"], chain["c"])
    assert not alike(chain["a"], chain["c"])
    assert components(chain) == [["a", "b", "c"]]


def test_openings_of_fewer_than_eight_words_are_exempt_even_where_they_are_equal() -> None:
    seven, eight = "where is my order please thank you", "where is my order now please thank you"
    assert components(read({"a": seven, "b": seven})) == []
    assert components(read({"a": eight, "b": eight})) == [["a", "b"]]


def test_half_in_common_is_enough_only_where_both_are_longer_than_sixty_words() -> None:
    chance = random.Random(2)
    for size, found in ((60, []), (61, [["a", "b"]])):
        words = text(chance, size)
        pair = read({"a": words, "b": changed(words, set(range(12)))})
        assert 0.5 <= similarity(pair["a"], pair["b"]) < 0.8
        assert components(pair) == found
    long, short = text(chance, 61), text(chance, 61).rsplit(" ", 1)[0]
    assert components(read({"a": long, "b": " ".join(long.split()[:45]), "c": short})) == []


def test_pseudonyms_count_as_their_type() -> None:
    same = "please send ORDER_{} to another place because our office at the old street is closed for the whole winter"
    assert components(read({"a": same.format("1A2B3C4D"), "b": same.format("9F8E7D6C")})) == [["a", "b"]]


def test_clusters_are_those_of_every_pair_compared_in_any_order() -> None:
    chance = random.Random(3)
    texts: dict[str, str] = {}
    for number in range(60):
        base = text(chance, chance.choice([9, 14, 30, 58, 61, 66, 90]))
        texts[f"t{number:03d}"] = base
        for copy in range(chance.randrange(4)):
            size = len(base.split())
            texts[f"t{number:03d}{copy}"] = changed(
                base, {chance.randrange(size) for _ in range(chance.randrange(1 + size // 8))}
            )
    readings = read(texts)
    slow = {name: {name} for name in readings}
    for left in readings:
        for right in readings:
            if left < right and alike(readings[left], readings[right]) and slow[left] is not slow[right]:
                joined = slow[left] | slow[right]
                slow.update(dict.fromkeys(joined, joined))
    expected = sorted(sorted(group) for group in {frozenset(g) for g in slow.values()} if len(group) > 1)
    assert len(expected) > 10
    assert components(readings) == expected
    names = list(readings)
    chance.shuffle(names)
    assert components({name: readings[name] for name in names}) == expected
