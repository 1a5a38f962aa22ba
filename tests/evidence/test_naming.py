"""Every refusal names the datasets that it is about, also those that are made deep inside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nammd
from nammd.errors.advice import Advice, about, in_shell, refusal

ROWS = 1e10 * np.random.default_rng(0).normal(size=(30, 2))
NARROW = nammd.Gaussian(1e-305)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two files of numbers."""
    paths = [tmp_path / name for name in ("may.npy", "june.npy")]
    for seed, path in enumerate(paths):
        np.save(path, 1e10 * np.random.default_rng(seed).normal(size=(30, 2)))
    return paths


def test_a_bandwidth_beyond_all_numbers_names_the_files(files: list[Path]) -> None:
    with pytest.raises(ValueError, match=r"may\.npy and .*june\.npy: the bandwidth is so far"):
        nammd.distance(*files, kernel=NARROW)


def test_groups_are_named_too(files: list[Path]) -> None:
    groups = [np.arange(30) // 3] * 2
    with pytest.raises(ValueError, match=r"may\.npy and .*june\.npy: the bandwidth is so far"):
        nammd.distance(*files, kernel=NARROW, groups=groups)


def test_arrays_have_the_names_of_their_arguments() -> None:
    with pytest.raises(ValueError, match="x and y: the bandwidth is so far"):
        nammd.closeness_test(ROWS, ROWS[::-1] + 1, 0.1, kernel=NARROW, alternative="greater")


def test_pairs_of_rows_are_named(files: list[Path]) -> None:
    np.save(files[1], ROWS[:20])
    with pytest.raises(ValueError, match=r"may\.npy has 30 rows and .*june\.npy has 20"):
        nammd.paper.distance(*files, cross="off-diagonal")


def test_what_names_a_dataset_already_stays_as_it_is() -> None:
    with pytest.raises(ValueError, match=r"^x is wrong$"), about("x", "y"):
        raise ValueError("x is wrong")


def test_advice_is_kept() -> None:
    with pytest.raises(ValueError, match="may: no; do this") as caught, about("may"):
        raise refusal(ValueError, "no", Advice("do this", "do that"))
    assert in_shell(caught.value) == "may: no; do that"


def test_many_datasets_are_not_all_named() -> None:
    with pytest.raises(ValueError, match=r"^a and b and 2 more: no$"), about("a", "b", "c", "d"):
        raise ValueError("no")


def test_other_errors_pass() -> None:
    with pytest.raises(KeyError), about("a"):
        raise KeyError("b")
