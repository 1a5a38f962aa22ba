"""What a long run of hostile inputs has found, of which no file can be kept."""

import io
import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import nammd
from nammd.monitor.records import Kept
from nammd.monitor.storage import unpacked
from nammd.statistics.difference import Difference
from nammd.views.relation_limits import _in_units
from tests.fuzz.resealed import archived
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
    sample = SimpleNamespace(unit=np.array([0.0, 4.0]))
    assert _in_units(1.0, sample, 0) == 0.0  # type: ignore[arg-type]
    assert _in_units(1.0, sample, 1) == 0.5  # type: ignore[arg-type]


@pytest.mark.parametrize("end", [0, 5e-324, 1e-9, 0.5, -1.0, 2.0**65])
def test_a_trace_of_groups_ends_where_it_can(tmp_path: Path, end: float) -> None:
    features = nammd.RandomFeatures(nammd.Gaussian(1.0), 16, rng=0)
    rows = np.random.default_rng(0).normal(size=(40, 2))
    path = nammd.Sketch.of(rows, features, groups=np.arange(40) // 2).save(tmp_path / "x.sketch")
    with np.load(io.BytesIO(path.read_bytes())) as archive:
        arrays = dict(archive)
    [name] = [name for name, each in arrays.items() if b"traced_below" in each.tobytes()]

    def ending(trace: float) -> None:
        stored = json.loads(arrays[name].tobytes())
        stored["groups"]["traced_below"] = trace
        edited = np.frombuffer(json.dumps(stored).encode(), np.uint8)
        path.write_bytes(archived(arrays | {name: edited}))

    ending(json.loads(arrays[name].tobytes())["groups"]["traced_below"])
    assert len(nammd.Sketch.load(path)) == 40  # sealed as nammd seals
    ending(end)
    with pytest.raises(ValueError, match=r"x\.sketch.*traced_below must be .* not"):
        nammd.Sketch.load(path)
