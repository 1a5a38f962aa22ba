"""Values that are beside one, and how much more common they have become."""

import numpy as np
import pytest

from nammd.explaining.chance import Together
from nammd.explaining.pile_ups import BESIDE, Aligned
from nammd.views.counts import NumberCounts


def counts(rng, rows):
    return NumberCounts.of(rng.poisson(3.0, rows).astype(float) / 4, 0)


@pytest.mark.parametrize("seed", range(5))
def test_values_beside_one_are_counted_wherever_they_are_known(seed):
    rng = np.random.default_rng(seed)
    known, now, together = [counts(rng, 300), counts(rng, 20)], counts(rng, 150), Together(2.0, 3.0)
    aligned = Aligned.of(known, now, together)
    assert not aligned.reach
    for key in (*aligned.keys, -1.0, 0.3, 99.0):
        most = 1.0
        for way in (1, -1):
            beside = sorted(way * k for k in aligned.keys if way * k > way * key)[:BESIDE]
            rows = aligned.rows[np.isin(aligned.keys, way * np.array(beside))].sum()
            shares = [
                each.rows[np.isin(each.places, way * np.array(beside))].sum() / each.size for each in known
            ]
            more = rows - np.sqrt(rows * together.now)
            most = max(most, more / (max(shares) * now.size + together.now))
        assert aligned.grown_beside(float(key)) == most
