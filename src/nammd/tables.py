"""Files and mixed tables: `read`, `batches`, and the `Encoding` of their columns."""

from nammd.encoding import Column, Encoding, LeftOut
from nammd.errors.limits import download_limit, unpack_limit
from nammd.reading import Loaded, batches, read
from nammd.reading.text_formats import Reading

__all__ = [
    "Column",
    "Encoding",
    "LeftOut",
    "Loaded",
    "Reading",
    "batches",
    "download_limit",
    "read",
    "unpack_limit",
]
