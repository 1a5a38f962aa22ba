"""JSON that is laid out in lines: it says the same, whatever it is."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from nammd.errors.writing import indented

CASES: list[Any] = [
    None, True, 1, -0.0, 1e300, 10**30, "é \u2028 \"quoted\"\n", [], {}, [[]], [{}], {"a": []}, {"a": {}},
    [1, 2.5, None, "x", True], [[1, 2], [3]], {"a": [1, {"b": [2.5, "c"]}, []], "é": {"d": None}},
    (1, (2, 3)), [["a, b", "c: d"], ["[", "]"]],
]  # fmt: skip


@pytest.mark.parametrize("value", CASES, ids=repr)
def test_it_says_what_the_standard_library_says(value: Any) -> None:
    assert json.loads(indented(value)) == json.loads(json.dumps(value))


def test_what_has_no_lists_has_the_text_of_the_standard_library() -> None:
    value = {"a": {"b": {"c": 1.5, "d": {}}}, "é": None}
    assert indented(value) == json.dumps(value, indent=1)


def test_what_is_in_a_list_has_a_line_of_its_own() -> None:
    lines = indented({"of": {"columns": [{"name": "a, b", "values": [1, 2]}, 3]}}).splitlines()
    assert lines == [
        "{", ' "of": {', '  "columns": [', '   {"name": "a, b", "values": [1, 2]},', "   3", "  ]", " }", "}"
    ]  # fmt: skip


def test_random_values_say_the_same() -> None:
    rng = np.random.default_rng(0)

    def made(depth: int) -> Any:
        kind = rng.integers(0, 6 if depth else 4)
        if kind == 4:
            return [made(depth - 1) for _ in range(rng.integers(0, 4))]
        if kind == 5:
            return {str(k): made(depth - 1) for k in range(rng.integers(0, 4))}
        return [None, float(rng.normal()), int(rng.integers(-9, 9)), "text, " * int(rng.integers(3))][kind]

    for _ in range(300):
        value = made(4)
        assert json.loads(indented(value)) == value


@pytest.mark.parametrize("value", [float("nan"), [1.0, float("inf")], {"a": [float("nan")]}])
def test_what_is_no_json_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        indented(value)


def test_names_are_text() -> None:
    with pytest.raises(TypeError, match="must be a string"):
        indented({1: 2})
