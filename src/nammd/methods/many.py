"""Many two-sample tests at once: `two_sample_tests`.

The tests of one size are one computation on a GPU, and methods that need the same sums share them: signs,
kernels and Gram matrices of `NAMMDFuse` and `MMDFuse` are the same, only what is made of them differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from nammd.data.arrays import Array
from nammd.engines import Engine, choose_engine
from nammd.errors.checks import between
from nammd.evidence import prepare
from nammd.kernels import Gaussian
from nammd.methods.drawing import DrawSigns
from nammd.methods.fuse import NAMMDFuse
from nammd.questions.two_sample import TwoSampleResult

_SIGNS_AT_ONCE = 1 << 30
"""Of all tests that are computed together: a byte each."""


def two_sample_tests(
    pairs: Iterable[tuple[Any, Any]],
    *,
    methods: Sequence[Any] = (NAMMDFuse(),),
    alpha: float = 0.05,
    rng: Any = None,
    engine: Engine | None = None,
) -> list[tuple[TwoSampleResult, ...]]:
    """Test every pair of datasets with every method.

    On a GPU small tests are computed together, many times as fast as one by one.

    Parameters
    ----------
    pairs : iterable of pairs of datasets
        The pairs; see `nammd.two_sample_test`.
    methods : sequence of methods
        Of the kinds `NAMMDFuse`, `MMDFuse` and `MMDAgg`.
    alpha : float
        The level of each test.
    rng : int, numpy.random.Generator or None
        Generator for the resampling. Each pair has signs of its own; on a GPU they are drawn there.
    engine : Engine, optional
        Which engine computes; by default the one where the data are.

    Returns
    -------
    list of tuples of TwoSampleResult
        For every pair the results in the order of the methods.

    Examples
    --------
    >>> import numpy as np
    >>> from nammd.methods.fuse import MMDFuse, NAMMDFuse
    >>> from nammd.methods.many import two_sample_tests
    >>> rng = np.random.default_rng(0)
    >>> pairs = [(rng.normal(size=(60, 2)), rng.normal(shift, size=(60, 2))) for shift in (0.0, 1.0)]
    >>> results = two_sample_tests(pairs, methods=[NAMMDFuse(), MMDFuse()], rng=1)
    >>> [[result.rejected for result in both] for both in results]
    [[False, False], [True, True]]
    """
    alpha, generator = between(alpha, "alpha"), np.random.default_rng(rng)
    for method in methods:
        if not hasattr(method, "plan"):
            raise TypeError(
                f"two_sample_tests takes NAMMDFuse, MMDFuse and MMDAgg, not {method!r}; call "
                "nammd.two_sample_test for each pair instead"
            )
    found: list[tuple[TwoSampleResult, ...]] = []
    waiting: list[tuple[Array, Array]] = []
    most = max((sum(plan for plan in m.plans_as() if isinstance(plan, int)) for m in methods), default=1)
    for x, y in pairs:
        one, other = prepare({"x": x, "y": y}, kernel=Gaussian(1.0), engine=engine, least=2)
        waiting.append((one.points, other.points))
        if sum(int(a.shape[0] + b.shape[0]) for a, b in waiting) * most >= _SIGNS_AT_ONCE:
            found += _together(waiting, methods, alpha, generator, engine)
            waiting = []
    return found + _together(waiting, methods, alpha, generator, engine)


def _together(
    pairs: list[tuple[Array, Array]],
    methods: Sequence[Any],
    alpha: float,
    generator: np.random.Generator,
    engine: Engine | None,
) -> list[tuple[TwoSampleResult, ...]]:
    """Return the results for some pairs; methods that plan alike share what is computed."""
    if not pairs:
        return []
    chosen = choose_engine(engine, *pairs[0])
    draw = DrawSigns(generator, pairs[0][0])
    results: dict[int, list[TwoSampleResult]] = {}
    for plan in dict.fromkeys(method.plans_as() for method in methods):
        alike = [position for position, method in enumerate(methods) if method.plans_as() == plan]
        tasks = [methods[alike[0]].plan(x, y, draw) for x, y in pairs]
        sums = chosen.many_forms(tasks)
        for position in alike:
            results[position] = [
                methods[position].conclude(task, one, x, y, alpha, chosen)
                for task, one, (x, y) in zip(tasks, sums, pairs, strict=True)
            ]
    return [tuple(results[m][p] for m in range(len(methods))) for p in range(len(pairs))]
