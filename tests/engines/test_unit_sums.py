"""Sums over pairs of units are those of the full matrices, however they are cut into tiles."""

import numpy as np
import pytest

import nammd
from nammd.engines.units import Units

KERNEL = nammd.Gaussian(1.5)


def units(rng, count, sizes, weighted=False, reach=0, first=0):
    labels = np.repeat(np.arange(first, first + count), rng.integers(*sizes, size=count))
    return Units(labels, rng.uniform(0.5, 2.0, len(labels)) if weighted else None, reach)


def by_hand(x, one, y, two, within):
    """The matrix of all pairs that count, the same by units, and all that is kept of it."""
    gram = KERNEL(x, y)
    if within:
        gram[np.abs(one.labels[:, None] - two.labels) <= one.reach] = 0.0
    elif not one.reach:
        gram[one.labels[:, None] == two.labels] = 0.0
    adders = [(u.labels == u.numbers[:, None]) * u.row_weights for u in (one, two)]
    pairs = adders[0] @ gram @ adders[1].T
    return {
        "rows": gram @ two.row_weights,
        "cols": one.row_weights @ gram,
        "sized_rows": pairs @ two.sizes,
        "sized_cols": one.sizes @ pairs,
        "squares": np.sum(pairs**2),
    }


CASES = {
    "small groups": (40, (1, 9), False, 0),
    "weights": (40, (1, 9), True, 0),
    "rows for themselves": (70, (1, 2), False, 0),
    "groups larger than a tile": (5, (60, 90), False, 0),
    "blocks of time": (40, (3, 4), False, 1),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("tile", [(16, 16), (16, 12), (12, 16), (None, None)])
def test_they_are_those_of_the_full_matrices(case, tile):
    engine = nammd.Tiles(*tile)
    count, sizes, weighted, reach = CASES[case]
    rng = np.random.default_rng(0)
    one = units(rng, count, sizes, weighted, reach)
    two = units(rng, count + 3, sizes, weighted, reach, first=2)  # most units are in both
    x, y = rng.normal(size=(len(one.labels), 3)), rng.normal(size=(len(two.labels), 3))
    within, cross = engine.unit_sums(KERNEL, ((x, one),), ((x, one), (y, two)))
    own, across = by_hand(x, one, x, one, True), by_hand(x, one, y, two, False)
    np.testing.assert_allclose(within.rows, own["rows"], rtol=1e-12)
    np.testing.assert_allclose(within.sized, own["sized_rows"], rtol=1e-12)
    assert within.squares == pytest.approx(own["squares"], rel=1e-12)
    for name, expected in across.items():
        np.testing.assert_allclose(getattr(cross, name), expected, rtol=1e-12, err_msg=name)


def test_units_larger_than_the_tiles_of_any_size():
    """Its pieces are in the rows of tiles and in the columns of others."""
    rng = np.random.default_rng(5)
    one, two = units(rng, 2, (1100, 1400), weighted=True), units(rng, 2, (1100, 1400), first=1)
    x, y = rng.normal(size=(len(one.labels), 2)), rng.normal(size=(len(two.labels), 2))
    within, cross = nammd.Tiles().unit_sums(KERNEL, ((x, one),), ((x, one), (y, two)))
    own, across = by_hand(x, one, x, one, True), by_hand(x, one, y, two, False)
    np.testing.assert_allclose(within.sized, own["sized_rows"], rtol=1e-12)
    for name, expected in across.items():
        np.testing.assert_allclose(getattr(cross, name), expected, rtol=1e-12, err_msg=name)


def test_the_bits_do_not_depend_on_the_threads():
    rng = np.random.default_rng(1)
    one, two = units(rng, 300, (1, 9)), units(rng, 250, (1, 9), first=1000)
    x, y = rng.normal(size=(len(one.labels), 3)), rng.normal(size=(len(two.labels), 3))
    parts = ((x, one),), ((x, one), (y, two))
    alone, crowd = (nammd.Tiles(tile_rows=64, threads=t).unit_sums(KERNEL, *parts) for t in (1, 4))
    for a, b in zip(alone, crowd, strict=True):
        assert a.squares == b.squares
        np.testing.assert_array_equal(a.rows, b.rows)


@pytest.mark.parametrize("engine", [None, nammd.OnDevice("cpu")])
def test_tensors_are_summed_where_they_are(engine):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(2)
    one = units(rng, 60, (1, 9), weighted=True)
    x = rng.normal(size=(len(one.labels), 3))
    [here] = nammd.Tiles().unit_sums(KERNEL, ((x, one),))
    there = torch.asarray(x) if engine is None else x
    [found] = (engine or nammd.Tiles()).unit_sums(KERNEL, ((there, one),))
    precise = 1e-12 if engine is None else 1e-5
    np.testing.assert_allclose(found.rows, here.rows, rtol=precise)
    np.testing.assert_allclose(found.sized, here.sized, rtol=precise)
    assert found.squares == pytest.approx(here.squares, rel=precise)


def test_float32_is_close_to_float64():
    rng = np.random.default_rng(3)
    one = units(rng, 200, (1, 9))
    x = rng.normal(size=(len(one.labels), 3))
    [exact], [found] = (nammd.Tiles().unit_sums(KERNEL, ((x.astype(t), one),)) for t in ("f8", "f4"))
    np.testing.assert_allclose(found.rows, exact.rows, rtol=1e-5)
    assert found.squares == pytest.approx(exact.squares, rel=1e-5)


def test_sums_between_units_of_tensors_stay_where_they_are(monkeypatch):
    """They are as many as pairs of units; only what is in proportion to the rows comes to NumPy."""
    torch = pytest.importorskip("torch")
    from nammd.engines.tiles import unit_jobs

    moved, inner = [], unit_jobs.to_numpy
    monkeypatch.setattr(unit_jobs, "to_numpy", lambda array: moved.append(tuple(array.shape)) or inner(array))
    rng = np.random.default_rng(4)
    one = units(rng, 100, (1, 9))
    x = torch.asarray(rng.normal(size=(len(one.labels), 3)))
    engine = nammd.Tiles(tile_rows=64, tile_columns=64)
    engine.unit_sums(KERNEL, ((x, one),), ((x, one), (x, one)))
    panels = len(unit_jobs.Span.all_of(one, 64))
    assert len(moved) <= 2 * 5 * panels
    assert all(shape[0] == 1 for shape in moved)  # one power of the kernel
