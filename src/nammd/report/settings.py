"""What was computed from what, and how to compute it again."""

from __future__ import annotations

import platform
import re
from typing import Any

import numpy as np

from nammd.data.arrays import FloatArray, to_numpy
from nammd.kernels import Gaussian, Kernel, Laplace
from nammd.kernels.base import Scaled, Sum
from nammd.questions.closeness import ClosenessResult
from nammd.questions.distance import NAMES
from nammd.report.source import dataset_names, estimate_in
from nammd.results.base import number
from nammd.tolerances.provenance import digest_of
from nammd.tolerances.verdict import Verdict


def settings_of(result: Any, columns: int) -> tuple[tuple[str, str], ...]:
    """Return the settings of a result as labels and values."""
    from nammd import __version__

    estimate = estimate_in(result)
    first, second = dataset_names(result)
    x, y = (to_numpy(sample) for sample in estimate.data)
    rows = [
        ("rows", f"{estimate.m:,} in the {first}, {estimate.n:,} in the {second}"),
        ("columns", f"{columns:,} compared"),
        ("distance", f"{NAMES[estimate.statistic]}, {_cross(estimate.cross)}"),
        ("kernel", str(estimate.kernel)),
        ("engine", estimate.engine),
        (f"digest of the {first}", _digest(x)),
        (f"digest of the {second}", _digest(y)),
    ]
    if isinstance(result, ClosenessResult):
        rows.append(("null distribution", f"{result.variance} variance"))
    if isinstance(result, Verdict):
        origin = result.tolerance.origin
        rows += [
            ("level of each test", f"{result.alpha:g}"),
            ("tolerance taken from", origin.sentence()),
            ("tolerance made", f"{origin.created} with {_versions(origin.versions)}"),
        ]
        if origin.digest:
            rows.append(("digest of its reference", origin.digest[:16]))
    now = (("nammd", __version__), ("numpy", np.__version__), ("python", platform.python_version()))
    return (*rows, ("this report made with", _versions(now)))


def reproduce(result: Any) -> str:
    """Return the Python code that gives a result again."""
    estimate = estimate_in(result)
    if isinstance(result, Verdict):
        level = "" if result.alpha == 0.05 else f", alpha={result.alpha:g}"
        if result.tolerance.origin.how == "given":
            made = f"at({result.epsilon!r}, {_kernel(result.tolerance.kernel)}, x=reference)"
        else:
            made = 'load("tolerance.json")  # the file that tolerance.save wrote'
        lines = [
            f"tolerance = nammd.Tolerance.{made}",
            f"verdict = tolerance.check(reference, candidate{level})",
            'verdict.report("report.html")',
        ]
        return "\n".join(["import nammd", "", *lines])
    options = [f"kernel={_kernel(estimate.kernel)}"]
    if estimate.statistic != "nammd":
        options.append(f'statistic="{estimate.statistic}"')
    if estimate.cross != "full":
        options.append(f'cross="{estimate.cross}"')
    if isinstance(result, ClosenessResult):
        options = [f"epsilon={result.epsilon!r}", f'alternative="{result.alternative}"', *options]
        if result.alpha != 0.05:
            options.append(f"alpha={result.alpha:g}")
        if result.variance != "corrected":
            options.append(f'variance="{result.variance}"')
    call = "closeness_test" if isinstance(result, ClosenessResult) else "distance"
    body = "".join(f"    {option},\n" for option in ["x", "y", *options])
    return f'import nammd\n\nresult = nammd.{call}(\n{body})\nresult.report("report.html")'


def _kernel(kernel: Kernel) -> str:
    """Write a kernel as code, or as a name where its code would not fit on a line."""

    def whole(part: Kernel) -> bool:
        if isinstance(part, Scaled):
            return whole(part.kernel)
        if isinstance(part, Sum):
            return all(map(whole, part.terms))
        return isinstance(part, (Gaussian, Laplace))

    if not whole(kernel):
        return "kernel"
    return re.sub(r"\b(Gaussian|Laplace)\(", r"nammd.\1(", repr(kernel))


def _cross(cross: str) -> str:
    return "all pairs of rows" if cross == "full" else "all pairs of rows but those of the same number"


def _digest(encoded: FloatArray) -> str:
    return digest_of(encoded)[:16]


def _versions(versions: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions)


def tolerance_words(epsilon: float, error: float) -> str:
    """Write a tolerance with its uncertainty.

    Examples
    --------
    >>> tolerance_words(0.02, 0.0), tolerance_words(0.02, 0.001)
    ('0.02', '0.02 ± 0.001')
    """
    return number(epsilon) + (f" ± {number(error)}" if error else "")
