"""Tolerances at several scales: fine structure is found, good data are not, and words claim no more."""

import json
import math
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

import nammd
from nammd.engines.tiles import Tiles
from nammd.questions.distance import Estimate
from nammd.report import build, render, scales_plot
from nammd.statistics.scales import SCALES, mean_and_bound, moved_margin, share_moved
from tests.counting import count_method
from tests.simulate import only_decisions

ROWS = 400


def normal(seed, shift=0.0, rows=ROWS, columns=2):
    found = np.random.default_rng(seed).normal(size=(rows, columns))
    found[:, 0] += shift
    return found


def rounded(values, step=0.4):
    return np.round(values / step) * step


X, ACCEPTED = normal(0), normal(1, 0.3)
JOINT = {"negligible": False}
FINE = {
    "rounded": rounded(normal(2, 0.15)),
    "a value that is there too often": np.where(
        np.arange(ROWS)[:, None] < ROWS // 8, [[0.3, -0.2]], normal(2, 0.15)
    ),
    "a comb": (lambda z: z + 0.15 * np.sign(np.sin(8 * z)))(normal(2, 0.15)),
}


@cache
def plain():
    """The tolerance of the reference alone."""
    return nammd.Tolerance.from_reference(X, **JOINT)


@pytest.fixture(scope="module", params=["hull", "ball"])
def gates(request):
    how = request.param
    return {
        scales: nammd.Tolerance.from_reference(X, ACCEPTED, how=how, scales=scales, **JOINT).with_reference(X)
        for scales in ("median", "all")
    }


def test_of_the_reference_finer_scales_need_its_mean_alone(monkeypatch):
    known = nammd.distance(X, ACCEPTED).evidence
    assert known.pair() is known.pair()
    pair = replace(known.pair(), meeting=replace(known.meeting))
    found = mean_and_bound(pair)
    assert "moments" not in vars(pair.meeting)
    assert found == (pair.moments.x.mean, pair.moments.bound)
    gate = nammd.Tolerance.from_reference(X, ACCEPTED, **JOINT).with_reference(X)
    read = count_method(monkeypatch, Estimate, "of")
    gate.check(normal(2, 0.15))
    assert len(read) == 1


@pytest.mark.parametrize("name", FINE)
def test_fine_structure_is_found_at_a_finer_scale_and_named(gates, name):
    assert not gates["median"].check(FINE[name], allow=["all"]).is_far
    verdict = gates["all"].check(FINE[name], allow=["all"])
    main, *finer = verdict.scale_checks
    assert verdict.is_far
    assert not main.beyond
    assert any(each.beyond for each in finer)
    assert verdict.headline().startswith("FAR: the difference is fine-grained: at a")
    assert verdict.details.finest_beyond.name in verdict.headline()
    assert verdict.details.reason().startswith(("fine-grained: at", "column"))
    assert verdict.pvalue_far == min(each.adjusted for each in verdict.scale_checks)


@pytest.mark.parametrize("shift", [0.0, 0.1, 0.2])
def test_data_like_what_was_accepted_are_not_far_at_any_scale(gates, shift):
    found = [gates["all"].check(normal(seed, shift)) for seed in range(10, 13)]
    assert not any(verdict.is_far for verdict in found)


def test_coarse_faults_are_told_at_the_main_scale(gates):
    verdict = gates["all"].check(normal(3, 1.2))
    assert verdict.is_far
    assert verdict.scale_checks[0].beyond
    assert verdict.details.finest_beyond is None
    assert "beyond the tolerance" in verdict.headline()
    assert "fine-grained" not in str(verdict)


def test_close_says_where_it_is_proven():
    tolerance = plain()
    verdict = tolerance.check(X, normal(4))
    assert verdict.is_close
    assert "finer scales" in str(verdict)
    assert "not beyond at 1/2, 1/4, 1/8 and 1/16 of the bandwidth" in str(verdict)
    assert "closer" not in str(verdict)
    assert verdict.to_dict()["scales"][1]["scale"] == 0.5


