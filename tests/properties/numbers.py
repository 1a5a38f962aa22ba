"""All numbers of a result by where they are, so that whole results can be compared."""

import dataclasses
import math

import numpy as np

ELSEWHERE = ("engine", "created", "at", "holds_since")
"""What a result says besides its numbers: who computed it, and when, and when the monitor was made."""


def numbers_of(value, where="", ignored=ELSEWHERE):
    """Return every number, word and truth value of a result, by its path."""
    if hasattr(value, "to_dict"):
        value = value.to_dict()
    elif dataclasses.is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    elif isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, dict):
        entries = [(f"{where}.{key}", inner) for key, inner in value.items() if key not in ignored]
    elif isinstance(value, (list, tuple)):
        entries = [(f"{where}[{key}]", inner) for key, inner in enumerate(value)]
    else:
        return {where: value}
    found = {}
    for path, inner in entries:
        found |= numbers_of(inner, path, ignored)
    return found


def differences(one, other, rel=0.0, absolute=0.0, ignored=ELSEWHERE):
    """Return what differs between two results, as (path, here, there); nothing where they are the same.

    Numbers are the same where they differ by at most `absolute`, or relatively by at most `rel`.
    """
    here, there = (numbers_of(each, ignored=ignored) for each in (one, other))
    return [
        (path, here.get(path, "missing"), there.get(path, "missing"))
        for path in {**here, **there}
        if not _same(here.get(path, "missing"), there.get(path, "missing"), rel, absolute)
    ]


def _same(one, other, rel, absolute):
    if not all(isinstance(each, (int, float)) and not isinstance(each, bool) for each in (one, other)):
        return type(one) is type(other) and one == other
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return one == other or abs(one - other) <= max(absolute, rel * max(abs(one), abs(other)))
