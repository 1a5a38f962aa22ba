"""Sums of a kernel that has features, in time proportional to the rows: what all engines share."""

from nammd.engines.features.pairs import feature_pair_means
from nammd.engines.features.splits import split_sums
from nammd.engines.features.sums import by_features, feature_sums
from nammd.engines.features.walks import Walks

__all__ = ["Walks", "by_features", "feature_pair_means", "feature_sums", "split_sums"]
