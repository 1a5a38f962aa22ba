"""Pairs of laws whose NAMMD is known exactly, at a value of one's choice.

================  ==========================================================================
`mixtures`        mixtures of normal laws and of points, in closed form
`characteristic`  laws on the line by their characteristic functions, by quadrature
`families`        `known_pair`: two dozen families, each at any distance that it reaches
`features`        laws under random features: sketches of whole populations
================  ==========================================================================
"""

from nammd.datasets.laws.families import LAWS, KnownPair, known_pair

__all__ = ["LAWS", "KnownPair", "known_pair"]