def test_each_scale_is_a_kernel_of_its_own():
    """Distances at finer scales are those of a smaller bandwidth, whoever computes them."""
    tolerance = plain()
    verdict = tolerance.check(X, ACCEPTED)
    for check in verdict.scale_checks:
        kernel = nammd.Gaussian(tolerance.kernel.bandwidth * check.scale)
        assert check.distance == pytest.approx(nammd.distance(X, ACCEPTED, kernel=kernel).value, rel=1e-9)


def test_margins_are_what_is_negligible_at_each_scale():
    """By all rows of the reference, and not by some that stand for them."""
    x, y = normal(40, rows=1500), normal(41, rows=300)

    def margins(margin):
        tolerance = nammd.Tolerance.from_reference(x, margin=margin, kernel=nammd.Gaussian(1.5), **JOINT)
        return {check.scale: check.margin for check in tolerance.check(x, y).scale_checks}

    means = {scale: nammd.kernel_sums(x, y, nammd.Gaussian(1.5 * scale)).x.mean for scale in SCALES}
    small, large, noisy = margins(1e-5), margins(0.02), margins({"noise": 0.5})
    share = share_moved(0.02, means[1.0])
    assert share > 0.05
    for scale in SCALES[1:]:
        assert small[scale] == pytest.approx(moved_margin(means[scale], 0.05), rel=1e-9)
        # Which share makes the margin is told by some rows.
        assert large[scale] == pytest.approx(moved_margin(means[scale], share), rel=0.02)
        assert noisy[scale] >= small[scale]
    assert noisy[0.5] > 2 * small[0.5]  # what the noise makes there


def test_scales_without_contacts_are_dropped_by_the_reference_alone():
    x, y = normal(5, columns=30), normal(6, columns=30)
    tolerance = nammd.Tolerance.from_reference(x, **JOINT)
    verdict = tolerance.check(x, y)
    assert 0.0625 in verdict.details.scales.dropped
    assert "too few rows of the reference are so near each other" in str(verdict)
    again = tolerance.check(x, rounded(y, 2.0), allow=["all"])
    assert again.details.scales.dropped == verdict.details.scales.dropped


@pytest.mark.parametrize("accepted", [False, True])
def test_what_is_known_to_be_too_fine_is_not_computed_again(accepted, monkeypatch):
    x, y, others = normal(5, columns=30), normal(6, columns=30), normal(7, 0.3, columns=30)
    tolerance = nammd.Tolerance.from_reference(x, others if accepted else None, **JOINT)
    uncounted = replace(tolerance, scales=tuple(replace(s, contacts=math.inf) for s in tolerance.scales))
    asked, plain = set(), Tiles.many_sums

    def watched(self, kernels, *parts):
        asked.add(len(kernels))
        return plain(self, kernels, *parts)

    monkeypatch.setattr(Tiles, "many_sums", watched)
    expected = uncounted.check(x, y)
    assert max(asked) == len(SCALES)
    asked.clear()
    found = tolerance.check(x, y)
    assert (
        max(asked) == len(found.scale_checks) == len(SCALES) - len(found.details.scales.dropped) < len(SCALES)
    )
    assert found.to_dict() == expected.to_dict()
    # Of other rows nothing is known, nor of all where only some were counted.
    for check in (partial(tolerance.check, y, x), partial(tolerance.check, x, y, exact=True)):
        asked.clear()
        check()
        assert max(asked) == len(SCALES)


