"""Sums over pairs of units on a GPU, or step by step on the CPU, are those of the tile engine."""

import itertools

import numpy as np
import pytest
import torch

import nammd
from nammd.engines.units import Units

pytest.importorskip("triton", reason="Triton is not installed")

from nammd.engines.cuda import arrangement, unit_pairs
from nammd.engines.cuda.arrangement import Bundles, Stacked, Stacks

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
KERNEL = nammd.Gaussian(1.5)


def units(rows, weighted=False, reach=0, first=0):
    """Units with the given numbers of rows."""
    labels = np.repeat(np.arange(first, first + len(rows)), rows)
    weights = np.random.default_rng(len(labels)).uniform(0.5, 2.0, len(labels)) if weighted else None
    return Units(labels, weights, reach)


SINGLE = [1] * 70
SMALL = np.random.default_rng(0).integers(1, 6, 30)
TWO_KINDS = np.random.default_rng(0).permutation([1] * 200 + [3] * 50)
LARGE = [150, 3, 90, 160]
CASES = {
    "single rows": (SINGLE, SINGLE, {}),
    "weights": (SINGLE, SMALL, {"weighted": True}),
    "small units": (SMALL, SMALL[:20], {}),
    "two sizes": (TWO_KINDS, SMALL, {"weighted": True}),
    "large units": (LARGE, LARGE[::-1], {}),
    "large and single": (SINGLE, LARGE, {"weighted": True}),
    "blocks of time": ([3] * 30, [4] * 20, {"reach": 1}),
}


def compared(kernel, one, two, columns=3, precision="high", rtol=2e-6):
    """Check all sums of two samples against those of the tile engine in float64."""
    rng = np.random.default_rng(1)
    x, y = (rng.normal(size=(len(u.labels), columns)).astype("float32") for u in (one, two))
    here, there = (torch.asarray(z, device=DEVICE) for z in (x, y))
    parts = ((here, one),), ((there, two),), ((here, one), (there, two))
    exact = [tuple((np.asarray(z.cpu(), dtype="float64"), u) for z, u in part) for part in parts]
    found = nammd.Cuda(precision).unit_sums(kernel, *parts)
    for ours, theirs in zip(found, nammd.Tiles().unit_sums(kernel, *exact), strict=True):
        sums = {name: each for name, each in vars(theirs).items() if name != "features"}
        for name, expected in sums.items():
            np.testing.assert_allclose(getattr(ours, name), expected, rtol=rtol, err_msg=name)
    return found


@pytest.mark.parametrize("case", CASES)
def test_they_are_those_of_the_tile_engine(case):
    rows, others, options = CASES[case]
    found = compared(KERNEL, units(rows, **options), units(others, first=5, **options))
    assert found.by.startswith("Cuda(")


@pytest.mark.parametrize(
    ("kernel", "columns"),
    [
        (nammd.Laplace(5.0), 3),
        (3 * nammd.Gaussian(2.0) + nammd.Gaussian(0.8), 3),
        (nammd.Gaussian(25.0), 140),
    ],
    ids=["laplace", "two gaussians", "many columns"],
)
def test_every_kernel_with_a_program(kernel, columns):
    # Exponents are sums of as many rounded products as there are columns.
    rtol = 2e-6 * max(1.0, columns / 64)
    compared(kernel, units(SMALL, weighted=True), units(SMALL[:20], weighted=True), columns, rtol=rtol)
    alone = [units([1] * count, first=first, weighted=True) for count, first in ((100, 0), (70, 1000))]
    compared(kernel, *alone, columns, rtol=rtol)


def test_fast_is_near():
    # A row four bandwidths from the middle may move by a thousandth of one.
    compared(KERNEL, units(SMALL), units(SMALL[:20]), precision="fast", rtol=2e-3)


@pytest.mark.parametrize("rows", [TWO_KINDS, [100, 80, 1, 95]], ids=["small", "large"])
def test_in_turns_it_is_the_same(rows, monkeypatch):
    """A unit in several pieces may begin in one turn and end in the next."""
    monkeypatch.setattr(arrangement, "HIGHEST", 2)
    monkeypatch.setattr(arrangement, "WIDTHS", (1, 2))
    one, two = units(rows), units(rows[::-1], first=3)
    whole = compared(KERNEL, one, two)
    monkeypatch.setattr(unit_pairs, "_BUFFER_BYTES", 1)
    for ours, theirs in zip(compared(KERNEL, one, two), whole, strict=True):
        sums = {name: each for name, each in vars(theirs).items() if name != "features"}
        for name, expected in sums.items():
            np.testing.assert_allclose(getattr(ours, name), expected, rtol=1e-6, err_msg=name)


