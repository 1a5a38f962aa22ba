"""What a pair of samples is known from: rows summed by an engine, or two sketches.

`prepare` takes datasets as far as samples of one space; `gather` makes the evidence. Here stands the only
choice between rows and sketches; nothing further in knows which it was.
"""

from nammd.evidence.gathering import gather
from nammd.evidence.preparing import MIN_ROWS, prepare

__all__ = ["MIN_ROWS", "gather", "prepare"]
