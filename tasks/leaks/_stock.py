"""Whose words a run of words is: nobody's where it only joins stock sentences."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import groupby

from tasks.leaks._states import KEPT_TASKS
from tasks.leaks._walk import words

Gram = tuple[str, ...]
PARAGRAPHS = re.compile(r"\n\s*\n")
ENDS = re.compile(r"[.!?\n;]+")


@lru_cache(maxsize=KEPT_TASKS)
def sentences(text: str) -> list[list[str]]:
    """The words of each sentence; several checks ask about the same message, and none changes what it is given."""
    return [said for part in ENDS.split(text) if (said := words(part))]


class Stock:
    """Tells runs that stand in a case's messages only across the end of a sentence, between what several cases say: agents put
    stock sentences together as they need them, and that two of them meet is nobody's answer."""

    def __init__(self, messages: Mapping[str, Sequence[str]], common: int) -> None:
        """`messages`: case -> its messages; `common`: cases from which a piece of a sentence is stock."""
        self._messages, self._common = messages, common
        self._lined: dict[str, str] = {}
        self._stock: dict[Gram, bool] = {}
        self._said: dict[str, list[list[list[str]]]] = {}

    def joins(self, case: str, gram: Gram) -> bool:
        """True where every place at which the run stands in the case's messages is such a joint."""
        if case not in self._said:
            parts = [part for text in self._messages[case] for part in PARAGRAPHS.split(text)]
            self._said[case] = [sentences(part) for part in parts]
        places = [pieces for said in self._said[case] for pieces in _pieces(said, gram)]
        return bool(places) and all(len(pieces) > 1 and all(map(self._is_stock, pieces)) for pieces in places)

    def _is_stock(self, piece: Gram) -> bool:
        if piece not in self._stock:
            if not self._lined:
                self._lined = {
                    case: " | ".join(["", *(" ".join(said) for text in texts for said in sentences(text)), ""]).replace(
                        "|", " | "
                    )
                    for case, texts in self._messages.items()
                }
            said, count = f" {' '.join(piece)} ", 0
            for text in self._lined.values():
                count += said in text
                if count >= self._common:
                    break
            self._stock[piece] = count >= self._common
        return self._stock[piece]


def _pieces(said: list[list[str]], gram: Gram) -> list[list[Gram]]:
    """The run cut at the ends of sentences, for each place at which it stands."""
    flat = [(number, word) for number, sentence in enumerate(said) for word in sentence]
    found = []
    for at in range(len(flat) - len(gram) + 1):
        if all(flat[at + n][1] == word for n, word in enumerate(gram)):
            here = flat[at : at + len(gram)]
            found.append([tuple(word for _, word in piece) for _, piece in groupby(here, key=lambda one: one[0])])
    return found
