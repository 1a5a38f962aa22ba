"""Files and folders as streams of batches: one module for each format, and `read` over all of them.

`text_formats` says how text stands for numbers, times and missing values.
"""

from nammd.reading.files import Loaded, batches, read

__all__ = ["Loaded", "batches", "read"]