def test_the_same_bits_every_time():
    one = units([50, 3, 40], weighted=True)
    x = torch.randn((len(one.labels), 3), device=DEVICE)
    first, second = (nammd.Cuda().unit_sums(KERNEL, ((x, one),))[0] for _ in range(2))
    assert first.squares == second.squares
    assert np.array_equal(first.rows, second.rows)
    assert np.array_equal(first.sized, second.sized)


def test_rows_are_put_into_their_places_once_for_all_kernels():
    one = units(SMALL)
    x = torch.randn((len(one.labels), 3), device=DEVICE)
    looks = arrangement.Stacks.of, arrangement.Bundles.of
    nammd.Cuda().unit_sums(KERNEL, ((x, one),))
    assert all(map(one.has_been_looked_at, looks))
    places = list(map(one.looked_at, looks))
    nammd.Cuda().unit_sums(nammd.Gaussian(2.0), ((x, one),))
    assert all(one.looked_at(look) is place for look, place in zip(looks, places, strict=True))


@pytest.mark.parametrize("why", ["spread", "weights"])
def test_what_the_program_cannot_do_is_left_to_the_tile_engine(why):
    kernel = nammd.Gaussian(0.05) if why == "spread" else KERNEL
    weights = np.r_[1e-12, np.ones(39)] if why == "weights" else None
    one = Units(np.repeat(np.arange(20), 2), weights)
    x = np.random.default_rng(3).normal(size=(40, 3)).astype("float32")
    there = torch.asarray(x, device=DEVICE)
    summed = nammd.Cuda().unit_sums(kernel, ((there, one),))
    [exact] = nammd.Tiles().unit_sums(kernel, ((x.astype("float64"), one),))
    np.testing.assert_allclose(summed[0].rows, exact.rows, rtol=1e-4, atol=1e-12)
    assert summed.by.startswith("Tiles() on torch")


def test_a_distance_between_groups_agrees_with_the_cpu():
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(2, 90, 3)).astype("float32")
    labels = rng.integers(0, 30, 90), rng.integers(20, 50, 90)
    there = [torch.asarray(z, device=DEVICE) for z in (x, y)]
    ours = nammd.distance(*there, kernel=KERNEL, groups=labels, engine=nammd.Cuda())
    cpu = nammd.distance(x.astype("float64"), y.astype("float64"), kernel=KERNEL, groups=labels)
    assert ours.value == pytest.approx(cpu.value, rel=1e-4)
    assert ours.standard_error == pytest.approx(cpu.standard_error, rel=1e-4)
    assert ours.engine.startswith("Cuda(")


ROWS = [SINGLE, SMALL, TWO_KINDS, LARGE, [5000], np.arange(1, 200)]


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("kind", [Stacks, Bundles])
def test_every_row_has_a_place_of_its_own_in_its_unit(kind, rows):
    one = units(rows)
    found = kind.of(one)
    positions = found.positions(one, "cpu").numpy()
    sources = np.full(found.filled, -1)
    sources[positions] = np.arange(len(one.labels))
    assert (sources >= 0).sum() == len(one.labels)
    counted = np.zeros(len(found.numbers))
    for section in found.sections:
        pieces = found.units[section.pieces]
        begin = np.r_[0, np.cumsum(section.each)[:-1]]
        assert np.array_equal(np.repeat(pieces[begin], section.each), pieces)
        for piece, there in zip(
            range(section.pieces.start, section.pieces.stop), places(section), strict=True
        ):
            mine = sources[there]
            mine = mine[mine >= 0]
            assert (one.labels[mine] == found.numbers[piece]).all()
            counted[piece] = len(mine)
    of_rows = np.bincount(np.searchsorted(one.numbers, one.labels))
    assert np.array_equal(found.by_unit(torch.asarray(counted)), of_rows)


def places(section):
    """Yield the positions of the rows of every piece of a section."""
    if isinstance(section, Stacked):
        for begin, end in itertools.pairwise(section.ends):
            yield from (section.rows.start + np.arange(64 * begin, 64 * end).reshape(-1, 64)).T
    else:
        for tile in np.arange(section.rows.start, section.rows.stop).reshape(-1, 16, 8):
            for bundle in range(section.bundles // 8):
                # The last ones of a tile that is not filled evenly have no columns.
                yield from tile[bundle * section.width : (bundle + 1) * section.width].T


@pytest.mark.parametrize(
    "rows",
    [
        np.tile([1, 2, 3, 4, 5], 9000),
        np.tile(np.arange(20, 41), 400),
        np.full(262, 1000),
        np.arange(200, 900, 7),
    ],
)
def test_few_places_are_filled_up(rows):
    one = units(rows)
    assert Stacks.of(one).filled <= 1.05 * len(one.labels) + 4096
    assert Bundles.of(one).filled <= 1.12 * len(one.labels) + 768
