"""Are two piles of handwritten digits close enough?

Scikit-learn carries 1797 small images of handwritten digits, ordered by the person who wrote them.
The first half against the second half is therefore a natural shift, other people's handwriting;
random halves are none. A two-sample test can tell that the first pair differs. The question here is
whether it differs by more than a tolerance.

Run it with ``make demo``, or ``python examples/digits.py`` where scikit-learn is installed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

import nammd

TOLERANCE = 0.0008


def halves() -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    pixels: NDArray[np.float64] = load_digits().data / 16
    middle = len(pixels) // 2
    shuffled = np.random.default_rng(0).permutation(pixels)
    return {
        "Different writers": (pixels[:middle], pixels[middle:]),
        "Random halves": (shuffled[:middle], shuffled[middle:]),
    }


def verdict(far: nammd.ClosenessResult, close: nammd.ClosenessResult) -> str:
    if far.rejected:
        return f"TOO FAR: significantly beyond the tolerance (p = {far.pvalue:.2g})."
    if close.rejected:
        return f"CLOSE ENOUGH: significantly within the tolerance (p = {close.pvalue:.2g})."
    return "UNDECIDED: more images are needed to tell."


def main() -> None:
    pairs = halves()
    # A distance means something only together with its kernel, so one kernel serves both pairs.
    kernel = nammd.Gaussian.median(*pairs["Different writers"])
    print(f"1797 handwritten digits; kernel: {kernel}; tolerance: NAMMD = {TOLERANCE}\n")
    for name, (x, y) in pairs.items():
        far = nammd.closeness_test(x, y, TOLERANCE, kernel=kernel)
        close = nammd.closeness_test(x, y, TOLERANCE, kernel=kernel, alternative="less")
        low, high = far.confidence_interval(0.95)
        same = nammd.two_sample_test(x, y, kernel=kernel, rng=0)
        print(name)
        print(f"  distance {far.statistic:.6f}, 95 % interval [{low:.6f}, {high:.6f}]")
        print(f"  same distribution? p = {same.pvalue:.3f}")
        print(f"  close enough?      {verdict(far, close)}\n")
    print("In full, the first pair:\n")
    print(nammd.closeness_test(*pairs["Different writers"], TOLERANCE, kernel=kernel))


if __name__ == "__main__":
    main()
