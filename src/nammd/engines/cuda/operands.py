"""From rows to what the GPU's matrix units multiply.

A squared-exponential term ``w exp(-|u - v|^2 / 2)`` becomes ``2 ** (left . right)``. Rows are centred in
float64 and scaled by sqrt(log2 e); then each number is rounded to half precision ("fast"), or split into two
halves ("high"). Half precision has the 11 significant bits of tf32 at twice its rate, and its narrower range
does no harm to centred rows a few bandwidths long. Norms are computed from the *rounded* rows, so the kernel
stays exactly a kernel, of data that were moved by one part in 4000 (fast) or 8 million (high). Each norm is
split over three more columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from nammd.kernels.base import Exponential
from nammd.kernels.exponential import FLOAT32_LIMIT

BLOCK = 256
"""Rows are filled up to a multiple of this, so that tiles of any shape here fit."""

ROWS_AT_ONCE = 1 << 16
"""Of so many rows the middle is taken."""

_BYTES_AT_ONCE = 1 << 27
"""Of rows that are prepared at a time, in float64."""

_NOTHING = -60000.0
"""An exponent that makes a kernel value zero, and that half precision can hold."""


_CITYBLOCK_LIMIT = 1e4
"""Numbers of float32 that are larger, in units of bandwidths, are off by a thousandth of one."""


@dataclass(frozen=True, eq=False)
class Operands:
    """One sample, ready for the programs of `nammd.engines.cuda.programs`.

    Attributes
    ----------
    high, low : torch.Tensor
        The rows, and what rounding them has left (the same tensor where that is not used): of shape
        ``(terms, padded, width)``, or for city-block distances ``(width, padded)`` in float32.
    left, right : torch.Tensor
        The columns that carry norms and weights, in the first and in the second place of a product.
    rows, padded, width : int
        The number of rows, the same filled up, and the number of columns filled up.
    largest : torch.Tensor
        The largest half squared norm, in units of bandwidths, or not a number; of city-block distances,
        infinity where float32 has too few digits for some row, and else 0.
    sizes : torch.Tensor or None
        How large each row is beside the largest one, in float32 and filled up, where sums are to be weighted
        by that.
    """

    high: Any
    low: Any
    left: Any
    right: Any
    rows: int
    padded: int
    width: int
    largest: Any
    sizes: Any = None

    @property
    def in_reach(self) -> bool:
        """Whether float32 has enough digits for all rows; whoever asks waits for the device."""
        return float(self.largest) <= FLOAT32_LIMIT

    def spread(self, positions: Any, filled: int) -> Operands:
        """Return the same rows at some positions of so many, and nothing at all others."""
        import torch

        padded, rows = padded_rows(filled), slice(self.rows)
        if self.left.ndim == 1:  # city-block distances
            data = self.high.new_zeros((self.width, padded))
            left, right = torch.full((2, padded), _NOTHING, dtype=data.dtype, device=data.device)
            data[:, positions] = self.high[:, rows]
            left[positions], right[positions] = self.left[rows], self.right[rows]
            return Operands(data, data, left, right, filled, padded, self.width, self.largest)
        halves = (self.high,) if self.low is self.high else (self.high, self.low)
        high, *more = (
            part.new_zeros((len(part), padded, self.width)).index_copy_(1, positions, part[:, rows])
            for part in halves
        )
        [low] = more or [high]
        left, right = _empty(self.high, padded, self.left.shape[2])
        left[:, positions], right[:, positions] = self.left[:, rows], self.right[:, rows]
        return Operands(high, low, left, right, filled, padded, self.width, self.largest)


def prepare(
    samples: Sequence[Any],
    terms: Sequence[Exponential],
    extra: int,
    two: bool,
    scale: float = 1.0,
    log_weights: Sequence[Any] | None = None,
) -> list[Operands]:
    """Return the operands of several samples, centred alike; the weights of terms are divided by `scale`.

    With `log_weights`, a logarithm to base 2 for every row, kernel values are multiplied by the weights of
    both rows; a row of weight zero is not there.
    """
    centres = [_centre(samples, term) for term in terms]
    weights = [None] * len(samples) if log_weights is None else log_weights
    if terms[0].power == 1:
        return [_cityblock(z, terms[0], centres[0], scale, w) for z, w in zip(samples, weights, strict=True)]
    return [_squared(z, terms, centres, extra, two, scale, w) for z, w in zip(samples, weights, strict=True)]


def padded_rows(rows: int) -> int:
    """Return the number of rows of a sample that fills its tiles."""
    return -(-rows // BLOCK) * BLOCK


def _centre(samples: Sequence[Any], term: Exponential) -> Any:
    """Return a point in the middle of the samples.

    Any point near them serves: it keeps exponents from being differences of large numbers.
    """
    means = []
    for sample in samples:
        some = sample[:: max(1, sample.shape[0] // ROWS_AT_ONCE)]
        means.append(term.embed(some.double()).double().mean(0))
    return sum(means) / len(means)


def _power_of_two(width: int) -> int:
    return max(16, 1 << (width - 1).bit_length())


def _width(width: int) -> int:
    """Return a width that the programs can cut into pieces: a power of two, or a multiple of 64."""
    return _power_of_two(width) if width <= 128 else -(-width // 64) * 64


def _squared(
    sample: Any,
    terms: Sequence[Exponential],
    centres: Sequence[Any],
    extra: int,
    two: bool,
    scale: float,
    weights: Any,
) -> Operands:
    import torch

    count, padded = sample.shape[0], padded_rows(sample.shape[0])
    width = _width(max(int(centre.shape[0]) for centre in centres))
    half = {"dtype": torch.float16, "device": sample.device}
    high = torch.zeros((len(terms), padded, width), **half)
    low = torch.zeros_like(high) if two else high
    left, right = _empty(high, padded, extra)
    longest = []
    for position, (term, centre) in enumerate(zip(terms, centres, strict=True)):
        log_weight = math.log2(term.weight / scale)
        for at in _blocks(count, width):
            u = (term.embed(sample[at].double()).double() - centre) * math.sqrt(math.log2(math.e))
            columns = u.shape[1]
            high[position, at, :columns] = u
            rounded = high[position, at, :columns].double()
            if two:
                low[position, at, :columns] = u - rounded
                rounded += low[position, at, :columns]
            norms = (rounded * rounded).sum(1) / 2
            longest.append(norms.max())
            if weights is not None:
                norms = norms - weights[at].clamp(min=_NOTHING)
            _split(log_weight - norms, left[position, at, :3])
            _split(-norms, right[position, at, 3:6])
    largest = torch.stack(longest).max() * math.log(2)
    return Operands(high, low, left, right, count, padded, width, largest)


def _empty(high: Any, padded: int, extra: int) -> tuple[Any, Any]:
    """Return the columns that carry norms, of no rows at all."""
    left, right = high.new_zeros((2, len(high), padded, extra))
    left[..., 3:6] = right[..., :3] = 1.0
    left[..., 0] = right[..., 3] = _NOTHING
    return left, right


def _blocks(rows: int, width: int) -> Iterator[slice]:
    """Yield the blocks of rows that are prepared at a time."""
    step = max(1, _BYTES_AT_ONCE // (8 * width))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def _split(values: Any, columns: Any) -> None:
    """Write numbers as sums of half-precision ones, the largest first."""
    for column in range(columns.shape[1]):
        columns[:, column] = values
        values = values - columns[:, column].double()


def _cityblock(sample: Any, term: Exponential, centre: Any, scale: float, weights: Any) -> Operands:
    """Prepare ``w exp(-|u - v|_1)``; rows beyond the last are infinitely far, for all that matters."""
    import torch

    count, padded, width = sample.shape[0], padded_rows(sample.shape[0]), int(centre.shape[0])
    data = torch.zeros((width, padded), dtype=torch.float32, device=sample.device)
    for at in _blocks(count, width):
        data[:, at] = ((term.embed(sample[at].double()) - centre) * math.log2(math.e)).T.float()
    largest = torch.where(data.abs().max() <= _CITYBLOCK_LIMIT, 0.0, math.inf)
    right = torch.zeros(padded, dtype=torch.float32, device=sample.device)
    right[count:] = _NOTHING
    if weights is not None:
        right[:count] = weights.clamp(min=_NOTHING)
    return Operands(data, data, right + math.log2(term.weight / scale), right, count, padded, width, largest)
