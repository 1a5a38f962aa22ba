"""Pairs of distributions over one finite support, as in the tables on total variation and Wasserstein.

P is uniform over points of a benchmark data set. Q, and another Q farther away, give more to one half of the
points and less to the other. Rows are the numbers of points wherever coordinates do not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import nammd
from experiments.experiment import Context
from experiments.paper.benchmark_data import draw
from experiments.paper.finite import Counting, Lookup
from experiments.single_torch import one_torch_thread
from nammd.datasets import DiscretePair, discrete_pair
from nammd.methods.resampling import upper_threshold
from nammd.selecting.bandwidth import GRID, studentized

POINTS, GAP = 50, 0.2
SIZES = {0.1: 1800, 0.3: 1000, 0.5: 1100, 0.7: 1100}
"""Rows of each sample by ε'. Those that the authors used for higgs; for the others they are not known."""

ALPHA = 0.05


def unit_columns(rows: np.ndarray) -> np.ndarray:
    """Bring every column to 0 to 1, as the authors do."""
    span = np.ptp(rows, axis=0)
    scaled: np.ndarray = (rows - rows.min(axis=0)) / np.where(span > 0, span, 1.0)
    return scaled


@dataclass(frozen=True, eq=False)
class SupportedPairs:
    """The pair at the margin and the one beyond it, over the same points with the same halves."""

    boundary: DiscretePair
    beyond: DiscretePair

    @classmethod
    def of(cls, data: str, margin: float, context: Context) -> SupportedPairs:
        """Draw points of a data set; the paper's ε' is twice the total variation."""
        points = unit_columns(np.concatenate(draw(data, POINTS // 2, context)))
        if points.shape[1] > POINTS:
            # So many points span no more dimensions than there are points; distances stay as they are.
            left, lengths, _ = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
            points = left * lengths
        halves = int(context.rng.integers(2**31))
        boundary, beyond = (discrete_pair(points, e / 2, rng=halves) for e in (margin, margin + GAP))
        return cls(boundary, beyond)

    def selected_bandwidth(self, rows: int, context: Context) -> float:
        """Return the multiple of the median distance that separates other samples of the farther pair best.

        The criterion and the multiples are those of `nammd.selecting.bandwidth.select_bandwidth`.
        """
        x, y = numbers(self.beyond, rows, context.rng)

        def score(bandwidth: float) -> float:
            kernel = Closeness.gaussian(self, bandwidth).kernel
            found = nammd.distance(x, y, kernel=kernel, engine=Counting())
            return float(studentized(found.pair.moments))

        median = self.median_distance()
        return float(max((median * factor for factor in GRID), key=score))

    def learned_mahalanobis(self, rows: int, context: Context, epochs: int = 200) -> nammd.Mahalanobis:
        """Return the Mahalanobis kernel that maximises MMD between other samples of the farther pair.

        From the Gaussian kernel of the median distance, as in the authors' runs of these tables. The rows
        take few values, so that MMD² is a quadratic form of the differences of their frequencies.
        """
        import torch

        x, y = numbers(self.beyond, rows, context.rng)
        counts = [np.bincount(side[:, 0].astype(int), minlength=POINTS) / rows for side in (x, y)]
        points = self.beyond.support - self.beyond.support.mean(axis=0)
        z = torch.tensor(points / self.median_distance())
        apart = torch.tensor(counts[0] - counts[1])
        change = torch.eye(z.shape[1], dtype=z.dtype).requires_grad_(True)
        optimizer = torch.optim.Adam([change], lr=0.01)
        with one_torch_thread():
            for _ in range(epochs):
                moved = z @ change
                squared = (moved * moved).sum(1)
                gram = torch.exp(-(squared[:, None] + squared - 2 * moved @ moved.T).clamp_min(0) / 2)
                optimizer.zero_grad()
                loss: Any = -(apart @ gram @ apart)
                loss.backward()
                optimizer.step()
        root = change.detach().numpy() / self.median_distance()
        return nammd.Mahalanobis(root @ root.T)

    def median_distance(self) -> float:
        """Return the median distance of two of the points."""
        from scipy.spatial.distance import pdist

        return float(np.median(pdist(self.boundary.support)))


def numbers(pair: DiscretePair, rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw the numbers of points from P and from Q, as samples of one column."""
    x, y = (rng.choice(POINTS, rows, p=weights).astype(float) for weights in (pair.p, pair.q))
    return x[:, None], y[:, None]


@dataclass(frozen=True, eq=False)
class Closeness:
    """NAMMD's tests of the margin with one kernel."""

    pairs: SupportedPairs
    kernel: Lookup
    epsilon: float

    @classmethod
    def gaussian(cls, pairs: SupportedPairs, bandwidth: float) -> Closeness:
        """Take a Gaussian kernel and the exact NAMMD at the margin."""
        return cls.of(pairs, nammd.Gaussian(bandwidth))

    @classmethod
    def of(cls, pairs: SupportedPairs, kernel: nammd.Kernel) -> Closeness:
        """Take a kernel and the exact NAMMD at the margin."""
        points = pairs.boundary.support
        return cls(
            pairs, Lookup(np.asarray(kernel(points, points)), kernel.bound), pairs.boundary.nammd(kernel)
        )

    def value(self, x: np.ndarray, y: np.ndarray) -> float:
        """Return the paper's estimate of NAMMD."""
        return nammd.paper.distance(x, y, kernel=self.kernel, cross="off-diagonal", engine=Counting()).value

    def threshold(self, rows: int, resamples: int, rng: np.random.Generator) -> float:
        """Return the threshold from resampling at the margin, as in the authors' runs of these tables."""
        null = [self.value(*numbers(self.pairs.boundary, rows, rng)) for _ in range(resamples)]
        return upper_threshold(np.array(null), ALPHA)

    def by_theory(self, x: np.ndarray, y: np.ndarray) -> dict[str, bool]:
        """Return whether the test of the paper's text rejects, and ours."""
        options: dict[str, Any] = {"kernel": self.kernel, "alpha": ALPHA, "engine": Counting()}
        paper = nammd.paper.closeness_test(
            x, y, self.epsilon, variance="paper", cross="off-diagonal", alternative="greater", **options
        )
        ours = nammd.closeness_test(x, y, self.epsilon, alternative="greater", **options)
        return {"paper": paper.rejected, "corrected": ours.rejected}
