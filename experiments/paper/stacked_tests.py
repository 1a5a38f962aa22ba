"""Permutation tests with one kernel for many pairs of samples at once, from their Gram matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from nammd.kernels.networks import torch_module

_TIE = 1e-9
"""Statistics closer than this share of their spread count as equal."""

_ENTRIES = 1 << 28
"""How many signs, or kernel values, are held at a time."""


def generator_for(rng: np.random.Generator, device: Any) -> Any:
    """Return a generator of torch with a seed from NumPy's."""
    torch = torch_module()
    return torch.Generator(device).manual_seed(int(rng.integers(2**62)))


def permutation_pvalues(
    grams: Any, bound: float, permutations: int, generator: Any, *, off_diagonal: bool = True
) -> dict[str, np.ndarray]:
    """Return p-values of the permutation tests of MMD and of NAMMD, for every Gram matrix.

    Parameters
    ----------
    grams : tensor of shape (tests, 2 m, 2 m)
        The kernel between all rows, those of the first sample before those of the second.
    bound : float
        The bound of the kernel.
    permutations : int
        How many; the two statistics see the same.
    generator : torch.Generator
        Where the permutations come from.
    off_diagonal : bool
        Whether the tests that leave out the cross pairs (i, i), as in the paper, are wanted too.

    Returns
    -------
    dict of str to array of shape (tests,)
        By "mmd" and "nammd", and by "off-diagonal mmd" and "off-diagonal nammd".
    """
    size = int(grams.shape[1])
    at_once = max(1, _ENTRIES // (size * max(size, 3 * permutations)))
    parts = [
        _pvalues(grams[start : start + at_once], bound, permutations, generator, off_diagonal)
        for start in range(0, len(grams), at_once)
    ]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _pvalues(
    grams: Any, bound: float, permutations: int, generator: Any, off_diagonal: bool
) -> dict[str, np.ndarray]:
    torch = torch_module()
    tests, size = int(grams.shape[0]), int(grams.shape[1])
    m = size // 2
    where = {"device": grams.device}
    keys = torch.rand((tests, permutations, size), generator=generator, dtype=torch.float64, **where)
    own = torch.arange(size, **where).expand(tests, 1, size)
    orders = torch.cat([own, keys.argsort(2)], 1)
    signs = torch.full(orders.shape, -1.0, dtype=grams.dtype, **where).scatter_(2, orders[:, :, :m], 1.0)
    trace = grams.diagonal(dim1=1, dim2=2).sum(1)[:, None].double()
    # With f = s'Ks - trace: Sxx + Syy = (total + f) / 2 and Sxy = (total - f) / 4.
    forms = (torch.bmm(signs, grams) * signs).sum(2).double() - trace
    total = grams.sum((1, 2)).double()[:, None] - trace
    own_pairs = m * (m - 1)
    denominator = 4 * bound - (total + forms) / (2 * own_pairs)
    mmd2 = (total + forms) / (2 * own_pairs) - (total - forms) / (2 * m * m)
    found = {"mmd": mmd2, "nammd": mmd2 / denominator}
    if off_diagonal:
        places = orders[:, :, :m] * size + orders[:, :, m:]
        left_out = grams.reshape(tests, -1).gather(1, places.reshape(tests, -1)).reshape(places.shape)
        off = (forms + 2 * left_out.sum(2).double()) / own_pairs
        found |= {"off-diagonal mmd": off, "off-diagonal nammd": off / denominator}
    return {name: _share(values) for name, values in found.items()}


def _share(values: Any) -> np.ndarray:
    """Return the share of statistics that are at least the first of their line, which counts itself."""
    slack = _TIE * values.std(1, keepdim=True)
    shares: np.ndarray = (values >= values[:, :1] - slack).double().mean(1).cpu().numpy()
    return shares
