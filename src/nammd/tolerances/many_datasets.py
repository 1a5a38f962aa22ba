"""One dataset after the other: each is opened when its turn comes, and one that fails stops no other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from nammd.errors.advice import prefixed
from nammd.errors.checks import choice

Errors: TypeAlias = Literal["raise", "keep"]
"""What to do about a dataset that cannot be used: raise the error, or keep it and go on."""

TurnProgress: TypeAlias = Callable[[int, int, str], None]
"""Called with how many are done, how many there are, and the name of the next."""

FAILURES = (ValueError, TypeError, OSError, ImportError, MemoryError)
"""What is wrong with a dataset, and not with the program."""

_PLURALS = {"candidate": "candidates", "batch": "batches"}

R = TypeVar("R")


class Turn(NamedTuple, Generic[R]):
    """What came of one dataset.

    Attributes
    ----------
    name : str
        What it is called.
    result : object or None
        What came out; None where it failed.
    error : Exception or None
        Why it failed.
    seconds : float
        How long it took.
    """

    name: str
    result: R | None
    error: Exception | None
    seconds: float


def in_turn(
    datasets: Mapping[Any, Any],
    act: Callable[[Any, Any], R],
    what: str,
    errors: Errors,
    progress: TurnProgress | None,
) -> Iterator[Turn[R]]:
    """Do something with every dataset, one after the other.

    Parameters
    ----------
    datasets : mapping of str to dataset
        The datasets by name. In place of one may be a function that returns it, which is called when its turn
        comes, so that not everything is read beforehand.
    act : callable
        ``act(dataset, name)``: what is done.
    what : str
        What messages call each of them.
    errors : {"raise", "keep"}
        What to do about one that fails.
    progress : callable, optional
        Called as ``progress(done, total, name)`` before each of them.

    Returns
    -------
    iterator of Turn
    """
    choice(errors, "errors", ("raise", "keep"))
    if not isinstance(datasets, Mapping) or not datasets:
        raise TypeError(f"{_PLURALS[what]} must be a mapping of names to datasets, with at least one entry")
    return _each(datasets, act, what, errors, progress)


def _each(
    datasets: Mapping[Any, Any],
    act: Callable[[Any, Any], R],
    what: str,
    errors: Errors,
    progress: TurnProgress | None,
) -> Iterator[Turn[R]]:
    for done, (name, dataset) in enumerate(datasets.items()):
        if progress is not None:
            progress(done, len(datasets), str(name))
        started = time.perf_counter()
        result, failed = None, None
        try:
            result = act(dataset() if callable(dataset) else dataset, name)
        except FAILURES as error:
            if errors == "raise":
                raise prefixed(error, f"{what} {str(name)!r}") from error
            failed = error
        yield Turn(str(name), result, failed, time.perf_counter() - started)
