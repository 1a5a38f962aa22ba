"""Sketches: a dataset as a few megabytes that can be merged, kept and compared.

================  ==========================================================================
`building`        one pass over rows, in threads or on their device: the sums of features
`summary`         `Sketch`: those sums, how they add up, and what they belong to
`sources`         rows from batches, files and Dask collections
`file`            a sketch as a file
`statistics`      everything that tests need, from the sums of two sketches
================  ==========================================================================
"""

from nammd.sketches.settling import features_in
from nammd.sketches.sketch import Sketch

__all__ = ["Sketch", "features_in"]
