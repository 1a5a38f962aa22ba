"""The study of kernels for closeness: its laws, what is counted, and what is said of it."""

import numpy as np
import pytest
from experiments.experiment import Context
from experiments.paper.closeness_faults import FAULTS, checkered, heaped, normal, on_grid, waving
from experiments.paper.closeness_kernel import EXPERIMENT, WAYS
from experiments.results import load

import nammd

LEVEL = [name for name, fault in FAULTS.items() if fault.kind == "level"]


@pytest.mark.parametrize("name", FAULTS)
def test_laws_have_as_many_rows_and_columns_as_their_reference(name):
    fault, rng = FAULTS[name], np.random.default_rng(0)
    shapes = {law(40, rng).shape for law in (fault.reference, fault.accepted, fault.far)}
    assert len(shapes) == 1
    assert shapes.pop()[0] == 40


@pytest.mark.parametrize("name", LEVEL)
def test_at_the_margin_the_far_data_are_as_far_as_the_accepted_ones(name):
    """At every bandwidth: mean similarities to the reference, and within."""
    fault, rng = FAULTS[name], np.random.default_rng(1)
    x = fault.reference(1000, rng)
    for bandwidth in (0.2, 1.0, 3.0):
        kernel, found = nammd.Gaussian(bandwidth), []
        for law in (fault.accepted, fault.far):
            y = law(1000, rng)
            found.append([kernel(x, y).mean(), kernel(y, y).mean()])
        np.testing.assert_allclose(found[0], found[1], rtol=0.1, atol=0.002)


def test_faults_are_what_they_are_called():
    rng = np.random.default_rng(2)
    assert set(np.unique(on_grid(normal(1), 0.5)(500, rng) % 0.5)) == {0.0}
    waves = waving(normal(1), 0.5, 1.0)(4000, rng)
    assert np.mean(np.cos(2 * np.pi * waves / 0.5)) == pytest.approx(0.5, abs=0.05)
    heaps = heaped(normal(2), 0.2, 5)(1000, rng)
    assert 1000 - len(np.unique(heaps, axis=0)) == pytest.approx(195, abs=40)
    board = checkered(5, 1.0)(500, rng)
    assert set(np.floor((board + 2) / 4 * 5).sum(axis=1) % 2) == {0.0}


def test_every_way_is_tested_and_the_page_tells_of_it(tmp_path):
    context = Context(np.random.default_rng(0), "cpu", tmp_path)
    cell = {"what": "fine", "fault": "waves", "chunk": 0, "count": 2}
    values = EXPERIMENT.run_cell(EXPERIMENT.tiny, cell, context)
    assert set(values["rejected"]) == {"median, all rows", *WAYS}
    section = EXPERIMENT.section(load(EXPERIMENT, "quick"))
    assert section.claim is None
    assert section.tables["closeness-kernel.md"].count("\n") == len(FAULTS) + 2
    assert "tight clusters in two" in section.body
