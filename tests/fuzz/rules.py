"""The rules that must hold whatever comes in."""

from __future__ import annotations

import contextlib
import re
import traceback
from collections.abc import Iterator

import numpy as np

from nammd.cli.errors import sentence

Random = np.random.Generator


class Finding(Exception):
    """A rule is broken."""


@contextlib.contextmanager
def refusing(*names: str, by_nammd: bool = False) -> Iterator[None]:
    """Let errors pass that are refusals: of a kind for input, in one sentence that names what it is about.

    With `by_nammd` it must be nammd that raised it, and no operation on the way.
    """
    try:
        yield
    except Finding:
        raise
    except Exception as error:
        words = sentence(error)
        if "something unexpected" in words:
            raise Finding(f"no refusal but {type(error).__name__}: {words}") from error
        if "\n" in words or len(words) > 2000:
            raise Finding(f"no sentence: {words[:3000]!r}") from error
        place = traceback.extract_tb(error.__traceback__)[-1]
        if by_nammd and not (place.line or "").startswith("raise"):
            where = f"{place.filename}:{place.lineno}"
            raise Finding(f"no refusal but {type(error).__name__} at {where}: {words}") from error
        if names and not any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words) for name in names):
            raise Finding(f"the refusal names none of {names}: {words}") from error
