"""Every value of a file is read by a method that says what it can be, and where it stands."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
import pytest

from nammd.errors.stored import Stored


def packed(values: Any, kind: str = "<f8", fold: bool = False) -> str:
    content = np.array(values, kind).tobytes()
    return base64.b64encode(zlib.compress(content) if fold else content).decode()


@pytest.mark.parametrize(
    ("value", "read", "words"),
    [
        (True, lambda s: s.number(), "a must be a finite number, not True"),
        (float("nan"), lambda s: s.number(), "a must be a finite number, not nan"),
        (10**400, lambda s: s.number(), "a must be a finite number, not 1000"),
        (-1, lambda s: s.number(0), "a must be a finite number of at least 0, not -1"),
        (0, lambda s: s.number(0, 1, above=0), "a must be a number above 0 and up to 1, not 0"),
        (2.0, lambda s: s.whole(), "a must be a whole number of at least 0, not 2.0"),
        (7, lambda s: s.whole(1, 5), "a must be a whole number from 1 to 5, not 7"),
        ("x", lambda s: s.one_of("y", "z"), "a must be 'y' or 'z', not 'x'"),
        (1, lambda s: s.truth(), "a must be true or false, not 1"),
        ({}, lambda s: s.each(), "a must be a list, not {}"),
        ([], lambda s: s["b"], "a must be a dictionary, not []"),
        ({"c": 1}, lambda s: s["b"], "'a.b' is missing"),
        ({"c": 1}, lambda s: s.only("b"), "'a.c' is no field of such a file"),
        ([1, "2"], lambda s: s.numbers(), "a[1] must be a finite number, not '2'"),
        ([1, float("nan"), 2], lambda s: s.numbers(), "a[1] must be a finite number, not nan"),
        ([float("nan"), 1], lambda s: s.numbers(), "a[0] must be a finite number, not nan"),
        ([1, 10**400, 2], lambda s: s.numbers(), "a[1] must be a finite number, not 1000"),
        ([1, 2, -1], lambda s: s.numbers(least=0), "a[2] must be a finite number of at least 0, not -1"),
        ([1, 2], lambda s: s.numbers(3), "a must be 3 numbers, not [1, 2]"),
        ([[1], [1, 2]], lambda s: s.numbers(2, 2), "a must be lists of one length"),
        ([1, 2, 3], lambda s: s.pair(), "a must be a list of two"),
        (["x", 3], lambda s: s.texts(), "a[1] must be text, not 3"),
        ("\ud800", lambda s: s.text(), r"a must be text, not '\ud800'"),
        ("?", lambda s: s.unpacked(), "a must be the bytes of numbers"),
        (packed([1.0, np.nan]), lambda s: s.unpacked(), "a must hold finite numbers only"),
        (packed([1.0]), lambda s: s.unpacked(2), "a must hold 2 numbers, not 1"),
        (
            packed([-1], "<f4", True),
            lambda s: s.unpacked(1, "<f4", folded=True, least=0, most=9),
            "from 0 to 9",
        ),
        (packed([1.0]), lambda s: s.unpacked(folded=True), "a must be the bytes of numbers"),
        ("x" * 500, lambda s: s.number(), "..."),
    ],
)
def test_what_cannot_be_is_refused_by_its_place(value: Any, read: Any, words: str) -> None:
    with pytest.raises(ValueError, match=r"^the file is damaged: ") as caught:
        read(Stored({"a": value}, said="the file is damaged: ")["a"])
    assert words in str(caught.value)
    assert len(str(caught.value)) < 200


def test_what_can_be_is_read() -> None:
    stored = Stored({"a": {"b": [[1, 2.5], [3, 4]], "c": None}, "p": packed([0.5, 7.0], "<f4", True)})
    assert stored["a"]["b"].numbers(2, 2).tolist() == [[1.0, 2.5], [3.0, 4.0]]
    assert [each.path for each in stored["a"]["b"].each()] == ["a.b[0]", "a.b[1]"]
    assert not stored["a"]["c"].there
    assert not stored.get("nothing").there
    assert stored["p"].unpacked(2, "<f4", folded=True).tolist() == [0.5, 7.0]
    assert list(stored["a"].fields()) == ["b", "c"]
    assert Stored.of(stored) is stored
