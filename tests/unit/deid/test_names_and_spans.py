from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.fold import fold, words_of
from deid.names import one_edit, parse_name, same_person_name
from deid.spans import EXACT, GUESS, Span, resolve


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("Anna Meyer", "anna", "meyer"),
        ("Meyer, Anna", "anna", "meyer"),
        ("Dr. Anna-Lena van der Berg", "anna lena", "van der berg"),
        ("SEÁN O'Brien", "sean", "o brien"),
        ("John Smith Jr.", "john", "smith"),
        ("Judith D.", "judith", "d"),
        ("Alexis", "alexis", ""),
        ("", "", ""),
    ],
)
def test_a_name_is_read_in_any_order_case_and_accent(text: str, first: str, last: str) -> None:
    name = parse_name(text)
    assert (name.first, name.last) == (first, last)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Robert Frank", "Bob Frank", True),
        ("N. Sokolov", "Nikolaus Sokolov", True),
        ("Judith D.", "Judith Duboi", True),
        ("Rafael Maier", "Raf Maier", True),
        ("Anna Meyer", "Anna Schulz", False),
        ("Anna Meyer", "Berta Meyer", False),
    ],
)
def test_names_agree_by_nickname_initial_or_beginning_only(one: str, other: str, same: bool) -> None:
    assert same_person_name(parse_name(one), parse_name(other)) is same


@pytest.mark.parametrize(
    ("a", "b", "is_one"),
    [("weber", "wbeer", True), ("weber", "webe", True), ("weber", "weber", False), ("weber", "wxxer", False)],
)
def test_one_edit_is_one_letter_or_one_swap(a: str, b: str, is_one: bool) -> None:
    assert one_edit(a, b) is one_edit(b, a) is is_one


@given(st.text(max_size=60))
def test_words_point_back_into_their_text(text: str) -> None:
    words = words_of(text)
    assert [text[s:e] for s, e in zip(words.starts, words.ends, strict=True)] == list(words.raw)
    assert words.joined == f" {' '.join(words.folded)} "
    assert all(words.joined[offset:].startswith(words.folded[n]) for offset, n in words.index.items())
    assert fold(text) == " ".join(words.folded)


SPANS = st.builds(
    lambda start, size, rank, tier: Span(start, start + size, "x", "", rank, tier),
    st.integers(0, 40), st.integers(1, 12), st.integers(0, 3), st.sampled_from([EXACT, GUESS]),
)  # fmt: skip


@given(st.lists(SPANS, max_size=12))
def test_resolved_spans_never_overlap_and_cover_every_exact_or_guessed_character(spans: list[Span]) -> None:
    done = resolve(spans)
    assert all(a.end <= b.start for a, b in pairwise(done))
    covered = {i for s in done for i in range(s.start, s.end)}
    assert {i for s in spans if s.tier == GUESS for i in range(s.start, s.end)} <= covered
    assert resolve(spans) == resolve(list(reversed(spans)))


def test_the_longest_exact_span_wins_and_a_guess_keeps_what_is_left() -> None:
    short, long, guess = Span(0, 4, "known"), Span(0, 10, "person"), Span(6, 16, "person", "", 0, GUESS)
    assert resolve([short, guess, long]) == [long, Span(10, 16, "person", "", 0, GUESS)]
