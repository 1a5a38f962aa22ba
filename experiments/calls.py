"""Which functions of nammd and of the experiments a computation calls."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeAlias

from experiments.source import NOT_COUNTED, PACKAGES, root_of, source_of

Calls: TypeAlias = dict[str, list[str]]
"""By module the pieces that were called, as `experiments.source` names them."""


class Recorder:
    """Notes every function that is called, in this thread and in those that start meanwhile."""

    def __init__(self) -> None:
        self._codes: set[CodeType] = set()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Note a call; this is what `sys.setprofile` calls."""
        if event == "call":
            self._codes.add(frame.f_code)

    def calls(self) -> Calls:
        """Return what was called so far."""
        found: dict[str, set[str]] = {}
        for code in self._codes:
            module = _module_of(code.co_filename)
            if module is None or module in NOT_COUNTED or not code.co_flags & CO_OPTIMIZED:
                continue  # not ours, or a module or a class that is being made
            piece = source_of(module).piece_of(code.co_qualname, code.co_firstlineno)
            if piece is not None:
                found.setdefault(module, set()).add(piece)
        return {module: sorted(pieces) for module, pieces in sorted(found.items())}


@contextmanager
def recording(recorder: Recorder | None) -> Iterator[None]:
    """Have a recorder note what is called meanwhile; None notes nothing and costs nothing."""
    if recorder is None:
        yield
        return
    before = sys.getprofile()
    threading.setprofile(recorder)
    sys.setprofile(recorder)
    try:
        yield
    finally:
        sys.setprofile(before)
        threading.setprofile(before)


def merged(all_calls: Iterable[Mapping[str, Iterable[str]]]) -> Calls:
    """Return what was called in any of several computations."""
    found: dict[str, set[str]] = {}
    for calls in all_calls:
        for module, pieces in calls.items():
            found.setdefault(module, set()).update(pieces)
    return {module: sorted(pieces) for module, pieces in sorted(found.items())}


def _module_of(filename: str) -> str | None:
    """Return the module of a file of ours."""
    for package in PACKAGES:
        root = root_of(package)
        path = Path(filename)
        if path.is_relative_to(root):
            parts = [package, *path.relative_to(root).with_suffix("").parts]
            return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return None


def forget_what_is_cached() -> None:
    """Have cached functions called again: what made the value that they kept counts too."""
    kept = {"experiments.registry", "experiments.source"}
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in PACKAGES and name not in kept:
            for value in list(vars(module).values()):
                clear = getattr(value, "cache_clear", None)
                if callable(clear) and getattr(value, "__module__", "") == name:
                    clear()
