"""Files and mixed tables: `read`, `batches`, and the `Encoding` of their columns."""

from nammd.data.encoding import Column, Encoding, LeftOut
from nammd.data.readers import Loaded, batches, read

__all__ = ["Column", "Encoding", "LeftOut", "Loaded", "batches", "read"]
