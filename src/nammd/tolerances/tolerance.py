"""What "close enough" means, frozen: `Tolerance`.

A tolerance is an encoding of the columns, a kernel with its bandwidth, and epsilon. Epsilon means
nothing without the other two, so they travel together, with what epsilon was read from, which is uncertain
itself, and a record of where all of it came from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nammd.data.advice import Advice, refusal
from nammd.data.checks import between, counted, whole
from nammd.data.encoding import Encoding
from nammd.engines import Engine
from nammd.engines.progress import comparing, passes
from nammd.evidence import MIN_ROWS
from nammd.kernels import Kernel, as_kernel
from nammd.results import Result, number, with_error
from nammd.spaces import Space
from nammd.statistics.forecast import Pilot
from nammd.tolerances.bars import Accepted, Bar, Fixed, Perturbed
from nammd.tolerances.forecasting import Forecast, Setting
from nammd.tolerances.gate import Gate
from nammd.tolerances.ladder import Rung, paired_influences, split_rungs
from nammd.tolerances.measuring import Measuring
from nammd.tolerances.perturbation import DEFAULT_LEVELS, noise_rungs
from nammd.tolerances.provenance import Origin
from nammd.tolerances.verdict import Verdict


@dataclass(frozen=True)
class Tolerance(Result):
    """How far apart two datasets may be, and what "far" means.

    Make one with `from_reference`, `from_noise`, `from_split` or `at`; keep it with `save` and `load`.

    Attributes
    ----------
    space : Space
        The space in which distances are meant: how columns become numbers, and the kernel.
    bars : tuple of Bar
        What candidates are held against: one distance, or that of every accepted dataset, each with what is
        known of its error.
    origin : Origin
        Where all of it came from.

    Examples
    --------
    >>> import numpy as np
    >>> import nammd
    >>> rng = np.random.default_rng(0)
    >>> train, accepted = rng.normal(size=(600, 2)), rng.normal(loc=0.4, size=(600, 2))
    >>> tolerance = nammd.Tolerance.from_reference(train, accepted)
    >>> today, broken = rng.normal(loc=0.1, size=(600, 2)), rng.normal(loc=1.0, size=(600, 2))
    >>> print(tolerance.check(train, today).decision, tolerance.check(train, broken).decision)
    CLOSE FAR
    """

    space: Space
    bars: tuple[Bar, ...]
    origin: Origin

    @classmethod
    def from_reference(
        cls,
        x: Any,
        accepted: Any,
        *,
        space: Space | None = None,
        kernel: Any = None,
        weights: Mapping[str, float] | None = None,
        exclude: Sequence[str] | None = None,
        engine: Engine | None = None,
    ) -> Tolerance:
        """Take epsilon from datasets that are known to be acceptable.

        Parameters
        ----------
        x : dataset
            The reference: the data that others are compared with; see `distance`.
        accepted : dataset, or mapping of str to dataset
            A dataset that is different and still acceptable, or several by name. A candidate is within the
            tolerance if it is nearer than the farthest of them, and beyond it if it is farther than each.
        space : Space, optional
            Where to measure; by default a space fitted on the reference with the following options.
        kernel : Kernel or class, optional
            By default the Gaussian kernel with the median bandwidth of the reference.
        weights : mapping of str to float, optional
            How much each column counts; 1 where it is not named.
        exclude : sequence of str, optional
            Columns to leave out.
        engine : Engine, optional
            Which engine computes; by default the one where the data is.

        Returns
        -------
        Tolerance
            It keeps how well each of these distances is known, which every check takes into account.

        Raises
        ------
        ValueError
            If no accepted dataset is measurably different from the reference: then use `from_split` or
            `from_noise`.
        """
        named = accepted if isinstance(accepted, Mapping) else {"accepted": accepted}
        if not named:
            raise ValueError("give at least one accepted dataset")
        how = {"space": space, "kernel": kernel, "weights": weights, "exclude": exclude}
        bench = Measuring.of(x, how, engine)
        estimates = bench.distances({str(name): data for name, data in named.items()})
        rungs = tuple(Rung.of(name, estimate) for name, estimate in estimates.items())
        bars = tuple(Accepted(name, estimate.standing) for name, estimate in estimates.items())
        farthest = max(bars, key=lambda bar: bar.value)
        if not farthest.value > 0:
            raise refusal(
                ValueError,
                "the accepted data cannot be told apart from the reference (its estimated distance is "
                f"{farthest.value:.3g}), so it sets no tolerance",
                Advice(
                    "use Tolerance.from_split or Tolerance.from_noise instead, or an accepted dataset that "
                    "really differs",
                    "use --split or --noise instead, or an accepted dataset that really differs",
                ),
            )
        return cls._made(bench, bars, "reference", rungs, farthest.label)

    @classmethod
    def from_noise(
        cls,
        x: Any,
        *,
        level: float = 0.3,
        levels: Sequence[float] = DEFAULT_LEVELS,
        kind: str | None = None,
        space: Space | None = None,
        kernel: Any = None,
        weights: Mapping[str, float] | None = None,
        exclude: Sequence[str] | None = None,
        rng: Any = 0,
        engine: Engine | None = None,
    ) -> Tolerance:
        """Take epsilon from controlled perturbations of the reference itself.

        This is the way when no accepted dataset exists: decide which perturbation is still negligible.
        The reference is compared with perturbed copies of itself, at every level of a ladder; `plot`
        shows the distances, and `at_level` moves to another rung. A small level makes a small epsilon,
        and checks against it need many rows to decide: an undecided verdict says how many.

        Epsilon estimates how far the population that the reference was drawn from is from the same
        population with every row perturbed. Its error, which is that of drawing these rows of the reference,
        counts in every check.

        Parameters
        ----------
        x : dataset
            The reference, in memory; see `distance`.
        level : float
            The rung that sets epsilon: the largest level that is still negligible.
        levels : sequence of float
            The rungs, each between 0 and 1 (noise may exceed 1).
        kind : {"noise", "flips", "missing"}, optional
            ``"noise"``: Gaussian noise of `level` standard deviations of each numeric column.
            ``"flips"``: a share `level` of the categories replaced at random. ``"missing"``: a share
            `level` of all values removed. By default noise where there are numeric columns, else
            flips. The ladder of every kind that applies is computed for the plot.
        space, kernel, weights, exclude, engine
            As for `from_reference`.
        rng : int, numpy.random.Generator or None
            Generator for the perturbations.

        Returns
        -------
        Tolerance
        """
        how = {"space": space, "kernel": kernel, "weights": weights, "exclude": exclude}
        bench = Measuring.of(x, how, engine).in_memory("from_noise")
        rungs, estimates, kind = noise_rungs(
            bench.points, bench.space.encoding, bench.paired_distance, level, levels, kind, rng
        )
        chosen = next(r for r in rungs if r.kind == kind and r.level == level)
        value, estimate = chosen.epsilon("raise the level"), estimates[chosen.label]
        influences = paired_influences(estimate)
        variance = float(influences @ influences)
        bar = Perturbed(chosen.label, value, variance, influences, Pilot.of(estimate.pair))
        return cls._made(bench, (bar,), "noise", rungs, chosen.label)

    @classmethod
    def from_split(
        cls,
        x: Any,
        *,
        blocks: int = 4,
        splits: int = 10,
        space: Space | None = None,
        kernel: Any = None,
        weights: Mapping[str, float] | None = None,
        exclude: Sequence[str] | None = None,
        rng: Any = 0,
        engine: Engine | None = None,
    ) -> Tolerance:
        """Take epsilon from what "no change" looks like within the reference itself.

        Random halves of the reference show what sampling alone does; blocks of consecutive rows,
        each against the rest, show how much the data drift by themselves if the rows are in the order
        of time. Epsilon is the largest distance of a block, but not less than the upper confidence
        bound of the random halves, which is what data of this size can resolve.

        It is a number, and what is promised is this: a candidate that is distributed like the reference, or
        like any one of its blocks, is called FAR with a probability of at most the level. A block is nearer
        to the whole reference, of which it is a part, than to the rest, so the error of epsilon is paid for.

        Parameters
        ----------
        x : dataset
            The reference, in memory and in the order of time; see `distance`.
        blocks : int
            The number of consecutive blocks.
        splits : int
            The number of random halvings.
        space, kernel, weights, exclude, engine
            As for `from_reference`.
        rng : int, numpy.random.Generator or None
            Generator for the random halves.

        Returns
        -------
        Tolerance
        """
        how = {"space": space, "kernel": kernel, "weights": weights, "exclude": exclude}
        bench = Measuring.of(x, how, engine).in_memory("from_split")
        # Each of them compares all rows: halves with halves, blocks with what is left.
        with passes(*[1.0] * (blocks + splits), what=comparing(len(bench.points))):
            rungs, estimates = split_rungs(bench.points, bench.distance_between, blocks, splits, rng)
        drift = max((r for r in rungs if r.kind == "block"), key=lambda r: r.value)
        resolution = float(np.median([r.high for r in rungs if r.kind == "random"]))
        label, value = drift.label, drift.value
        if value <= resolution:
            label, value = "upper ends of the random halves", resolution
        bar = Fixed(label, between(value, "epsilon"), Pilot.of(estimates[drift.label].pair))
        return cls._made(bench, (bar,), "split", rungs, label)

    @classmethod
    def at(
        cls,
        epsilon: float,
        kernel: Any = None,
        *,
        space: Space | None = None,
        encoding: Encoding | None = None,
        columns: int | None = None,
        x: Any = None,
    ) -> Tolerance:
        """Fix a tolerance by hand, for those who know.

        Parameters
        ----------
        epsilon : float
            The largest acceptable NAMMD, strictly between 0 and 1.
        kernel : Kernel, optional
            The kernel under which that is meant; needed unless a space is given.
        space : Space, optional
            The space in which that is meant.
        encoding : Encoding, optional
            Instead of a space: how columns become numbers. Without it give `x` to fit one, or `columns` for
            plain arrays.
        columns : int, optional
            The number of columns of the arrays to come.
        x : dataset, optional
            The reference to fit the encoding on.

        Returns
        -------
        Tolerance

        Examples
        --------
        >>> import nammd
        >>> nammd.Tolerance.at(0.02, nammd.Gaussian(1.5), columns=3).epsilon
        0.02
        """
        epsilon = between(epsilon, "epsilon")
        ways = (space, encoding, columns, x)
        if sum(given is not None for given in ways) != 1 or (space is None) == (kernel is None):
            raise TypeError(
                "give a space; or a kernel, and one of encoding, columns and x: how many columns, of which "
                "kind?"
            )
        if space is None:
            if columns is not None:
                encoding = Encoding.identity(columns)
            elif encoding is None:
                encoding = Encoding.fit(x)
            space = Space(encoding, as_kernel(kernel))
        return cls(space, (Fixed("", epsilon),), Origin.now("given", 0, space.encoding, None, (), ""))

    @classmethod
    def _made(
        cls, bench: Measuring, bars: tuple[Bar, ...], how: str, rungs: tuple[Rung, ...], chosen: str
    ) -> Tolerance:
        reference, space = bench.reference, bench.space
        return cls(
            space, bars, Origin.now(how, reference.size, space.encoding, reference.digest, rungs, chosen)
        )

    @property
    def epsilon(self) -> float:
        """The largest acceptable NAMMD; where it is estimated, the estimate of the farthest accepted data."""
        return self.farthest.value

    @property
    def epsilon_error(self) -> float:
        """The standard error of epsilon; zero where it is a number."""
        return self.farthest.standard_error

    @property
    def farthest(self) -> Bar:
        """The bar with the largest distance."""
        return max(self.bars, key=lambda bar: bar.value)

    @property
    def kernel(self) -> Kernel:
        """The kernel of the space."""
        return self.space.kernel

    @property
    def encoding(self) -> Encoding:
        """The encoding of the space: how columns become numbers."""
        return self.space.encoding

    def at_level(self, level: float, kind: str | None = None) -> Tolerance:
        """Return the tolerance of another rung of the ladder that this one was taken from.

        Parameters
        ----------
        level : float
            The level of the rung.
        kind : {"noise", "flips", "missing"}, optional
            The kind of perturbation, by default the one that set epsilon.

        Returns
        -------
        Tolerance
        """
        rung = self.origin.rung_at(level, kind)
        value = rung.epsilon("choose a higher level")
        bar = Perturbed(rung.label, value, rung.standard_error**2, None, self.farthest.pilot)
        return replace(self, bars=(bar,), origin=replace(self.origin, chosen=rung.label))

    def power(self, rows: int, distance: float, alpha: float = 0.05) -> Forecast:
        """Tell how probable each verdict is, before there are data.

        Parameters
        ----------
        rows : int
            The rows that a candidate will have.
        distance : float
            How far it is from the reference: 0 for data like the reference, epsilon for data at the
            tolerance.
        alpha : float
            The level of each of the two tests.

        Returns
        -------
        Forecast
            It holds for data that vary like those which the tolerance was made from.

        Examples
        --------
        >>> import numpy as np
        >>> import nammd
        >>> rng = np.random.default_rng(0)
        >>> train, accepted = rng.normal(size=(600, 2)), rng.normal(loc=0.4, size=(600, 2))
        >>> tolerance = nammd.Tolerance.from_reference(train, accepted)
        >>> print(tolerance.power(100, 2 * tolerance.epsilon).headline())
        A candidate of 100 rows at a distance of 0.0281 is called CLOSE with probability 0.00 and FAR with
        probability 0.54.
        """
        rows = whole(rows, "rows", MIN_ROWS)
        distance = float(distance)
        if not 0 <= distance <= 1:
            raise ValueError(f"distance must be between 0 and 1; it is {distance:g}")
        if self.farthest.pilot is None:
            raise refusal(
                ValueError,
                "a tolerance that is a given number knows nothing of the data, so it cannot tell how "
                "probable a verdict is",
                Advice(
                    "use nammd.plan(epsilon, distance, pilot=(x, y), rows=rows), with two datasets as pilot",
                    "use 'nammd plan', with two datasets as a pilot",
                ),
            )
        alpha = between(alpha, "alpha", 0.5)
        setting = Setting(self.farthest, len(self.bars), None, self.origin.rows, True, alpha)
        close, far = setting.close(rows, distance), setting.far(rows, distance)
        return Forecast(rows, distance, close, far, self.epsilon, alpha)

    def with_reference(self, x: Any, *, engine: Engine | None = None) -> Gate:
        """Prepare for many checks against the same reference.

        The reference is encoded once, and summed once, with the first check; each further check then costs
        only what involves the candidate.

        Parameters
        ----------
        x : dataset
            The reference; see `distance`. With a sketch, candidates are sketches too, of the same features
            and made with the space of this tolerance. Where epsilon is meant under the exact kernel that the
            features approximate, the error of the approximation is taken into account.
        engine : Engine, optional
            Which engine computes; by default the one where the data is.

        Returns
        -------
        Gate
            It has one method that matters, ``check(candidate, alpha=0.05)``.
        """
        return Gate.of(self, x, engine)

    def check(self, x: Any, candidate: Any, alpha: float = 0.05, *, engine: Engine | None = None) -> Verdict:
        """Decide whether a candidate is close enough to the reference.

        Parameters
        ----------
        x : dataset
            The reference; see `distance`.
        candidate : dataset
            The data in question; a sketch if the reference is one.
        alpha : float
            The level of each of the two tests, of "within" and of "beyond".
        engine : Engine, optional
            Which engine computes; by default the one where the data is.

        Returns
        -------
        Verdict
        """
        return self.with_reference(x, engine=engine).check(candidate, alpha)

    def save(self, path: str | Path) -> None:
        """Write the tolerance to one readable JSON file."""
        from nammd.tolerances.file import write

        write(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Tolerance:
        """Read a tolerance from a file that `save` wrote; a ValueError says if it is damaged."""
        from nammd.tolerances.file import read

        return read(Path(path))

    def plot(self, ax: Any = None) -> Any:
        """Draw the distances that epsilon was chosen from.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        matplotlib Axes
        """
        from nammd.report import ladder_plot

        return ladder_plot(self, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Return the tolerance as plain values; `save` writes the same, and what checks need besides."""
        from nammd.tolerances.file import summary

        return summary(self)

    def headline(self) -> str:
        """Return the tolerance in one sentence."""
        return f"Close enough means NAMMD below {with_error(self.epsilon, self.epsilon_error)}."

    def facts(self) -> list[tuple[str, str]]:
        """Return the rows of the printed table."""
        names = [column.name for column in self.encoding.columns]
        rows = [
            ("taken from", self.origin.sentence()),
            ("kernel", str(self.kernel)),
            ("columns", ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")),
        ]
        rows += [(r.label, f"{number(r.value)} ± {number(r.standard_error)}") for r in self.origin.rungs]
        rows += [("left out", f"{c.column}: {c.reason}") for c in self.encoding.left_out]
        return [*rows, ("to expect", self._outlook())] if self.farthest.pilot is not None else rows

    def _outlook(self) -> str:
        """Say what checks will be able to say."""
        farthest = self.farthest
        rows = farthest.rows if isinstance(farthest, Accepted) else self.origin.rows
        close = self.power(rows, 0.0).close
        told = f"{counted(rows, 'row')} like the reference will be called CLOSE with probability {close:.2f}"
        if 2 * self.epsilon >= 1:
            return told
        far = self.power(rows, 2 * self.epsilon).far
        return f"{told}; twice as far as the tolerance, FAR with probability {far:.2f}"
