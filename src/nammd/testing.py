"""Assertions for test suites and pipelines; a failure's message is the verdict in words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nammd.errors.checks import choice
from nammd.explaining.facts import FactShare
from nammd.questions.closeness import closeness_test
from nammd.tolerances.tolerance import Tolerance
from nammd.tolerances.verdict import Verdict

UNDECIDED = ("fail", "pass")


def assert_close(
    x: Any,
    y: Any,
    tolerance: Tolerance | str | Path,
    *,
    alpha: float = 0.05,
    undecided: str = "fail",
    joint_only: bool = False,
    fail_on: Sequence[str] = (),
    allow: Sequence[str] = (),
    fact_share: FactShare = None,
    groups: Any = None,
    sample_weight: Any = None,
) -> Verdict:
    """Assert that a dataset is within a tolerance of the reference.

    Parameters
    ----------
    x : dataset
        The reference; see `nammd.distance`.
    y : dataset
        The candidate.
    tolerance : Tolerance or path
        What close enough means, or the file that `Tolerance.save` wrote.
    alpha : float
        The level of each of the two tests.
    undecided : {"fail", "pass"}
        What to do where the data do not settle it. Failing is the safe choice: only proven closeness
        passes.
    joint_only : bool
        Leave single columns out of the verdict; they still explain it.
    fail_on, allow, fact_share
        Which facts speak against the candidate, beside what the tolerance says; see `Tolerance.with_facts`.
    groups, sample_weight : optional
        Which rows belong together, and how much each counts; see `nammd.distance`. What the tolerance
        remembers need not be said again, but for arrays.

    Returns
    -------
    Verdict

    Raises
    ------
    AssertionError
        With the verdict in words.

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> from nammd.testing import assert_close
    >>> rng = np.random.default_rng(0)
    >>> train, today = rng.normal(size=(2, 500, 2))
    >>> verdict = assert_close(train, today, nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), n_columns=2))
    """
    __tracebackhide__ = True  # pytest shows the line that calls this one
    choice(undecided, "undecided", UNDECIDED)
    if not isinstance(tolerance, Tolerance):
        tolerance = Tolerance.load(tolerance)
    verdict = tolerance.check(
        x,
        y,
        alpha,
        joint_only=joint_only,
        fail_on=fail_on,
        allow=allow,
        fact_share=fact_share,
        groups=groups,
        sample_weight=sample_weight,
    )
    return require_close(verdict, undecided)


def require_close(verdict: Verdict, undecided: str = "fail") -> Verdict:
    """Assert that a verdict is one to go on with; `assert_close` and the plugin for pytest both ask here.

    Parameters
    ----------
    verdict : Verdict
        What a check came to.
    undecided : {"fail", "pass"}
        What to do where the data do not settle it. A fact that speaks against the candidate fails in any
        case.

    Returns
    -------
    Verdict

    Raises
    ------
    AssertionError
        With the verdict in words.

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> from nammd.testing import require_close
    >>> train, today = np.random.default_rng(0).normal(size=(2, 500, 2))
    >>> tolerance = nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), n_columns=2)
    >>> str(require_close(tolerance.check(train, today)).decision)
    'CLOSE'
    """
    __tracebackhide__ = True
    choice(undecided, "undecided", UNDECIDED)
    settled = verdict.is_close or (undecided == "pass" and not verdict.is_far)
    if not settled or verdict.failures:
        raise AssertionError(str(verdict))
    return verdict


def assert_within(x: Any, y: Any, *, epsilon: float, alpha: float = 0.05, **options: Any) -> None:
    """Assert that two datasets are proven to be closer than a margin.

    Parameters
    ----------
    x, y : dataset
        The datasets; see `nammd.distance`.
    epsilon : float
        The margin.
    alpha : float
        The level of the test.
    **options
        Further options of `nammd.closeness_test`, such as `kernel`.

    Raises
    ------
    AssertionError
        With the result in words.

    Examples
    --------
    >>> import numpy as np
    >>> from nammd.testing import assert_within
    >>> x, y = np.random.default_rng(0).normal(size=(2, 500, 2))
    >>> assert_within(x, y, epsilon=0.02)
    """
    result = closeness_test(x, y, epsilon, alternative="less", alpha=alpha, **options)
    if not result.rejected:
        raise AssertionError(str(result))
