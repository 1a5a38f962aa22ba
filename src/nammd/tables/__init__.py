"""From files and mixed tables to the numbers that a kernel compares.

`read` turns a file or a folder into a table or an array; `Encoding` is fitted on the reference table,
frozen, and turns any table with the same columns into an array of numbers.
"""

from nammd.tables.columns import Column, LeftOut
from nammd.tables.encoding import Encoding
from nammd.tables.readers import Loaded, batches, read

__all__ = ["Column", "Encoding", "LeftOut", "Loaded", "batches", "read"]
