"""JSON for people and programs: one value to a line, at the speed of the compiled encoder.

The standard library lays text out in Python, item by item, and a tolerance of ten thousand columns is half a
million lines. Here lists of plain values are encoded in one go, with the line breaks as their separators.
"""

from __future__ import annotations

import json
from typing import Any


def indented(value: Any, gap: str = "\n") -> str:
    r"""Return what ``json.dumps(value, indent=1, allow_nan=False)`` does; the names of mappings must be text.

    >>> print(indented({"a": [1, 2.5], "b": {}}))
    {
     "a": [
      1,
      2.5
     ],
     "b": {}
    }
    """
    deeper = f"{gap} "
    if isinstance(value, dict) and value:
        if not all(isinstance(name, str) for name in value):
            raise TypeError("the names of a mapping must be text")
        parts = [f"{json.dumps(name)}: {indented(each, deeper)}" for name, each in value.items()]
        return f"{{{deeper}{f',{deeper}'.join(parts)}{gap}}}"
    if isinstance(value, (list, tuple)) and value:
        if any(isinstance(each, (dict, list, tuple)) for each in value):
            inside = f",{deeper}".join(indented(each, deeper) for each in value)
        else:
            inside = json.dumps(value, allow_nan=False, separators=(f",{deeper}", ": "))[1:-1]
        return f"[{deeper}{inside}{gap}]"
    return json.dumps(value, allow_nan=False)
