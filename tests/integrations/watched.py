"""A monitor with a few batches, an alarm among them, for tests of what other programs get of it."""

import numpy as np

import nammd

TITLE = 'shop "a\\b"\nnew'
"""What labels must escape."""


def rows(seed, shift=0.0, size=200):
    return np.random.default_rng(seed).normal(shift, 1, size=(size, 2))


def make_monitor(folder, title=TITLE):
    tolerance = nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), n_columns=2)
    return nammd.Monitor.create(folder / "shop.monitor", tolerance, rows(0, size=400), title=title)


def add_days(monitor, shifts=(0.0, 0.4, 1.0)):
    for day, shift in enumerate(shifts, start=1):
        monitor.add(rows(day, shift), key=f"2026-03-{day:02d}")