@pytest.mark.parametrize("make", ["hull", "ball", "noise", "split", "at"])
def test_files_keep_the_scales(make, tmp_path):
    tolerance = {
        "hull": lambda: nammd.Tolerance.from_reference(X, ACCEPTED, **JOINT),
        "ball": lambda: nammd.Tolerance.from_reference(X, ACCEPTED, how="ball", **JOINT),
        "noise": lambda: nammd.Tolerance.from_noise(X, level=0.5, levels=[0.2, 0.5], **JOINT),
        "split": lambda: nammd.Tolerance.from_split(X, n_splits=2, **JOINT),
        "at": lambda: nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), n_columns=2),
    }[make]()
    assert len(tolerance.scales) == (0 if make == "at" else 4)
    tolerance.save(tmp_path / "t.json")
    loaded = nammd.Tolerance.load(tmp_path / "t.json")
    assert loaded.scales == tolerance.scales
    candidate = FINE["rounded"]
    expected, found = (each.check(X, candidate, allow=["all"]) for each in (tolerance, loaded))
    assert [each.pvalue for each in found.scale_checks] == pytest.approx(
        [each.pvalue for each in expected.scale_checks], rel=1e-9
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("scale", 2.0),
        ("scale", 0.5),
        ("share", 0.0),
        ("made", -1.0),
        ("made", float("inf")),
        ("contacts", -1.0),
    ],
)
def test_scales_in_a_file_are_checked(field, value):
    from nammd.tolerances import file

    stored = file.to_dict(plain())
    stored["scales"][1][field] = value
    with pytest.raises(ValueError, match=r"scale|made|contacts"):
        file.from_dict(json.loads(json.dumps(stored)))


def test_a_file_that_does_not_say_what_is_too_fine_is_read():
    from nammd.tolerances import file

    stored = json.loads(json.dumps(file.to_dict(plain())))
    for each in stored["scales"]:
        assert each.pop("contacts") > 10
    found = file.from_dict(stored)
    assert [each.contacts for each in found.scales] == [math.inf] * (len(SCALES) - 1)
    assert found.check(X, normal(3)).to_dict() == plain().check(X, normal(3)).to_dict()


def test_another_rung_scales_the_margins():
    tolerance = nammd.Tolerance.from_noise(X, level=0.5, levels=[0.5, 1.0], **JOINT)
    other = tolerance.at_level(1.0)
    ratio = other.epsilon / tolerance.epsilon
    for before, after in zip(tolerance.scales, other.scales, strict=True):
        assert after.made == pytest.approx(min(before.made * ratio, 1.0))
        assert after.share == pytest.approx(min(0.05 * ratio**0.5, 1.0))


