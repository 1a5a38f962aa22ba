"""Free text as points: hashed words and pairs of words, without a model and without fitting.

It is a baseline. Texts with the same words are alike, whatever they mean; an embedding by a language model
tells more, and is compared like any other vector. Nothing is learned from the reference, so a word that only
the candidate has is treated no differently from one that only the reference has.
"""

from __future__ import annotations

import re
import zlib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from nammd.data.arrays import FloatArray
from nammd.data.values import Values
from nammd.encoding.columns import Column, row_blocks

SLOTS = 64
"""So many slots hold the words of a text. Cosines of texts are kept up to about 1/8."""

WORDS = 3
"""Texts of so many words on average are sentences, not names of things."""

# Letters and digits between other signs; a sign by itself of scripts without spaces; any punctuation mark.
_ALONE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
TOKEN = rf"(?u)[{_ALONE}]|[^\W{_ALONE}]+|[^\w\s]"
_TOKEN = re.compile(TOKEN)


def words_of(text: str) -> list[str]:
    """Return the words and punctuation marks of a text, in lower case.

    >>> words_of("Don't panic, it's 12:30!")
    ['don', "'", 't', 'panic', ',', 'it', "'", 's', '12', ':', '30', '!']
    """
    return _TOKEN.findall(text.lower())


def drawn_word(text: str) -> str:
    """Return one of the words of a text, drawn at random; the same one each time. Empty where there is none.

    A text counts for one word in the view of its column, so that rows count alike, however long they are.
    Long words are drawn more often, as if by a place on the page: short ones are in every text.
    """
    words = words_of(text)
    if not words:
        return ""
    ends = list(accumulate(map(len, words)))
    place = zlib.crc32(text.encode("utf-8", "surrogatepass")) % ends[-1]
    return words[bisect_right(ends, place)]


def is_prose(counts: Mapping[str, int]) -> bool:
    """Tell whether texts, each with how often it is there, are several words long on average."""
    rows = sum(counts.values())
    return sum((1 + text.count(" ")) * times for text, times in counts.items()) >= WORDS * rows


@dataclass(frozen=True)
class HashedTextColumn(Column):
    """Free text: the words and pairs of words of a row, hashed into a few dozen slots.

    Every word, and every pair of neighbouring words, adds or takes off 1 in the slot that a hash of it names;
    then the length is made 1. So two texts without a word in common differ by about ``|u - v|² = 2``, as two
    categories do, and texts with the same words by nothing.

    Attributes
    ----------
    hashed_slots : int
        The number of slots.
    """

    hashed_slots: int = SLOTS

    @property
    def labels(self) -> tuple[str, ...]:
        """The slots, then missing values."""
        return (*(f"words {i}" for i in range(self.hashed_slots)), "missing")

    @property
    def expected(self) -> Values:
        """Text."""
        return Values("categorical", np.empty(0, dtype=bool))

    def write(self, values: Values, slots: FloatArray) -> None:
        """Hash the words of each row."""
        slots[:, -1] = values.missing
        if values.codes is None:
            return
        for rows in row_blocks(len(slots)):
            there = np.flatnonzero(values.codes[rows] >= 0)
            if there.size:
                codes, where = np.unique(values.codes[rows][there], return_inverse=True)
                points = hashed([values.categories[code] for code in codes], self.hashed_slots)
                slots[rows, :-1][there] = points[where.reshape(-1)]

    def summary(self) -> str:
        """Return that words are hashed."""
        return f"words, hashed into {self.hashed_slots} slots"


def hashed(texts: Sequence[str], slots: int) -> FloatArray:
    """Return texts as points of length 1; a text without words is at zero."""
    # Halves of signs that a damaged file may hold have no bytes of their own.
    whole = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
    found: FloatArray = _vectorizer(slots).transform(whole).toarray()
    return found


@lru_cache(maxsize=4)
def _vectorizer(slots: int) -> Any:
    from nammd.reading.formats import optional

    text = optional("sklearn.feature_extraction.text", "text", "comparing free text (text='hashed')")
    return text.HashingVectorizer(token_pattern=TOKEN, ngram_range=(1, 2), n_features=slots, dtype=np.float64)
