"""Reference values from a brute-force oracle and from published implementations."""

import json
from pathlib import Path

import numpy as np
import pytest

import nammd
from nammd.statistics.atom_pair import pair_of_rows
from nammd.statistics.margin import margin

GOLDEN = Path(__file__).parents[1] / "golden"
ESTIMATORS = json.loads((GOLDEN / "estimators.json").read_text())["cases"]
PUBLISHED = json.loads((GOLDEN / "mmd_and_variance.json").read_text())["cases"]

KERNELS = {
    "gaussian": lambda p: nammd.Gaussian(p["gamma"]),
    "laplace": lambda p: nammd.Laplace(p["gamma"]),
    "scaled_gaussian": lambda p: p["K"] * nammd.Gaussian(p["gamma"]),
    "mahalanobis": lambda p: nammd.Mahalanobis(p["M"], p["gamma"]),
}
FORMS = [
    pytest.param(case, form, id=f"{case['name']}-{form}")
    for case in ESTIMATORS
    for form in ("full", "offdiag")
    if form in case
]


def close(actual, expected, scale=1.0):
    np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-13 * scale)


def options(case, form):
    cross = "full" if form == "full" else "off-diagonal"
    return {"kernel": KERNELS[case["kernel"]](case["params"]), "cross": cross}


def samples(case):
    return np.array(case["X"]), np.array(case["Y"])


@pytest.mark.parametrize(("case", "form"), FORMS)
def test_distance_matches_the_oracle(case, form):
    expected = case[form]
    estimate = nammd.paper.distance(*samples(case), **options(case, form))
    close(estimate.value, expected["nammd"])
    close(estimate.pair.moments.mmd2, expected["mmd2"])
    close(estimate.pair.moments.denominator, expected["denominator"])
    if expected["se_delta_hat"] is not None:
        close(estimate.standard_error, expected["se_delta_hat"])


@pytest.mark.parametrize(("case", "form"), FORMS)
def test_variance_components_match_the_oracle(case, form):
    estimate = nammd.paper.distance(*samples(case), **options(case, form))
    moments, expected = estimate.pair.moments, case[form]["components"]
    actual = {
        "v1x": moments.x.v1, "v2x": moments.x.v2, "cx": moments.x.c, "wx": moments.x.w,
        "v1y": moments.y.v1, "v2y": moments.y.v2, "cy": moments.y.c, "wy": moments.y.w,
        "d": moments.dxy,
    }  # fmt: skip
    for name, value in actual.items():
        close(value, expected[name], case["K"] ** 2)
    close(moments.variance(1.0), case[form]["var_num_paper"], case["K"] ** 2)
    close(moments.variance(1 + case["eps"]), case[form]["var_num_delta"], case["K"] ** 2)


@pytest.mark.parametrize("variance", ["paper", "delta"])
@pytest.mark.parametrize(("case", "form"), FORMS)
def test_uncorrected_tests_match_the_oracle(case, form, variance):
    expected = case[form]
    result = nammd.paper.closeness_test(
        *samples(case),
        case["eps"],
        alternative="greater",
        alpha=case["alpha"],
        variance=variance,
        **options(case, form),
    )
    if expected[f"p_{variance}"] is None:  # the variance estimate is not positive
        assert np.isnan(result.pvalue)
        assert not result.rejected
        assert [w.code for w in result.cautions if w.code != "few-rows"] == ["no-variance"]
        return
    close(result.pvalue, expected[f"p_{variance}"])
    close(result.standard_error, expected[f"se_{variance}"])
    close(result.threshold, expected[f"threshold_{variance}"])
    assert result.rejected == expected[f"reject_{variance}"]


@pytest.mark.parametrize("case", ESTIMATORS, ids=lambda c: c["name"])
def test_corrected_test_matches_the_oracle(case, monkeypatch):
    expected, eps = case["hall"], case["eps"]
    estimate = nammd.paper.distance(*samples(case), **options(case, "full"))
    # A skewness that few rows carry is not trusted, which the oracle does not know: that only adds caution.
    careful = margin(estimate.pair, eps, "corrected", "greater").pvalue("greater")
    assert not careful < expected["p"] * (1 - 1e-7)
    monkeypatch.setattr("nammd.statistics.margin.CARRIERS", (0.0, 1e-12))
    test = margin(estimate.pair, eps, "corrected", "greater")
    scale = case["K"] ** 3
    close(test.u, expected["U"])
    close(estimate.pair.moments.linear_variance(1 + eps), expected["var_linear"], scale)
    np.testing.assert_allclose(test.share, expected["r"], rtol=1e-7)
    cubic, quadratic = estimate.pair.cubic_and_quadratic(eps, "greater")
    close([cubic, quadratic], [(expected["A"]), expected["B"]], scale)
    np.testing.assert_allclose(test.z, expected["z"], rtol=1e-7)
    how = {"alternative": "greater", "alpha": case["alpha"], **options(case, "full")}
    result = nammd.paper.closeness_test(*samples(case), eps, variance="corrected", **how)
    if any(
        estimate.pair.alike
    ):  # then no p-value is below the chance of that, which the oracle does not know
        assert result.pvalue == pytest.approx(max(test.unseen, expected["p"]), rel=1e-7)
        return
    np.testing.assert_allclose(result.pvalue, expected["p"], rtol=1e-7, atol=1e-13)


@pytest.mark.parametrize("case", PUBLISHED, ids=lambda c: c["name"])
def test_published_implementations_agree(case):
    x, y = samples(case)
    kernel = nammd.Gaussian((case["s"] / 2) ** 0.5)
    sums = nammd.kernel_sums(x, y, kernel)
    moments = pair_of_rows(sums, "off-diagonal").moments
    close(moments.mmd2, case["mmd2_off_diagonal"])
    close(pair_of_rows(sums).moments.mmd2, case["mmd2_full"])
    close([moments.x.mean, moments.y.mean], [case["xx"], case["yy"]])
    close(moments.mmd2 / moments.denominator, case["nammd_off_diagonal"])
    close(moments.x.linear(1.0) + moments.y.linear(1.0), case["zeta1"])
    close(moments.variance(1.0), case["variance_mmd2"])


@pytest.mark.parametrize("case", PUBLISHED, ids=lambda c: c["name"])
def test_the_papers_test_is_available_exactly(case):
    """Equations for sigma_XY and tau_alpha: tau = eps + sigma z / sqrt(m)."""
    x, y = samples(case)
    kernel = nammd.Gaussian((case["s"] / 2) ** 0.5)
    result = nammd.paper.closeness_test(
        x, y, 0.1, kernel=kernel, variance="paper", cross="off-diagonal", alternative="greater"
    )
    close(result.standard_error * np.sqrt(len(x)), case["sigma"])
    close(result.threshold, 0.1 + case["sigma"] * 1.6448536269514722 / np.sqrt(len(x)))
    assert result.rejected == (result.statistic > result.threshold)
