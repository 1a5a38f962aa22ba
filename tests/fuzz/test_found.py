"""What a long run of hostile inputs has found, of which no file can be kept."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from nammd.monitor.records import Kept
from nammd.monitor.storage import unpacked
from nammd.statistics.difference import Difference
from nammd.views.relation_limits import _in_units
from tests.simulate import pairs_of


def test_a_reference_without_content_is_damaged() -> None:
    with pytest.raises(ValueError, match="the reference 'rows' in the monitor is damaged"):
        unpacked(Kept("rows", 30, "", "array", ""), b"")


def test_p_values_are_at_most_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    rule = Difference.of(*pairs_of(*(rng.normal(size=(50, 2)) for _ in range(3))), True)
    monkeypatch.setattr(Difference, "_by_expansion", lambda *_: math.nextafter(1.0, 2.0))
    assert rule.closer() == 1.0


def test_a_column_that_does_not_vary_goes_together_with_none() -> None:
    still, moving = SimpleNamespace(spread=0.0), SimpleNamespace(spread=2.0)
    assert _in_units(1.0, SimpleNamespace(both=lambda _: (still, moving)), 0) == 0.0  # type: ignore[arg-type]
    assert _in_units(1.0, SimpleNamespace(both=lambda _: (moving, moving)), 0) == 0.5  # type: ignore[arg-type]
