"""Files and folders as streams of batches: one module for each format, and `read` over all of them."""

from nammd.data.readers.reading import Loaded, batches, read

__all__ = ["Loaded", "batches", "read"]
