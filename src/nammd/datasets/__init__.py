"""Data to try things on: made by formulas, or read from a folder that you name.

Nothing is downloaded. Everything random takes ``rng=``.
"""

from nammd.datasets.applications import SHIFTS, applications
from nammd.datasets.discrete import DiscretePair, discrete_pair
from nammd.datasets.files import cifar10, higgs, mnist
from nammd.datasets.given_nammd import NammdPair, pair_with_nammd
from nammd.datasets.laws import LAWS, KnownPair, known_pair
from nammd.datasets.orders import orders
from nammd.datasets.synthetic import blob, hdgm

__all__ = [
    "LAWS",
    "SHIFTS",
    "DiscretePair",
    "KnownPair",
    "NammdPair",
    "applications",
    "blob",
    "cifar10",
    "discrete_pair",
    "hdgm",
    "higgs",
    "known_pair",
    "mnist",
    "orders",
    "pair_with_nammd",
]
