"""BLAS has one thread where it should, and as many as before afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import nammd
from nammd.engines.blas import single_threaded_blas
from nammd.statistics import nearest


def blas_threads() -> set[int]:
    """Return the threads of the libraries that are held; one that is loaded later is none of them."""
    return {each.num_threads for each in single_threaded_blas._libraries}


@pytest.fixture(autouse=True)
def two_threads() -> Any:
    with single_threaded_blas:
        pass
    with threadpool_limits(2, user_api="blas"):
        yield


def test_as_a_decorator_it_holds_for_the_call_and_no_longer() -> None:
    assert single_threaded_blas(blas_threads)() == {1}
    assert blas_threads() == {2}


def test_it_is_restored_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError):
        single_threaded_blas(lambda: 1 / 0)()
    assert blas_threads() == {2}


def test_a_check_and_a_calibration_have_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[set[int]] = []
    margin = nearest.margin

    def watched(*given: Any, **named: Any) -> Any:
        seen.append(blas_threads())
        return margin(*given, **named)

    monkeypatch.setattr(nearest, "margin", watched)
    reference, candidate = np.random.default_rng(0).normal(size=(2, 200, 2))
    nammd.Tolerance.from_reference(reference).check(reference, candidate)
    assert seen
    assert set.union(*seen) == {1}
    assert blas_threads() == {2}
