"""Frequencies that see every direction alike: in orthogonal blocks, with lengths from equal strata.

A normal frequency has a length of a chi law and any direction. Frequencies of one block have one length, and
directions at right angles: the sum of their ``(w'd)²`` is the same for every difference d of a given length.
The lengths of the blocks are midpoints of strata of their law, scaled so that their mean square is exact.
A distance is then nearer to that of the exact kernel than with independent frequencies (Yu and others 2016,
"Orthogonal random features"); and a shift of one column is seen as well as that of any other.
"""

from __future__ import annotations

import math

import numpy as np

from nammd.data.arrays import FloatArray


def normal_frequencies(normal: FloatArray) -> FloatArray:
    """Return frequencies of the standard normal law, of independent normal numbers.

    Parameters
    ----------
    normal : array of shape (frequencies, columns)
        Independent standard normal numbers.

    Returns
    -------
    array of shape (frequencies, columns)
        In blocks of as many as there are columns, the last one perhaps a part of one, in ascending order of
        their lengths.

    Examples
    --------
    >>> import numpy as np
    >>> w = normal_frequencies(np.random.default_rng(0).normal(size=(6, 3)))
    >>> bool(np.allclose(w[:3] @ w[:3].T, 1.3672927 * np.eye(3)))
    True
    >>> float((w**2).sum(axis=1).mean().round(10))
    3.0
    """
    from scipy.special import gammaincinv

    count, columns = normal.shape
    blocks = -(-count // columns)
    middles = (np.arange(blocks) + 0.5) / blocks
    squares = np.repeat(2 * gammaincinv(columns / 2, middles), columns)[:count]  # of a chi law
    lengths = np.sqrt(squares * (columns / squares.mean()))
    whole = count // columns * columns
    parts = [_right_angles(normal[:whole].reshape(-1, columns, columns)).reshape(whole, columns)]
    if whole < count:
        parts.append(_right_angles(normal[whole:]))
    found: FloatArray = lengths[:, None] * np.concatenate(parts)
    return found


def _right_angles(normal: FloatArray) -> FloatArray:
    """Return unit vectors at right angles to each other, uniform over rotations: rows, of each matrix."""
    q, r = np.linalg.qr(np.swapaxes(normal, -1, -2))
    signs = np.where(np.diagonal(r, axis1=-2, axis2=-1) < 0, -1.0, 1.0)
    found: FloatArray = np.swapaxes(q * signs[..., None, :], -1, -2)
    return found


def number_of_features(columns: int, least: int) -> int:
    """Return how many features make whole blocks of frequencies, at least so many, where that is not many.

    >>> number_of_features(20, 1024), number_of_features(768, 1024)
    (1040, 1024)
    """
    whole = 2 * columns * math.ceil(least / (2 * columns))
    return whole if columns <= least // 4 else least
