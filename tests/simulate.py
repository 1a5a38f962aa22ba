"""Monte Carlo runs that several test modules share; computed once per setting."""

from functools import cache

import numpy as np

import nammd
from nammd.datasets.laws import mixtures as laws
from nammd.questions.closeness import closeness_of

KERNEL = nammd.Gaussian(1.0)
REPETITIONS = 1500


def noise(probability, repetitions=REPETITIONS):
    """The standard error of a rejection rate."""
    return float(np.sqrt(probability * (1 - probability) / repetitions))


@cache
def estimates(family, eps, m, n, statistic="nammd", repetitions=REPETITIONS):
    """Distances of samples from a pair of laws at NAMMD = eps."""
    p, q = laws.pair_at(family, eps)
    rng = np.random.default_rng([m, n, round(eps * 1000)])
    return tuple(
        nammd.distance(p.sample(rng, m), q.sample(rng, n), kernel=KERNEL, statistic=statistic)
        for _ in range(repetitions)
    )


def rejection_rate(runs, eps, alternative="greater", variance="corrected", alpha=0.05):
    return np.mean([closeness_of(e, eps, alternative, alpha, variance).rejected for e in runs])
