"""The criterion of a kernel for closeness: in how many standard errors far data are beyond accepted ones.

A two-sample criterion looks for the kernel that tells two samples apart best. A closeness test asks another
thing: are these data farther from the reference than the ones that were accepted? Each kernel measures both
distances its own way, so both belong into the criterion (N_1 to the accepted data, N_2 to the far ones)::

    (N_2 - max(N_1, floor)) / se(N_2 - N_1),        floor = 2 share² |mu|² / (4 K - 2 |mu|²)

The reference is one sample in both distances, and its errors partly cancel: the standard error is that of the
difference (see ``docs/statistics.md``). The floor is what is negligible under the kernel, where the accepted
data show nothing: a share of the rows moved to a law that is as smooth as the reference, and without overlap
with it. |mu|² is the mean kernel value of two reference rows.

Everything here works with floats and with tensors that are differentiated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nammd.errors.checks import between
from nammd.statistics.moments import Moments, combined
from nammd.statistics.scales import MOVED, moved_margin

NEGLIGIBLE = MOVED
"""The share of rows that may move without mattering, where nothing else is said."""


@dataclass(frozen=True, eq=False)
class Excess:
    """How much farther than an accepted dataset another one is from the same reference.

    Attributes
    ----------
    accepted, far : Moments
        Of the reference and the accepted data, and of the reference and the others.
    together : float
        The covariance, over the rows of the reference, of their mean similarities to the two.
    """

    accepted: Moments
    far: Moments
    together: Any

    def beyond(self, share: float) -> Any:
        """Return the distance beyond the accepted one, or beyond what is negligible where that is more."""
        return _value(self.far) - max(
            _value(self.accepted), moved_margin(self.far.x.mean, share, self.far.bound)
        )

    def variance(self) -> Any:
        """Return the variance of the difference; the parts due to rows and to pairs of rows are positive."""
        safe, _ = combined(*self.variance_parts())
        return safe

    def variance_parts(self) -> tuple[Any, Any]:
        """Return the variance of the difference: the part due to single rows, and all of it; unbiased."""
        one, two, x, m = self.accepted, self.far, self.far.x, self.far.x.size
        a1, a2 = 1 + _value(one), 1 + _value(two)
        d1, d2 = one.denominator, two.denominator
        crossed = 4 / m * (self.together - a1 * x.w - a2 * one.x.w)
        linear = one.linear_variance(a1) / d1**2 + two.linear_variance(a2) / d2**2
        total = one.variance(a1) / d1**2 + two.variance(a2) / d2**2
        return (
            linear - 2 * (a1 * a2 * 4 * x.v1 / m + crossed) / (d1 * d2),
            total - 2 * (a1 * a2 * x.own() + crossed) / (d1 * d2),
        )

    def size(self) -> float:
        """Return the sizes of the three samples as one, by which the variance falls."""
        return 3 / (1 / self.far.x.size + 1 / self.accepted.y.size + 1 / self.far.y.size)


def _value(moments: Moments) -> Any:
    return moments.mmd2 / moments.denominator


def named_accepted(accepted: Any, negligible: float) -> tuple[dict[str, Any], float]:
    """Return accepted datasets by the names that messages give them, and the share; both are checked."""
    if accepted is None:
        return {}, NEGLIGIBLE
    share = between(negligible, "negligible")
    if not isinstance(accepted, Mapping):
        return {"accepted": accepted}, share
    if not accepted:
        raise ValueError("accepted has no dataset; give one, or a mapping of names to datasets")
    return {f"accepted {str(name)!r}": data for name, data in accepted.items()}, share


def require_apart(samples: Sequence[Any]) -> None:
    """Refuse accepted data that are the reference, or the far data, or accepted twice."""
    for k, sample in enumerate(samples[2:], 2):
        if any(sample is other for other in samples[:k]):
            raise ValueError(
                f"{sample.name} is given twice, as accepted data and as something else; give rows of their "
                "own to the reference, to the far data and to each accepted dataset"
            )
