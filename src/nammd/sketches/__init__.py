"""Sketches: a dataset as a few megabytes that can be merged, kept and compared.

================  ==========================================================================
`sketch`          `Sketch`: sums of features, how they add up, and what they belong to
`options`         what a sketch is asked to be made by
`sources`         sketches of rows that are here, of batches, files and Dask collections
`building`        one pass over rows, in threads or on their device: the sums of features
`grouped_rows`    the same over groups of rows, and rows that are held until their groups are whole
`group_totals`    what a sketch keeps of groups, and how it is noticed that one was split
`sample`          a sketch as a sample of a space, and which sketches can be compared
`file`            a sketch as a file
================  ==========================================================================
"""

from nammd.sketches.options import features_in
from nammd.sketches.sketch import Sketch

__all__ = ["Sketch", "features_in"]