def test_groups_have_scales_too():
    people = np.repeat(normal(7, rows=200), 3, axis=0)
    x = people + 0.3 * normal(8, rows=600)
    labels = [np.arange(600) // 3, 1000 + np.arange(600) // 3]
    tolerance = nammd.Tolerance.from_reference(x, groups=[labels[0]], **JOINT)
    good = np.repeat(normal(9, rows=200), 3, axis=0) + 0.3 * normal(10, rows=600)
    assert not tolerance.check(x, good, groups=labels).is_far
    verdict = tolerance.check(x, rounded(good), groups=labels, allow=["all"])
    assert verdict.is_far
    assert verdict.details.finest_beyond is not None


def test_a_kernel_without_a_bandwidth_has_one_scale():
    kernel = 0.5 * nammd.Gaussian(1.0) + 0.5 * nammd.Laplace(2.0)
    tolerance = nammd.Tolerance.from_reference(X, kernel=kernel, margin=0.02, **JOINT)
    assert tolerance.scales == ()
    assert len(tolerance.check(X, ACCEPTED).scale_checks) == 1
    with pytest.raises(ValueError, match="no bandwidth"):
        nammd.distance(X, ACCEPTED, kernel=kernel, scales="all")


@pytest.mark.parametrize("kernel", [nammd.Laplace, nammd.Mahalanobis])
def test_other_kernels_with_a_bandwidth_have_scales(kernel):
    tolerance = nammd.Tolerance.from_reference(X, kernel=kernel, **JOINT)
    verdict = tolerance.check(X, FINE["rounded"], allow=["all"])
    assert len(verdict.scale_checks) == 5
    assert verdict.is_far


def test_many_accepted_rows_are_compared_at_finer_scales_in_part(monkeypatch):
    from nammd.tolerances import accepted as module

    months = {f"month {k}": normal(20 + k, 0.05 * k, rows=300) for k in range(4)}
    whole = nammd.Tolerance.from_reference(X, months, margin=0.01, **JOINT)
    expected = whole.check(X, normal(30))
    monkeypatch.setattr(module, "MOST_FINE", 400)
    monkeypatch.setattr(module, "_LEAST_FINE", 100)
    asked = []
    plain = Tiles.many_sums

    def watched(self, kernels, *parts):
        asked.append((len(kernels), {len(part[0]) for part in parts if len(part) == 2}))
        return plain(self, kernels, *parts)

    monkeypatch.setattr(Tiles, "many_sums", watched)
    found = whole.check(X, normal(30))
    assert found.scale_checks[0].distance == pytest.approx(expected.scale_checks[0].distance, abs=1e-11)
    assert found.details.scales.law.least is not None  # the units of all scales are told apart
    assert (4, {100, ROWS}) in [(count, sizes & {100, ROWS}) for count, sizes in asked]


@pytest.mark.parametrize("accepted", [False, True])
def test_some_of_many_rows_are_compared_at_finer_scales(accepted, monkeypatch):
    from nammd.tolerances import accepted as module

    months = {"month": normal(21, 0.3)} if accepted else {}
    tolerance = nammd.Tolerance.from_reference(X, months, margin=0.01, **JOINT)
    expected = tolerance.check(X, normal(30))
    monkeypatch.setattr(module, "FINE_ROWS", 300)
    monkeypatch.setattr(module, "_LEAST_FINE", 100)
    checked = tolerance.with_reference(X)
    for _ in range(2):  # what is within the reference is known the second time
        found = checked.check(normal(30))
        assert found.scale_checks[0].distance == expected.scale_checks[0].distance
        assert found.scale_checks[1].distance != expected.scale_checks[1].distance
        assert found.details.scales.law.least is not None  # the units of all scales are told apart
        assert found.estimate.n == len(normal(30))
        assert found.cautions == expected.cautions
    assert checked.check(FINE["rounded"], allow=["all"]).is_far
    assert checked.check(normal(30)).decision == expected.decision
    exact = tolerance.check(X, normal(30), exact=True)
    assert exact.scale_checks[1].distance == expected.scale_checks[1].distance


def test_a_margin_test_at_every_scale():
    far = nammd.closeness_test(X, FINE["rounded"], 0.01, alternative="greater", scales="all")
    assert far.rejected
    assert "fine structure" in far.headline()
    assert far.pvalue == min(each.adjusted for each in far.scales)
    assert not nammd.closeness_test(X, FINE["rounded"], 0.01, alternative="greater").rejected
    close = nammd.closeness_test(X, normal(4), 0.05, alternative="less", scales="all")
    assert close.pvalue == max(each.pvalue for each in close.scales)
    assert not nammd.closeness_test(X, FINE["rounded"], 0.05, alternative="less", scales="all").rejected
    with pytest.raises(ValueError, match="metric='nammd'"):
        nammd.closeness_test(X, X + 1, 0.05, alternative="less", scales="all", metric="mmd2")
    with pytest.raises(ValueError, match="scales"):
        nammd.distance(X, ACCEPTED, scales="fine")


def test_a_report_has_a_picture_of_the_scales():
    verdict = plain().check(X, FINE["rounded"], allow=["all"])
    page = render(build(verdict))
    assert "an eighth of the typical distance" in page
    ax = scales_plot(verdict)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["bandwidth", "1/2", "1/4", "1/8", "1/16"]
    with pytest.raises(ValueError, match="one scale"):
        scales_plot(nammd.closeness_test(X, ACCEPTED, 0.05, alternative="less"))


def test_the_level_holds_at_the_margin_of_finer_scales():
    """Five rows in a hundred are elsewhere: at the margin of every finer scale, and FAR is an error."""
    kernel, wrong, tries = nammd.Gaussian(1.5), 0, 40
    for seed in range(tries):
        rng = np.random.default_rng([9, seed])
        x, y = rng.normal(size=(2, 300, 2))
        gone = rng.random(300) < 0.05
        y[gone] += 40.0
        with only_decisions():
            tolerance = nammd.Tolerance.from_reference(x, kernel=kernel, margin=1e-4, **JOINT)
            _, *finer = tolerance.check(x, y).scale_checks
        wrong += any(each.beyond for each in finer)
    assert wrong <= 0.05 * tries + 3 * np.sqrt(0.05 * 0.95 * tries)
