"""One column by itself, in linear time: counted once, and everything else follows from the counts.

::

    dataset ── counting ──> Counts ── support ──> CountEvidence ──> moments, tests (nammd.statistics)

A column of labels is known from how often each occurs, one of numbers from how many rows are at each value
or, where the values are many, near each point of a fine lattice. Counts of parts of a dataset add up.
"""
