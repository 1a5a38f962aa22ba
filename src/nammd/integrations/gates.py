"""What orchestrators and registries share: a check as a pipeline has it, and a verdict as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nammd.results.base import plain
from nammd.testing import require_close
from nammd.tolerances.tolerance import Tolerance
from nammd.tolerances.verdict import Verdict


def check(
    tolerance: Tolerance | str | Path,
    reference: Any,
    candidate: Any,
    options: Mapping[str, Any] | None = None,
    report: str | Path | None = None,
) -> Verdict:
    """Check a candidate, and write a report about it where one is wanted.

    Parameters
    ----------
    tolerance : Tolerance or path
        What close enough means.
    reference, candidate : dataset
        What is compared; see `nammd.distance`.
    options : mapping, optional
        Further options of `Tolerance.check`, such as ``{"alpha": 0.01, "allow": ["new-categories"]}``.
    report : path, optional
        The page to write.

    Returns
    -------
    Verdict
    """
    limit = tolerance if isinstance(tolerance, Tolerance) else Tolerance.load(tolerance)
    verdict = limit.check(reference, candidate, **(options or {}))
    if report is not None:
        verdict.report(report)
    return verdict


def passes(verdict: Verdict, undecided: str) -> bool:
    """Tell whether a pipeline goes on: as `nammd.testing.require_close` decides it.

    Parameters
    ----------
    verdict : Verdict
        What a check came to.
    undecided : {"fail", "pass"}
        What to do where the data do not settle it.

    Returns
    -------
    bool
    """
    try:
        require_close(verdict, undecided)
    except AssertionError:
        return False
    return True


def figures(verdict: Verdict) -> dict[str, Any]:
    """Return what is worth to be kept of a verdict, as plain values; a number that does not exist is None.

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> from nammd.integrations.gates import figures
    >>> train, today = np.random.default_rng(0).normal(size=(2, 500, 2))
    >>> found = figures(nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), n_columns=2).check(train, today))
    >>> found["verdict"], found["rows"], found["share_of_tolerance"] < 0.1
    ('CLOSE', 500, True)
    """
    found: dict[str, Any] = plain(
        {
            "verdict": str(verdict.decision),
            "answer": verdict.headline(),
            "distance": verdict.distance,
            "tolerance": verdict.epsilon,
            "share_of_tolerance": max(verdict.distance, 0.0) / verdict.epsilon,
            "pvalue_close": verdict.pvalue_close,
            "pvalue_far": verdict.pvalue_far,
            "rows": verdict.estimate.n,
            "reasons": verdict.reasons,
            "failures": [str(fact) for fact in verdict.failures],
            "cautions": [caution.message for caution in verdict.cautions],
        }
    )
    return found


def missing(package: str, extra: str, error: ImportError) -> ImportError:
    """Return the error that says how to install a package."""
    if error.name is None or error.name.partition(".")[0] != package:
        return error  # it is there, and something within is not
    return ImportError(
        f"nammd.integrations.{extra.replace('-', '_')} needs the package {package}; install it with: "
        f"pip install 'nammd[{extra}]'"
    )
